"""2.6.13, 2.6.3: links with unsettled deliveries are resumed, and both sides go on with what both have."""

from harness.amqp1_0.broken.deviations import (
    changes,
    follows,
    forwards,
    ignores,
    rejects,
    rewrites,
    withholds,
)
from harness.amqp1_0.broken.faults import resumed_as_asked
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import answered, detached, ended_or_closed
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Disposition,
    Source,
    Transfer,
)
from harness.amqp1_0.wire.types import Symbol
from scenarios.amqp1_0.links.resumption import (
    ACCEPTED,
    NOBODYS,
    both_have,
    let_go,
    resumed,
    resumption_of,
    sent_second,
    stated,
    suspended,
    tag_of,
    taken,
)
from scenarios.registry import broken_by, scenario

NEVER = Symbol("never")
RESUMES = "attach: resumes a link that is known"


def has_map(said: Attach) -> bool:
    return bool(said.unsettled)


def says_map(said: Attach) -> bool:
    return said.unsettled is not None


def is_resumed(said: Transfer) -> bool:
    return bool(said.resume)


def is_nobodys(said: Transfer) -> bool:
    return said.delivery_tag == NOBODYS


# -- what the attach says ------------------------------------------------------------------------------


@scenario("1-0/2.6.3.unsettled-stated", needs={"address"})
@broken_by("says nothing of it", rewrites(Attach, when=has_map, unsettled=None))
@broken_by("has an empty map", rewrites(Attach, when=has_map, unsettled={}))
@broken_by("has another tag", rewrites(Attach, when=has_map, unsettled={NOBODYS: None}))
def a_resumed_link_says_what_is_unsettled(container: Container) -> None:
    """The attach that answers one which resumes has the delivery that the target has not settled."""
    session, link, (tag,) = suspended(container, b"x")
    again = resumed(session, link, {tag: None})
    session.judge("the delivery in its unsettled map", "no such delivery in it", tag in stated(again))


@scenario("1-0/2.6.3.target-states-unsettled", needs={"address"})
@broken_by("says nothing of it", rewrites(Attach, when=has_map, unsettled=None))
@broken_by("has another tag", rewrites(Attach, when=has_map, unsettled={NOBODYS: None}))
def a_resumed_target_says_what_is_unsettled(container: Container) -> None:
    """The attach of a target that has not settled a delivery has it, where the link is resumed."""
    session, _, link, (tag,) = sent_second(container, b"x")
    if any(each.settled for each in link.dispositions(int.from_bytes(tag))):
        container.inapplicable("the target settles first where second was agreed on")
    again = resumed(session, link, {tag: None})
    session.judge("the delivery in its unsettled map", "no such delivery in it", tag in stated(again))


@scenario("1-0/2.6.13.outlives-the-session", needs={"address"})
@broken_by("forgets what was unsettled", rewrites(Attach, when=has_map, unsettled={}))
@broken_by("forgets the link", forwards(Attach, when=says_map, name="another"))
def a_link_that_never_expires_outlives_session_and_connection(container: Container) -> None:
    """A receiver whose source never expires is resumed behind the end of session and connection."""
    address, connection = container.stocked(b"x"), container.alive()
    session = connection.begin()
    link, (held,) = taken(container, session, address, 1, source=Source(address, expiry_policy=NEVER))
    if link.partner.source.expiry_policy != NEVER:
        container.inapplicable("its source expires with the session")
    session.end()
    again = connection.begin()
    with again.works("an attach that resumes"):
        link = again.resume(link, {tag_of(held): None})
    again.judge("the delivery behind the end of the session", "no delivery", tag_of(held) in stated(link))
    connection.drop()
    other = container.alive(container_id=connection.container_id).begin()
    with other.works("an attach that resumes"):
        link = other.resume(link, {tag_of(held): None})
    other.judge("the delivery behind the loss of the connection", "no delivery", tag_of(held) in stated(link))


@scenario("1-0/2.6.3.recovered", needs={"address"})
@broken_by("has forgotten the source", rewrites(Attach, when=says_map, source=None))
@broken_by("makes up another", rewrites(Attach, when=says_map, source=Source("another")))
def a_link_is_recovered_by_its_name(container: Container) -> None:
    """A receiver that has lost its source gets it from the attach of the target."""
    session, address = container.session(), container.address()
    link = session.receiver(address)
    let_go(container, session, link)
    seen = session.tries(
        link.attach.replace(source=None, unsettled={}),
        answered(Attach),
        (detached() | ended_or_closed()).under("it is possible to recover a link: nobody has to be able to"),
    )
    if isinstance(seen, Attach):
        told = seen.source.address if isinstance(seen.source, Source) else None
        session.judge("an attach with the source", "an attach without the source", told == address)


@scenario("1-0/2.6.3.sender-holds-source", needs={"address"})
@broken_by("says what we say", changes(RESUMES, answer=resumed_as_asked))
def the_source_is_as_the_sender_says(container: Container) -> None:
    """A receiver is resumed with another source: what the target says of it is what it sends from."""
    here, there = container.stocked(b"one"), container.stocked(b"two")
    session = container.session()
    link = session.receiver(here)
    let_go(container, session, link)
    again = resumed(session, link, {}, source=Source(there))
    told = again.partner.source.address
    if told not in (here, there):
        container.inapplicable("the target has another name for its sources")
    with session.works("a message of the source that its attach says"):
        (came,) = again.takes(1)
    session.judge(
        "a message from there", "a message from elsewhere", (b"one" in came.payload) == (told == here)
    )


# -- what both sides have, or one of them --------------------------------------------------------------


@scenario("1-0/2.6.13.both-resumed", needs={"address"})
@broken_by("keeps it for itself", withholds(Transfer, when=is_resumed))
@broken_by("sends it as if it were new", rewrites(Transfer, when=is_resumed, resume=False))
@broken_by("gives it another tag", rewrites(Transfer, when=is_resumed, delivery_tag=NOBODYS))
def what_both_have_is_resumed(container: Container) -> None:
    """A delivery in both maps comes again, with resume and its tag."""
    session, link, (tag,) = suspended(container, b"x")
    again = both_have(container, resumed(session, link, {tag: None}), tag)
    again.grants(10)
    session.expect(resumption_of(tag))


@scenario("1-0/2.6.13.resumed-anew", needs={"address"})
@broken_by("has the id of before", rewrites(Transfer, when=is_resumed, delivery_id=0))
@broken_by("does not know the new id", ignores(Disposition))
def a_resumed_delivery_has_an_id_of_its_own(container: Container) -> None:
    """A resumed delivery has another delivery-id than before, and is settled by that one."""
    address, session = container.stocked(b"x"), container.session()
    link, (before,) = taken(container, session, address, 1)
    let_go(container, session, link)
    again = both_have(container, resumed(session, link, {tag_of(before): None}), tag_of(before))
    with session.works("a delivery"):
        (held,) = again.takes(1)
    session.judge("another delivery-id", "the delivery-id of before", held.id != before.id)
    again.settles(held)
    again.detach()
    session.judge("the message is settled", "the message is there again", not container.left(address))


@scenario("1-0/2.6.13.target-only-ignored", needs={"address"})
@broken_by("resumes it", follows(Attach, Transfer(0, 9, NOBODYS, 0, resume=True), when=has_map))
@broken_by("wants to know it", rejects(Attach, AmqpError.INVALID_FIELD, when=has_map))
def what_only_the_receiver_has_is_ignored(container: Container) -> None:
    """Of two deliveries in the map of a receiver the target knows one: the other does not come."""
    session, link, (tag,) = suspended(container, b"x")
    again = resumed(session, link, {tag: None, NOBODYS: None})
    came = [tag_of(each) for each in again.rest(1)]
    session.judge("no delivery of that tag", "a delivery of that tag", NOBODYS not in came)
    session.ends_well()


@scenario("1-0/2.6.13.target-only-settled", needs={"address"})
@broken_by("keeps it", forwards(Attach, when=says_map, incomplete_unsettled=True))
def what_only_the_receiving_target_has_is_settled(container: Container) -> None:
    """A delivery that a sender's map has not is not in the target's when the link is resumed again."""
    session, _, link, (tag,) = sent_second(container, b"x")
    again = both_have(container, resumed(session, link, {}), tag)
    let_go(container, session, again)
    settled = tag not in stated(resumed(session, link, {}))
    session.judge("the delivery is settled", "the delivery is unsettled still", settled)


@scenario("1-0/2.6.13.source-only-ignored", needs={"address"})
@broken_by("takes it for new", forwards(Transfer, when=is_resumed, resume=False))
@broken_by("loses the next one, too", ignores(Transfer, when=lambda said: said.delivery_id == 2))
def what_only_the_sender_has_is_ignored_where_it_is_resumed(container: Container) -> None:
    """Of a resumed delivery that the target's map has not and a new one the new one alone arrives."""
    address, session = container.address(), container.session()
    link = session.sender(address)
    link.delivers(b"control")
    let_go(container, session, link)
    again = resumed(session, link, {NOBODYS: None})
    with session.works("the delivery behind a resumed one is settled"):
        again.send(b"resumed", delivery_tag=NOBODYS, resume=True)
        again.delivers(b"new")
    came = [body for body in container.left(address, 2) if b"control" not in body]
    session.judge("the new message alone", f"{len(came)} messages", len(came) == 1 and b"new" in came[0])


@scenario("1-0/2.6.13.source-only-sent-again", needs={"address"})
@broken_by("takes it for known", ignores(Transfer, when=is_nobodys))
@broken_by("wants it resumed", rejects(Transfer, AmqpError.NOT_ALLOWED, when=is_nobodys))
def what_only_the_sender_has_can_be_sent_again(container: Container) -> None:
    """A delivery that the target's map has not is sent again without resume: it is settled."""
    session = container.session()
    link = session.sender(container.address())
    link.delivers(b"control")
    let_go(container, session, link)
    again = resumed(session, link, {NOBODYS: None})
    with session.works("the delivery is settled"):
        again.outcome(again.send(b"again", delivery_tag=NOBODYS))


@scenario("1-0/2.7.3.states-compared", needs={"address"})
@broken_by("does not look at the map", forwards(Attach, when=has_map, unsettled={}))
def what_was_accepted_before_does_not_come_as_new(container: Container) -> None:
    """A message that the receiver's map says is accepted is not sent as new, there or to somebody else."""
    address, session = container.stocked(b"x"), container.session()
    link, (held,) = taken(container, session, address, 1)
    let_go(container, session, link)
    again = resumed(session, link, {tag_of(held): ACCEPTED})
    came = again.rest(1)
    session.judge("no new delivery", "a new delivery", all(each.first.resume for each in came))
    again.settles(*(each for each in came if not each.first.settled))
    again.detach()
    session.judge("the message is done with", "the message is there again", not container.left(address))


@scenario("1-0/2.7.3.reattached-without-map", needs={"address"})
@broken_by("has an empty map", rewrites(Attach, skip=1, unsettled={}))
@broken_by("has a map", rewrites(Attach, skip=1, unsettled={NOBODYS: None}))
def a_link_that_is_reattached_has_no_map(container: Container) -> None:
    """The attach that answers one which reattaches has no unsettled map."""
    session, link, _ = suspended(container, b"x")
    answer = session.tries(link.attach, Attach)
    session.judge("no unsettled map", "an unsettled map", answer.unsettled is None)
