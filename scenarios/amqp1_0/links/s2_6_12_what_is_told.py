"""2.6.12, 2.7.5 and 2.7.6: what a peer tells of a delivery: of which, how often, and what holds then."""

from functools import partial

from harness.amqp1_0.broken.deviations import answers, follows, forwards, of_client, rewrites
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import covers, fields, silence
from harness.amqp1_0.client.transcript import Framed
from harness.amqp1_0.wire.performatives import (
    Accepted,
    Begin,
    Disposition,
    Modified,
    Received,
    Rejected,
    Released,
    Role,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import Direction
from scenarios.amqp1_0.links.resumption import sender_of_second
from scenarios.amqp1_0.performatives.s2_7_1_open import OURS_IS_WRONG
from scenarios.amqp1_0.performatives.s2_7_6_disposition import comes_again
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

TERMINAL = (Accepted, Rejected, Released, Modified)
"""States that are the last of a delivery; that `Received` is none, Part 3 says."""


def of_sender(said: Disposition) -> bool:
    return said.role is Role.SENDER


# -- what a sender tells -------------------------------------------------------------------------------


class Told(State):
    """What the server has told of deliveries that it sent, in the order of its words, by channel."""

    def __init__(self) -> None:
        self.of: dict[int, list[Disposition]] = {}

    def before(self, each: Framed) -> list[Disposition]:
        """Learn what the server says; give what it has told before of deliveries that this is about."""
        channel, said = each.unit.channel, each.said
        if isinstance(said, Begin):
            self.of[channel] = []
        if not isinstance(said, Disposition) or not said.is_as_defined() or not of_sender(said):
            return []
        told = self.of.setdefault(channel, [])
        earlier = [each for each in told if meet(each, said)]
        told.append(said)
        return earlier


def meet(one: Disposition, other: Disposition) -> bool:
    """Say whether the ranges of two dispositions have an id in common."""
    return covers(one, Serial(other.first)) or covers(other, Serial(one.first))


def settles(said: object) -> bool:
    """Say whether it is a disposition by which a sender settles."""
    return isinstance(said, Disposition) and said.is_as_defined() and of_sender(said) and bool(said.settled)


@watch(
    "1-0/2.6.12.settlement-told-once",
    during="1-0/2.6.12.settles-behind-an-outcome",
    looks_at=came(Begin, Disposition),
    start=Told,
    gap=Gaps.STOPS,
    never="the target tells of no delivery of its own that it is settled",
    of_clients="1-0/2.6.12.settles-behind-an-outcome",
)
@broken_by(
    "says it twice",
    of_client(follows(Disposition, Disposition(Role.SENDER, 0, 0, True), when=of_sender)),
    CLIENT,
)
@broken_by("says it twice", follows(Disposition, Disposition(Role.SENDER, 0, 0, True), when=of_sender))
def a_sender_settles_once(told: Told, each: Framed) -> Found:
    """No disposition of the server settles what it sent and has said to be settled, and nothing more."""
    said, earlier = each.said, told.before(each)
    if not settles(said):
        return None
    last = Serial(said.first if said.last is None else said.last)
    again = any(one.settled and covers(one, Serial(said.first)) and covers(one, last) for one in earlier)
    return not again or f"settled once more at {each.at:.4f} s"


@watch(
    "1-0/2.7.5.terminal-state-kept",
    during="1-0/2.6.12.settles-behind-an-outcome",
    looks_at=came(Begin, Disposition),
    start=Told,
    gap=Gaps.STOPS,
    never="the target tells of no delivery of its own what became of it",
    of_clients="1-0/2.6.12.settles-behind-an-outcome",
)
@broken_by(
    "takes it back",
    of_client(follows(Disposition, Disposition(Role.SENDER, 0, 0, True, Released()), when=of_sender)),
    CLIENT,
)
@broken_by(
    "takes it back", follows(Disposition, Disposition(Role.SENDER, 0, 0, True, Released()), when=of_sender)
)
@broken_by(
    "is not at its end",
    follows(Disposition, Disposition(Role.SENDER, 0, 0, False, Received(0, 0)), when=of_sender),
)
def the_outcome_of_a_sender_is_its_last(told: Told, each: Framed) -> Found:
    """No disposition of the server gives what it sent another state than the terminal one told before."""
    said, earlier = each.said, told.before(each)
    final = [one for one in earlier if isinstance(one.state, TERMINAL)]
    if not isinstance(said, Disposition) or not of_sender(said) or said.state is None:
        return None
    if all(one.state == said.state for one in final):
        return True if isinstance(said.state, TERMINAL) else None
    return f"another state behind a terminal one at {each.at:.4f} s"


# -- of which deliveries -------------------------------------------------------------------------------


class Deliveries(State):
    """Delivery-ids of either side, by the channel they went on, and our channels by the server's."""

    def __init__(self) -> None:
        self.ids: dict[tuple[Direction, int], list[int]] = {}
        self.ours: dict[int, int] = {}

    def learn(self, each: Framed) -> None:
        """Learn from a begin or a transfer of either side."""
        said, channel = each.said, each.unit.channel
        if isinstance(said, Transfer):
            if said.is_as_defined() and said.delivery_id is not None:
                self.ids.setdefault((each.direction, channel), []).append(said.delivery_id)
            return
        self.ids[each.direction, channel] = []
        if said.is_as_defined() and said.remote_channel is not None:
            came_here = each.direction is Direction.RECEIVED
            theirs, ours = (channel, said.remote_channel) if came_here else (said.remote_channel, channel)
            self.ours[theirs] = ours

    def named(self, each: Framed) -> bool:
        """Say whether a disposition of the server is about a delivery of the direction of its role."""
        said, channel = each.said, each.unit.channel
        place = (Direction.RECEIVED, channel)
        if said.role is Role.RECEIVER:
            place = (Direction.SENT, self.ours.get(channel, channel))
        ids = self.ids.get(place, [])
        return said.first in ids or any(covers(said, one) for one in ids)


@watch(
    "1-0/2.7.6.deliveries-of-its-role",
    during="1-0/2.7.5.first-settles",
    looks_at=came(Begin, Transfer, Disposition) + went(Begin, Transfer),
    until=OURS_IS_WRONG,
    start=Deliveries,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("names what nobody sent", forwards(Disposition, first=99, last=99), CLIENT)
@broken_by("has the other role", rewrites(Disposition, role=Role.SENDER))
@broken_by("names what nobody sent", rewrites(Disposition, first=99, last=99))
def a_disposition_is_about_deliveries_of_its_role(deliveries: Deliveries, each: Framed) -> Found:
    """Every disposition of the server is about a delivery that its role says who sent."""
    if not isinstance(each.said, Disposition):
        deliveries.learn(each)
        return None
    if not each.said.is_as_defined():
        return None
    return deliveries.named(each) or f"about no delivery of its role at {each.at:.4f} s"


# -- in turn -------------------------------------------------------------------------------------------


@scenario("1-0/2.6.12.final-settlement-silent", needs={"address"})
@broken_by("tells of it", answers(Disposition, Disposition(Role.RECEIVER, 0, 0, True, Accepted())))
def a_receiver_settles_last_without_a_word(container: Container) -> None:
    """A delivery on a link of second is settled by its sender: no disposition comes for that."""
    session = container.session()
    sender = sender_of_second(container, session, container.address())
    number = sender.send()
    said = session.until("a transfer", partial(sender.dispositions, number))
    if any(each.settled for each in said):
        container.inapplicable("the target settles first where second was agreed on")
    session.send(Disposition(Role.SENDER, number, number, True, Accepted()))
    session.stays("no disposition", Disposition)


@scenario("1-0/2.6.12.exactly-once", needs={"address"})
@broken_by("forgets the outcome", forwards(Disposition, when=lambda said: not said.settled, state=Released()))
def what_its_sender_settles_behind_an_outcome_comes_once(container: Container) -> None:
    """A delivery is accepted, then settled by its sender, in this order: it does not come again."""
    comes_again(container)
    address, session = container.stocked(b"x"), container.session()
    (delivery,) = session.receiver(address).takes(1)
    session.send(Disposition(Role.RECEIVER, delivery.id, delivery.id, False, Accepted()))
    settled = fields(Disposition, role=Role.SENDER, settled=True)
    if not isinstance(session.expect(settled, silence().recorded()), Disposition):
        # Whether it settles is judged by 1-0/2.6.12.settles-behind-an-outcome.
        container.inapplicable("the target does not settle behind an outcome")
    session.end()
    again = len(container.left(address))
    container.judge("the message does not come again", "the message comes again", not again)
