"""Agreeable fakes, whatever protocol they seem to speak: peers that know no rule at all.

A check that passes on one of them proves little. What agreeing and refusing mean, the protocol says.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from harness.peers.peer import PeerConnection, PeerServer
from harness.wire.reader import Reader

Unit = TypeVar("Unit")


class Fake(ABC):
    """A connection of a fake; what it says is gathered in `said`."""

    def __init__(self) -> None:
        self.said = b""
        self.closed: str | None = None

    @abstractmethod
    def receive(self, octets: bytes) -> None:
        """Take what the client sent."""

    def hang_up(self) -> None:
        self.closed = "fin"

    def take(self) -> bytes:
        said, self.said = self.said, b""
        return said

    def next_timer(self) -> float | None:
        return None

    def tick(self, now: float) -> None:  # noqa: B027 - a fake has nothing to do then
        ...


class Echo(Fake):
    """Sends back what it gets."""

    def receive(self, octets: bytes) -> None:
        self.said += octets


class Silent(Fake):
    """Says nothing at all."""

    def receive(self, octets: bytes) -> None: ...


class Answering(Fake):
    """Answers unit by unit: `answer` gives the octets; after the unit that `ends` it, it is closed."""

    def __init__(
        self, reader: Reader[Unit], answer: Callable[[Unit], bytes | None], ends: Callable[[Unit], bool]
    ) -> None:
        super().__init__()
        self._reader, self._answer, self._ends = reader, answer, ends

    def receive(self, octets: bytes) -> None:
        for _, unit in self._reader.feed(octets):
            self.said += self._answer(unit) or b""
            if self._ends(unit):
                self.closed = "fin"


class Recorder(Fake):
    """Keeps what it gets, and says what is put into `said`."""

    def __init__(self) -> None:
        super().__init__()
        self.got = b""

    def receive(self, octets: bytes) -> None:
        self.got += octets


class FakeServer:
    """A server whose connections are fakes; it has every facility, with made-up results."""

    def __init__(self, make: Callable[[], PeerConnection]) -> None:
        self._make = make

    def connect(self, now: float) -> PeerConnection:
        del now
        return self._make()

    def use(self, facility: str) -> dict[str, str]:
        return {"virtual_host": "another", "user": "somebody", "password": facility}

    def restart(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Replacement:
    """A change that puts another server in the reference peer's place."""

    make: Callable[[], PeerServer]


def replacements(
    agrees: Callable[[], PeerConnection], refuses: Callable[[], PeerConnection]
) -> Mapping[str, Replacement]:
    """Make one that agrees to everything, one that refuses everything, one that echoes, and a silent one."""
    fakes: dict[str, Callable[[], PeerConnection]] = {
        "agrees to everything": agrees,
        "refuses everything": refuses,
        "echoes": Echo,
        "is silent": Silent,
    }
    return {does: Replacement(partial(FakeServer, make)) for does, make in fakes.items()}
