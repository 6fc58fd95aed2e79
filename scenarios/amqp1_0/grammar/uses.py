"""What has to be there before a performative can be sent, and what shows that it was taken: one table.

The rules derived from the definitions ask the same of all performatives; here stands what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import describe
from harness.amqp1_0.client.session import Session, the_begin
from harness.amqp1_0.wire.composites import CLASSES, Composite
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, Frame
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Open,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.play.expect import ControlFailed
from spec.grammar.amqp1_0.members import Subject
from spec.grammar.amqp1_0.rules import family

Change = Callable[[Any], Any]
"""Writes a composite otherwise: gives what stands in its place."""
NARROW = 200
"""A window that one octet can hold."""
A_REASON: Final = Error(AmqpError.INTERNAL_ERROR, "a reason")


@dataclass(frozen=True, slots=True)
class Use:
    """A performative that can be sent on its channel: all that has to be there before it is there.

    `usual` is how it is usually written; `payload` follows it. `taken` is a control: what it is for is done.
    """

    connection: AmqpConnection
    usual: Any
    taken: Callable[[], None]
    channel: int = 0
    payload: bytes = b""
    held: Session | None = None

    @property
    def session(self) -> Session:
        """The session that it is sent on, where it is one of ours that has begun."""
        assert self.held is not None
        return self.held

    def send(self, change: Change) -> None:
        """Send it as this change has it."""
        self.connection.send(Frame(AMQP, self.channel, encode(change(self.usual)) + self.payload))

    def does(self, change: Change) -> None:
        """Send it as this change has it, and wait until what it is for is done. Raises ControlFailed."""
        self.send(change)
        self.taken()


class Ground:
    """Where the performatives of one check are used: an address for all, a connection for each.

    A server may allow a single session on a connection.
    """

    def __init__(self, container: Container) -> None:
        self.container = container

    @cached_property
    def address(self) -> str:
        return self.container.address()

    def use(self, about: Subject) -> Use:
        """Prepare the performative that a rule is about, or one that carries the composite. Raises Stop."""
        return USES[about.composite.name](self)

    def judges(self, about: Subject, change: Change) -> None:
        """Judge that a composite does what it is for with this change. Raises Unmet."""
        use = self.use(about)
        with use.connection.works(f"{about.composite.name} does what it is for"):
            use.does(within(about, change))


def as_usual(composite: Any) -> Any:
    return composite


def within(about: Subject, change: Change) -> Change:
    """Give the change of a performative that changes the error in it, where a rule is about errors."""
    if kind(about) is not Error:
        return change
    return lambda ending: ending.replace(error=change(ending.error))


def kind(about: Subject) -> type[Composite]:
    return CLASSES[about.composite.name]


def frame_of(about: Subject) -> tuple[type[Composite], ...]:
    """Give the performatives that the composite of a rule stands in: itself, or those with an error."""
    return (Close, End, Detach) if kind(about) is Error else (kind(about),)


def part(about: Subject, said: Composite) -> Any:
    """Give the composite that a rule is about out of a performative."""
    return said.carried("error") if kind(about) is Error else said


def of(key: str) -> Iterator[tuple[str, Subject]]:
    """Give the rules of a family that can be judged, with their subjects."""
    return ((each.rule.id, each.about) for each in family(key))


def needs(about: Subject) -> set[str]:
    """Name the facilities of the target that it takes to use a performative."""
    return {"address"} if about.composite.name in ON_LINKS else set()


# -- each performative ---------------------------------------------------------------------------------


def opening(ground: Ground) -> Use:
    connection = ground.container.negotiated()

    def taken() -> None:
        connection.control("open", Open)
        connection.fence()

    return Use(connection, connection.the_open(), taken)


def beginning(ground: Ground) -> Use:
    connection = ground.container.alive()
    channel = connection.free_channel()

    def taken() -> None:
        connection.control("begin", Begin, place=channel)
        connection.send(End(), channel=channel)
        connection.control("end", End, place=channel)

    usual = the_begin(incoming_window=NARROW, outgoing_window=NARROW)
    return Use(connection, usual, taken, channel)


def attaching(ground: Ground) -> Use:
    session = ground.container.session()

    def taken() -> None:
        answer = session.control("attach", Attach)
        if answer.target is None:
            raise ControlFailed("attach", describe(session.control("attach", Detach)))

    usual = session.the_attach(Role.SENDER, source=Source(), target=Target(ground.address))
    return on(session, usual, taken)


def flowing(ground: Ground) -> Use:
    session = ground.container.session()
    session.sender(ground.address).delivers(b"x")
    receiver = session.receiver(ground.address)

    def taken() -> None:
        receiver.settles(*receiver.waits(1))

    stated = {"incoming_window": NARROW, "outgoing_window": NARROW}
    usual = receiver.flow(delivery_count=receiver.delivery_count, link_credit=1, **stated)
    return on(session, usual, taken)


def transferring(ground: Ground) -> Use:
    session = ground.container.session()
    sender = session.sender(ground.address).granted()
    number = session.next_delivery_id

    def taken() -> None:
        sender.outcome(number)

    return replace(on(session, sender.transfer(), taken), payload=message())


def disposing(ground: Ground) -> Use:
    connection = ground.container.alive()
    session = connection.begin()
    session.sender(ground.address).delivers(b"first")
    (first,) = session.receiver(ground.address).takes(1)

    def taken() -> None:
        session.end()
        if (ended := session.told(End)[-1]).error is not None:
            raise ControlFailed("disposition", describe(ended))
        other = connection.begin()
        other.sender(ground.address).delivers(b"behind")
        receiver = other.receiver(ground.address)
        came = receiver.takes(1)
        receiver.settles(*came)
        if b"behind" not in came[0].payload:
            raise ControlFailed("disposition", "what was accepted, again")

    return on(session, Disposition(Role.RECEIVER, first.id, first.id, True, Accepted()), taken)


def detaching(ground: Ground) -> Use:
    session = ground.container.session()
    receiver = session.receiver(ground.address)

    def taken() -> None:
        session.control("detach", Detach)

    return on(session, Detach(receiver.handle, True), taken)


def ending(ground: Ground) -> Use:
    session = ground.container.session()

    def taken() -> None:
        answer = session.control("end", End)
        if answer.error is not None:
            raise ControlFailed("end", describe(answer))

    return on(session, End(), taken)


def erring(ground: Ground) -> Use:
    session = ground.container.session()

    def taken() -> None:
        session.control("end", End)

    return on(session, End(A_REASON), taken)


def closing(ground: Ground) -> Use:
    connection = ground.container.connection()

    def taken() -> None:
        answer = connection.control("close", Close)
        if answer.error is not None:
            raise ControlFailed("close", describe(answer))

    return Use(connection, Close(), taken)


def on(session: Session, usual: Composite, taken: Callable[[], None]) -> Use:
    """Give the use of a performative on a session."""
    return Use(session.connection, usual, taken, session.channel, held=session)  # type: ignore[arg-type]


USES: Final[Mapping[str, Callable[[Ground], Use]]] = {
    "open": opening,
    "begin": beginning,
    "attach": attaching,
    "flow": flowing,
    "transfer": transferring,
    "disposition": disposing,
    "detach": detaching,
    "end": ending,
    "close": closing,
    "error": erring,
}
"""How the performative with each composite type is used."""
ON_LINKS: Final = ("attach", "flow", "transfer", "disposition", "detach")
"""What is sent about a link, which wants an address."""
EXAMPLES: Final[Mapping[str, Composite]] = {
    "open": Open("a container"),
    "begin": the_begin(),
    "attach": Attach("a link", 0, Role.SENDER, None, None, Source(), Target("a node"), None, None, 0),
    "flow": Flow(0, NARROW, 0, NARROW, 0, 0, 1),
    "transfer": Transfer(0, 0, b"a tag", 0),
    "disposition": Disposition(Role.RECEIVER, 0, 0, True, Accepted()),
    "detach": Detach(0, True),
    "error": A_REASON,
}
"""What a peer that is not strict reads in place of what is wrong."""
