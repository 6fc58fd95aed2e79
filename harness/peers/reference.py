"""A reference peer, whatever protocol it speaks: tables and choices, users, connections, facilities."""

import heapq
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from harness.peers.connection import Connection
from harness.peers.events import Turn
from harness.peers.rows import AnyRow, Tables

Policy = TypeVar("Policy")
Strategies = TypeVar("Strategies")
Limits = TypeVar("Limits")
Accepted = TypeVar("Accepted", bound=Connection)
Facility = Callable[[], dict[str, str]]


class ReferencePeer(ABC, Generic[Policy, Strategies, Limits]):
    """A server whose connections share what it holds; implements harness.peers.peer.PeerServer.

    `rows` are its tables, `users` names with passwords; `limits` keep a hostile client from exhausting the
    machine; `external` is who EXTERNAL finds the client to be. `taken`, when given, collects the names of all
    rows taken.
    """

    right: Tables[Strategies]
    """The behaviour the document asks for."""
    default: Policy
    generous: Limits

    def __init__(
        self,
        policy: Policy | None = None,
        rows: Tables[Strategies] | None = None,
        users: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        taken: set[str] | None = None,
        external: str = "guest",
    ) -> None:
        self.policy = self.default if policy is None else policy
        self.tables = self.right if rows is None else rows
        self.users = dict(users if users is not None else {"guest": "guest"})
        self.limits = self.generous if limits is None else limits
        self.taken = taken
        self.external = external
        self.names = 0
        """How many names it has made."""
        self.clock: Callable[[], float] = lambda: self._told
        """Says what time it is, in seconds; else it is what a transport told last."""
        self._told = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._set = 0
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._accepted = 0
        self.begin()

    def after(self, seconds: float, act: Callable[[], None]) -> float:
        """Have something done when so many seconds have passed; returns that time."""
        self._set += 1
        due = self.clock() + seconds
        heapq.heappush(self._timers, (due, self._set, act))
        return due

    def times(self) -> list[float]:
        """Give when the first thing is due that `after` was asked for; nothing where there is none."""
        return [self._timers[0][0]] if self._timers else []

    def pass_time(self, now: float) -> None:
        """Do what is due at `now`, in the order of its times."""
        self._told = max(self._told, now)
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()

    @abstractmethod
    def begin(self) -> None:
        """Make what its connections share."""

    @abstractmethod
    def facilities(self) -> Mapping[str, Facility]:
        """Give what it can do or make for a scenario, by name."""

    @abstractmethod
    def lose(self) -> None:
        """Drop what a restart does not spare; no connection is left."""

    def use(self, facility: str) -> dict[str, str]:
        """Use a facility. Raises KeyError where there is none of this name."""
        return self.facilities()[facility]()

    def accept(self, make: Callable[[int], Accepted]) -> Accepted:
        """Make a connection with its number, and keep it."""
        self._accepted += 1
        connection = make(self._accepted)
        self._connections.add(connection)
        return connection

    def restart(self) -> None:
        """Go down and come up again: every connection ends, only what is durable stays."""
        for connection in self.open_connections():
            connection.restart()
        self.lose()

    def open_connections(self) -> Iterator[Connection]:
        """Give the connections that are not over, in the order they came."""
        for connection in sorted(self._connections, key=lambda each: each.number):
            if not connection.over:
                yield connection

    def unique(self, prefix: str) -> str:
        """Make a name never given before."""
        self.names += 1
        return f"{prefix}{self.names}"

    def meet(self, state: object, turn: Turn[object]) -> AnyRow | None:
        """Take the first row for `state` and the turn's event whose condition holds, and return it."""
        for row in self.tables.candidates(state, type(turn.event)):
            if row.condition(turn):
                if self.taken is not None:
                    self.taken.add(row.name)
                turn.row = row.name
                for effect in row.effects:
                    effect(turn)
                if row.answer is not None:
                    turn.say(row.answer(turn))
                return row
        return None


def plain(peer: ReferencePeer[Policy, Strategies, Limits], response: bytes) -> str:
    """Give the user that PLAIN (RFC 4616) finds the client to be; empty when its credentials are bad."""
    parts = response.decode("utf-8", "surrogateescape").split("\0")
    return parts[1] if len(parts) == 3 and peer.users.get(parts[1]) == parts[2] else ""


def external(peer: ReferencePeer[Policy, Strategies, Limits], wanted: bytes) -> str:
    """Give the user that EXTERNAL finds the client to be; empty when it claims to be somebody else."""
    return peer.external if wanted in (b"", peer.external.encode()) else ""
