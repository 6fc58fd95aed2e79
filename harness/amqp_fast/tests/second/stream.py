"""What a peer says, cut into what it consists of, whatever pieces it comes in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.amqp_fast.tests.second.codec import CARRIERS, Incomplete, decode, size_of


@dataclass(frozen=True, slots=True)
class Initiation:
    """What a client begins with."""

    protocol_id: int
    version: int


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, its fields, its whole frame."""

    name: str
    fields: dict[str, Any]
    octets: bytes

    @property
    def carries(self) -> bool:
        """Whether a fragment follows."""
        return self.name in CARRIERS and not self.fields.get("out_of_band", False)


@dataclass(frozen=True, slots=True)
class Fragment:
    """The fragment of a message that follows a command."""

    octets: bytes


@dataclass(frozen=True, slots=True)
class Malformed:
    """A frame that is passed over, and why."""

    why: str


Item = Initiation | Command | Fragment | Malformed


class Splitter:
    """Cuts a stream; frames and fragments larger than the limit are passed over, not kept."""

    def __init__(self, initiation: bool = False, limit: int | None = None) -> None:
        self.limit = limit
        self._initiation = initiation
        self._buffer = bytearray()
        self._fragment: int | None = None
        self._skip = 0

    def feed(self, octets: bytes) -> Iterator[Item]:
        """Take octets, and give what is whole, one after the other."""
        self._buffer += octets
        return iter(self._next, None)

    def _next(self) -> Item | None:
        skipped = min(self._skip, len(self._buffer))
        self._skip -= skipped
        del self._buffer[:skipped]
        if self._skip:
            return None
        if self._initiation:
            return self._begin()
        return self._frame() if self._fragment is None else self._follow(self._fragment)

    def _cut(self, size: int) -> bytes | None:
        if len(self._buffer) < size:
            return None
        octets = bytes(self._buffer[:size])
        del self._buffer[:size]
        return octets

    def _begin(self) -> Initiation | None:
        octets = self._cut(2)
        if octets is None:
            return None
        self._initiation = False
        return Initiation(*octets)

    def _frame(self) -> Command | Malformed | None:
        try:
            start, size = size_of(bytes(self._buffer[:6]))
        except Incomplete:
            return None
        if self._is_beyond(size):
            self._skip = start + size
            return Malformed(f"a frame of {size} octets is larger than {self.limit}")
        octets = self._cut(start + size)
        if octets is None:
            return None
        try:
            command = Command(*decode(octets), octets)
        except ValueError as problem:
            return Malformed(str(problem))
        return self._carry(command) if command.carries else command

    def _carry(self, command: Command) -> Command | Malformed:
        size = command.fields["fragment_size"]
        if self._is_beyond(size):
            self._skip = size
            return Malformed(f"a fragment of {size} octets is larger than {self.limit}")
        self._fragment = size
        return command

    def _follow(self, size: int) -> Fragment | None:
        octets = self._cut(size)
        if octets is None:
            return None
        self._fragment = None
        return Fragment(octets)

    def _is_beyond(self, size: int) -> bool:
        return self.limit is not None and size > self.limit
