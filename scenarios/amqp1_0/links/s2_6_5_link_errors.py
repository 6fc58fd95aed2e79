"""2.6.5: a link endpoint in error is detached, is destroyed, and is resumed, not reattached."""

from harness.amqp1_0.broken.deviations import (
    answers,
    changes,
    ignores,
    of_client,
    rejects,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Receiver, Sender, message
from harness.amqp1_0.client.outcomes import (
    answered,
    detached,
    ended_or_closed,
    session_ended,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Close,
    Detach,
    End,
    Error,
    LinkError,
    Role,
    SessionError,
    Source,
    Target,
)
from harness.play.link import Silence
from harness.play.watching import Found, came
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, scenario, watch

OF_LINKS = "amqp:link:"
"""What the conditions of errors of links begin with (2.8.18)."""


def in_error(container: Container, session: Session, address: str) -> tuple[Sender, Detach]:
    """Give a link that the target has detached with an error, and its detach. Raises Inapplicable if none."""
    sender = session.sender(address).granted()
    mixed = (sender.transfer(more=True), sender.transfer(delivery_id=1, delivery_tag=b"other", more=True))
    session.send(*(sender.carries(each, message()[:3]) for each in mixed))
    session.send(session.the_attach(Role.RECEIVER, source=Source(address), target=Target()))
    others = ended_or_closed() | answered(Attach) | stream_ended()
    seen = session.expect(detached(), others.recorded())
    if not isinstance(seen, Detach):
        container.inapplicable("the target ends more than the link, or nothing, where two messages are mixed")
    session.control("attach", Attach)
    return sender, seen


@scenario("1-0/2.6.5.errant-link", needs={"address"})
@broken_by("has another condition", rewrites(End, error=Error(SessionError.UNATTACHED_HANDLE)))
@broken_by("passes over it", withholds(End))
def input_for_a_link_in_error_ends_the_session(container: Container) -> None:
    """Behind a detach with an error a flow of that link is answered by an end with errant-link."""
    session = container.session()
    sender, _ = in_error(container, session, container.address())
    stated = sender.flow(delivery_count=sender.delivery_count, link_credit=max(sender.credit, 0))
    session.tries(stated, session_ended(SessionError.ERRANT_LINK))


@scenario("1-0/2.6.resumed-behind-an-error", needs={"address"})
@broken_by(
    "has it still",
    replaces(Attach, End(Error(SessionError.HANDLE_IN_USE)), when=lambda said: said.handle == 0, skip=1),
)
@broken_by("does not answer", withholds(Attach, when=lambda said: said.unsettled is not None))
def a_link_in_error_is_resumed(container: Container) -> None:
    """Behind both detaches a link that was in error is attached with an empty map, and takes a message."""
    session = container.session()
    sender, _ = in_error(container, session, container.address())
    session.send(Detach(sender.handle, True))
    with session.works("the link, resumed, takes a message"):
        session.resume(sender, {}).delivers(b"x")


@scenario("1-0/2.6.5.pipelined-attach", needs={"address"})
@broken_by("has another condition", rewrites(End, error=Error(SessionError.HANDLE_IN_USE)))
@broken_by("passes over it", withholds(End))
@broken_by("closes the connection", replaces(End, Close(Error(AmqpError.NOT_ALLOWED))))
def an_attach_pipelined_behind_an_error_ends_the_session(container: Container) -> None:
    """A detach and an attach without a map, sent for a link in error, end the session with errant-link."""
    session = container.session()
    sender, seen = in_error(container, session, container.address())
    session.send(Detach(sender.handle), sender.attach)
    closing = answered(Attach).recorded(
        "2.6.6: who did not close attaches again to close, which crosses a close"
    )
    session.expect(session_ended(SessionError.ERRANT_LINK), *((closing,) if seen.closed else ()))


@scenario("1-0/2.6.5.detach-behind-an-error", needs={"address"})
@broken_by("takes it for input", rejects(Detach, SessionError.ERRANT_LINK))
@broken_by("answers it once more", answers(Detach, Detach(0, True)))
def a_detach_behind_one_with_an_error_is_taken(container: Container) -> None:
    """Our detach behind the target's, which has an error, is not answered, and the session goes on."""
    address, session = container.address(), container.session()
    sender, _ = in_error(container, session, address)
    session.send(Detach(sender.handle, True))
    session.goes_on(address)


@watch(
    "1-0/2.6.5.error-detaches",
    during="1-0/2.6.5.errant-link",
    looks_at=came(Detach, End, Close),
    never="no link of the target comes to an error",
    of_clients="1-0/2.6.7.excess-taken-or-refused",
)
@broken_by(
    "ends the session for it", of_client(replaces(Detach, End(Error(LinkError.DETACH_FORCED)))), CLIENT
)
@broken_by("ends the session for it", rewrites(End, error=Error(LinkError.DETACH_FORCED)))
@broken_by("closes for it", replaces(End, Close(Error(LinkError.TRANSFER_LIMIT_EXCEEDED))))
def an_error_of_a_link_detaches_it(each: Passage) -> Found:
    """Whatever the target ends with the condition of an error of a link is the link."""
    said = each.said
    if not said.is_as_defined() or said.error is None:
        return None
    of_link = str(said.error.condition).startswith(OF_LINKS)
    if isinstance(said, Detach):
        return True
    return f"{said.type_name} {said.error.condition} at {each.at:.4f} s" if of_link else None


REMOVED = "link: is detached when its node is removed"
OTHERWISE = ended_or_closed() | silence() | stream_ended()
KEEPS = "the target does not detach links whose address is removed"
REMOVAL = {"removable-address", "remove-address", "address"}


def remove(container: Container, session: Session) -> Receiver:
    """Have the address of a receiver removed; give the link."""
    link = session.receiver(container.facility("removable-address")["address"])
    container.facility("remove-address")
    return link


@scenario("1-0/2.6.5.error-supplied", needs=REMOVAL, slow=True, alone=True)
@broken_by("gives no reason", rewrites(Detach, error=None))
@broken_by("ends the session", changes(REMOVED, answer=refuse(AmqpError.RESOURCE_DELETED, Level.SESSION)))
def what_ends_a_link_is_said_in_its_detach(container: Container) -> None:
    """A receiver whose address is removed: a detach with an error comes, or the session goes on."""
    address, session = container.address(), container.session()
    remove(container, session)
    if isinstance(session.expect(detached(), silence().recorded()), Silence):
        session.goes_on(address)
        container.inapplicable(KEEPS)


@scenario("1-0/2.6.5.endpoint-destroyed", needs=REMOVAL, slow=True, alone=True)
@broken_by("still has the handle", ignores(Detach))
@broken_by("refuses the name", rejects(Attach, AmqpError.NOT_ALLOWED, skip=1))
@broken_by("passes over it", ignores(Attach, skip=1))
def behind_an_error_nothing_of_the_endpoint_is_left(container: Container) -> None:
    """Behind a detach with an error, and ours, a link of the same name and handle attaches elsewhere."""
    address, session = container.address(), container.session()
    link = remove(container, session)
    if not isinstance(session.expect(answered(Detach), OTHERWISE.recorded()), Detach):
        container.inapplicable(KEEPS)
    session.send(Detach(link.handle, True))
    again = session.tries(link.attach.replace(source=Source(address)), Attach)
    session.judge("an attach with a source", "an attach without a source", again.source is not None)
