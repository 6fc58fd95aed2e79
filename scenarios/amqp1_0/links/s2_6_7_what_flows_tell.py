"""2.6.7 to 2.6.10 and 2.7.4: what flows tell of a link, and what is built of them."""

from harness.amqp1_0.broken.deviations import forwards, ignores, rejects, rewrites, withholds
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Receiver
from harness.amqp1_0.client.outcomes import fields
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.client.transcript import OF_AMQP, Framed
from harness.amqp1_0.wire.performatives import AmqpError, Flow, Role, Transfer
from harness.amqp1_0.wire.serial import SIZE
from harness.play.watching import Found, Gaps, came, went
from harness.wire.journal import Direction
from scenarios.amqp1_0.links.s2_6_7_flow_control import of_a_link, uses_up
from scenarios.amqp1_0.performatives.s2_7_4_flow import Links
from scenarios.amqp1_0.sessions.s2_5_6_session_flow_control import comes
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, scenario, watch


def of_a_sender(said: Flow) -> bool:
    """Say whether a flow of the reference peer is about a link on which it sends."""
    return said.handle is not None and said.available is not None


def tells(container: Container, session: Session, receiver: Receiver, address: str, **values: object) -> None:
    """Judge that the flow which answers an echo has these values. Raises Inapplicable where none does.

    To answer is a SHOULD, which 1-0/2.7.4.echo-answered judges: what is told binds who tells it.
    """
    any_flow, told = (fields(Flow, handle=receiver.partner.handle, **each) for each in ({}, values))
    before = len(session.seen)
    session.take_in(lambda: any(map(told.matches, session.seen[before:])))
    if not any(map(any_flow.matches, session.seen[before:])):
        session.goes_on(address)
        container.inapplicable("the target does not answer an echo")
    session.judge(told.says, "a flow with other values", any(map(told.matches, session.seen[before:])))


@scenario("1-0/2.6.7.count-is-the-senders", needs={"address"})
@broken_by(
    "takes over ours", rewrites(Flow, when=of_a_sender, delivery_count=lambda count: max(count - 1, 0))
)
def a_receiver_cannot_change_the_delivery_count(container: Container) -> None:
    """A flow that knows one message less does not change the delivery-count that the server tells."""
    address = container.stocked(b"1", b"2")
    session = container.session()
    receiver = session.receiver(address)
    receiver.takes(2)
    count = receiver.delivery_count
    receiver.grants(3, delivery_count=count + -1, echo=True)
    tells(container, session, receiver, address, delivery_count=count)


@scenario("1-0/2.6.7.credit-matches-the-limit", needs={"address"})
@broken_by("says what it was given", rewrites(Flow, when=of_a_sender, link_credit=3))
@broken_by("does not say it", rewrites(Flow, when=of_a_sender, link_credit=None))
def the_credit_that_is_told_matches_the_limit(container: Container) -> None:
    """Behind two messages, a flow that knows one of them and gives credit for three leaves credit for two."""
    address = container.stocked(b"1", b"2")
    session = container.session()
    receiver = session.receiver(address)
    receiver.takes(2)
    count = receiver.delivery_count
    receiver.grants(3, delivery_count=count + -1, echo=True)
    tells(container, session, receiver, address, link_credit=2)


@scenario("1-0/2.6.7.credit-is-no-sum", needs={"address"})
@broken_by("adds it up", forwards(Flow, when=of_a_link, skip=2, link_credit=6))
@broken_by("takes none", ignores(Flow, when=of_a_link))
def the_same_credit_again_is_the_same(container: Container) -> None:
    """Of four messages two come with credit for two that is given three times in a single write."""
    address = container.stocked(b"1", b"2", b"3", b"4")
    session = container.session()
    receiver = session.receiver(address)
    given = receiver.flow(delivery_count=receiver.delivery_count, link_credit=2)
    session.send(given, given, given)
    comes(session, 2)


class Available(Links):
    """The links of a connection, and the most that we have said is available on any."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0


@watch(
    "1-0/2.6.7.available-floor",
    during="1-0/2.6.7.available-zero",
    looks_at=came(OF_AMQP) + went(OF_AMQP),
    start=Available,
    gap=Gaps.STOPS,
    never="the target says nothing of available on links to it",
    of_clients="1-0/2.6.7.available-zero",
)
@broken_by("counts on below zero", forwards(Flow, when=of_a_link, available=SIZE - 1), CLIENT)
@broken_by("counts on below zero", rewrites(Flow, when=of_a_link, available=SIZE - 1))
def what_is_available_is_never_less_than_nothing(links: Available, each: Framed) -> Found:
    """No flow about a link to the server says that more is available than we have ever said."""
    links.learn(each)
    said = each.said
    if isinstance(said, Flow) and said.is_as_defined() and each.direction is Direction.SENT:
        links.most = max(links.most, said.available or 0)
    attach = links.of(each)
    if attach is None or attach.role is not Role.RECEIVER or each.said.available is None:
        return None
    return each.said.available <= links.most or f"available {each.said.available} at {each.at:.4f} s"


@scenario("1-0/2.6.8.nothing-behind-a-drain", needs={"address"})
@broken_by("says so and keeps the credit", forwards(Flow, when=of_a_link, drain=False))
@broken_by("sends what comes later", ignores(Flow, when=lambda said: said.drain))
def behind_a_drain_no_message_comes(container: Container) -> None:
    """A get that has timed out, and was drained, takes no message that is sent later; the next get does."""
    address, session = container.address(), container.session()
    receiver = session.receiver(address)
    receiver.grants(1)
    receiver.grants(1, drain=True)
    uses_up(receiver, session, 1)
    container.session().sender(address).delivers(b"late")
    session.stays("no transfer", Transfer)
    receiver.grants(1)
    session.expect(Transfer)


@scenario("1-0/2.6.9.topped-up", needs={"address"})
@broken_by("adds it to what is left", forwards(Flow, when=of_a_link, link_credit=lambda it: it + 1))
@broken_by("takes the first alone", ignores(Flow, when=of_a_link, skip=1))
def credit_is_brought_back_to_its_target(container: Container) -> None:
    """Credit for two, and for two again behind each of four messages: six of seven come."""
    address = container.stocked(*(b"%d" % number for number in range(7)))
    session = container.session()
    receiver = session.receiver(address)
    begin = receiver.delivery_count
    receiver.grants(2)
    with session.works("six messages"):
        for count in range(1, 5):
            receiver.waits(count)
            receiver.grants(2, delivery_count=begin + count)
        receiver.waits(6)
    session.stays("no more than six messages", Transfer)


@scenario("1-0/2.6.10.quiesced", needs={"address"})
@broken_by("keeps the credit", forwards(Flow, when=lambda said: said.link_credit == 0, link_credit=10))
@broken_by("says that some is left", rewrites(Flow, when=of_a_sender, link_credit=1))
def behind_the_echo_a_stopped_link_is_quiet(container: Container) -> None:
    """Credit for ten and at once for none, with echo: behind the answer no message comes."""
    address = container.stocked(b"1", b"2", b"3")
    session = container.session()
    receiver = session.receiver(address)
    receiver.grants(10)
    receiver.grants(0, echo=True)
    tells(container, session, receiver, address, link_credit=0)
    container.session().sender(address).delivers(b"x")
    session.stays("no transfer", Transfer)


@scenario("1-0/2.7.4.echoes-answered", needs={"address"})
@broken_by("answers none", withholds(Flow, when=of_a_link, skip=1))
@broken_by("is asked once only", rejects(Flow, AmqpError.NOT_ALLOWED, when=lambda said: said.echo, skip=1))
def several_requests_are_answered(container: Container) -> None:
    """Behind an answered echo three in a single write: one flow comes, or more, and the session goes on."""
    address, session = container.address(), container.session()
    receiver = session.receiver(address)
    asks = receiver.flow(delivery_count=receiver.delivery_count, link_credit=1, echo=True)
    session.send(asks)
    tells(container, session, receiver, address, echo=False)
    session.send(asks, asks, asks)
    session.expect(fields(Flow, handle=receiver.partner.handle, echo=False))
    session.goes_on(address)
