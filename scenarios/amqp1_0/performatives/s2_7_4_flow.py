"""2.7.4 Flow: its form, and what it says of a session and of a link."""

from harness.amqp1_0.broken.deviations import forwards, ignores, respells, rewrites, withholds
from harness.amqp1_0.broken.faults import replies
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import fields, session_ended
from harness.amqp1_0.client.transcript import OF_AMQP, UNREAD, Framed, Passage
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    End,
    Error,
    Flow,
    Role,
    SessionError,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.amqp1_0.wire.types import As, Described, Map, Ulong
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import Direction
from scenarios.amqp1_0.performatives.s2_7_1_open import OURS_IS_WRONG, STR8, held_against
from scenarios.amqp1_0.sessions.s2_5_2_ending_a_session import HANDLE_UNKNOWN, NOWHERE
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

OF_LINKS = ("delivery_count", "link_credit", "available", "drain", "properties")
"""Fields that say something of a link."""


def of_a_link(said: Flow) -> bool:
    return said.handle is not None


# -- its form ------------------------------------------------------------------------------------------


@watch(
    "1-0/2.7.4.flow-well-formed",
    during="1-0/2.7.4.echo-answered",
    looks_at=came(Flow, UNREAD),
    until=OURS_IS_WRONG,
    of_clients=TALK,
)
@broken_by("states no window", forwards(Flow, incoming_window=None), CLIENT)
@broken_by("has a text for credit", forwards(Flow, link_credit=As(STR8, "much")), CLIENT)
@broken_by("states no window", rewrites(Flow, incoming_window=None))
@broken_by("has a text for credit", rewrites(Flow, link_credit=As(STR8, "much")))
@broken_by("says more than a flow holds", respells(Flow, lambda said: said.sent_as(unknown=("more",))))
@broken_by("flows with a map", respells(Flow, lambda _: Described(Ulong(Flow.spec.code), Map())))
def every_flow_is_as_defined(each: Framed) -> Found:
    """Every flow of the run is a list of at most eleven fields of their types."""
    return held_against(Flow, each)


@watch(
    "1-0/2.7.4.next-incoming-id-set", during="1-0/2.7.4.echo-answered", looks_at=came(Flow), of_clients=TALK
)
@broken_by("does not say it", forwards(Flow, next_incoming_id=None), CLIENT)
@broken_by("does not say it", rewrites(Flow, next_incoming_id=None))
def every_flow_says_what_is_expected(each: Passage) -> Found:
    """Every flow of the run has a next-incoming-id."""
    return each.said.next_incoming_id is not None or f"a flow without it at {each.at:.4f} s"


@watch(
    "1-0/2.7.4.link-state-needs-a-handle",
    during="1-0/2.7.4.session-echo-answered",
    looks_at=came(Flow),
    until=OURS_IS_WRONG,
    never="the target sends no flow of a session alone",
    of_clients="1-0/2.7.4.session-echo-answered",
)
@broken_by("gives credit to nobody", forwards(Flow, link_credit=5), CLIENT)
@broken_by("gives credit to nobody", rewrites(Flow, link_credit=5))
@broken_by("drains nothing", rewrites(Flow, drain=True))
def without_a_handle_nothing_is_said_of_a_link(each: Passage) -> Found:
    """Every flow of the run without a handle leaves out what is about links."""
    if each.said.handle is not None:
        return None
    wrong = [name for name in OF_LINKS if each.said.carried(name) is not None]
    return not wrong or f"{', '.join(wrong)} without a handle at {each.at:.4f} s"


class Links(State):
    """The links of a connection as both attaches say them, and how far our delivery-counts have come."""

    def __init__(self) -> None:
        self.theirs: dict[tuple[int, int], Attach] = {}
        self.ours: dict[tuple[int, int], str] = {}
        self.begins: dict[str, Serial] = {}
        self.counts: dict[str, Serial] = {}
        self.amid: set[tuple[int, int]] = set()

    def learn(self, each: Framed) -> None:
        """Take over an attach of either side, or a transfer or flow of ours."""
        said, channel = each.said, each.unit.channel
        if said is None or not said.is_as_defined():
            return
        sent = each.direction is Direction.SENT
        if isinstance(said, Attach) and not sent:
            self.theirs[channel, said.handle] = said
        elif isinstance(said, Attach):
            self.ours[channel, said.handle] = said.name
            self.begins[said.name] = self.counts[said.name] = Serial(said.initial_delivery_count or 0)
        elif isinstance(said, Transfer) and sent and (channel, said.handle) in self.ours:
            place = (channel, said.handle)
            self.counts[self.ours[place]] += 0 if place in self.amid else 1
            more = said.more and not said.aborted
            self.amid = self.amid | {place} if more else self.amid - {place}
        elif isinstance(said, Flow) and sent and said.handle is not None and said.delivery_count is not None:
            # A sender that drains goes on by a flow, without transfers (2.6.7).
            name, count = self.ours.get((channel, said.handle)), Serial(said.delivery_count)
            if name is not None and self.counts[name] <= count:
                self.counts[name] = count

    def of(self, each: Framed) -> Attach | None:
        """Give the server's attach of the link that a flow of it is about."""
        flow = each.said
        if not isinstance(flow, Flow) or each.direction is Direction.SENT or not flow.is_as_defined():
            return None
        return None if flow.handle is None else self.theirs.get((each.unit.channel, flow.handle))


@watch(
    "1-0/2.7.4.sender-states-its-count",
    during="1-0/2.7.4.echo-answered",
    looks_at=came(OF_AMQP),
    start=Links,
    gap=Gaps.STOPS,
    of_clients="1-0/2.7.4.echo-answered",
    never_of_clients="the client said no flow about a link on which it sends, not even when it was asked to",
)
@broken_by("does not say it", forwards(Flow, delivery_count=None), CLIENT)
@broken_by("does not say it", rewrites(Flow, delivery_count=None))
def a_flow_of_a_sender_says_its_count(links: Links, each: Framed) -> Found:
    """Every flow about a link on which the server sends has a delivery-count."""
    links.learn(each)
    attach = links.of(each)
    if attach is None or attach.role is not Role.SENDER:
        return None
    return each.said.delivery_count is not None or f"a flow without it at {each.at:.4f} s"


@watch(
    "1-0/2.7.4.receiver-states-the-count",
    during="1-0/2.6.7.delivery-count-arbitrary",
    looks_at=came(OF_AMQP) + went(OF_AMQP),
    until=OURS_IS_WRONG,
    start=Links,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("does not say it", forwards(Flow, delivery_count=None), CLIENT)
@broken_by("is one ahead", forwards(Flow, when=of_a_link, delivery_count=lambda count: count + 1), CLIENT)
@broken_by("does not say it", rewrites(Flow, delivery_count=None))
@broken_by("is one ahead", rewrites(Flow, when=of_a_link, delivery_count=lambda count: count + 1))
@broken_by("counts from zero", rewrites(Flow, when=of_a_link, delivery_count=0))
def a_flow_of_a_receiver_says_our_count(links: Links, each: Framed) -> Found:
    """Every flow about a link on which the server receives has a delivery-count that ours has had."""
    links.learn(each)
    attach = links.of(each)
    if attach is None or attach.role is not Role.RECEIVER or attach.name not in links.counts:
        return None
    count = each.said.delivery_count
    if count is None:
        return f"a flow without it at {each.at:.4f} s"
    right = links.begins[attach.name] <= Serial(count) <= links.counts[attach.name]
    return right or f"another delivery-count at {each.at:.4f} s"


# -- what is asked -------------------------------------------------------------------------------------


@scenario("1-0/2.7.4.unattached-handle")
@broken_by("passes over it", ignores(Flow, when=of_a_link))
@broken_by("has another condition", replies(HANDLE_UNKNOWN, End(Error(AmqpError.NOT_FOUND))))
def a_flow_for_no_link_ends_the_session(container: Container) -> None:
    """A flow for a handle that no link has ends the session with unattached-handle."""
    session = container.session()
    session.send(session.flow())
    session.tries(session.flow(handle=NOWHERE), session_ended(SessionError.UNATTACHED_HANDLE))


@scenario("1-0/2.7.4.drain-mode-told", needs={"address"})
@broken_by("does not say it", rewrites(Flow, drain=False))
def a_flow_of_a_draining_sender_says_so(container: Container) -> None:
    """The flow that answers a drain says drain."""
    address, session = container.address(), container.session()
    receiver = session.receiver(address)
    receiver.grants(1, drain=True)
    session.expect(fields(Flow, handle=receiver.partner.handle, drain=True))


@scenario("1-0/2.7.4.echo-answered", needs={"address"})
@broken_by("does not answer", withholds(Flow, when=of_a_link))
@broken_by("asks in turn", rewrites(Flow, echo=True))
@broken_by(
    "answers for the session alone", rewrites(Flow, handle=None, delivery_count=None, link_credit=None)
)
def an_echo_of_a_link_is_answered(container: Container) -> None:
    """A flow with echo of a link is answered by a flow of it without."""
    session = container.session()
    receiver = session.receiver(container.address())
    receiver.grants(1, echo=True)
    session.expect(fields(Flow, handle=receiver.partner.handle, echo=False))


@scenario("1-0/2.7.4.session-echo-answered", slow=True)
@broken_by("does not answer", withholds(Flow))
def an_echo_of_a_session_is_answered(container: Container) -> None:
    """A flow with echo of a session is answered by a flow."""
    session = container.session()
    session.tries(session.flow(echo=True), Flow)
