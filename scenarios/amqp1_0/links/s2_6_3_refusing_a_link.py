"""2.6.3: links that come to nothing: what is not there, and what a link without terminus does."""

from harness.amqp1_0.broken.deviations import follows, of_client, precedes, replaces, rewrites, withholds
from harness.amqp1_0.broken.faults import replies
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    detached,
    ended_or_closed,
    fields,
)
from harness.amqp1_0.client.transcript import OF_AMQP, Framed
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Detach,
    End,
    Error,
    Flow,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, scenario, watch

NOBODY = "attach: refuses an address that names nothing"
REFUSED = Error(AmqpError.NOT_ALLOWED, "the faulty peer does not say why")
AT_ONCE = (detached() | ended_or_closed()).under(
    "it is refused, without the attach that says what is missing"
)


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
    of_clients="1-0/2.6.3.attach-answered",
)
@broken_by("is in no hurry", of_client(precedes(Detach, Flow(0, 9, 0, 9))), CLIENT)
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
