"""Frames and protocol headers: octets in, frames out, without I/O (2.2, 2.3)."""

import struct
from dataclasses import dataclass, field
from typing import Final

from harness.amqp1_0.wire.composites import Composite, decode_composite
from harness.amqp1_0.wire.generated import GRAMMAR
from harness.wire.reader import Reader
from harness.wire.units import DecodeError, EncodeError, Garbage, Header

_TYPES: Final = {each.name: each.code for each in GRAMMAR.frame_types}
AMQP: Final = _TYPES["amqp"]
SASL: Final = _TYPES["sasl"]
_CARRIES: Final = {AMQP: "frame", SASL: "sasl-frame"}
"""What a performative must provide to stand in a frame of this type."""

_HEADERS: Final = {each.name: each.octets for each in GRAMMAR.headers}
PROTOCOL_HEADER: Final = _HEADERS["amqp"]
SASL_HEADER: Final = _HEADERS["sasl"]
TLS_HEADER: Final = _HEADERS["tls"]
HEADERS: Final = tuple(_HEADERS.values())
"""All that a connection can begin with."""

MIN_MAX_FRAME_SIZE: Final = GRAMMAR.values["MIN-MAX-FRAME-SIZE"]
FRAME_HEADER: Final = 8
"""Octets of a frame before its extended header: size, doff, type, channel."""
WORD: Final = 4
"""Octets that doff counts by."""

_PREFIX: Final = struct.Struct(">IBBH")
_MAGIC: Final = PROTOCOL_HEADER[:4]
_MAGIC_SIZE: Final = int.from_bytes(_MAGIC)


# Not frozen: that would double the time to make one. Nobody changes them.
@dataclass(slots=True, unsafe_hash=True)
class Frame:
    """A well-formed frame, decoded once; `channel` is what bytes 6 and 7 hold, which a SASL frame ignores."""

    type: int
    channel: int
    body: bytes = b""
    extended: bytes = b""
    _read: tuple[Composite, bytes] | None = field(default=None, init=False, repr=False, compare=False)

    def encode(self) -> bytes:
        """Encode the frame. Raises EncodeError."""
        if len(self.extended) % WORD:
            raise EncodeError(
                f"an extended header of {len(self.extended)} octets does not fill its last word"
            )
        return _encoded(self.type, self.channel, self.extended, self.body)

    def read(self) -> tuple[Composite | None, bytes]:
        """Read performative, if any, and payload. Raises DecodeError with an offset in the body."""
        if not self.body:
            return None, b""
        if self._read is not None:
            return self._read
        provided = _CARRIES.get(self.type)
        if provided is None:
            raise DecodeError(0, f"frame type {self.type} is not defined")
        performative, behind = decode_composite(self.body)
        if provided not in performative.spec.provides:
            raise DecodeError(
                0, f"{performative.type_name} is no performative of a frame of type {self.type}"
            )
        self._read = performative, self.body[behind:]
        return self._read

    def performative(self) -> Composite | None:
        """Read the performative alone, None in an empty frame. Raises DecodeError."""
        return self.read()[0]


@dataclass(frozen=True, slots=True)
class RawFrame:
    """A frame as malformed as needed: every part of it may lie. `size` and `doff` None tell the truth."""

    body: bytes = b""
    channel: int = 0
    type: int = AMQP
    extended: bytes = b""
    size: int | None = None
    doff: int | None = None

    def encode(self) -> bytes:
        """Encode the parts as they are. Raises EncodeError for numbers too large for their place."""
        return _encoded(self.type, self.channel, self.extended, self.body, self.size, self.doff)


def _encoded(
    kind: int, channel: int, extended: bytes, body: bytes, size: int | None = None, doff: int | None = None
) -> bytes:
    try:
        inside = extended + body
        size = FRAME_HEADER + len(inside) if size is None else size
        doff = (FRAME_HEADER + len(extended)) // WORD if doff is None else doff
        return _PREFIX.pack(size, doff, kind, channel) + inside
    except (struct.error, TypeError) as failure:
        raise EncodeError(f"a frame cannot be encoded: {failure}") from None


Unit = Frame | Header | Garbage


def amqp_frame(channel: int, performative: Composite, payload: bytes = b"") -> Frame:
    """Put a performative, with the payload behind it, in a frame on `channel`. Raises EncodeError."""
    return Frame(AMQP, channel, performative.encode() + payload)


def sasl_frame(performative: Composite) -> Frame:
    """Put a performative of the SASL exchange in a frame. Raises EncodeError."""
    return Frame(SASL, 0, performative.encode())


def empty_frame(channel: int = 0) -> Frame:
    """Make a frame without a body, sent so that something is (2.4.5)."""
    return Frame(AMQP, channel)


@dataclass(slots=True)
class FrameReader(Reader[Unit]):
    """Cuts a stream of octets into frames and protocol headers; after Garbage not delimited it stops.

    `limit` may be changed between frames. A header may come wherever a frame may, as between two layers:
    octets beginning with AMQP are never taken for the size of a frame, which would be 1.1 GB. Garbage holds
    what has arrived when it is noticed.
    """

    def _lacks_octets(self) -> bool:
        pending = self.pending
        if len(pending) < FRAME_HEADER:
            return len(pending) < WORD
        return pending[:WORD] != _MAGIC and len(pending) < int.from_bytes(pending[:WORD]) <= self.limit

    def _cut(self, octets: bytes) -> list[tuple[bytes, Unit]]:
        units: list[tuple[bytes, Unit]] = []
        at, end, why = 0, len(octets), ""
        while end - at >= WORD:
            size = int.from_bytes(octets[at : at + WORD])
            if size == _MAGIC_SIZE:
                behind = at + len(PROTOCOL_HEADER)
            else:
                if not FRAME_HEADER <= size <= self.limit:
                    why = self._impossible(size)
                    break
                behind = at + size
            if behind > end:
                break
            cut = octets[at:behind]
            units.append((cut, Header(cut) if size == _MAGIC_SIZE else _frame(cut)))
            at = behind
        if why:
            self.broken = True
            units.append((octets[at:], Garbage(octets[at:], why)))
        elif at < end:
            self.pending += octets[at:]
        return units

    def _impossible(self, size: int) -> str:
        if size < FRAME_HEADER:
            return f"a frame of {size} octets is announced, its header alone has {FRAME_HEADER}"
        return f"a frame of {size} octets is announced, the limit is {self.limit}"


def _frame(octets: bytes) -> Frame | Garbage:
    size, doff, kind, channel = _PREFIX.unpack_from(octets)
    start = doff * WORD
    if not FRAME_HEADER <= start <= size:
        return Garbage(octets, f"the body begins at octet {start} of a frame of {size}", delimited=True)
    return Frame(kind, channel, octets[start:], octets[FRAME_HEADER:start] if doff > 2 else b"")
