"""What scenarios of resumption begin with: links that are suspended with deliveries unsettled."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import AttachedLink, Delivery, Receiver, Sender
from harness.amqp1_0.client.outcomes import Received, answered, ended_or_closed, silence
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.wire.performatives import (
    Accepted,
    Attach,
    Close,
    Detach,
    End,
    ReceiverSettleMode,
    Role,
    SenderSettleMode,
    Source,
    Target,
    Transfer,
)
from harness.play.expect import Outcome

AnyLink = TypeVar("AnyLink", bound=AttachedLink)
NOBODYS = b"nobody's"
"""A delivery-tag that no target gives."""
SECOND = ReceiverSettleMode.SECOND


def taken(
    container: Container, session: Session, address: str, count: int, **attach: Any
) -> tuple[Receiver, list[Delivery]]:
    """Take messages and leave them unsettled. Raises Inapplicable where the target settles them itself."""
    receiver = session.receiver(address, snd_settle_mode=SenderSettleMode.UNSETTLED, **attach)
    deliveries = receiver.takes(count)
    if any(part.settled for each in deliveries for part in each.transfers):
        container.inapplicable("the target settles what it sends")
    return receiver, deliveries


def suspended(container: Container, *bodies: bytes, count: int = 0) -> tuple[Session, Receiver, list[bytes]]:
    """Give a session, a receiver detached with so many messages unsettled, or all, and their tags."""
    address, session = container.stocked(*bodies), container.session()
    receiver, deliveries = taken(container, session, address, count or len(bodies))
    let_go(container, session, receiver)
    return session, receiver, [tag_of(each) for each in deliveries]


def let_go(container: Container, session: Session, link: AttachedLink) -> None:
    """Detach a link without closing it. Raises Inapplicable where the target ends more, or says nothing."""
    others = ended_or_closed() | silence()
    if not isinstance(session.tries(Detach(link.handle), answered(Detach), others.recorded()), Detach):
        # Whether it answers is judged by 1-0/2.6.4.detach-answered.
        container.inapplicable("the target does not answer a detach that does not close")


def tag_of(delivery: Delivery) -> bytes:
    """Give the tag of a delivery."""
    return bytes(delivery.first.delivery_tag or b"")


def sender_of_second(container: Container, session: Session, address: str) -> Sender:
    """Attach a link that is settled second. Raises Inapplicable where the target does not agree to that."""
    ours = session.the_attach(Role.SENDER, source=Source(), target=Target(address), rcv_settle_mode=SECOND)
    answer = session.ask(ours, Attach, Detach, End, Close)
    if not isinstance(answer, Attach) or answer.target is None or answer.rcv_settle_mode != SECOND:
        container.inapplicable("the target does not agree to settle second")
    return Sender(session, ours, answer)


def sent_second(container: Container, *bodies: bytes) -> tuple[Session, str, Sender, list[bytes]]:
    """Send messages that the target has an outcome for and does not settle; give where, the link, their tags.

    The link is detached then. Raises Inapplicable where the target settles first.
    """
    address, session = container.address(), container.session()
    sender = sender_of_second(container, session, address)
    tags = []
    for body in bodies:
        number = sender.send(body)
        session.until("a transfer", partial(sender.dispositions, number))
        tags.append(int(number).to_bytes(4))
    let_go(container, session, sender)
    return session, address, sender, tags


def resumed(session: Session, link: AnyLink, unsettled: Mapping[bytes, Any], **fields: Any) -> AnyLink:
    """Judge that a link can be resumed on its session. Raises Unmet, or Inapplicable where it is refused."""
    with session.works("an attach that resumes"):
        return session.resume(link, unsettled, **fields)


def stated(link: AttachedLink) -> Mapping[bytes, Any]:
    """Give the unsettled map of the target's attach; without one there is nothing in it."""
    return link.partner.unsettled or {}


def both_have(container: Container, link: AnyLink, *tags: bytes) -> AnyLink:
    """Give a resumed link if the target's map has these tags. Raises Inapplicable if not."""
    if not all(each in stated(link) for each in tags):
        container.inapplicable("the target has nothing unsettled when a link is resumed")
    return link


def resumption_of(tag: bytes, says: str = "a transfer that resumes the delivery") -> Outcome:
    """Allow the first transfer of a resumed delivery."""
    return Outcome(says, lambda seen: _resumes(seen, tag), about=(Transfer,))


def _resumes(seen: Any, tag: bytes) -> bool:
    said = seen.performative if isinstance(seen, Received) else None
    return isinstance(said, Transfer) and bool(said.resume) and said.delivery_tag == tag


ACCEPTED = Accepted()
"""What we have come to, in our map."""
