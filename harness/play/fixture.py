"""What the fixtures of all protocols have in common: connections, names and judgements of one scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from harness.play.context import Context, Deadline
from harness.play.expect import Barrier, Inapplicable, NotRun
from harness.play.link import Link
from harness.play.log import Log
from harness.targets.target import Endpoint, Target
from harness.wire.journal import Event
from harness.wire.sasl import PLAIN, mechanism
from harness.wire.transport import Nameable, Transport


class Connection(Protocol):
    """A protocol's connection, as far as a fixture has to know it."""

    @property
    def link(self) -> Link[Any, Any]:
        """What goes over the wire."""

    def close(self) -> None:
        """End it as the protocol wants, in any case close the socket."""

    def drop(self) -> None:
        """Close the socket without a word."""


LOOK = 0.1
"""Seconds between two looks at what the target shows beside its connections."""

AnyConnection = TypeVar("AnyConnection", bound=Connection)


class Fixture(Generic[AnyConnection]):
    """What is under test, for one scenario: opens connections, and leaves nothing behind."""

    def __init__(
        self, connect: Callable[[], Transport], endpoint: Endpoint, context: Context, protocol: str
    ) -> None:
        self.context = context
        self.endpoint = endpoint
        self._connect = connect
        self._protocol = protocol
        self._connections: list[AnyConnection] = []
        self._opened = 0

    def _endpoint_with(self, changes: dict[str, Any]) -> Endpoint:
        """The target's endpoint with these changes: another user has to say a password."""
        if "user" in changes and not mechanism(self.endpoint.mechanism).by_password:
            changes = {"mechanism": PLAIN} | changes
        return replace(self.endpoint, **changes)

    # -- surroundings ----------------------------------------------------------------------------------

    def name(self, kind: str, pattern: str = "{}") -> str:
        """A name of its own for a "queue", a "link", …; what can be removed is, when the scenario ends.

        `pattern` holds {} where the unique part goes: "amq.{}" for a reserved name, "{}/" for an illegal one.
        """
        return self.context.name(kind, self._connection_name(), self._now(), pattern)

    def note(self, text: str) -> None:
        """Keep a fact worth reporting: a count reached, which of two readings was seen."""
        self.context.note(text, self._connection_name(), self._now())

    def judge(self, expected: str, otherwise: str, holds: bool, reading: str = "") -> None:
        """Judge a fact that was read out of an answer: `otherwise` says what it is when it does not hold.

        With a `reading` that is legal all the same, though not preferred. It is kept with the newest
        connection. Raises Unmet.
        """
        self.newest.link.judged(expected, otherwise, holds, reading)

    def inapplicable(self, why: str) -> NoReturn:
        """End the scenario: what was just probed shows that the rule's feature is absent."""
        raise Inapplicable(why)

    def facility(self, name: str) -> dict[str, str]:
        """Use a facility of the target. Raises NotRun when it has none of that name."""
        if name not in self.context.facilities:
            raise NotRun(f"the target has no facility {name!r}")
        return self.context.use(name)

    def log(self) -> Log:
        """The target's log, from here on; it is looked at from a connection of its own. Raises NotRun."""
        self.facility("log")
        return Log(lambda: self.facility("log")["log"], self.lookout().link)

    @property
    def newest(self) -> AnyConnection:
        """The connection that was made last."""
        return self._connections[-1]

    def lookout(self) -> Connection:
        """A connection in use that has nothing else to do than to wait."""
        raise NotImplementedError

    def keeps_alive(self, connection: Connection) -> bool:
        """Whether the target has TCP keep-alive on for this connection. Raises NotRun if nobody can tell."""
        link = connection.link
        client = link.transport.client if isinstance(link.transport, Nameable) else ""
        until, seen = link.now() + self.context.patience.answer, False
        while True:
            told = self.facility("keep-alive")
            if client in told["kept-alive"].split():
                return True
            there = client in told["clients"].split()
            seen = seen or there
            if not seen:
                raise NotRun("the target's own socket of this connection cannot be seen")
            # An octet that is not acknowledged yet hides it, until the target ends what says nothing.
            if not there or link.now() >= until or link.ended is not None:
                return False
            link.listen(LOOK)

    def _connection_name(self) -> str:
        return f"{self.context.label}.{self._opened}"

    def _now(self) -> float:
        return self.newest.link.now() if self._connections else 0.0

    # -- leaving ---------------------------------------------------------------------------------------

    def hang_up(self) -> None:
        """Close all connections, whatever one of them comes to; what else was made stays."""
        with ExitStack() as every:
            every.callback(self._connections.clear)
            for connection in reversed(self._connections):
                every.callback(connection.close)

    def drop(self) -> None:
        """Close all sockets without a word."""
        for connection in self._connections:
            connection.drop()
        self._connections.clear()

    def leave(self) -> None:
        """Close all connections; what a protocol's connections do not take along, it removes as well."""
        self.hang_up()


AnyFixture = TypeVar("AnyFixture", bound=Fixture[Any])


@contextmanager
def played(fixture: AnyFixture) -> Iterator[AnyFixture]:
    """The fixture of one scenario, left behind it."""
    try:
        yield fixture
    finally:
        fixture.leave()


class _Unkept:
    """A journal for visits: nobody reads it."""

    def write(self, event: Event) -> None:
        """Forget the event."""


@contextmanager
def visiting(
    fixture: Callable[[Context], AnyFixture],
    target: Target,
    within: float,
    prefix: str = "probe",
    barrier: Barrier | None = None,
) -> Iterator[AnyFixture]:
    """A fixture to look at `target` with for `within` seconds, with all its sockets closed afterwards.

    `prefix` makes what it names unique, where several look at once; `barrier` is where the probe got no
    further.
    """
    deadline = Deadline.after(within, f"it took more than {within:.3g} s")
    visitor = fixture(
        Context(
            _Unkept(),
            prefix,
            facilities=target.facilities,
            facility=lambda name: dict(target.use(name)),
            deadline=deadline,
            barrier=barrier,
        )
    )
    try:
        yield visitor
        visitor.hang_up()
    finally:
        visitor.drop()
