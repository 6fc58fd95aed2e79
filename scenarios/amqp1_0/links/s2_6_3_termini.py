"""2.1.1 and 2.6.2 to 2.6.6: which way a link goes, what its terminus is, and attachments that change."""

from harness.amqp1_0.broken.deviations import follows, ignores, rejects, rewrites, withholds
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import AttachedLink, Receiver
from harness.amqp1_0.client.outcomes import answered, detached, ended_or_closed, fields
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.client.transcript import OF_AMQP, Framed
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    Detach,
    End,
    Error,
    Role,
    SenderSettleMode,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.types import Described, Map, Symbol
from harness.play.watching import Found, Gaps, State, came
from scenarios.registry import broken_by, scenario, watch


class Attached(State):
    """The role in which the server has attached each of its handles, by channel."""

    def __init__(self) -> None:
        self.roles: dict[tuple[int, int], bool] = {}

    def learn(self, each: Framed) -> bool | None:
        """Learn what comes; of an attach say whether its handle was free."""
        channel, said = each.unit.channel, each.said
        if said is None or not said.is_as_defined():
            return None
        if isinstance(said, (Begin, End)):
            self.roles = {place: role for place, role in self.roles.items() if place[0] != channel}
        elif isinstance(said, Detach):
            self.roles.pop((channel, said.handle), None)
        elif isinstance(said, Attach):
            free = (channel, said.handle) not in self.roles
            self.roles[channel, said.handle] = said.role
            return free
        return None


@watch(
    "1-0/2.1.1.one-direction",
    during="1-0/2.6.7.credit-is-used-up",
    looks_at=came(OF_AMQP),
    start=Attached,
    gap=Gaps.STOPS,
)
@broken_by("sends where it receives", follows(Attach, Transfer(0, 9, b"t", 0), when=lambda said: said.role))
def transfers_come_from_a_sender_alone(attached: Attached, each: Framed) -> Found:
    """No transfer of the run comes on a link on which the server receives."""
    attached.learn(each)
    said = each.said
    if not isinstance(said, Transfer) or not said.is_as_defined():
        return None
    role = attached.roles.get((each.unit.channel, said.handle))
    if role is None:
        return None
    return role is Role.SENDER or f"a transfer on a link to the server at {each.at:.4f} s"


@watch(
    "1-0/2.7.3.handle-not-reused",
    during="1-0/2.7.3.lowest-handle",
    looks_at=came(OF_AMQP),
    start=Attached,
    gap=Gaps.STOPS,
)
@broken_by("has one handle for all", rewrites(Attach, handle=0))
def no_handle_of_the_server_has_two_links(attached: Attached, each: Framed) -> Found:
    """Every attach of the server is on a handle that none of its links has."""
    free = attached.learn(each)
    if free is None:
        return None
    return free or f"an attach on handle {each.said.handle}, which has a link, at {each.at:.4f} s"


LONG = 300
"""Characters of a long name, which still fits into the smallest frame."""


def is_long(said: Attach) -> bool:
    return len(said.name) >= LONG


@scenario("1-0/2.6.1.long-name", needs={"address"})
@broken_by("cuts it", rewrites(Attach, name=lambda name: name[:255]))
@broken_by("refuses it", rejects(Attach, AmqpError.INVALID_FIELD, when=is_long))
def the_name_of_a_link_may_be_long(container: Container) -> None:
    """A receiver with a name of 300 characters is answered by an attach of that name."""
    address, session = container.address(), container.session()
    session.fence(address)
    ours = session.the_attach(Role.RECEIVER, source=Source(address), target=Target())
    ours = ours.replace(name=ours.name.ljust(LONG, "x"))
    answer = session.tries(ours, Attach)
    session.judge("an attach of that name", "an attach of another name", answer.name == ours.name)


@scenario("1-0/2.6.2.half-attached", needs={"address"})
@broken_by("does not answer", withholds(Detach, skip=1))
@broken_by("refuses it", rejects(Detach, AmqpError.ILLEGAL_STATE, skip=1))
def a_link_is_closed_before_it_is_answered(container: Container) -> None:
    """An attach and its closing detach in a single write: both are answered."""
    address, session = container.address(), container.session()
    session.fence(address)
    ours = session.the_attach(Role.RECEIVER, source=Source(address), target=Target())
    session.send(ours, Detach(ours.handle, True))
    answer = session.expect(Attach)
    session.expect(fields(Detach, handle=answer.handle, error=None))


NOTHING = "-conformance-nothing"
"""What makes an address of nothing out of one of ours."""


@scenario("1-0/2.6.3.terminus-created-or-not", needs={"address"})
@broken_by("says nothing", ignores(Attach, skip=1))
@broken_by("attaches to nothing", rewrites(Attach, skip=1, source=None))
def an_address_of_nothing_is_answered(container: Container) -> None:
    """A receiver from an address that names nothing is attached to what is made for it, or refused."""
    address, session = container.address(), container.session()
    session.fence(address)
    ours = session.the_attach(Role.RECEIVER, source=Source(address + NOTHING), target=Target())
    others = (detached() | ended_or_closed()).under("nothing is made, and no attach says so before")
    answer = session.tries(ours, Attach, others)
    if isinstance(answer, Attach) and answer.source is None:
        session.expect(detached())


NOBODYS = Symbol("conformance:nothing")
FILTER = Map([(NOBODYS, Described(Symbol("conformance:nothing:filter"), "x"))])
"""A filter that nobody has heard of."""


def filtered(session: Session, address: str) -> Attach:
    """Give an attach of a receiver whose source is to have a filter that nobody knows."""
    return session.the_attach(Role.RECEIVER, source=Source(address, filter=FILTER), target=Target())


def has_filter(said: Attach) -> bool:
    return isinstance(said.source, Source) and said.source.filter is not None


@scenario("1-0/2.6.3.actual-properties", needs={"address"})
@broken_by("says what was asked for", rewrites(Attach, skip=1, source=lambda it: it.replace(filter=FILTER)))
def a_filter_that_nobody_knows_is_not_reported(container: Container) -> None:
    """The attach that answers one with a filter nobody has heard of has a source without it."""
    address, session = container.address(), container.session()
    session.fence(address)
    answer = session.ask(filtered(session, address), Attach, Detach, End, Close)
    source = answer.source if isinstance(answer, Attach) else None
    if not isinstance(source, Source):
        container.inapplicable("the target refuses a filter that it does not know")
    told = source.filter
    kept = isinstance(told, Map) and any(name == NOBODYS for name, _ in told.pairs)
    session.judge("a source without that filter", "a source with a filter that nobody knows", not kept)


@scenario("1-0/2.6.3.not-preempted", needs={"address"})
@broken_by("refuses it", rejects(Attach, AmqpError.NOT_IMPLEMENTED, when=has_filter))
@broken_by("has no source then", rewrites(Attach, skip=1, source=None))
def what_the_server_lacks_it_leaves_to_its_partner(container: Container) -> None:
    """An attach with a filter nobody has heard of is answered by one with a source."""
    address, session = container.address(), container.session()
    session.fence(address)
    answer = session.tries(filtered(session, address), Attach)
    session.judge("an attach with a source", "an attach without a source", answer.source is not None)


def attached_again(session: Session, link: AttachedLink) -> Attach:
    """Judge that an attach answers ours behind a detach that does not close. Raises Unmet."""
    detached = fields(Detach, handle=link.partner.handle, closed=False, error=None)
    alone = answered(Attach).recorded("whether the detach is answered is judged by 1-0/2.6.4.detach-answered")
    seen = session.expect(detached, alone)
    answer: Attach = seen if isinstance(seen, Attach) else session.expect(Attach)
    return answer


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
