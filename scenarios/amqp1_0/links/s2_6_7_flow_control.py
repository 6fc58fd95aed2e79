"""2.6.7 to 2.6.10: credit, drain, and what is built of them."""

from harness.amqp1_0.broken.deviations import (
    follows,
    forwards,
    ignores,
    rejects,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Receiver, message
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    Disposition,
    Error,
    Flow,
    LinkError,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.serial import SIZE, Serial
from scenarios.amqp1_0.sessions.s2_5_6_session_flow_control import comes
from scenarios.registry import broken_by, scenario

MANY = 100
"""Credit for more than is there."""


def of_a_link(said: Flow) -> bool:
    return said.link_credit is not None


@scenario("1-0/2.6.7.limit-is-the-receivers", needs={"address"})
@broken_by("counts from where it is", forwards(Flow, when=of_a_link, delivery_count=4, skip=1))
@broken_by("takes any credit for a large one", forwards(Flow, when=of_a_link, link_credit=MANY))
@broken_by("never goes on", ignores(Flow, when=of_a_link, skip=1))
def credit_is_counted_from_what_the_receiver_knows(container: Container) -> None:
    """Behind four messages a flow that knows two of them and gives credit for three has room for one."""
    address = container.stocked(*(b"%d" % number for number in range(6)))
    session = container.session()
    receiver = session.receiver(address)
    receiver.grants(4)
    comes(session, 4)
    receiver.grants(3, delivery_count=receiver.delivery_count + -2)
    comes(session, 1)


@scenario("1-0/2.6.7.unknown-count-is-the-first", needs={"address"})
@broken_by("looks at no flow without a count", ignores(Flow, when=lambda said: said.delivery_count is None))
@broken_by("takes any credit for a large one", forwards(Flow, when=of_a_link, link_credit=MANY))
def without_a_count_credit_is_counted_from_the_first(container: Container) -> None:
    """An attach and a flow without delivery-count in a single write: so many come as it gives credit for."""
    address = container.stocked(b"1", b"2", b"3")
    session = container.session()
    session.fence(address)
    attach = session.the_attach(Role.RECEIVER, source=Source(address), target=Target())
    session.send(attach, session.flow(handle=attach.handle, link_credit=2))
    session.expect(Attach)
    comes(session, 2)


@scenario("1-0/2.6.7.credit-is-used-up", needs={"address"})
@broken_by("takes any credit for a large one", forwards(Flow, when=of_a_link, link_credit=MANY))
@broken_by("never goes on", ignores(Flow, when=of_a_link, skip=1))
def each_message_takes_one_of_the_credit(container: Container) -> None:
    """Of five messages two come with credit for two, and two more with credit for two more."""
    address = container.stocked(b"1", b"2", b"3", b"4", b"5")
    session = container.session()
    receiver = session.receiver(address)
    for _ in range(2):
        receiver.grants(2)
        comes(session, 2)


@scenario("1-0/2.6.7.no-credit-no-transfer", needs={"address"})
@broken_by("sends without credit", follows(Attach, Transfer(0, 9, b"t", 0), when=lambda said: not said.role))
@broken_by("takes none for much", forwards(Flow, when=of_a_link, link_credit=0))
def without_credit_nothing_comes(container: Container) -> None:
    """A message waits until there is credit for it."""
    address = container.stocked(b"x")
    session = container.session()
    receiver = session.receiver(address)
    session.stays("no transfer", Transfer)
    receiver.grants(1)
    session.expect(Transfer)


def uses_up(receiver: Receiver, session: Session, credit: int) -> None:
    """Judge that a flow of the link comes that says that so much credit, all of it, was used up."""
    end = Serial(receiver.partner.initial_delivery_count or 0) + credit

    def come() -> bool:
        flows = (each.performative for each in session.seen if isinstance(each.performative, Flow))
        ours = (each for each in flows if each.handle == receiver.partner.handle)
        return any(each.link_credit == 0 and each.delivery_count == end for each in ours)

    with session.works("a flow that says that all credit is used up"):
        session.until("a drain", come)


@scenario("1-0/2.6.7.drained", needs={"address"})
@broken_by("keeps the credit", ignores(Flow, when=lambda said: said.drain))
@broken_by("does not say so", withholds(Flow, when=of_a_link))
@broken_by("forgets its count", rewrites(Flow, when=of_a_link, delivery_count=0))
def credit_without_messages_is_used_up(container: Container) -> None:
    """With nothing to send a sender that is to drain uses up credit for five and says so."""
    address, session = container.address(), container.session()
    receiver = session.receiver(address)
    receiver.grants(5, drain=True)
    uses_up(receiver, session, 5)


@scenario("1-0/2.6.7.drained-behind-messages", needs={"address"})
@broken_by("keeps the credit", forwards(Flow, drain=False))
@broken_by("sends nothing", withholds(Transfer))
def what_is_available_comes_before_the_credit_is_used_up(container: Container) -> None:
    """Of credit for five with drain two messages take two, and a flow says that the rest is used up."""
    address = container.stocked(b"1", b"2")
    session = container.session()
    receiver = session.receiver(address)
    receiver.grants(5, drain=True)
    uses_up(receiver, session, 5)
    before = len(receiver.deliveries())
    session.judge("two messages before that", f"{before} messages before that", before == 2)


@scenario("1-0/2.6.7.delivery-count-arbitrary", needs={"address"})
@broken_by(
    "refuses another count than zero",
    rejects(Attach, AmqpError.INVALID_FIELD, when=lambda said: said.initial_delivery_count),
)
@broken_by("loses what comes behind the wrap", ignores(Transfer, skip=2))
def a_delivery_count_begins_anywhere(container: Container) -> None:
    """A sender that begins with 2^32-2 gets credit, and its messages are settled over the wrap."""
    address = container.stocked(b"control")
    session = container.session()
    with session.works("messages of a sender that begins with 2^32-2 are settled"):
        sender = session.sender(address, initial_delivery_count=SIZE - 2)
        sender.delivers(b"1", b"2", b"3", b"4")
        sender.granted()


@scenario("1-0/2.6.10.stopped", needs={"address"})
@broken_by("goes on", ignores(Flow, when=lambda said: said.link_credit == 0))
def without_credit_a_link_stops(container: Container) -> None:
    """Behind a flow that takes the credit back no message comes."""
    address, session = container.address(), container.session()
    receiver = session.receiver(address)
    receiver.grants(10)
    receiver.grants(0)
    session.fence(address)
    container.session().sender(address).delivers(b"x")
    session.stays("no transfer", Transfer)


@scenario("1-0/2.6.7.available-zero", needs={"address"})
@broken_by("takes it for the end", ignores(Transfer, skip=1))
def a_sender_sends_though_nothing_was_available(container: Container) -> None:
    """A message is settled that is sent behind a flow which says that nothing is available."""
    session = container.session()
    sender = session.sender(container.address())
    sender.delivers(b"control")
    sender.granted()
    session.send(sender.flow(delivery_count=sender.delivery_count, link_credit=sender.credit, available=0))
    with session.works("a message behind it is settled"):
        sender.delivers(b"x")


MOST = 1000
"""Messages that are sent at once at most."""
EXCESS = 5


@scenario("1-0/2.6.7.excess-taken-or-refused", needs={"address"})
@broken_by("loses them", ignores(Transfer, skip=10))
@broken_by(
    "has another condition",
    replaces(Disposition, Detach(0, True, Error(AmqpError.NOT_ALLOWED)), skip=10),
)
@broken_by("closes", rejects(Transfer, LinkError.TRANSFER_LIMIT_EXCEEDED, skip=10))
def what_exceeds_the_credit_is_taken_or_refused(container: Container) -> None:
    """Five messages more than there is credit for: all are settled, or the link is detached for that."""
    session = container.session()
    sender = session.sender(container.address()).granted()
    if sender.credit > MOST:
        container.inapplicable(f"the target gives credit for more than {MOST} messages")
    first, count = session.next_delivery_id, sender.credit + EXCESS
    session.send(*(sender.carries(sender.transfer(), message()) for _ in range(count)))
    numbers = [first + each for each in reversed(range(count))]
    session.take_in(lambda: session.told(Detach) or all(map(sender.dispositions, numbers)))
    detaches = session.told(Detach)
    taken = all(map(sender.dispositions, numbers))
    session.judge("each message taken, or a detach", "messages without an answer", bool(taken or detaches))
    conditions = {each.error.condition for each in detaches if each.error is not None}
    session.judge(
        f"detach {LinkError.TRANSFER_LIMIT_EXCEEDED}",
        f"detach {' '.join(sorted(conditions)) or 'without error'}",
        not detaches or conditions == {LinkError.TRANSFER_LIMIT_EXCEEDED},
    )
