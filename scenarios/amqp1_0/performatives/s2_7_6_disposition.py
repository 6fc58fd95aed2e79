"""2.7.6 Disposition: its form, and which deliveries it is about."""

from harness.amqp1_0.broken.deviations import forwards, ignores, rejects, respells, rewrites, withholds
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Delivery
from harness.amqp1_0.client.outcomes import ended_or_closed
from harness.amqp1_0.client.transcript import UNREAD, Framed
from harness.amqp1_0.wire.performatives import Accepted, AmqpError, Attach, Detach, Disposition, Role
from harness.amqp1_0.wire.serial import SIZE
from harness.amqp1_0.wire.types import As, Described, Map, Ulong
from harness.play.expect import Inconclusive
from harness.play.watching import Found, came
from scenarios.amqp1_0.performatives.s2_7_1_open import OURS_IS_WRONG, STR8, held_against
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch


@watch(
    "1-0/2.7.6.disposition-well-formed",
    during="1-0/2.7.5.first-settles",
    looks_at=came(Disposition, UNREAD),
    until=OURS_IS_WRONG,
    of_clients=TALK,
)
@broken_by("names no delivery", forwards(Disposition, first=None), CLIENT)
@broken_by("has a text for settled", forwards(Disposition, settled=As(STR8, "yes")), CLIENT)
@broken_by("names no delivery", rewrites(Disposition, first=None))
@broken_by("has a text for settled", rewrites(Disposition, settled=As(STR8, "yes")))
@broken_by("says more than one holds", respells(Disposition, lambda said: said.sent_as(unknown=("more",))))
@broken_by("is a map", respells(Disposition, lambda _: Described(Ulong(Disposition.spec.code), Map())))
def every_disposition_is_as_defined(each: Framed) -> Found:
    """Every disposition of the run is a list of at most six fields of their types."""
    return held_against(Disposition, each)


def unsettled(container: Container, delivery: Delivery) -> Delivery:
    """Give a delivery whose outcome its sender waits for. Raises Inapplicable for one that came settled."""
    if any(each.settled for each in delivery.transfers):
        container.inapplicable("the server sends what is settled already: it waits for no outcome")
    return delivery


def comes_again(container: Container) -> None:
    """See that what was taken and not settled comes again. Raises Inapplicable, Inconclusive."""
    address, session = container.stocked(b"control"), container.session()
    unsettled(container, *session.receiver(address).takes(1))
    session.end()
    if not container.left(address, 1):
        raise Inconclusive("what nobody has settled does not come again on this target")


def accepted(first: int, last: int | None) -> Disposition:
    return Disposition(Role.RECEIVER, first, last, True, Accepted())


@scenario("1-0/2.7.6.range-settled", needs={"address"})
@broken_by("settles the first alone", forwards(Disposition, last=None))
@broken_by("settles none", ignores(Disposition))
def one_disposition_settles_deliveries_of_two_links(container: Container) -> None:
    """Of four deliveries, two on each of two links, accepted by one disposition, none comes again."""
    comes_again(container)
    address = container.stocked(b"1", b"2", b"3", b"4")
    session = container.session()
    links = [session.receiver(address) for _ in range(2)]
    came = [link.takes(1)[0] for link in (*links, *links)]
    session.send(accepted(came[0].id, came[-1].id))
    session.end()
    again = len(container.left(address))
    container.judge("no message comes again", f"{again} messages come again", not again)


@scenario("1-0/2.7.6.last-unset-is-first", needs={"address"})
@broken_by("takes it for all behind", forwards(Disposition, last=9))
@broken_by("takes it for none", ignores(Disposition))
def a_disposition_without_last_is_about_one(container: Container) -> None:
    """Of two deliveries one is accepted by a disposition without last: the other alone comes again."""
    comes_again(container)
    address, session = container.stocked(b"one", b"other"), container.session()
    first, _ = session.receiver(address).takes(2)
    session.send(accepted(first.id, None))
    session.end()
    again = container.left(address, 1)
    right = len(again) == 1 and b"other" in again[0]
    container.judge("the other message alone", f"{len(again)} messages", right)


@scenario("1-0/2.7.6.live-behind-a-detach", needs={"address"})
@broken_by("has forgotten it", ignores(Disposition))
def a_delivery_outlives_the_attachment_of_its_link(container: Container) -> None:
    """A delivery that is accepted behind a detach that does not close does not come again."""
    comes_again(container)
    address = container.stocked(b"x")
    session = container.session()
    receiver = session.receiver(address)
    (delivery,) = receiver.takes(1)
    session.send(Detach(receiver.handle))
    session.take_in(lambda: session.told(Detach))  # 1-0/2.6.4.detach-answered judges whether it comes
    session.send(accepted(delivery.id, delivery.id))
    session.end()
    again = len(container.left(address))
    container.judge("the message does not come again", "the message comes again", not again)


@scenario("1-0/2.7.6.sender-may-say", needs={"address"})
@broken_by(
    "ends the session", rejects(Disposition, AmqpError.NOT_IMPLEMENTED, when=lambda s: s.role is False)
)
def a_sender_settles_by_a_disposition(container: Container) -> None:
    """A message, and behind it a disposition of the sender that settles it: the session goes on."""
    address, session = container.address(), container.session()
    sender = session.sender(address)
    sender.delivers(b"control")
    number = session.next_delivery_id
    sender.send(b"told")
    session.send(Disposition(Role.SENDER, number, number, True, Accepted()))
    session.goes_on(address)


@scenario("1-0/2.7.6.role-names-the-direction", needs={"address"})
@broken_by(
    "looks at the number alone",
    forwards(Disposition, when=lambda said: said.role is Role.SENDER, role=Role.RECEIVER),
)
def what_a_sender_says_is_about_what_it_sent(container: Container) -> None:
    """Of two deliveries of one id, theirs and ours, ours is settled by its sender: theirs comes again."""
    comes_again(container)
    address, session = container.stocked(b"theirs"), container.session()
    (delivery,) = session.receiver(address).takes(1)
    session.next_delivery_id = delivery.id
    ours = session.sender(container.address()).send(b"ours")
    session.send(Disposition(Role.SENDER, ours, ours, True, Accepted()))
    session.end()
    again = any(b"theirs" in each for each in container.left(address, 1))
    container.judge("the other message comes again", "the other message does not come again", again)


@scenario("1-0/2.7.6.settled-unset-is-false", needs={"address"})
@broken_by(
    "wants to be told",
    rejects(Disposition, AmqpError.INVALID_FIELD, when=lambda said: said.carried("settled") is None),
)
def a_disposition_that_does_not_say_settled_settles_nothing(container: Container) -> None:
    """A delivery is accepted by a disposition that leaves settled out, and the session goes on."""
    address = container.stocked(b"x")
    session = container.session()
    (delivery,) = session.receiver(address).takes(1)
    session.send(Disposition(Role.RECEIVER, delivery.id, delivery.id, None, Accepted()))
    session.goes_on(address)


FAR = (1 << 31) - 1
"""The most that one number can be ahead of another (RFC 1982)."""


@scenario("1-0/2.7.6.range-beyond-deliveries", needs={"address"}, slow=True, disruptive=True)
@broken_by("counts for ever", withholds(Attach, skip=1))
@broken_by("takes it for none", ignores(Disposition))
def a_disposition_may_reach_beyond_all_deliveries(container: Container) -> None:
    """A delivery is settled by a disposition that ends 2^31-1 ids further, and the session goes on."""
    comes_again(container)
    address = container.stocked(b"x")
    session = container.session()
    (delivery,) = session.receiver(address).takes(1)
    session.send(accepted(delivery.id, delivery.id + FAR))
    unknown = ended_or_closed().under("no delivery has the last id")
    if isinstance(session.goes_on(address, unknown), Attach):
        session.end()
        again = len(container.left(address))
        container.judge("the message does not come again", "the message comes again", not again)


def is_wrapped(said: Disposition) -> bool:
    """Say whether the last number is less than the first, as plain numbers."""
    return said.last is not None and said.last < said.first


AROUND = 8
"""More ids than a server has used when its first deliveries come, or has left before the wrap."""


@scenario("1-0/2.8.10.range-over-the-wrap", needs={"address"})
@broken_by("compares plain numbers", ignores(Disposition, when=is_wrapped))
@broken_by("takes it for the first alone", forwards(Disposition, when=is_wrapped, last=None))
def a_disposition_goes_over_the_wrap(container: Container) -> None:
    """Eight deliveries are accepted from eight ids before the first on: none comes again."""
    comes_again(container)
    address = container.stocked(*(b"%d" % each for each in range(AROUND)))
    session = container.session()
    came = session.receiver(address).takes(AROUND)
    session.send(accepted(came[0].id + (SIZE - AROUND), came[-1].id))
    unknown = ended_or_closed().under("no delivery has the first id")
    if isinstance(session.goes_on(address, unknown), Attach):
        session.end()
        again = len(container.left(address))
        container.judge("no message comes again", f"{again} messages come again", not again)
