"""2.6.4 and 2.6.6: links are detached, attached again, and closed."""

from harness.amqp1_0.broken.deviations import (
    drops,
    follows,
    ignores,
    rejects,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Receiver
from harness.amqp1_0.client.outcomes import (
    answered,
    fields,
)
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    End,
    Error,
    SenderSettleMode,
    SessionError,
    Transfer,
)
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the suite would not have done so")


@scenario("1-0/2.6.4.detach-answered", needs={"address"})
@broken_by("does not answer", withholds(Detach))
@broken_by("answers no sender", withholds(Detach, skip=1))
@broken_by("closes the link", rewrites(Detach, closed=True))
@broken_by("detaches with an error", rewrites(Detach, error=OURS))
def a_detach_is_answered(container: Container) -> None:
    """A detach that does not close, of a receiver and of a sender, is answered by one that does not close."""
    address, session = container.address(), container.session()
    for link, closed in ((session.receiver(address), None), (session.sender(address), False)):
        answer = fields(Detach, handle=link.partner.handle, closed=False, error=None)
        session.tries(Detach(link.handle, closed), answer)


@scenario("1-0/2.6.4.reattached", needs={"address"})
@broken_by("refuses it", replaces(Attach, End(OURS), skip=1))
@broken_by("has forgotten the source", rewrites(Attach, skip=1, source=None))
@broken_by("still has the handle", drops("detach: that does not close is answered"))
def a_detached_link_is_attached_again(container: Container) -> None:
    """A receiver that was detached and not closed attaches again on its handle and under its name."""
    session = container.session()
    link = session.receiver(container.address())
    session.send(Detach(link.handle))
    session.take_in(lambda: session.told(Detach))  # 1-0/2.6.4.detach-answered judges whether it comes
    again = session.tries(link.attach, Attach)
    session.judge("an attach with a source", "an attach without a source", again.source is not None)


def attached_again(session: Session, link: Receiver) -> Attach:
    """Judge that a detach and an attach are answered by an attach; give it. Raises Unmet.

    Whether a detach comes before it is judged by 1-0/2.6.4.detach-answered.
    """
    parted = fields(Detach, handle=link.partner.handle, closed=False, error=None)
    seen = session.expect(answered(Attach) | parted)
    return seen if isinstance(seen, Attach) else session.expect(Attach)


@scenario("1-0/2.6.4.updated", needs={"address"})
@broken_by("still has the handle", rejects(Attach, SessionError.HANDLE_IN_USE, skip=1))
@broken_by("passes over it", ignores(Attach, skip=1))
@broken_by("sends nothing then", withholds(Transfer))
def the_state_of_a_link_is_updated(container: Container) -> None:
    """Detach and attach in a single write, with another settlement mode: the link carries a message then."""
    address = container.stocked(b"x")
    session = container.session()
    link = session.receiver(address)
    changed = link.attach.replace(snd_settle_mode=SenderSettleMode.SETTLED)
    session.send(Detach(link.handle), changed)
    answer = attached_again(session, link)
    with session.works("a message over the link"):
        Receiver(session, changed, answer).takes(1)


@scenario("1-0/2.6.6.close-answered", needs={"address"})
@broken_by("detaches without closing", rewrites(Detach, closed=False))
@broken_by("does not answer", ignores(Detach))
@broken_by("closes receivers only", withholds(Detach, skip=1))
@broken_by("closes twice", follows(Detach, Detach(0, True)))
def a_close_of_a_link_is_answered(container: Container) -> None:
    """A receiver and a sender are closed: each detach is answered by one that closes."""
    address, session = container.address(), container.session()
    for link in (session.receiver(address), session.sender(address)):
        session.tries(
            Detach(link.handle, True), fields(Detach, handle=link.partner.handle, closed=True, error=None)
        )
    session.ends_well()


@scenario("1-0/2.6.6.closed-by-reattaching", needs={"address"})
@broken_by("does not answer the second", withholds(Detach, skip=1))
@broken_by("knows no link there", rewrites(Detach, skip=1, error=Error(AmqpError.NOT_FOUND)))
@broken_by("refuses to attach", rejects(Attach, AmqpError.ILLEGAL_STATE, skip=1))
def a_detached_link_is_closed_by_attaching_it_again(container: Container) -> None:
    """Detach, attach and closing detach of a link, in a single write, are answered one by one."""
    session = container.session()
    link = session.receiver(container.address())
    session.send(Detach(link.handle), link.attach, Detach(link.handle, True))
    answer = attached_again(session, link)
    session.expect(fields(Detach, handle=answer.handle, error=None))
