"""One direction of a connection, cut into methods and contents while it passes; nothing in it is judged."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.interop.outcomes import Form
from conformance.interop.play.passing import Content, Ended, Seen

METHOD, HEADER, BODY = 1, 2, 3
AROUND = 8
"""Octets of a frame around its payload."""
PUBLISH, RETURN, DELIVER, GET_OK = (60, 40), (60, 50), (60, 60), (60, 71)
CARRYING = (PUBLISH, RETURN, DELIVER, GET_OK)
CONNECTION_CLOSE, CHANNEL_CLOSE = (10, 50), (20, 40)


@dataclass(slots=True)
class Said:
    """A frame with a method: which one, and its payload."""

    channel: int
    method: tuple[int, int]
    payload: bytes


@dataclass(slots=True)
class _Coming:
    """A content that has begun on a channel."""

    method: Said
    head: bytes = b""
    size: int = -1
    body: bytearray | None = None


class Stream:
    """Takes the octets of one direction and gives what is complete."""

    def __init__(self) -> None:
        self._left = bytearray()
        self._coming: dict[int, _Coming] = {}
        self._begun = False

    def feed(self, octets: bytes) -> Iterator[Seen]:
        """Take octets; give contents, and ends that the peer announces."""
        for each in self.methods(octets):
            if isinstance(each, Content):
                yield each
            elif each.method in (CONNECTION_CLOSE, CHANNEL_CLOSE):
                yield ended(each)

    def methods(self, octets: bytes) -> Iterator[Said | Content]:
        """Take octets; give methods, those that carry content when that is complete."""
        self._left += octets
        while frame := self._frame():
            yield from self._framed(*frame)

    def _frame(self) -> tuple[int, int, bytes] | None:
        left = self._left
        if left[:4] == b"AMQP" and len(left) >= AROUND:
            del left[:AROUND]
        if len(left) < AROUND or left[:4] == b"AMQP":
            return None
        kind, channel, size = struct.unpack_from(">BHI", left)
        if len(left) < size + AROUND:
            return None
        payload = bytes(left[7 : 7 + size])
        del left[: size + AROUND]
        return kind, channel, payload

    def _framed(self, kind: int, channel: int, payload: bytes) -> Iterator[Said | Content]:
        coming = self._coming.get(channel)
        if kind == METHOD:
            said = Said(channel, struct.unpack_from(">HH", payload), payload)
            if said.method in CARRYING:
                self._coming[channel] = _Coming(said)
            else:
                yield said
        elif kind == HEADER and coming is not None:
            coming.size = int.from_bytes(payload[4:12])
            coming.head, coming.body = payload[12:], bytearray()
        elif kind == BODY and coming is not None and coming.body is not None:
            coming.body += payload
        if coming is not None and coming.body is not None and len(coming.body) >= coming.size:
            del self._coming[channel]
            yield _content(coming)


def _content(coming: _Coming) -> Content:
    method, payload = coming.method.method, coming.method.payload
    form = Form(coming.head, bytes(coming.body or b""))
    again = None
    if method == GET_OK:
        again = payload[12] == 1
    elif method == DELIVER:
        again = payload[4 + 1 + payload[4] + 8] == 1
    tag = payload[4:12] if method == GET_OK else payload[5 + payload[4] :][:8] if method == DELIVER else b""
    return Content(form, again, method == RETURN, int.from_bytes(tag))


def ended(said: Said) -> Ended:
    """Read a close, by hand: its fields may be anything."""
    code = int.from_bytes(said.payload[4:6])
    text = said.payload[7 : 7 + said.payload[6]].decode("utf-8", "backslashreplace")
    level = "connection" if said.method == CONNECTION_CLOSE else "channel"
    return Ended(level, str(code), text)
