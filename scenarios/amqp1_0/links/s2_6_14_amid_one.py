"""2.6.14 and 2.7.5: on one link nothing comes amid a delivery, and none is settled in a way not agreed on."""

from typing import Any

from harness.amqp1_0.broken.deviations import forwards, ignores
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Sender, message
from harness.amqp1_0.client.outcomes import detached, ended_or_closed, stream_ended
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.wire.frames import AMQP, Frame
from harness.amqp1_0.wire.performatives import ReceiverSettleMode, Role, Source, Target, Transfer
from scenarios.registry import broken_by, scenario

FIRST, SECOND = ReceiverSettleMode.FIRST, ReceiverSettleMode.SECOND
"""How a receiver settles."""
OCTETS = message(b"first half and second half")
NO_WORD = "that a close comes before the end of the stream is judged by 1-0/2.4.3.close-before-closing"


def is_refused(session: Session, sender: Sender) -> None:
    """Judge that link, session or connection is ended with an error before an attach behind is answered."""
    address = sender.attach.target.address
    session.send(session.the_attach(Role.RECEIVER, source=Source(address), target=Target()))
    session.expect(detached() | ended_or_closed(), stream_ended().under(NO_WORD))


def goes_on_as(sender: Sender, **second: Any) -> None:
    """Send two transfers of a delivery, of which the second says this of it."""
    session, first = sender.session, sender.granted().transfer(more=True)
    later = Transfer(sender.handle).replace(**second)
    session.send(sender.carries(first, OCTETS[:9]), Frame(AMQP, session.channel, later.encode() + OCTETS[9:]))


def begun(container: Container) -> tuple[Session, Sender]:
    """Give a session and a sender on which a message in two transfers was settled."""
    session = container.session()
    sender = session.sender(container.address())
    sender.outcome(sender.send(b"control", parts=2))
    return session, sender


def is_later(said: Transfer) -> bool:
    """Say whether a transfer of ours is the second of one that goes on as another."""
    return not said.more and None in (said.delivery_id, said.delivery_tag, said.message_format)


@scenario("1-0/2.7.5.another-id-refused", needs={"address"})
@broken_by("takes it for the same", forwards(Transfer, when=is_later, delivery_id=None))
@broken_by("passes over it", ignores(Transfer, when=is_later, skip=1))
def a_delivery_does_not_go_on_with_another_id(container: Container) -> None:
    """A second transfer with another delivery-id than the first is refused."""
    session, sender = begun(container)
    goes_on_as(sender, delivery_id=session.next_delivery_id + 1)
    is_refused(session, sender)


@scenario("1-0/2.7.5.another-tag-refused", needs={"address"})
@broken_by("takes it for the same", forwards(Transfer, when=is_later, delivery_tag=None))
@broken_by("passes over it", ignores(Transfer, when=is_later, skip=1))
def a_delivery_does_not_go_on_with_another_tag(container: Container) -> None:
    """A second transfer with another delivery-tag than the first is refused."""
    session, sender = begun(container)
    goes_on_as(sender, delivery_tag=b"another")
    is_refused(session, sender)


@scenario("1-0/2.7.5.another-format-refused", needs={"address"})
@broken_by("takes it for the same", forwards(Transfer, when=is_later, message_format=None))
@broken_by("passes over it", ignores(Transfer, when=is_later, skip=1))
def a_delivery_does_not_go_on_with_another_format(container: Container) -> None:
    """A second transfer with another message-format than the first is refused."""
    session, sender = begun(container)
    goes_on_as(sender, message_format=1)
    is_refused(session, sender)


@scenario("1-0/2.6.14.interleaved-on-one-link", needs={"address"})
@broken_by("takes it for the same", forwards(Transfer, skip=3, delivery_id=None, delivery_tag=None))
@broken_by("passes over it", ignores(Transfer, skip=3))
def messages_are_not_mixed_on_one_link(container: Container) -> None:
    """The first transfer of another message amid one on the same link is refused."""
    session, sender = begun(container)
    sender.granted()
    for _ in range(2):
        session.send(sender.carries(sender.transfer(more=True), OCTETS[:9]))
    is_refused(session, sender)


@scenario("1-0/2.7.5.second-on-first-refused", needs={"address"})
@broken_by("takes it for first", forwards(Transfer, when=lambda s: s.rcv_settle_mode, rcv_settle_mode=None))
@broken_by("passes over it", ignores(Transfer, when=lambda said: said.rcv_settle_mode))
def second_is_refused_where_first_was_agreed(container: Container) -> None:
    """A transfer that wants to be settled second on a link of first is refused."""
    session = container.session()
    sender = session.sender(container.address(), rcv_settle_mode=FIRST)
    if sender.partner.rcv_settle_mode != FIRST:
        container.inapplicable("the target does not agree to settle first")
    sender.delivers(b"control")
    sender.send(b"x", rcv_settle_mode=SECOND)
    is_refused(session, sender)
