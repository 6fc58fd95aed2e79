"""Contents of 0-9-1: from what a case asks to what is on the wire, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any
from zlib import crc32

from conformance.interop.amqp0_9_1.values import Reader, Unread, table
from conformance.interop.comparing import octets_of, ordered
from conformance.interop.outcomes import Form

PROPERTIES = (
    "content-type", "content-encoding", "headers", "delivery-mode", "priority", "correlation-id", "reply-to",
    "expiration", "message-id", "timestamp", "type", "user-id", "app-id", "reserved",
)  # fmt: skip
NUMBERS = ("delivery-mode", "priority")


def form_of(message: Mapping[str, Any]) -> Form:
    """Encode a message as a case asks for it. Raises ValueError for a type that 0-9-1 has not."""
    given = message.get("properties", {})
    flags, values = 0, b""
    for bit, name in enumerate(PROPERTIES):
        if name in given:
            flags |= 1 << 15 - bit
            values += _property(name, given[name])
    body = octets_of(message.get("body", ""))
    if body is None:
        raise ValueError("0-9-1 has no bodies of typed values")
    return Form(flags.to_bytes(2) + values, body)


def _property(name: str, value: Any) -> bytes:
    if name == "headers":
        return table(value["map"])
    if name == "timestamp":
        return int(value["time"]).to_bytes(8)
    if name in NUMBERS:
        return bytes((int(value["u8"] if isinstance(value, Mapping) else value),))
    octets: bytes = value.encode()
    return bytes((len(octets),)) + octets


def with_value(message: Mapping[str, Any], octets: bytes) -> Form:
    """Give the form of a message whose header `v` are these octets, a letter and what follows it."""
    field = b"\x01v" + octets
    others = {name: each for name, each in message.get("properties", {}).items() if name != "headers"}
    if others:
        raise ValueError("a spelled form is of a message with nothing but a header")
    body = octets_of(message.get("body", "")) or b""
    return Form((1 << 13).to_bytes(2) + len(field).to_bytes(4) + field, body)


def readings(form: Form) -> list[dict[str, Any]]:
    """Read a message in each way that makes sense of it, by the document first. Raises Unread for none.

    A long string that is a text may have been meant as octets.
    """
    told: list[dict[str, Any]] = []
    failure: Unread | None = None
    for errata, binary in ((False, False), (True, False), (False, True), (True, True)):
        try:
            properties = _properties(Reader(form.head, errata, binary))
        except (Unread, UnicodeDecodeError) as unread:
            failure = failure or Unread(str(unread))
            continue
        read = {"size": len(form.body), "crc32": crc32(form.body), "properties": properties}
        if read not in told:
            told.append(read)
    if not told:
        raise failure or Unread("nothing is there")
    return told


def _properties(reader: Reader) -> dict[str, Any]:
    return {name: value for name, value, _ in _spans(reader)}


def _spans(reader: Reader) -> Iterator[tuple[str, Any, bytes]]:
    """Read the properties that are there: the value of each, and its octets. Raises Unread."""
    flags = int.from_bytes(reader.take(2))
    if flags & 1:
        raise Unread("the flags go on in another word")
    for bit, name in enumerate(PROPERTIES):
        if flags >> 15 - bit & 1:
            begun = reader.at
            yield name, _read(name, reader), reader.octets[begun : reader.at]
    if reader.at != len(reader.octets):
        raise Unread(f"{len(reader.octets) - reader.at} octets follow the last property")


def _read(name: str, reader: Reader) -> Any:
    if name == "headers":
        return reader.table()
    if name == "timestamp":
        return {"time": str(int.from_bytes(reader.take(8)))}
    return reader.take(1)[0] if name in NUMBERS else reader.short()


def key(form: Form, message: Mapping[str, Any], exact: bool) -> str:
    """Name a form of a message: the same name for fields in another order, another one for other letters.

    Properties that were not asked for count only where `exact`, and then by their names alone: some libraries
    make up a value each time.
    """
    digest = sha256(len(form.body).to_bytes(8) + sha256(form.body).digest())
    digest.update(_head(form.head, message.get("properties", {}), exact))
    return digest.hexdigest()[:12]


def _head(head: bytes, asked: Mapping[str, Any], exact: bool) -> bytes:
    for errata in (True, False):
        reader = Reader(head, errata)
        try:
            read = {name: (value, octets) for name, value, octets in _spans(reader)}
        except (Unread, UnicodeDecodeError):
            continue
        known = {
            name: [ordered(value), sorted(octets)] for name, (value, octets) in read.items() if name in asked
        }
        return json.dumps([known, sorted(read) if exact else []], sort_keys=True).encode()
    return head
