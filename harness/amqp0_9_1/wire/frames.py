"""Frames and the protocol header: octets in, frames out, without I/O (4.2.2, 4.2.3, 4.2.6)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.amqp0_9_1.wire.vocabulary import CODEC, GRAMMAR
from harness.wire.reader import Reader
from harness.wire.units import DecodeError, EncodeError, Garbage, Header

METHOD = GRAMMAR.values["frame-method"]
HEADER = GRAMMAR.values["frame-header"]
BODY = GRAMMAR.values["frame-body"]
HEARTBEAT = GRAMMAR.values["frame-heartbeat"]
FRAME_END = GRAMMAR.values["frame-end"]
FRAME_MIN_SIZE = GRAMMAR.values["frame-min-size"]
OVERHEAD = 8
"""Octets of a frame around its payload: type, channel, size and frame-end."""

PROTOCOL_HEADER = b"AMQP" + bytes((0, GRAMMAR.major, GRAMMAR.minor, GRAMMAR.revision))
HEADERS = (PROTOCOL_HEADER,)
"""All that a connection can begin with."""
_PREFIX = struct.Struct(">BHI")
_CONTENT = struct.Struct(">HHQ")
_END = bytes((FRAME_END,))
_TYPES = frozenset((METHOD, HEADER, BODY, HEARTBEAT))


# Not frozen, here and for content headers: that would double the time to make one. Nobody changes them.
@dataclass(slots=True, unsafe_hash=True)
class Frame:
    """A well-formed frame; what its payload says is decoded once and carried on."""

    type: int
    channel: int
    payload: bytes
    decoded: Method | None = field(default=None, init=False, repr=False, compare=False)
    _content: ContentHeader | None = field(default=None, init=False, repr=False, compare=False)

    def encode(self) -> bytes:
        """Encode the frame. Raises EncodeError."""
        try:
            return _PREFIX.pack(self.type, self.channel, len(self.payload)) + self.payload + _END
        except (struct.error, TypeError) as failure:
            raise EncodeError(f"a frame cannot be encoded: {failure}") from None

    def method(self) -> Method:
        """Decode the method in this frame. Raises DecodeError."""
        if self.decoded is None:
            self.decoded = CODEC.decode_method(self.payload)
        return self.decoded

    def content_header(self) -> ContentHeader:
        """Decode the content header in this frame. Raises DecodeError."""
        if self._content is None:
            self._content = ContentHeader.decode(self.payload)
        return self._content


@dataclass(frozen=True, slots=True)
class RawFrame:
    """A frame as malformed as needed: every part of it may lie. `size` None tells the truth."""

    type: int
    channel: int
    payload: bytes = b""
    size: int | None = None
    end: bytes = _END

    def encode(self) -> bytes:
        """Encode the parts as they are. Raises EncodeError for numbers too large for their place."""
        try:
            size = len(self.payload) if self.size is None else self.size
            return _PREFIX.pack(self.type, self.channel, size) + self.payload + self.end
        except (struct.error, TypeError) as failure:
            raise EncodeError(f"a frame cannot be encoded: {failure}") from None


@dataclass(slots=True, unsafe_hash=True)
class ContentHeader:
    """A content header (4.2.6.1); `weight` must be zero."""

    class_index: int
    body_size: int
    properties: Properties
    weight: int = 0

    def encode(self) -> bytes:
        """Encode the payload of a header frame. Raises EncodeError."""
        try:
            prefix = _CONTENT.pack(self.class_index, self.weight, self.body_size)
        except struct.error as failure:
            raise EncodeError(f"a content header cannot be encoded: {failure}") from None
        return prefix + self.properties.encode()

    @classmethod
    def decode(cls, payload: bytes) -> ContentHeader:
        """Read a header frame's payload, every property of it. Raises DecodeError."""
        kind, weight, size = content_prefix(payload)
        return cls(kind.class_index, size, kind.decode(payload, _CONTENT.size), weight)


def content_prefix(payload: bytes) -> tuple[type[Properties], int, int]:
    """Read class, weight and body size, which stand before the property flags. Raises DecodeError."""
    if len(payload) < _CONTENT.size + 2:
        raise DecodeError(len(payload), "the content header is cut short")
    class_index, weight, size = _CONTENT.unpack_from(payload)
    kind = CODEC.properties.get(class_index)
    if kind is None:
        raise DecodeError(0, f"no class {class_index} carries content")
    return kind, weight, size


Unit = Frame | Header | Garbage


def method_frame(channel: int, method: Method) -> Frame:
    """Put a method in a frame on `channel`. Raises EncodeError."""
    return Frame(METHOD, channel, method.encode())


def content_frames(
    channel: int, method: Method, properties: Properties, body: bytes, frame_max: int
) -> Iterator[Frame]:
    """Yield a method's frame and its content's, of `frame_max` octets at most. Raises EncodeError."""
    yield method_frame(channel, method)
    header = ContentHeader(properties.class_index, len(body), properties)
    yield Frame(HEADER, channel, header.encode())
    room = (frame_max or FRAME_MIN_SIZE * 32) - OVERHEAD
    if room < 1:
        raise EncodeError(f"a frame of {frame_max} octets has no room for a body")
    for start in range(0, len(body), room):
        yield Frame(BODY, channel, body[start : start + room])


@dataclass(slots=True)
class FrameReader(Reader[Unit]):
    """Cuts a stream of octets into frames; after Garbage it reads nothing more.

    Garbage holds what has arrived when it is noticed. Up to a size of `strange` octets frames of an undefined
    type are Garbage of their own, and what is behind them is read.
    """

    strange: int = 0

    def _lacks_octets(self) -> bool:
        pending = self.pending
        if pending[0] not in _TYPES:
            return False
        if len(pending) < OVERHEAD - 1:
            return True
        whole = int.from_bytes(pending[3:7]) + OVERHEAD
        return len(pending) < whole <= self.limit

    def _cut(self, octets: bytes) -> list[tuple[bytes, Unit]]:
        units: list[tuple[bytes, Unit]] = []
        at, end, why, delimited = 0, len(octets), "", False
        while at < end and not why:
            kind = octets[at]
            known = kind in _TYPES
            if not known and not self._may_be_strange(octets, at):
                begun = octets[at : at + 8]
                if (why := _not_a_header(begun)) or len(begun) < 8:
                    break
                units.append((begun, Header(begun)))
                at += 8
                continue
            if end - at < OVERHEAD - 1:
                break
            _, channel, size = _PREFIX.unpack_from(octets, at)
            behind = at + size + OVERHEAD
            if behind - at > self.limit:
                why = f"a frame of {behind - at} octets is announced, the limit is {self.limit}"
            elif behind > end:
                break
            elif octets[behind - 1] != FRAME_END:
                delimited = known
                why = _wrong_end(octets[behind - 1]) if known else _undefined(kind)
            else:
                raw = octets[at:behind]
                unit: Unit = (
                    Frame(kind, channel, raw[7:-1]) if known else Garbage(raw, _undefined(kind), True)
                )
                units.append((raw, unit))
                at = behind
        if why:
            self.broken = True
            units.append((octets[at:], Garbage(octets[at:], why, delimited)))
        elif at < end:
            self.pending += octets[at:]
        return units

    def _may_be_strange(self, octets: bytes, at: int) -> bool:
        """Say whether what begins with no frame type may, so far, be a frame that is passed over."""
        begun = octets[at : at + OVERHEAD - 1]
        size = int.from_bytes(begun[3:]) if len(begun) == OVERHEAD - 1 else 0
        return begun[0] != PROTOCOL_HEADER[0] and size + OVERHEAD <= self.strange


def begins_a_unit(octets: bytes) -> bool:
    """Say whether the first octet is that of a frame or of a protocol header."""
    return octets[0] in _TYPES or octets[0] == PROTOCOL_HEADER[0]


def _undefined(kind: int) -> str:
    return f"frame type {kind} is not defined"


def _wrong_end(octet: int) -> str:
    return f"the frame ends with {octet:#04x}, not {FRAME_END:#04x}"


def _not_a_header(begun: bytes) -> str:
    """Say why these octets do not begin a protocol header; empty while they may."""
    if begun[0] != PROTOCOL_HEADER[0]:
        return _undefined(begun[0])
    if not PROTOCOL_HEADER.startswith(begun[:4]):
        return "neither a frame nor a protocol header"
    return ""
