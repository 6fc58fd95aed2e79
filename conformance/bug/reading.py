"""Reads what a broker says as a script of `amqp-conformance bug` does: each thing that comes by one word.

This module is part of every such script: it may use nothing but Python's own library. The words are those in
which scenarios name what they see.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

HEADER = b"AMQP"
WITH_CONTENT = ("basic.deliver", "basic.get-ok", "basic.return")


class Seen:
    """One thing that came: on which `channel`, in a `word`, and the octets that say more."""

    def __init__(self, channel: int, word: str, octets: bytes = b"") -> None:
        self.channel, self.word, self.octets = channel, word, octets
        self.taken = False


# -- AMQP 0-9-1 ----------------------------------------------------------------------------------------


class Reader091:
    """Cuts a stream into methods, each with its content (0-9-1, 4.2.3 and 4.2.6)."""

    def __init__(self, names: Mapping[str, str], codes: Mapping[str, str]) -> None:
        self.names, self.codes = names, codes
        self.rest = b""
        self.open: dict[int, list[Any]] = {}

    def feed(self, octets: bytes) -> Iterator[Seen]:
        """Give what these octets complete."""
        self.rest += octets
        while len(self.rest) >= 8:
            if self.rest.startswith(HEADER):
                came, self.rest = self.rest[:8], self.rest[8:]
                yield Seen(0, f"protocol header {'-'.join(map(str, came[5:]))}", came)
                continue
            kind, channel, size = struct.unpack("!BHI", self.rest[:7])
            if len(self.rest) < size + 8:
                return
            payload, self.rest = self.rest[7 : 7 + size], self.rest[8 + size :]
            yield from self._frame(kind, channel, payload)

    def _frame(self, kind: int, channel: int, payload: bytes) -> Iterator[Seen]:
        if kind == 1 and len(payload) >= 4:
            name = self.names.get(".".join(map(str, struct.unpack("!HH", payload[:4]))), "an unknown method")
            if name in WITH_CONTENT:
                self.open[channel] = [name, payload[4:], None, b""]
                return
            yield Seen(channel, self._word(name, payload[4:]), payload[4:])
        elif kind == 2 and channel in self.open and len(payload) >= 12:
            self.open[channel][2] = payload
            yield from self._complete(channel)
        elif kind == 3 and channel in self.open:
            self.open[channel][3] += payload
            yield from self._complete(channel)
        elif kind == 8:
            yield Seen(channel, "heartbeat")

    def _word(self, name: str, arguments: bytes) -> str:
        if name not in ("connection.close", "channel.close") or len(arguments) < 2:
            return name
        code = str(struct.unpack("!H", arguments[:2])[0])
        return f"{name} {code} ({self.codes[code]})" if code in self.codes else f"{name} {code}"

    def _complete(self, channel: int) -> Iterator[Seen]:
        name, arguments, header, body = self.open[channel]
        if header is not None and len(body) >= struct.unpack("!Q", header[4:12])[0]:
            del self.open[channel]
            yield Seen(channel, f"{name} with the body {body[:40]!r}", arguments + header + body)


# -- AMQP 1.0 ------------------------------------------------------------------------------------------

WIDTHS = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}
"""Octets of a value by the first half of its constructor (1.0, 1.2); others begin with their size."""


def value_at(octets: bytes, at: int) -> tuple[Any, int]:
    """Read the value at a place of `octets`; give it, or what it is made of, and where it ends (1.0, 1.2)."""
    code = octets[at]
    at += 1
    if code == 0:
        descriptor, at = value_at(octets, at)
        value, at = value_at(octets, at)
        return (descriptor, value), at
    if code >> 4 in WIDTHS:
        end = at + WIDTHS[code >> 4]
        return (int.from_bytes(octets[at:end], "big") if code != 0x45 else []), end
    wide = 4 if code >> 4 in (0xB, 0xD, 0xF) else 1
    size = int.from_bytes(octets[at : at + wide], "big")
    start, end = at + wide, at + wide + size
    if end > len(octets):
        raise IndexError("a value that does not end")
    if code not in (0xC0, 0xD0):
        return octets[start:end], end
    items, place = [], start + wide
    while place < end:
        item, place = value_at(octets, place)
        items.append(item)
    return items, end


def with_value(octets: bytes, at: int, old: bytes, new: bytes) -> tuple[bytes, int]:
    """Write the value at a place of `octets` anew, `new` for each text that is `old`; say where it ended."""
    code, start = octets[at], at + 1
    if code == 0:
        descriptor, start = with_value(octets, start, old, new)
        value, end = with_value(octets, start, old, new)
        return b"\0" + descriptor + value, end
    if code >> 4 in WIDTHS:
        end = start + WIDTHS[code >> 4]
        return octets[at:end], end
    wide = 4 if code >> 4 in (0xB, 0xD, 0xF) else 1
    size = int.from_bytes(octets[start : start + wide], "big")
    place, end = start + wide, start + wide + size
    if code >> 4 in (0xE, 0xF):
        return octets[at:end], end
    if code >> 4 in (0xA, 0xB):
        text = new if octets[place:end] == old else octets[place:end]
        return bytes([code]) + len(text).to_bytes(wide, "big") + text, end
    made, place = octets[place : place + wide], place + wide
    while place < end:
        item, place = with_value(octets, place, old, new)
        made += item
    return bytes([code]) + len(made).to_bytes(wide, "big") + made, end


class Reader10:
    """Cuts a stream into frames (1.0, 2.3)."""

    def __init__(self, names: Mapping[str, str], codes: Mapping[str, str]) -> None:
        self.names, self.codes = names, codes
        self.rest = b""

    def feed(self, octets: bytes) -> Iterator[Seen]:
        """Give what these octets complete."""
        self.rest += octets
        while len(self.rest) >= 8:
            if self.rest.startswith(HEADER):
                came, self.rest = self.rest[:8], self.rest[8:]
                yield Seen(0, f"protocol header AMQP {came[4]} {'-'.join(map(str, came[5:]))}", came)
                continue
            size, offset, _, channel = struct.unpack("!IBBH", self.rest[:8])
            if size < 8 or len(self.rest) < size:
                return
            body, self.rest = self.rest[offset * 4 : size], self.rest[size:]
            yield Seen(channel, self._word(body), body)

    def _word(self, body: bytes) -> str:
        if not body:
            return "empty frame"
        try:
            (descriptor, fields), _ = value_at(body, 0)
            name = self.names.get(str(descriptor), "an unknown performative")
            if name in ("close", "end", "detach"):
                return f"{name} {self._condition(fields[{'detach': 2}.get(name, 0) :][:1])}"
            if name == "sasl-outcome":
                return f"{name} {self.codes.get(str(fields[0]), 'with an undefined code')}"
        except (IndexError, TypeError, ValueError):
            return "a frame that cannot be decoded"
        return name

    def _condition(self, error: Sequence[Any]) -> str:
        if not error or not isinstance(error[0], tuple):
            return "without error"
        inner = error[0][1]
        named = isinstance(inner, list) and bool(inner) and isinstance(inner[0], bytes)
        return inner[0].decode("ascii", "backslashreplace") if named else "with an error without condition"


READERS: dict[str, Any] = {"0-9-1": Reader091, "1-0": Reader10}
