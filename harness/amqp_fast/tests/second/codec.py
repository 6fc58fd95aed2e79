"""The commands of AMQP/Fast as data, and their octets: frames, and the header of a message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.amqp_fast.tests.second import types
from harness.amqp_fast.tests.second.types import Incomplete, Octets, Time

__all__ = ["COMMANDS", "HEADER", "Incomplete", "Time", "decode", "decode_header", "encode", "encode_header"]

COMMAND_END: Final = b"\xce"
ESCAPE: Final = 0xFFFF
"""In place of a size, it says that the size follows in four octets."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its name; octet, short, long, bit, short-string, long-string or table."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its code, its name in the grammar, its fields."""

    code: int
    name: str
    fields: Sequence[Field]


_TABLE: Final = """
10 connection-challenge  version:octet mechanisms:short-string challenges:table
11 connection-response   mechanism:short-string responses:table
12 connection-tune       options:table dictionary:table
13 connection-open       confirm-tag:short virtual-path:short-string client-name:short-string options:table
14 connection-ping       respond:bit
18 connection-reply      confirm-tag:short reply-code:short reply-text:short-string
19 connection-close      reply-code:short reply-text:short-string

20 channel-open          channel-id:short confirm-tag:short transacted:bit restartable:bit options:table
                         out-of-band:short-string
21 channel-ack           channel-id:short confirm-tag:short message-nbr:long
22 channel-commit        channel-id:short confirm-tag:short options:table
23 channel-rollback      channel-id:short confirm-tag:short options:table
28 channel-reply         channel-id:short confirm-tag:short reply-code:short reply-text:short-string
29 channel-close         channel-id:short reply-code:short reply-text:short-string

30 handle-open           channel-id:short handle-id:short confirm-tag:short
                         producer:bit consumer:bit browser:bit
                         mime-type:short-string encoding:short-string options:table
31 handle-send           handle-id:short confirm-tag:short service-type:short fragment-size:long
                         partial:bit out-of-band:bit recovery:bit dest-name:short-string
32 handle-consume        handle-id:short confirm-tag:short service-type:short prefetch:short
                         no-local:bit no-ack:bit dynamic:bit exclusive:bit
                         dest-name:short-string selector:table
34 handle-flow           handle-id:short confirm-tag:short flow-pause:bit
35 handle-unget          handle-id:short confirm-tag:short message-nbr:long
36 handle-query          handle-id:short message-nbr:long dest-name:short-string selector:long-string
                         mime-type:short-string
37 handle-browse         handle-id:short confirm-tag:short message-nbr:long
40 handle-created        handle-id:short dest-name:short-string
41 handle-notify         handle-id:short message-nbr:long fragment-size:long
                         partial:bit out-of-band:bit recovery:bit delivered:bit redelivered:bit
                         dest-name:short-string
42 handle-index          handle-id:short message-nbr:long message-list:long-string
43 handle-prepare        handle-id:short fragment-size:long content-hash:short-string
44 handle-ready          handle-id:short message-size:long
48 handle-reply          handle-id:short confirm-tag:short reply-code:short reply-text:short-string
49 handle-close          handle-id:short reply-code:short reply-text:short-string
"""
_HEADER: Final = """body-size:long persistent:bit priority:octet expiration:long mime-type:short-string
                    encoding:short-string identifier:short-string headers:table"""

SIZES: Final = {"octet": 1, "short": 2, "long": 4}
EMPTY: Final[Mapping[str, Any]] = {
    **dict.fromkeys(SIZES, 0),
    "bit": False,
    "short-string": b"",
    "long-string": b"",
    "table": (),
}
CARRIERS: Final = frozenset({"handle-send", "handle-notify", "handle-prepare"})
"""A fragment of a message follows them, unless it goes out of band."""


def _fields(words: Iterable[str]) -> tuple[Field, ...]:
    return tuple(
        Field(name.replace("-", "_"), kind) for name, _, kind in (word.partition(":") for word in words)
    )


def _commands(table: str) -> list[Command]:
    entries = (entry.split() for entry in re.split(r"\n(?=\d)", table.strip()))
    return [Command(int(code), name, _fields(words)) for code, name, *words in entries]


COMMANDS: Final = _commands(_TABLE)
BY_NAME: Final = {command.name: command for command in COMMANDS}
BY_CODE: Final = {command.code: command for command in COMMANDS}
HEADER: Final = _fields(_HEADER.split())


def encode(command: str, **fields: Any) -> bytes:
    """Write a whole frame; what is not given is zero or empty."""
    if command not in BY_NAME:
        raise ValueError(f"no command is called {command}")
    payload = bytes((BY_NAME[command].code,)) + _written(BY_NAME[command].fields, fields) + COMMAND_END
    size = len(payload)
    return (types.number(size, 2) if size < ESCAPE else b"\xff\xff" + types.number(size, 4)) + payload


def size_of(octets: bytes) -> tuple[int, int]:
    """Read the header of a frame: its own size, and the size of what follows."""
    reader = Octets(octets)
    size = reader.number(2)
    return (2, size) if size < ESCAPE else (6, reader.number(4))


def decode(octets: bytes) -> tuple[str, dict[str, Any]]:
    """Read one whole frame: the command's name, and its fields."""
    try:
        start, size = size_of(octets)
    except Incomplete:
        raise ValueError("the frame ends before its size is told") from None
    if len(octets) != start + size:
        raise ValueError(f"the frame tells of {size} octets, and {len(octets) - start} follow")
    if size < 2:
        raise ValueError("a frame holds at least a command and its end")
    if octets[-1:] != COMMAND_END:
        raise ValueError(f"the frame ends with {octets[-1]:#04x} in place of 0xce")
    command = BY_CODE.get(octets[start])
    if command is None:
        raise ValueError(f"no command has the code {octets[start]}")
    reader = Octets(octets[start + 1 : -1])
    try:
        fields = _read(command.fields, reader)
    except ValueError as problem:
        raise ValueError(f"{command.name} is malformed: {problem}") from None
    if reader.left():
        raise ValueError(f"{command.name} has {reader.left()} octets behind its last field")
    return command.name, fields


def encode_header(**fields: Any) -> bytes:
    """Write the header of a message."""
    return _written(HEADER, fields)


def decode_header(octets: bytes) -> tuple[dict[str, Any], int]:
    """Read the header with which a message begins, and its size; `Incomplete` where octets are missing."""
    reader = Octets(octets)
    return _read(HEADER, reader), reader.position


def _written(wanted: Sequence[Field], given: Mapping[str, Any]) -> bytes:
    if unknown := given.keys() - {field.name for field in wanted}:
        raise ValueError(f"there is no field {', '.join(sorted(unknown))}")
    octets, bits = bytearray(), 0
    for field in wanted:
        value = given.get(field.name, EMPTY[field.kind])
        if field.kind != "bit":
            bits = 0
            octets += _field(field.kind, value)
            continue
        if value not in (0, 1):
            raise ValueError(f"{field.name} is a bit, not {value!r}")
        if not bits:
            octets.append(0)
        octets[-1] |= int(value) << bits
        bits += 1
    return bytes(octets)


def _field(kind: str, value: Any) -> bytes:
    if kind in SIZES:
        return types.number(value, SIZES[kind])
    if kind == "table":
        return types.table(value)
    return types.short_string(value) if kind == "short-string" else types.long_string(value)


def _read(wanted: Sequence[Field], reader: Octets) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    bits = octet = 0
    for field in wanted:
        if field.kind == "bit":
            octet = octet if bits else reader.number(1)
            fields[field.name] = bool(octet >> bits & 1)
            bits += 1
        else:
            bits = 0
            fields[field.name] = _value(field.kind, reader)
    return fields


def _value(kind: str, reader: Octets) -> Any:
    if kind in SIZES:
        return reader.number(SIZES[kind])
    if kind == "table":
        return reader.table()
    return reader.short_string() if kind == "short-string" else reader.long_string()
