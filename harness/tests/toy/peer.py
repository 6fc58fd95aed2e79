"""The reference peer of the toy protocol: it greets, and answers a ping with a pong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.peers import events
from harness.peers.connection import Connection
from harness.peers.events import Event
from harness.peers.policy import variants
from harness.peers.reference import Facility, ReferencePeer
from harness.peers.rows import Row, State, Tables
from harness.tests.toy.wire.frames import HEADER, Frame, FrameReader
from harness.wire.units import Header


class Being(State):
    """What a connection may be in."""

    EXPECTED = "expected"
    GREETED = "greeted"


@dataclass(frozen=True)
class Policy:
    """The protocol leaves open how loud an answer is."""

    loud: bool = False


DEFAULT = Policy()
VARIANTS = variants(DEFAULT, {"loud": [True]}, str)


@dataclass(frozen=True)
class Strategies:
    """There is one way to do each thing."""


class Turn(events.Turn[object]):
    """A unit being answered."""

    def __init__(self, event: object, session: Session) -> None:
        self.event, self.session, self.row = event, session, ""

    def say(self, reply: bytes) -> None:
        """Say what a row answers."""
        self.session.put(reply)


def is_ping(turn: Turn) -> bool:
    """The client says ping."""
    return turn.event == Frame(b"ping")


def pong(turn: Turn) -> bytes:
    """Answer in the voice of the policy."""
    return Frame(b"PONG" if turn.session.peer.policy.loud else b"pong").encode()


TABLES: Tables[Strategies] = Tables(
    (
        Row("header: is answered", Being.EXPECTED, Header, answer=lambda _: HEADER, next=Being.GREETED),
        Row("ping: is answered", Being.GREETED, Frame, is_ping, answer=pong),
    ),
    Strategies(),
)


class Session(Connection):
    """The peer's side of one connection."""

    def __init__(self, peer: Peer, now: float, number: int) -> None:
        super().__init__(now, number)
        self.peer = peer
        self.state = Being.EXPECTED
        self._reader = FrameReader()

    @property
    def over(self) -> bool:
        """Whether it is closed."""
        return self.closed is not None

    def receive(self, octets: bytes) -> None:
        """Take what the client says."""
        for _, unit in self._reader.feed(octets):
            row = self.peer.meet(self.state, Turn(unit, self))
            self.state = row.next if row and row.next else self.state

    def happens(self, event: Event) -> None:
        """Whatever happens beside the wire ends it."""
        del event
        self.closed = "fin"

    def tick(self, now: float) -> None:
        """Nothing is due."""

    def _times(self) -> list[float]:
        return []


class Peer(ReferencePeer[Policy, Strategies, None]):
    """A server of the toy protocol."""

    right, default, generous = TABLES, DEFAULT, None

    def begin(self) -> None:
        """Its connections share nothing."""

    def facilities(self) -> Mapping[str, Facility]:
        """It has none."""
        return {}

    def connect(self, now: float) -> Session:
        """Accept a connection."""
        return self.accept(lambda number: Session(self, now, number))

    def lose(self) -> None:
        """Nothing is kept."""
