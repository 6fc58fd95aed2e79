"""2.6.3 and 2.6.5: links to what is not there, and links whose address is removed."""

from harness.amqp1_0.broken.deviations import (
    changes,
    follows,
    ignores,
    rejects,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.endpoints import Receiver
from harness.amqp1_0.client.outcomes import (
    answered,
    detached,
    ended_or_closed,
    fields,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    End,
    Error,
    Flow,
    LinkError,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.play.link import Closed, Silence
from scenarios.registry import broken_by, scenario

REFUSED = Error(AmqpError.NOT_ALLOWED, "the faulty peer does not say why")
AT_ONCE = (detached() | ended_or_closed()).under(
    "it is refused, without the attach that says what is missing"
)
REMOVED = "link: is detached when its node is removed"
OTHERWISE = ended_or_closed() | silence() | stream_ended()
KEEPS = "the target does not detach links whose address is removed"
REMOVAL = {"removable-address", "remove-address", "address"}


# -- what is not there ---------------------------------------------------------------------------------


@scenario("1-0/2.6.3.refused-source", needs={"no-address", "address"})
@broken_by("makes one up", rewrites(Attach, when=lambda said: said.source is None, source=Source("other")))
@broken_by("stays attached", withholds(Detach, when=lambda said: said.error is not None))
@broken_by("does not close it", rewrites(Detach, when=lambda said: said.error is not None, closed=False))
@broken_by("ends the session", replaces(Attach, End(REFUSED), when=lambda said: said.source is None))
def a_source_that_is_not_there_is_refused_by_an_attach_and_a_detach(container: Container) -> None:
    """A receiver from an address that is not there: an attach without source comes, and a closing detach."""
    session = container.session()
    session.fence(container.address())
    missing = container.facility("no-address")["source"]
    ours = session.the_attach(Role.RECEIVER, source=Source(missing), target=Target())
    if isinstance(session.tries(ours, fields(Attach, source=None), AT_ONCE), Attach):
        session.expect(fields(Detach, closed=True))


@scenario("1-0/2.6.3.refused-target", needs={"no-address", "address"})
@broken_by("makes one up", rewrites(Attach, when=lambda said: said.target is None, target=Target("other")))
@broken_by("stays attached", withholds(Detach, when=lambda said: said.error is not None))
@broken_by("does not close it", rewrites(Detach, when=lambda said: said.error is not None, closed=False))
@broken_by("ends the session", replaces(Attach, End(REFUSED), when=lambda said: said.target is None))
def a_target_that_is_not_there_is_refused_by_an_attach_and_a_detach(container: Container) -> None:
    """A sender to an address that is not there: an attach without target comes, and a closing detach."""
    session = container.session()
    session.sender(container.address()).detach()
    missing = container.facility("no-address")["target"]
    ours = session.the_attach(Role.SENDER, source=Source(), target=Target(missing))
    if isinstance(session.tries(ours, fields(Attach, target=None), AT_ONCE), Attach):
        session.expect(fields(Detach, closed=True))


@scenario("1-0/2.7.3.no-source-no-messages", needs={"address"})
@broken_by(
    "sends from nowhere", follows(Attach, Transfer(0, 9, b"t", 0), when=lambda said: said.source is None)
)
def a_link_without_source_brings_nothing(container: Container) -> None:
    """A receiver without a source gives credit, with messages standing ready elsewhere: no transfer comes."""
    address = container.stocked(b"1", b"2")
    container.session().receiver(address).takes(1)
    session = container.session()
    ours = session.the_attach(Role.RECEIVER, target=Target())
    session.send(ours, session.flow(handle=ours.handle, link_credit=10))
    session.take_in(lambda: True)
    came = len(session.told(Transfer))
    session.judge("no transfer", f"{came} transfers", came == 0)


@scenario("1-0/2.7.3.no-target-no-messages", needs={"address"})
@broken_by(
    "takes them to nowhere",
    follows(Attach, Flow(0, 9, 0, 9, 0, 0, 9), when=lambda said: said.target is None),
)
def a_link_without_target_gets_no_credit(container: Container) -> None:
    """A sender without a target gets no credit, where one with a target gets some."""
    container.session().sender(container.address()).granted()
    session = container.session()
    session.send(session.the_attach(Role.SENDER, source=Source()))
    session.take_in(lambda: True)
    credit = sum(each.link_credit or 0 for each in session.told(Flow))
    if credit and all(each.target is not None for each in session.told(Attach)):
        container.inapplicable("the server attaches a target of its own, which may permit messages")
    session.judge("no credit", "credit for messages", credit == 0)


# -- what is removed -----------------------------------------------------------------------------------


def remove(container: Container, session: Session) -> Receiver:
    """Have the address of a receiver removed; give the link."""
    link = session.receiver(container.facility("removable-address")["address"])
    container.facility("remove-address")
    return link


@scenario("1-0/2.6.5.error-supplied", needs=REMOVAL, slow=True, alone=True)
@broken_by("gives no reason", rewrites(Detach, error=None))
@broken_by("ends the session", changes(REMOVED, answer=refuse(AmqpError.RESOURCE_DELETED, Level.SESSION)))
def what_ends_a_link_is_said_in_its_detach(container: Container) -> None:
    """A receiver whose address is removed: a detach with an error comes, or the session goes on."""
    address, session = container.address(), container.session()
    remove(container, session)
    if isinstance(session.expect(detached(), silence().recorded()), Silence):
        session.goes_on(address)
        container.inapplicable(KEEPS)


@scenario("1-0/2.6.5.endpoint-destroyed", needs=REMOVAL, slow=True, alone=True)
@broken_by("still has the handle", ignores(Detach))
@broken_by("refuses the name", rejects(Attach, AmqpError.NOT_ALLOWED, skip=1))
@broken_by("passes over it", ignores(Attach, skip=1))
def behind_an_error_nothing_of_the_endpoint_is_left(container: Container) -> None:
    """Behind a detach with an error, and ours, a link of the same name and handle attaches elsewhere."""
    address, session = container.address(), container.session()
    link = remove(container, session)
    if not isinstance(session.expect(answered(Detach), OTHERWISE.recorded()), Detach):
        container.inapplicable(KEEPS)
    session.send(Detach(link.handle, True))
    again = session.tries(link.attach.replace(source=Source(address)), Attach)
    session.judge("an attach with a source", "an attach without a source", again.source is not None)


@scenario("1-0/2.8.15.resource-deleted", needs=REMOVAL, slow=True, alone=True)
@broken_by("gives another condition", changes(REMOVED, answer=refuse(AmqpError.NOT_FOUND, Level.LINK)))
@broken_by("gives no reason", rewrites(Detach, error=None))
def what_is_removed_is_called_so(container: Container) -> None:
    """A receiver whose address is removed is detached with resource-deleted, or detach-forced."""
    session = container.session()
    remove(container, session)
    fitting = (AmqpError.RESOURCE_DELETED, LinkError.DETACH_FORCED)
    other = (detached() | ended_or_closed()).under(
        "the condition is the server's choice: another may fit too"
    )
    named = detached(*fitting) | ended_or_closed(*fitting)
    seen = session.expect(named, other, (silence() | stream_ended()).recorded())
    if isinstance(seen, (Silence, Closed)):
        container.inapplicable(KEEPS)
