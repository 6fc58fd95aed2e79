"""2.7.3 Attach: how large a message may be."""

from harness.amqp1_0.broken.deviations import drops, forwards, rewrites
from harness.amqp1_0.broken.faults import replies
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import detached
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    Disposition,
    Error,
    LinkError,
    Rejected,
    Role,
    Transfer,
)
from scenarios.registry import broken_by, scenario

LARGEST = 1 << 22
"""Octets of a message beyond which none of ours is sent."""
OURS = 1000
TOO_LARGE = "transfer: refuses a message too large"


@scenario("1-0/2.7.3.larger-message-refused", needs={"address"})
@broken_by("takes it", drops(TOO_LARGE))
@broken_by(
    "rejects the message alone", replies(TOO_LARGE, Disposition(Role.RECEIVER, 1, 1, True, Rejected()))
)
@broken_by(
    "has another condition",
    rewrites(Detach, when=lambda said: said.error is not None, error=Error(AmqpError.NOT_ALLOWED)),
)
def a_message_larger_than_the_link_takes_is_refused(container: Container) -> None:
    """A message of more octets than the attach of the server says: its link is detached for that."""
    session = container.session()
    sender = session.sender(container.address())
    most = sender.partner.max_message_size
    if not most or most > LARGEST:
        container.inapplicable(f"the target states no max-message-size of {LARGEST} octets or less")
    sender.delivers(b"control")
    sender.send(bytes(int(most)))
    session.expect(detached(LinkError.MESSAGE_SIZE_EXCEEDED))


@scenario("1-0/2.7.3.our-largest-message-kept", needs={"address"})
@broken_by("sends any", forwards(Attach, max_message_size=None))
def no_message_is_larger_than_we_take(container: Container) -> None:
    """Of a message of 3,000 octets nothing whole comes on a link that takes 1,000."""
    address = container.stocked(bytes(3 * OURS))
    session = container.session()
    receiver = session.receiver(address, max_message_size=OURS)
    receiver.grants(1)
    session.take_in(lambda: session.told(Transfer, Detach), moments=5)
    came = [len(each.payload) for each in receiver.deliveries()]
    session.judge("no message larger than that", "a larger message", all(each <= OURS for each in came))


@scenario("1-0/2.7.3.zero-size-is-no-limit", needs={"address"})
@broken_by(
    "takes zero for a size",
    forwards(Attach, when=lambda said: said.max_message_size == 0, max_message_size=1),
)
def a_largest_message_of_zero_octets_is_any(container: Container) -> None:
    """A message comes on a link whose max-message-size is zero."""
    address = container.stocked(b"1", b"2")
    session = container.session()
    session.receiver(address).takes(1)
    with session.works("a message on a link whose max-message-size is zero"):
        container.session().receiver(address, max_message_size=0).takes(1)
