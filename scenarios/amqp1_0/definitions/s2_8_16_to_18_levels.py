"""2.8.16 to 2.8.18: the conditions of connections, sessions and links, each where it belongs."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.amqp1_0.broken.deviations import drops, of_client, precedes, replaces, rewrites, withholds
from harness.amqp1_0.broken.faults import replies
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import ENDINGS, ended_or_closed, session_ended
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, Frame
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Close,
    ConnectionError_,
    Detach,
    End,
    Error,
    LinkError,
    Role,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.types import Symbol
from harness.play.watching import Found, came
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, scenario, watch

NOWHERE = 5
"""A handle that nothing is attached to."""
ANOTHER = "the condition is the server's choice: another may fit too"


def ends_what_it_should(each: Passage, family: str, *kinds: type[Composite]) -> Found:
    """Judge an ending whose condition is of this family: it is one of these performatives."""
    error = each.said.error
    if not isinstance(error, Error) or not isinstance(condition := error.condition, Symbol):
        return None
    if not condition.startswith(family):
        return None
    return isinstance(each.said, kinds) or f"{each.said.type_name} {condition[:80]} at {each.at:.4f} s"


@watch(
    "1-0/2.8.16.conditions-of-connections",
    during="1-0/2.8.16.framing-error",
    looks_at=came(*ENDINGS),
    never="the target gives no condition of connections",
    of_clients="1-0/2.8.16.framing-error",
)
@broken_by(
    "ends a session by one",
    of_client(precedes(Close, End(Error(ConnectionError_.FRAMING_ERROR)), when=lambda it: it.error)),
    CLIENT,
)
@broken_by("ends a session by one", precedes(Close, End(Error(ConnectionError_.FRAMING_ERROR))))
def conditions_of_connections_close_them(each: Passage) -> Found:
    """Every condition that begins with amqp:connection: is that of a close."""
    return ends_what_it_should(each, "amqp:connection:", Close)


@watch(
    "1-0/2.8.17.conditions-of-sessions",
    during="1-0/2.7.4.unattached-handle",
    looks_at=came(*ENDINGS),
    never="the target gives no condition of sessions",
    of_clients="1-0/2.7.4.unattached-handle",
)
@broken_by("closes by one", of_client(replaces(End, Close(Error(SessionError.UNATTACHED_HANDLE)))), CLIENT)
@broken_by("closes by one", replaces(End, Close(Error(SessionError.UNATTACHED_HANDLE))))
def conditions_of_sessions_end_them(each: Passage) -> Found:
    """Every condition that begins with amqp:session: is that of an end, but for handle-in-use in a close."""
    error = each.said.error
    closes = isinstance(error, Error) and error.condition == SessionError.HANDLE_IN_USE
    return ends_what_it_should(each, "amqp:session:", End, *((Close,) if closes else ()))


@watch(
    "1-0/2.8.18.conditions-of-links",
    during="1-0/2.7.3.larger-message-refused",
    looks_at=came(*ENDINGS),
    never="the target gives no condition of links",
    of_clients="1-0/2.6.7.excess-taken-or-refused",
)
@broken_by(
    "ends the session by one",
    of_client(replaces(Detach, End(Error(LinkError.TRANSFER_LIMIT_EXCEEDED)))),
    CLIENT,
)
@broken_by("ends the session by one", replaces(Detach, End(Error(LinkError.MESSAGE_SIZE_EXCEEDED))))
def conditions_of_links_detach_them(each: Passage) -> Found:
    """Every condition that begins with amqp:link: is that of a detach."""
    return ends_what_it_should(each, "amqp:link:", Detach)


UNATTACHED = "link: refuses a handle that is not attached"


def is_told(container: Container, said: Transfer | Detach, payload: bytes = b"") -> None:
    """Judge that something said for a handle without a link ends its session by unattached-handle."""
    session = container.session()
    session.fence(container.address())
    said = said.replace(handle=min(NOWHERE, int(session.partner.handle_max)))
    session.tries(
        Frame(AMQP, session.channel, said.encode() + payload),
        session_ended(SessionError.UNATTACHED_HANDLE),
        ended_or_closed().under(ANOTHER),
    )


@scenario("1-0/2.8.17.unattached-handle-transfer", needs={"address"})
@broken_by("gives another condition", rewrites(End, error=Error(AmqpError.NOT_FOUND)))
@broken_by("passes over it", drops(UNATTACHED))
def a_transfer_on_no_link_is_called_so(container: Container) -> None:
    """A transfer for a handle without a link ends its session by unattached-handle."""
    is_told(container, Transfer(NOWHERE, 0, b"t", 0), message())


@scenario("1-0/2.8.17.unattached-handle-detach", needs={"address"}, slow=True)
@broken_by("gives another condition", rewrites(End, error=Error(AmqpError.NOT_FOUND)))
@broken_by("passes over it", drops(UNATTACHED))
@broken_by("answers it", replies(UNATTACHED, Detach(NOWHERE, True)))
def a_detach_of_no_link_is_called_so(container: Container) -> None:
    """A detach for a handle without a link ends its session by unattached-handle."""
    is_told(container, Detach(NOWHERE, True))


@contextmanager
def alarm(container: Container) -> Iterator[None]:
    """Let the target take no messages inside."""
    container.facility("memory-alarm")
    try:
        yield
    finally:
        container.facility("lift-memory-alarm")


@scenario(
    "1-0/2.8.17.window-violation",
    needs={"address", "memory-alarm", "lift-memory-alarm"},
    slow=True,
    alone=True,
    disruptive=True,
)
@broken_by("gives another condition", rewrites(End, error=Error(AmqpError.NOT_ALLOWED)))
@broken_by("takes it", drops("transfer: refuses one beyond the window"))
@broken_by("says nothing", withholds(End))
def a_transfer_beyond_the_window_violates_it(container: Container) -> None:
    """A transfer on a session whose incoming-window has been closed ends it by window-violation."""
    session = container.session()
    sender = session.sender(container.address())
    sender.delivers(b"control")
    sender.granted()
    with alarm(container):
        session.take_in(lambda: session.window <= 0)
        if session.window > 0:
            container.inapplicable("the target closes no window of a session when it takes no messages")
        address = sender.attach.target.address
        behind = session.the_attach(Role.RECEIVER, source=Source(address), target=Target())
        session.send(sender.carries(sender.transfer(), message()), behind)
        session.expect(
            session_ended(SessionError.WINDOW_VIOLATION),
            ended_or_closed().under(ANOTHER),
        )
