"""2.6.11 to 2.6.14: deliveries, their states and settlement, and messages in several transfers."""

from harness.amqp1_0.broken.deviations import (
    forwards,
    ignores,
    ignores_frames,
    is_larger,
    rejects,
    rejects_frames,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import fields
from harness.amqp1_0.wire.frames import AMQP, Frame, amqp_frame
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    ConnectionError_,
    Detach,
    Disposition,
    End,
    Error,
    Received,
    Role,
    Transfer,
)
from scenarios.amqp1_0.performatives.s2_7_6_disposition import accepted, comes_again, unsettled
from scenarios.registry import broken_by, scenario

REFUSED = Error(AmqpError.NOT_IMPLEMENTED, "the faulty peer does not do so")


@scenario("1-0/2.6.12.tags-differ", needs={"address"})
@broken_by("has one tag for all", rewrites(Transfer, delivery_tag=b"t"))
def tags_of_unsettled_deliveries_differ(container: Container) -> None:
    """Three deliveries on one link, none of them settled, have three delivery-tags."""
    address = container.stocked(b"1", b"2", b"3")
    session = container.session()
    tags = [each.first.delivery_tag for each in session.receiver(address).takes(3)]
    session.judge("three delivery-tags", "one delivery-tag for two deliveries", len(set(tags)) == 3)


def is_received(said: Disposition) -> bool:
    return isinstance(said.state, Received)


@scenario("1-0/2.6.12.non-terminal-state", needs={"address"})
@broken_by("ends the session", rejects(Disposition, AmqpError.INVALID_FIELD, when=is_received))
@broken_by(
    "takes it for the last word", forwards(Disposition, when=is_received, settled=True, state=Accepted())
)
def a_state_that_is_not_the_last_is_taken(container: Container) -> None:
    """Two deliveries are said to be received, one is accepted then: the other alone comes again."""
    comes_again(container)
    address = container.stocked(b"first", b"other")
    session = container.session()
    first, other = session.receiver(address).takes(2)
    for each in (first, other):
        session.send(Disposition(Role.RECEIVER, each.id, each.id, False, Received(0, 0)))
    session.goes_on(address)
    session.send(accepted(first.id, first.id))
    session.end()
    again = container.left(address, 1)
    right = len(again) == 1 and b"other" in again[0]
    container.judge("the message that was not accepted comes again", f"{len(again)} messages", right)


@scenario("1-0/2.6.12.settles-behind-an-outcome", needs={"address"})
@broken_by("never settles", withholds(Disposition, when=lambda said: said.role is Role.SENDER))
@broken_by(
    "says that it does not", rewrites(Disposition, when=lambda said: said.role is Role.SENDER, settled=False)
)
def a_sender_settles_what_has_an_outcome(container: Container) -> None:
    """A delivery is accepted and not settled: the sender settles it, and says so."""
    address = container.stocked(b"x")
    session = container.session()
    delivery = unsettled(container, *session.receiver(address).takes(1))
    session.tries(
        Disposition(Role.RECEIVER, delivery.id, delivery.id, False, Accepted()),
        fields(Disposition, role=Role.SENDER, settled=True),
    )


BODIES = (b"first half and second half", b"one half and the other")


@scenario("1-0/2.6.14.whole-message", needs={"address"})
@broken_by("keeps the first part", ignores(Transfer, when=lambda said: said.delivery_id is None))
@broken_by("refuses it", rejects(Transfer, AmqpError.NOT_IMPLEMENTED, when=lambda said: said.more))
def a_message_in_several_transfers_arrives_whole(container: Container) -> None:
    """A message in three transfers is settled, and arrives as it was sent."""
    address, session = container.address(), container.session()
    session.sender(address).delivers(b"control")
    with session.works("a message in three transfers is settled"):
        sender = session.sender(address)
        sender.outcome(sender.send(BODIES[0], parts=3))
    came = container.left(address, 2)
    whole = any(BODIES[0] in each for each in came)
    container.judge("the whole message", "another message", whole)


@scenario("1-0/2.6.14.interleaved-links", needs={"address"})
@broken_by("refuses it", replaces(Disposition, End(REFUSED), skip=1))
@broken_by("mixes them", forwards(Transfer, when=lambda said: said.delivery_id is None, handle=0))
def messages_of_two_links_are_interleaved(container: Container) -> None:
    """The halves of two messages, in turn on two links: both are settled, and arrive whole."""
    address = container.stocked()
    session = container.session()
    links = [session.sender(address).granted() for _ in range(2)]
    numbers, ends = [], []
    for sender, body in zip(links, BODIES, strict=True):
        numbers.append(session.next_delivery_id)
        half, octets = len(body) // 2, message(body)
        session.send(sender.carries(sender.transfer(more=True), octets[:half]))
        ends.append((sender, octets[half:]))
    with session.works("both messages are settled"):
        session.send(*(sender.carries(Transfer(sender.handle), octets) for sender, octets in ends))
        for sender, number in zip(links, numbers, strict=True):
            sender.outcome(number)
    came = b"".join(container.left(address, 2))
    container.judge("both messages whole", "other messages", all(each in came for each in BODIES))


def is_thrown_away(container: Container, **more: bool) -> None:
    """Judge that of a message that is aborted, so, and a whole one the whole one arrives alone."""
    address, session = container.address(), container.session()
    sender = session.sender(address)
    sender.outcome(sender.send(b"control", parts=2))
    with session.works("the message behind an aborted one is settled"):
        sender.granted()
        session.send(
            sender.carries(sender.transfer(more=True), message(b"aborted")[:5]),
            sender.carries(Transfer(sender.handle, aborted=True).replace(**more)),
        )
        sender.delivers(b"whole")
    came = [body for body in container.left(address, 2) if b"control" not in body]
    container.judge(
        "the whole message alone", f"{len(came)} messages", len(came) == 1 and b"whole" in came[0]
    )


@scenario("1-0/2.6.14.aborted-discarded", needs={"address"})
@broken_by("keeps what was aborted", forwards(Transfer, when=lambda said: said.aborted, aborted=False))
@broken_by("detaches", replaces(Disposition, Detach(0, True, REFUSED), skip=1))
def what_is_aborted_is_thrown_away(container: Container) -> None:
    """Of an aborted delivery and a whole one the whole one arrives alone, and is settled."""
    is_thrown_away(container)


@scenario("1-0/2.7.5.aborted-ignores-more", needs={"address"})
@broken_by("waits for more", forwards(Transfer, when=lambda said: said.aborted, aborted=False))
@broken_by("detaches", replaces(Disposition, Detach(0, True, REFUSED), skip=1))
def an_aborted_transfer_is_the_last(container: Container) -> None:
    """A message behind a transfer with aborted and more is settled, and arrives alone."""
    is_thrown_away(container, more=True)


@scenario("1-0/2.7.5.continuation-id-repeated", needs={"address"})
@broken_by("wants it left out", rejects(Transfer, AmqpError.INVALID_FIELD, skip=2))
@broken_by("loses what follows", forwards(Transfer, skip=2, aborted=True))
def a_later_transfer_may_repeat_the_id(container: Container) -> None:
    """A message whose second transfer says again what the first said of the delivery arrives whole."""
    address, session = container.address(), container.session()
    sender = session.sender(address)
    sender.delivers(b"control")
    octets, number, first = message(BODIES[0]), session.next_delivery_id, sender.granted().transfer()
    with session.works("a message in two transfers is settled"):
        session.send(
            sender.carries(first.replace(more=True), octets[:5]),
            Frame(AMQP, session.channel, first.encode() + octets[5:]),
        )
        sender.outcome(number)
    whole = any(BODIES[0] in each for each in container.left(address, 2))
    container.judge("the whole message", "another message", whole)


LARGE = 65536
"""Octets of a frame, beyond which none of ours is sent."""
WRAPPING = 8
"""Octets of a message besides its body, when that is large."""


@scenario("1-0/2.7.5.one-transfer", needs={"address"})
@broken_by("takes small frames only", rejects_frames(is_larger(LARGE // 2), ConnectionError_.FRAMING_ERROR))
@broken_by("loses it", ignores_frames(is_larger(LARGE // 2)))
def a_message_may_fill_the_largest_frame(container: Container) -> None:
    """A message in one transfer whose frame is as large as may be is settled."""
    connection = container.alive()
    session = connection.begin()
    sender = session.sender(container.address())
    sender.delivers(b"control")
    said = sender.granted().transfer()
    frame = min(connection.partner.max_frame_size, LARGE)
    room = frame - len(amqp_frame(session.channel, said).encode())
    payload = message(bytes(min(room, sender.partner.max_message_size or room) - WRAPPING))
    with session.works("a message in a large frame is settled"):
        number = session.next_delivery_id
        session.send(sender.carries(said, payload))
        sender.outcome(number)
