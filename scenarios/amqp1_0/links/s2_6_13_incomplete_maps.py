"""2.6.13, 2.7.3, 2.7.5: unsettled maps that are not complete, and transfers of resumed deliveries."""

from functools import partial
from typing import Any

from harness.amqp1_0.broken.deviations import forwards, ignores, rejects, replaces, rewrites, withholds
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import detached
from harness.amqp1_0.client.transcript import Framed
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Disposition,
    End,
    Error,
    Role,
    Transfer,
)
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp1_0.links.resumption import (
    NOBODYS,
    both_have,
    let_go,
    resumed,
    resumption_of,
    sender_of_second,
    sent_second,
    stated,
    suspended,
    tag_of,
    taken,
)
from scenarios.amqp1_0.links.s2_6_13_resuming_deliveries import has_map, is_resumed
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, scenario, watch

OURS = Error(AmqpError.INTERNAL_ERROR, "the suite would not have done so")
SMALLEST = 512
"""Octets of the frames that any peer takes (2.8.19)."""
MANY = 150
"""Deliveries whose tags do not fit into such a frame together."""


def is_incomplete(said: Attach) -> bool:
    return bool(said.incomplete_unsettled)


# -- our map is incomplete -----------------------------------------------------------------------------


@scenario("1-0/2.7.3.incomplete-no-new", needs={"address"})
@broken_by("takes it for complete", forwards(Attach, when=is_incomplete, incomplete_unsettled=False))
@broken_by("sends another", rewrites(Transfer, when=is_resumed, resume=False))
def nothing_new_comes_behind_an_incomplete_map(container: Container) -> None:
    """Of three messages two are unsettled, and the map names one: what comes is resumed, nothing is new."""
    session, link, (first, _) = suspended(container, b"one", b"two", b"three", count=2)
    again = resumed(session, link, {first: None}, incomplete_unsettled=True)
    new = [each for each in again.rest(1) if not each.first.resume]
    session.judge("no new delivery", "a new delivery", not new)


@scenario("1-0/2.6.13.incomplete-reduced", needs={"address"})
@broken_by("does nothing", withholds(Transfer, when=is_resumed))
def what_an_incomplete_map_names_is_resumed(container: Container) -> None:
    """Of two unsettled deliveries the incomplete map names one, which is resumed."""
    session, link, (first, second) = suspended(container, b"one", b"two")
    again = resumed(session, link, {first: None}, incomplete_unsettled=True)
    both_have(container, again, first, second).grants(10)
    session.expect(resumption_of(first))


@scenario("1-0/2.7.3.complete-again", needs={"address"})
@broken_by(
    "takes what was left out for settled", forwards(Attach, when=is_incomplete, incomplete_unsettled=False)
)
@broken_by("sends nothing new for ever", forwards(Attach, when=has_map, incomplete_unsettled=True))
def what_an_incomplete_map_left_out_is_resumed_later(container: Container) -> None:
    """A link is resumed with an incomplete map, then with a complete one: a new message comes, too."""
    session, link, (first, second) = suspended(container, b"one", b"two", b"three", count=2)
    part = both_have(
        container, resumed(session, link, {first: None}, incomplete_unsettled=True), first, second
    )
    with session.works("the delivery of the map is resumed"):
        part.settles(*part.takes(1))
    let_go(container, session, part)
    whole = resumed(session, link, {second: None})
    with session.works("the other delivery and the new one"):
        old, new = whole.takes(2)
    right = old.first.resume and tag_of(old) == second and not new.first.resume
    session.judge("one that is resumed and a new one", "others", bool(right))


# -- the target's map is incomplete --------------------------------------------------------------------


@scenario("1-0/2.7.3.map-too-large", needs={"address"})
@broken_by("says nothing", withholds(Attach, when=is_incomplete))
@broken_by("ends the session for another reason", replaces(Attach, End(OURS), when=is_incomplete))
@broken_by("takes its part for all", rewrites(Attach, when=is_incomplete, incomplete_unsettled=False))
def a_map_that_is_too_large_is_incomplete(container: Container) -> None:
    """150 deliveries are unsettled where frames have 512 octets: the target's map is incomplete."""
    address = container.stocked(*[b"x"] * MANY)
    session = container.alive(max_frame_size=SMALLEST).begin()
    link, held = taken(container, session, address, MANY)
    let_go(container, session, link)
    again = resumed(session, link, {tag_of(held[0]): None}, incomplete_unsettled=True)
    if not stated(again):
        container.inapplicable("the target has nothing unsettled when a link is resumed")
    session.judge("an incomplete map", "a map that is complete", bool(again.partner.incomplete_unsettled))


@scenario("1-0/2.7.3.incomplete-refuses-new", needs={"address"})
@broken_by("lets it be", ignores(Transfer, when=lambda said: said.delivery_tag == NOBODYS))
@broken_by(
    "takes it for resumed", forwards(Transfer, when=lambda said: said.delivery_tag == NOBODYS, resume=True)
)
def a_new_delivery_behind_the_targets_incomplete_map_is_refused(container: Container) -> None:
    """Where the target's map is incomplete a new delivery is answered by a detach with an error."""
    session = container.alive(max_frame_size=SMALLEST).begin()
    link = sender_of_second(container, session, container.address())
    numbers = [link.send() for _ in range(MANY)]
    session.until("a transfer", lambda: link.dispositions(numbers[-1]))
    let_go(container, session, link)
    absent = (AmqpError.NOT_IMPLEMENTED, AmqpError.FRAME_SIZE_TOO_SMALL)
    again = resumed(session, link, {int(numbers[0]).to_bytes(4): None}, absent=absent)
    if not again.partner.incomplete_unsettled:
        container.inapplicable("the target's map is complete")
    again.granted()
    session.tries(again.carries(again.transfer(delivery_tag=NOBODYS)), detached())


# -- what transfers of resumed deliveries say ----------------------------------------------------------


class Maps(State):
    """The unsettled map of the target's last attach as sender, by channel and handle; None if incomplete."""

    def __init__(self) -> None:
        self.of: dict[tuple[int, int], Any] = {}
        self.within: set[tuple[int, int]] = set()


@watch(
    "1-0/2.7.5.resumes-what-it-has",
    during="1-0/2.6.13.both-resumed",
    looks_at=came(Attach, Transfer),
    start=Maps,
    gap=Gaps.STOPS,
    never="the target resumes no delivery",
    of_clients="1-0/2.6.13.both-resumed",
)
@broken_by("resumes what is new", forwards(Transfer, resume=True), CLIENT)
@broken_by("resumes what it has not", forwards(Transfer, when=is_resumed, delivery_tag=NOBODYS), CLIENT)
@broken_by("resumes what is new", rewrites(Transfer, resume=True))
@broken_by("resumes what it has not", rewrites(Transfer, when=is_resumed, delivery_tag=NOBODYS))
def the_target_resumes_what_its_map_has(maps: Maps, each: Framed) -> Found:
    """Every delivery that the target resumes is in the map of its attach, unless that is incomplete."""
    said = each.said
    if said is None or not said.is_as_defined():
        return None
    place = each.unit.channel, said.handle
    if isinstance(said, Attach):
        maps.of[place] = None if said.incomplete_unsettled else said.unsettled or {}
        maps.within.discard(place)
        return None
    first = place not in maps.within
    (maps.within.add if said.more and not said.aborted else maps.within.discard)(place)
    known = maps.of.get(place)
    if not first or not said.resume or known is None:
        return None
    return said.delivery_tag in known or f"a resumed delivery that its map has not at {each.at:.4f} s"


@scenario("1-0/2.7.5.resume-on-the-first", needs={"address"})
@broken_by(
    "says it at the end", rewrites(Transfer, when=lambda said: said.resume and said.more, resume=False)
)
@broken_by("says it nowhere", rewrites(Transfer, when=is_resumed, resume=False))
def the_first_transfer_of_a_resumed_delivery_says_so(container: Container) -> None:
    """A message of several frames is resumed: its first transfer says resume."""
    address = container.stocked(b"x" * 1500)
    session = container.alive(max_frame_size=SMALLEST).begin()
    link, (held,) = taken(container, session, address, 1)
    let_go(container, session, link)
    again = both_have(container, resumed(session, link, {tag_of(held): None}), tag_of(held))
    with session.works("a delivery"):
        (came,) = again.takes(1)
    container.note(f"{len(came.transfers)} transfers")
    session.judge("resume on its first transfer", "no resume on its first transfer", bool(came.first.resume))


@scenario("1-0/2.7.5.continuation-resume-flag", needs={"address"})
@broken_by(
    "wants resume on each", ignores(Transfer, when=lambda said: said.delivery_id is None and not said.resume)
)
@broken_by(
    "wants it on none but the first",
    ignores(Transfer, when=lambda said: said.delivery_id is None and said.resume),
)
def later_transfers_of_a_resumed_delivery_may_say_so(container: Container) -> None:
    """Two deliveries are resumed in two transfers each, of which the second says resume, or does not."""
    session, address, link, tags = sent_second(container, b"one", b"two")
    again = both_have(container, resumed(session, link, dict.fromkeys(tags)), *tags)
    with session.works("an outcome for each"):
        for tag, flag in zip(tags, (None, True), strict=True):
            again.granted()
            number = session.next_delivery_id
            first = again.carries(again.transfer(delivery_tag=tag, resume=True, more=True), b"")
            session.send(first, again.carries(Transfer(again.handle, resume=flag), b""))
            session.until("a transfer", partial(again.dispositions, number))
            session.send(Disposition(Role.SENDER, number, number, True))
    container.judge("each message once", "others", len(container.left(address, 2)) == 2)


@scenario("1-0/2.7.5.resumed-without-payload", needs={"address"})
@broken_by("wants its payload", rejects(Transfer, AmqpError.DECODE_ERROR, when=is_resumed))
@broken_by("takes it for a message", forwards(Transfer, when=is_resumed, resume=False))
def a_resumed_delivery_needs_no_payload(container: Container) -> None:
    """A delivery that the target has an outcome for is resumed and settled without a payload."""
    session, address, link, (tag,) = sent_second(container, b"x")
    again = both_have(container, resumed(session, link, {tag: None}), tag).granted()
    session.send(again.carries(again.transfer(delivery_tag=tag, resume=True, settled=True)))
    session.goes_on(address)
    container.judge("the message once", "others", len(container.left(address, 1)) == 1)
