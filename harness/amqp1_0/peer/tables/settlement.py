"""Dispositions: the states of deliveries both ways, and their settlement (2.6.12, 2.7.6)."""

from harness.amqp1_0.peer import traffic
from harness.amqp1_0.peer.entities import Delivery
from harness.amqp1_0.peer.events import LinkState, OutcomesDue, SessionState
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.peer.turn import Reply, SessionTurn
from harness.amqp1_0.peer.turn import SessionRow as Row
from harness.amqp1_0.wire.performatives import (
    Accepted,
    Disposition,
    Modified,
    Received,
    Rejected,
    Released,
    Role,
    SessionError,
)

MAPPED = SessionState.MAPPED
OUTCOMES = (Accepted, Rejected, Released, Modified)
"""Terminal states; that `Received` is none, Part 3 says."""


def of_receiver(turn: SessionTurn[Disposition]) -> bool:
    """Say whether it is about what the peer has sent."""
    return turn.event.role == Role.RECEIVER


def named(turn: SessionTurn[Disposition]) -> list[Delivery]:
    """Give the unsettled deliveries of its range, which serial numbers bound (2.8.10)."""
    of = turn.session.unsettled if of_receiver(turn) else turn.session.received
    first = turn.event.first
    last = first if turn.event.last is None else turn.event.last
    return [each for each in of.values() if first <= each.id <= last]


def names_one_in_error(turn: SessionTurn[Disposition]) -> bool:
    """Say whether it is about a delivery on a link that was detached with an error (2.6.5)."""
    return any(each.link.state is LinkState.ERRED for each in named(turn))


def leaves_open(turn: SessionTurn[Disposition]) -> bool:
    """Say whether it neither settles nor states an outcome: the deliveries go on (2.6.12)."""
    return not turn.event.settled and not isinstance(turn.event.state, OUTCOMES)


def settle_sent(turn: SessionTurn[Disposition]) -> None:
    """Forget deliveries of ours; what is not to be kept by the client goes back."""
    back = []
    for delivery in named(turn):
        del turn.session.unsettled[delivery.id]
        if isinstance(turn.event.state, (Released, Modified, Received)):
            back.append(delivery)
        elif delivery.message is not None:
            turn.peer.nodes.drop(delivery.message)
    for delivery in reversed(back):
        traffic.take_back(turn.peer, delivery)
    for node in {each.link.node for each in back if each.link.node is not None}:
        traffic.serve(turn.peer, node)


def settle_in_turn(turn: SessionTurn[Disposition]) -> None:
    """Settle what the client has not settled itself, before what came back is sent again."""
    told = turn.event
    if not told.settled and named(turn):
        hint = turn.policy.batchable or None
        turn.say((Disposition(Role.SENDER, told.first, told.last, True, told.state, hint),))


def settle_received(turn: SessionTurn[Disposition]) -> None:
    """Forget deliveries of the client that it has settled: those that were to be settled second (2.7.5)."""
    for delivery in named(turn):
        del turn.session.received[delivery.id]


def goes_on_from(one: Disposition, next_one: Disposition) -> bool:
    """Say whether two dispositions say the same, the second of the deliveries behind those of the first."""
    last = one.first if one.last is None else one.last
    return next_one.first == last + 1 and next_one.replace(first=one.first, last=one.last) == one


def tell_of_several(turn: SessionTurn[OutcomesDue]) -> Reply:
    """Say what has been gathered, with one disposition for deliveries that follow each other (2.7.6)."""
    told: list[Disposition] = []
    for each in turn.session.gathered:
        last = each.first if each.last is None else each.last
        if told and goes_on_from(told[-1], each):
            told[-1] = told[-1].replace(last=last)
        else:
            told.append(each)
    turn.session.gathered.clear()
    return tuple(told)


_disposition = Row("disposition", MAPPED, Disposition)
SETTLEMENT = (
    Row("outcomes: are told of several deliveries at once", MAPPED, OutcomesDue, answer=tell_of_several),
    _disposition(
        "refuses one for a link in error",
        names_one_in_error,
        answer=refuse(SessionError.ERRANT_LINK, Level.SESSION),
    ),
    _disposition("that neither settles nor ends is taken", leaves_open),
    _disposition("settles what we sent", of_receiver, (settle_in_turn, settle_sent)),
    _disposition("settles what the client sent", effects=(settle_received,)),
)
