"""The reference peer of the toy protocol: it greets, and answers a ping with a pong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.peers.fakes import Answering
from harness.peers.policy import variants
from harness.peers.rows import Row, State, Tables, meet
from harness.tests.toy.wire import HEADER, Frame, FrameReader, Header, Unit


class Being(State):
    """What a connection may be in."""

    GREETED = "greeted"
    EXPECTED = "expected"


@dataclass(frozen=True)
class Policy:
    """The protocol leaves open how loud an answer is."""

    loud: bool = False


POLICIES: Mapping[str, Policy] = variants(Policy(), {"loud": [True]}, str)


@dataclass(frozen=True)
class Strategies:
    """There is one way to do each thing."""


@dataclass
class Turn:
    """A unit being answered."""

    event: Unit
    connection: Session
    row: Any = None


def pong(turn: Turn) -> bytes:
    """Answer in the voice of the policy."""
    return Frame(b"PONG" if turn.connection.policy.loud else b"pong").encode()


TABLES: Tables[Turn, bytes, Strategies] = Tables(
    (
        Row("header: is answered", Being.EXPECTED, Header, answer=lambda _: HEADER, next=Being.GREETED),
        Row("ping: is answered", Being.GREETED, Frame, lambda turn: turn.event.words == b"ping", answer=pong),
    ),
    Strategies(),
)


class Session:
    """The peer's side of one connection."""

    def __init__(self, peer: Peer) -> None:
        self.policy, self._tables, self._taken = peer.policy, peer.tables, peer.taken
        self._state: State = Being.EXPECTED
        self._said = b""

    def answer(self, turn: Turn, said: bytes) -> None:
        """Say what a row answers."""
        self._said += said

    def said_to(self, unit: Unit) -> bytes:
        """What it answers to a unit."""
        row = meet(self._tables, self._state, Turn(unit, self), self._taken)
        self._state = row.next if row and row.next else self._state
        said, self._said = self._said, b""
        return said


class Peer:
    """A server of the toy protocol."""

    def __init__(
        self,
        policy: Policy = Policy(),
        tables: Tables[Turn, bytes, Strategies] = TABLES,
        taken: set[str] | None = None,
    ) -> None:
        self.policy, self.tables, self.taken = policy, tables, taken

    def connect(self, now: float) -> Answering:
        """Accept a connection."""
        del now
        session = Session(self)
        return Answering(FrameReader(), session.said_to, lambda _: False)

    def use(self, facility: str) -> dict[str, str]:
        """It has no facility."""
        raise KeyError(facility)

    def restart(self) -> None:
        """Nothing is kept."""
