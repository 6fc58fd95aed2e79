"""2.6.1 to 2.6.6: links are attached, refused, stolen, detached, attached again, closed."""

from typing import Any

from harness.amqp1_0.broken.deviations import (
    changes,
    drops,
    follows,
    forwards,
    ignores,
    rejects,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.broken.faults import replies
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Sender
from harness.amqp1_0.client.outcomes import (
    answered,
    detached,
    ended_or_closed,
    fields,
)
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import OF_AMQP, Framed
from harness.amqp1_0.peer.tables.attach import attach_to_node
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    Detach,
    End,
    Error,
    LinkError,
    Open,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.play.watching import Found, Gaps, State, came
from scenarios.registry import broken_by, scenario, watch

OURS = Error(AmqpError.INTERNAL_ERROR, "the suite would not have done so")
TAKEN = AmqpError.RESOURCE_LOCKED
NOBODY = "attach: refuses an address that names nothing"


@scenario("1-0/2.6.1.stolen", needs={"address"}, slow=True)
@broken_by("leaves the first attached", changes("attach: is answered", effects=(attach_to_node,)))
@broken_by(
    "has another condition",
    rewrites(Detach, when=lambda said: said.error is not None, error=Error(LinkError.DETACH_FORCED)),
)
@broken_by("does not close it", rewrites(Detach, when=lambda said: said.error is not None, closed=False))
def a_link_attached_elsewhere_is_stolen(container: Container) -> None:
    """A receiver of the same container and name on another connection: the first is detached with stolen."""
    address = container.address()
    first = container.alive()
    second = container.alive(container_id=first.container_id)
    if isinstance(second.ask(the_begin(), Begin, Close), Close):
        container.inapplicable("the target serves one connection of a container at a time")
    second.ask(End(), End)
    session = first.begin()
    held = session.receiver(address)
    other = second.begin()
    other.send(held.attach.replace(handle=0))
    seen = other.expect(answered(Attach), ended_or_closed().under("it can be stolen, and need not be"))
    if isinstance(seen, Attach) and seen.source is not None:
        stolen = session.expect(detached(LinkError.STOLEN))
        session.judge("a detach that closes", "a detach that does not close", stolen.closed)


@scenario("1-0/2.6.1.name-per-direction", needs={"address"})
@broken_by("has one link of a name", rejects(Attach, TAKEN, skip=1))
@broken_by("passes over the second", ignores(Attach, skip=1))
def a_name_serves_both_directions(container: Container) -> None:
    """A sender with the name of a receiver is answered with its target, and each carries a message."""
    address, session = container.address(), container.session()
    receiver = session.receiver(address)
    ours = session.the_attach(Role.SENDER, source=Source(), target=Target(address))
    ours = ours.replace(name=receiver.attach.name)
    answer = session.tries(ours, Attach)
    with session.works("a message over each link"):
        Sender(session, ours, answer).delivers(b"x")
        receiver.takes(1)


@scenario("1-0/2.7.3.name-per-container", needs={"address"})
@broken_by("takes all containers for one", forwards(Open, container_id="the same for all"))
@broken_by("has one link of a name", rejects(Attach, TAKEN, when=lambda said: said.handle == 1))
def two_containers_choose_one_name(container: Container) -> None:
    """A receiver with the name of one of another container is attached, and the first stays so."""
    address = container.address()
    first, second = container.session(), container.session()
    held = first.receiver(address)
    second.fence(address)
    with second.works("a link of the same name"):
        second.receiver(address, name=held.attach.name)
    first.goes_on(address)


HIGH = 7
"""A handle that nobody takes who takes the lowest."""


def is_high(said: Attach | Transfer) -> bool:
    return bool(said.handle == HIGH)


@scenario("1-0/2.6.2.handles-differ", needs={"address"})
@broken_by("wants the lowest", rejects(Attach, AmqpError.INVALID_FIELD, when=is_high))
@broken_by("finds no link there", ignores(Transfer, when=is_high))
def each_endpoint_has_a_handle_of_its_own(container: Container) -> None:
    """A message on a link that we attach on a high handle is settled like one on handle 0."""
    address, session = container.address(), container.session()
    session.sender(address).delivers(b"control")
    highest = int(session.partner.handle_max)
    with session.works("a message on a link with a high handle"):
        session.sender(address, handle=min(HIGH, highest)).delivers(b"x")


def of_role(role: bool) -> Any:
    return lambda said: said.role is role


@scenario("1-0/2.6.3.attach-answered", needs={"address"})
@broken_by("answers no receiver", withholds(Attach, when=of_role(Role.SENDER)))
@broken_by("gives it a name of its own", rewrites(Attach, name="mine"))
@broken_by("takes the same role", rewrites(Attach, role=lambda role: not role))
def an_attach_is_answered_by_its_counterpart(container: Container) -> None:
    """A receiver and a sender are answered by an attach of the same name and the other role."""
    address, session = container.address(), container.session()
    for role in (Role.RECEIVER, Role.SENDER):
        ours = session.the_attach(role, source=Source(address), target=Target(address))
        session.tries(ours, fields(Attach, name=ours.name, role=not role))


@scenario("1-0/2.6.3.unknown-link-has-no-terminus", needs={"address"})
@broken_by("makes up a source", rewrites(Attach, when=lambda said: said.source is None, source=Source("x")))
@broken_by("says nothing", replies(NOBODY))
def a_link_that_nobody_knows_has_no_source(container: Container) -> None:
    """An attach of a receiver without a source is answered by one without a source."""
    address, session = container.address(), container.session()
    session.fence(address)
    session.tries(
        session.the_attach(Role.RECEIVER, target=Target()),
        fields(Attach, source=None),
        (detached() | ended_or_closed()).under("it is refused, without the attach that says why"),
    )


class Termini(State):
    """The handle, by channel, of an attach without local terminus, whose detach is due."""

    def __init__(self) -> None:
        self.due: dict[int, int] = {}


@watch(
    "1-0/2.6.3.no-terminus-detached",
    during="1-0/2.6.3.unknown-link-has-no-terminus",
    looks_at=came(OF_AMQP),
    start=Termini,
    gap=Gaps.STOPS,
    never="the target refuses links otherwise",
)
@broken_by("leaves the link attached", withholds(Detach, when=lambda said: said.error is not None))
@broken_by("is in no hurry", replies(NOBODY, Attach("x", 0, Role.SENDER)))
def a_link_without_terminus_is_detached_at_once(termini: Termini, each: Framed) -> Found:
    """Behind an attach of the server without its own terminus comes its detach, before all else."""
    channel, said = each.unit.channel, each.said
    if said is None or not said.is_as_defined():
        return None
    due = termini.due.pop(channel, None)
    if isinstance(said, Attach):
        local = said.source if said.role is Role.SENDER else said.target
        if local is None:
            termini.due[channel] = said.handle
    if due is None:
        return None
    right = isinstance(said, Detach) and said.handle == due
    return right or f"{said.type_name} at {each.at:.4f} s"


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
