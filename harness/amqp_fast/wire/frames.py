"""Frames, fragments and the initiation: octets in, units out, without I/O (2.2.4, 3.1.1, 3.4.3)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import COMMANDS, GRAMMAR
from harness.wire.reader import Reader
from harness.wire.units import DecodeError, EncodeError, Garbage

FRAME_END: Final = GRAMMAR.frame_end
ESCAPE: Final = 0xFFFF
"""The short size that says that a long one follows (2.2.4)."""
SMALLEST: Final = 3
"""The size of the shortest command there is: its code, an octet of bits, its end."""
_SHORT: Final = struct.Struct(">H")
_LONG: Final = struct.Struct(">I")
_END: Final = bytes((FRAME_END,))
_ESCAPED: Final = _SHORT.pack(ESCAPE)


@dataclass(frozen=True, slots=True)
class Initiation:
    """What a client begins with (3.2.2): the identity of a protocol, and the highest version it knows."""

    protocol_id: int = GRAMMAR.protocol_id
    version: int = GRAMMAR.version

    @property
    def type(self) -> int:
        """The octet it begins with."""
        return self.protocol_id

    @property
    def channel(self) -> int:
        """That of the whole connection."""
        return 0

    def encode(self) -> bytes:
        """Encode the two octets."""
        return bytes((self.protocol_id, self.version))


HEADERS: Final = (Initiation().encode(),)
"""What a connection can begin with."""


# Not frozen: that would double the time to make one. Nobody changes them.
@dataclass(slots=True, unsafe_hash=True)
class Frame:
    """A well-formed frame, and the fragment of a message that follows it without a frame of its own (3.4.3).

    `long` is true where the size is escaped.
    """

    payload: bytes
    fragment: bytes = b""
    long: bool = False

    @property
    def type(self) -> int:
        """The code of its command."""
        return self.payload[0]

    @property
    def channel(self) -> int:
        """That of the whole connection: which channel a handle is on, the frame does not say."""
        return 0

    def encode(self) -> bytes:
        """Encode frame and fragment."""
        return sized(len(self.payload) + len(_END), self.long) + self.payload + _END + self.fragment

    def command(self) -> Command:
        """Decode the command in this frame. Raises DecodeError, counting from its code."""
        return _decoded(self.payload)


# Both ends and what stands between them read the same octets. Nobody changes a command.
@lru_cache(maxsize=1024)
def _decoded(payload: bytes) -> Command:
    kind = COMMANDS.get(payload[0])
    if kind is None:
        raise DecodeError(0, f"no command has the code {payload[0]}")
    command, behind = kind.decode(payload, 1)
    if behind != len(payload):
        raise DecodeError(behind, f"{len(payload) - behind} octets follow the last field")
    return command


@dataclass(frozen=True, slots=True)
class RawFrame:
    """A frame as malformed as needed: every part of it may lie. `size` None tells the truth."""

    payload: bytes
    size: int | None = None
    end: bytes = _END
    long: bool = False

    def encode(self) -> bytes:
        """Encode the parts as they are. Raises EncodeError for numbers too large for their place."""
        size = len(self.payload) + len(self.end) if self.size is None else self.size
        return sized(size, self.long) + self.payload + self.end


Unit = Initiation | Frame | Garbage


def sized(size: int, long: bool = False) -> bytes:
    """Encode the size of a frame (2.2.4), escaped where it must be, or `long` is asked for.

    Raises EncodeError.
    """
    try:
        short = size < ESCAPE and not long
        return _SHORT.pack(size) if short else _SHORT.pack(ESCAPE) + _LONG.pack(size)
    except struct.error as failure:
        raise EncodeError(f"a frame cannot be encoded: {failure}") from None


def frame(command: Command, fragment: bytes = b"") -> Frame:
    """Put a command in a frame, and a fragment behind it. Raises EncodeError."""
    return Frame(bytes((command.code,)) + command.encode(), fragment)


def announced(command: Command) -> int:
    """Give how many octets of a message follow a command; 0 where they are sent elsewhere."""
    if not command.spec.fragment or getattr(command, "out_of_band", False):
        return 0
    return int(getattr(command, "fragment_size"))  # noqa: B009 - which command has it, the grammar says


@dataclass(slots=True)
class FrameReader(Reader[Unit]):
    """Cuts a stream into frames with their fragments; after Garbage it reads nothing more.

    With `initiated` false the stream is a client's, which begins with an initiation; None takes two octets
    that come alone for one.
    """

    initiated: bool | None = True

    def _lacks_octets(self) -> bool:
        if not self.initiated:
            return False
        whole = _whole(begun := self.pending[:6], 0, _start(begun, 0))
        return len(self.pending) < whole <= self.limit

    def _cut(self, octets: bytes) -> list[tuple[bytes, Unit]]:
        units: list[tuple[bytes, Unit]] = []
        at = 0
        while at < len(octets) and not self.broken:
            unit, behind = self._next(octets, at)
            if unit is None:
                break
            units.append((octets[at:behind], unit))
            at = behind
        if at < len(octets):
            self.pending += octets[at:]
        return units

    def _next(self, octets: bytes, at: int) -> tuple[Unit | None, int]:
        """Cut the unit at an offset; None while it is not whole."""
        if self.initiated is not True:
            begins, self.initiated = self.initiated is False or len(octets) == _SHORT.size, True
            if begins:
                return self._initiation(octets, at)
        start = _start(octets, at)
        behind = _whole(octets, at, start)
        if not behind or (behind > len(octets) and behind - start <= self.limit):
            return None, at
        if why := self._wrong(octets, start, behind):
            return self._garbage(octets, at, why)
        made = Frame(octets[start : behind - 1], b"", start - at > _SHORT.size)
        size = _fragment(made)
        if not size:
            return made, behind
        if size > self.limit:
            return self._garbage(
                octets, at, f"a fragment of {size} octets is announced, the limit is {self.limit}"
            )
        if behind + size > len(octets):
            return None, at
        made.fragment = octets[behind : behind + size]
        return made, behind + size

    def _garbage(self, octets: bytes, at: int, why: str) -> tuple[Unit, int]:
        self.broken = True
        return Garbage(octets[at:], why), len(octets)

    def _wrong(self, octets: bytes, start: int, behind: int) -> str:
        size = behind - start
        if size < SMALLEST - 1:
            return f"a frame of {size} octets has no room for a command and its end"
        if size > self.limit:
            return f"a frame of {size} octets is announced, the limit is {self.limit}"
        if octets[behind - 1] != FRAME_END:
            return f"the frame ends with {octets[behind - 1]:#04x}, not {FRAME_END:#04x}"
        return ""

    def _initiation(self, octets: bytes, at: int) -> tuple[Unit | None, int]:
        if len(octets) - at < _SHORT.size:
            self.initiated = False
            return None, at
        return Initiation(octets[at], octets[at + 1]), at + _SHORT.size


def _start(octets: bytes | bytearray, at: int) -> int:
    """Find where the payload begins of a frame at an offset."""
    return at + (_SHORT.size + _LONG.size if octets.startswith(_ESCAPED, at) else _SHORT.size)


def _whole(octets: bytes | bytearray, at: int, start: int) -> int:
    """Find where a frame at an offset ends whose payload begins at `start`; 0 while its size is not whole."""
    if len(octets) < start or len(octets) - at < _SHORT.size:
        return 0
    form = _SHORT if start - at == _SHORT.size else _LONG
    return start + int(form.unpack_from(octets, start - form.size)[0])


def _fragment(made: Frame) -> int:
    """Give the size of the fragment behind a frame; of one that is unreadable nobody knows."""
    try:
        return announced(made.command())
    except DecodeError:
        return 0
