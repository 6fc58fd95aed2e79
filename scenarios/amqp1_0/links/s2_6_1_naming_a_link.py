"""2.6.1: the names of links: one link of a name at a time, stolen from where it was."""

from harness.amqp1_0.broken.deviations import (
    changes,
    forwards,
    ignores,
    rejects,
    rewrites,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Sender
from harness.amqp1_0.client.outcomes import (
    answered,
    detached,
    ended_or_closed,
)
from harness.amqp1_0.client.session import the_begin
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
)
from scenarios.registry import broken_by, scenario

TAKEN = AmqpError.RESOURCE_LOCKED


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
