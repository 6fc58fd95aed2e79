"""2.6.3: a link is established between termini as they are."""

from typing import Any

from harness.amqp1_0.broken.deviations import (
    ignores,
    rejects,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    detached,
    ended_or_closed,
    fields,
)
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Close,
    Detach,
    End,
    Role,
    Source,
    Target,
)
from harness.amqp1_0.wire.types import Described, Map, Symbol
from scenarios.registry import broken_by, scenario


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
