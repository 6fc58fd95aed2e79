"""Links are resumed: both sides compare what they have unsettled, and go on with it (2.6.3, 2.6.13)."""

from __future__ import annotations

from harness.amqp1_0.peer import traffic
from harness.amqp1_0.peer.entities import Delivery, Link
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.peer.states_of_links import ATTACH_RCVD, ATTACHED, SUSPENDED
from harness.amqp1_0.peer.tables.attach import (
    actual,
    attach_of,
    attach_to,
    is_resumption,
    known_link,
)
from harness.amqp1_0.peer.tables.settlement import OUTCOMES
from harness.amqp1_0.peer.tables.transfer import replenish
from harness.amqp1_0.peer.turn import LinkRow as Row
from harness.amqp1_0.peer.turn import LinkTurn, Reply
from harness.amqp1_0.peer.windows import count_message, count_transfer, link_flow
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Detach,
    Disposition,
    Error,
    LinkError,
    ReceiverSettleMode,
    Role,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.amqp1_0.wire.types import Map

ASIDE = 128
"""Octets of a frame that are left for what is not counted: its header, the form of its fields."""


# -- the two maps --------------------------------------------------------------------------------------


def our_map(turn: LinkTurn[Attach], former: Link) -> tuple[Map, bool]:
    """Give what we have unsettled, as much of it as a frame takes, and whether that is all (2.7.3)."""
    room = (
        turn.connection.frame_max
        - ASIDE
        - len(attach_of(turn, turn.event.source, turn.event.target).encode())
    )
    pairs = list[tuple[bytes, object]]()
    found = [each for each in unsettled_on(former) if each.tag]
    for each in found:
        pair = (each.tag, None if former.sends else Accepted())
        room -= len(encode(pair[0])) + len(encode(pair[1]))
        if room < 0:
            break
        pairs.append(pair)
    return Map(pairs), len(pairs) == len(found)


def unsettled_on(link: Link) -> list[Delivery]:
    """Give the unsettled deliveries of a link, by whatever it keeps them."""
    session = link.session
    lived = [*session.unsettled.values(), *session.received.values()]
    return [*link.kept.values(), *(each for each in lived if each.link is link)]


def does_not_fit(turn: LinkTurn[Attach]) -> bool:
    """Say whether our map is too large for a frame, and the policy ends the session for it (2.7.3)."""
    former = known_link(turn)
    if turn.policy.large_map == "is cut" or former is None or not is_resumption(turn):
        return False
    return not our_map(turn, former)[1]


def take_over(turn: LinkTurn[Attach]) -> None:
    """Let the new endpoint have what the old one had unsettled, and the old one none of it."""
    link, former = turn.link, known_link(turn)
    assert former is not None
    assert former.node is not None
    link.only_resumes = bool(turn.event.incomplete_unsettled) or not our_map(turn, former)[1]
    link.kept = traffic.unsettled_of(former)
    for each in link.kept.values():
        each.link, each.settled = link, False
    if former.state is ATTACHED:
        why = Error(LinkError.STOLEN, "resumed elsewhere")
        former.session.connection.say_on(former.session, Detach(former.number, True, why), former)
    elif former.state is SUSPENDED:
        # It has nothing any more that could go back.
        traffic.release(turn.peer, former)
    former.key = None
    attach_to(turn, former.node)


def compare(turn: LinkTurn[Attach]) -> None:
    """Sort what is unsettled by who considers it so (2.6.13)."""
    link, theirs = turn.link, turn.event.unsettled or Map()
    complete = not turn.event.incomplete_unsettled
    for tag, delivery in list(link.kept.items()):
        if tag in theirs:
            delivery.state = theirs[tag] if isinstance(theirs[tag], OUTCOMES) else None
            delivery.settled = link.sends and delivery.state is not None
            if link.sends:
                link.due.append(delivery)
        elif complete:
            # Only ours: as the receiver we consider it settled, as the sender we may do as we like.
            del link.kept[tag]
            if link.sends:
                _give_up(turn, delivery)


def _give_up(turn: LinkTurn[Attach], delivery: Delivery) -> None:
    if turn.policy.only_ours == "sent again":
        traffic.take_back(turn.peer, delivery)
    elif delivery.message is not None:
        turn.peer.nodes.drop(delivery.message)


def resumed(turn: LinkTurn[Attach]) -> Reply:
    """Answer with what was unsettled before anything is compared, and with credit for a client that sends."""
    link, attach = turn.link, turn.event
    ours = actual(turn)
    source, target = (ours, attach.target) if link.sends else (attach.source, ours)
    unsettled, whole = our_map(turn, link)
    said = attach_of(turn, source, target).replace(
        unsettled=unsettled, incomplete_unsettled=None if whole else True
    )
    compare(turn)
    return (said, link_flow(link, turn.policy)) if link.credit else (said,)


# -- what the client resumes ---------------------------------------------------------------------------


def is_taken_up(turn: LinkTurn[Transfer]) -> bool:
    """Say whether it belongs to a resumed delivery that both sides have unsettled."""
    link, said = turn.link, turn.event
    known = said.resume and link.arriving is None and said.delivery_tag in link.kept
    return not link.sends and (link.taking is not None or (known and said.delivery_id is not None))


def take_up(turn: LinkTurn[Transfer]) -> None:
    """Give the delivery its new id; what it carries has come before (2.6.13)."""
    link, said = turn.link, turn.event
    count_transfer(turn.session)
    if link.taking is None:
        count_message(link)
        link.taking = link.kept.pop(said.delivery_tag or b"")
        link.taking.id = Serial(said.delivery_id or 0)
    link.taking.settled |= bool(said.settled or said.aborted)


def settle_taken(turn: LinkTurn[Transfer]) -> Reply:
    """Say the outcome again, unless the client has settled: that ends it on our side, too."""
    link, delivery = turn.link, turn.link.taking
    assert delivery is not None
    if turn.event.more and not turn.event.aborted:
        return ()
    link.taking = None
    if delivery.settled:
        return ()
    settles = link.receiver_mode == ReceiverSettleMode.FIRST
    if not settles:
        turn.session.received[delivery.id] = delivery
    return (Disposition(Role.RECEIVER, delivery.id, delivery.id, settles or None, Accepted()),)


def take_up_and_answer(turn: LinkTurn[Transfer]) -> Reply:
    """Answer about the delivery, and give credit for the next one."""
    return (*settle_taken(turn), *replenish(turn))


def is_new_behind_a_part(turn: LinkTurn[Transfer]) -> bool:
    """Say whether it begins a new delivery where a map was incomplete (2.7.3)."""
    return (
        not turn.link.sends
        and turn.link.only_resumes
        and turn.link.arriving is None
        and not turn.event.resume
    )


RESUMING = (
    Row(
        "attach: refuses a map of ours that no frame takes",
        ATTACH_RCVD,
        Attach,
        does_not_fit,
        answer=refuse(AmqpError.FRAME_SIZE_TOO_SMALL, Level.SESSION),
    ),
    Row(
        "attach: resumes a link that is known",
        ATTACH_RCVD,
        Attach,
        is_resumption,
        (take_over,),
        resumed,
    ),
)
TAKING_UP = (
    Row("transfer: takes up what both have", ATTACHED, Transfer, is_taken_up, (take_up,), take_up_and_answer),
    Row(
        "transfer: refuses a new delivery behind an incomplete map",
        ATTACHED,
        Transfer,
        is_new_behind_a_part,
        answer=refuse(AmqpError.ILLEGAL_STATE, Level.LINK),
    ),
)
