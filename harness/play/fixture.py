"""What the fixtures of all protocols have in common: connections, names and judgements of one scenario."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from harness.play.context import Context, Deadline, Patience
from harness.play.expect import Barrier, ControlFailed, Inapplicable, Late, NotRun, Unmet
from harness.play.link import Link
from harness.play.log import Log
from harness.play.staying import kept_up
from harness.targets.target import Endpoint, Target
from harness.wire.journal import Kept, Unkept
from harness.wire.sasl import PLAIN, mechanism
from harness.wire.transport import Nameable, Transport


class Connection(Protocol):
    """What a fixture has to know of a protocol's connection."""

    @property
    def link(self) -> Link[Any, Any]: ...

    def close(self) -> None:
        """End it as the protocol wants; in any case close the socket."""

    def drop(self) -> None:
        """Close the socket without a word."""


LOOK = 0.1
"""Seconds between two looks at what the target shows beside its connections."""

AnyConnection = TypeVar("AnyConnection", bound=Connection)


class Visitor(Protocol):
    """What is handed to a scenario, as those see it who only begin and end one."""

    def hang_up(self) -> None:
        """Close all connections; what else was made stays."""

    def drop(self) -> None:
        """Close all sockets without a word."""

    def leave(self) -> None:
        """Leave nothing behind."""


AnyVisitor = TypeVar("AnyVisitor", bound=Visitor)


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
        """Change the target's endpoint; another user logs in by password, with PLAIN unless given."""
        if "user" in changes and not mechanism(self.endpoint.mechanism).by_password:
            changes = {"mechanism": PLAIN} | changes
        return replace(self.endpoint, **changes)

    # -- surroundings ----------------------------------------------------------------------------------

    def name(self, kind: str, pattern: str = "{}") -> str:
        """Make a name of its own for a "queue", a "link", …; {} in `pattern` is its unique part."""
        return self.context.name(kind, self._connection_name(), self._now(), pattern)

    def note(self, text: str) -> None:
        """Keep a fact worth reporting: a count reached, which of two readings was seen."""
        self.context.note(text, self._connection_name(), self._now())

    def judge(self, expected: str, otherwise: str, holds: bool, reading: str = "") -> None:
        """Judge a fact read out of an answer: `expected` if it `holds`, `otherwise` says what it is if not.

        With a `reading`, not holding is legal, though not preferred. The judgement is kept with the newest
        connection. Raises Unmet when the fact does not hold and there is no reading.
        """
        self.newest.link.judged(expected, otherwise, holds, reading)

    def inapplicable(self, why: str) -> NoReturn:
        """Raise Inapplicable, because a probe has shown that the rule's feature is absent."""
        raise Inapplicable(why)

    def facility(self, name: str) -> dict[str, str]:
        """Use a facility of the target. Raises NotRun when it has none of that name."""
        if name not in self.context.facilities:
            raise NotRun(f"the target has no facility {name!r}")
        return self.context.use(name, kept_up([each.link for each in self._connections]))

    @contextmanager
    def before(self, seconds: float) -> Iterator[None]:
        """Judge what is due in so many `seconds` from now. Raises Late for a miss when they were over."""
        began = self.newest.link.now()
        try:
            yield
        except (Unmet, ControlFailed):
            if (passed := self.newest.link.now() - began) < seconds:
                raise
            raise Late(f"it took {passed:.2f} s to ask for what holds for {seconds} s") from None

    def log(self) -> Log:
        """Read the target's log from here on, on a connection of its own. Raises NotRun without one."""
        self.facility("log")
        return Log(lambda: self.facility("log")["log"], self.lookout().link)

    @property
    def newest(self) -> AnyConnection:
        return self._connections[-1]

    def lookout(self) -> Connection:
        """Give a connection in use that has nothing else to do than to wait."""
        raise NotImplementedError

    def keeps_alive(self, connection: Connection) -> bool:
        """Say whether the target has TCP keep-alive on for a connection. Raises NotRun if nobody can tell."""
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
        """Close all connections, even where closing one of them fails; what else was made stays."""
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
        """Close all connections, and remove what does not end with them."""
        self.hang_up()


AnyFixture = TypeVar("AnyFixture", bound=Fixture[Any])


@contextmanager
def played(fixture: AnyVisitor) -> Iterator[AnyVisitor]:
    """Hand out the fixture of one scenario, and leave the target when it is over."""
    try:
        yield fixture
    finally:
        fixture.leave()


@contextmanager
def visiting(
    fixture: Callable[[Context], AnyVisitor],
    target: Target,
    within: float,
    prefix: str = "probe",
    barrier: Barrier | None = None,
    patience: Patience | None = None,
) -> Iterator[AnyVisitor]:
    """Hand out a fixture with names of a `prefix` for `within` seconds, up to a `barrier`."""
    deadline = Deadline.after(within, f"it took more than {within:.3g} s")
    visitor = fixture(
        Context(
            Unkept(),
            prefix,
            facilities=target.facilities,
            facility=lambda name: dict(target.use(name)),
            patience=patience or Patience(),
            deadline=deadline,
            keeps=Kept.NOTHING,
            barrier=barrier,
        )
    )
    try:
        yield visitor
        visitor.hang_up()
    finally:
        visitor.drop()
