"""What the client sends: deliveries in one transfer or several, aborted, resumed, refused (2.6.14, 2.7.5)."""

from collections.abc import Callable

from harness.amqp1_0.peer import traffic
from harness.amqp1_0.peer.entities import Delivery, Message
from harness.amqp1_0.peer.events import LinkState
from harness.amqp1_0.peer.fragmentation import Received, receiving
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import refuse, refuse_by
from harness.amqp1_0.peer.turn import LinkRow as Row
from harness.amqp1_0.peer.turn import LinkTurn, Reply
from harness.amqp1_0.peer.windows import count_message, count_transfer, link_flow, needs_window, session_flow
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Disposition,
    LinkError,
    ReceiverSettleMode,
    Role,
    SenderSettleMode,
    SessionError,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial

ATTACHED = LinkState.ATTACHED
LONGEST_TAG = 32
"""2.8.7: octets."""


# -- what is wrong with a transfer ---------------------------------------------------------------------


def exceeds_the_window(turn: LinkTurn[Transfer]) -> bool:
    return turn.session.incoming_window <= 0


def client_receives(turn: LinkTurn[Transfer]) -> bool:
    return turn.link.sends


def is_resumed(turn: LinkTurn[Transfer]) -> bool:
    """Say whether it belongs to a resumed delivery: nothing of before is in our unsettled map (2.7.5)."""
    return turn.link.ignoring or (turn.link.arriving is None and turn.event.resume)


def exceeds_credit(turn: LinkTurn[Transfer]) -> bool:
    handled = turn.policy.beyond_credit == "ignore"
    return turn.link.arriving is None and turn.link.credit <= 0 and not handled


def lacks_what_the_first_needs(turn: LinkTurn[Transfer]) -> bool:
    """Say whether the first transfer of a delivery has no delivery-id, -tag or message-format (2.7.5)."""
    said = turn.event
    needed = (said.delivery_id, said.delivery_tag, said.message_format)
    return turn.link.arriving is None and any(each is None for each in needed)


def has_a_tag_too_long(turn: LinkTurn[Transfer]) -> bool:
    return len(turn.event.delivery_tag or b"") > LONGEST_TAG


def has_a_tag_in_use(turn: LinkTurn[Transfer]) -> bool:
    """Say whether another delivery of the link with this tag is not settled (2.6.12)."""
    first, tag = turn.link.arriving is None, turn.event.delivery_tag
    return first and any(
        each.link is turn.link and each.tag == tag for each in turn.session.received.values()
    )


def is_another_delivery(turn: LinkTurn[Transfer]) -> bool:
    """Say whether id, tag or format differ from those of the delivery that is not complete (2.7.5)."""
    arriving, said = turn.link.arriving, turn.event
    if arriving is None:
        return False
    told = (
        (said.delivery_id, int(arriving.id)),
        (said.delivery_tag, arriving.tag),
        (said.message_format, arriving.format),
    )
    return any(value is not None and value != of_first for value, of_first in told)


def breaks_the_senders_mode(turn: LinkTurn[Transfer]) -> bool:
    """Say whether it is settled on an unsettled link, or complete and unsettled on a settled one (2.7.5)."""
    said, arriving = turn.event, turn.link.arriving
    if said.aborted:
        return False
    settled = bool(said.settled) or (arriving is not None and arriving.settled)
    if turn.link.sender_mode == SenderSettleMode.UNSETTLED:
        return settled
    return turn.link.sender_mode == SenderSettleMode.SETTLED and not said.more and not settled


def wants_second_on_first(turn: LinkTurn[Transfer]) -> bool:
    """Say whether it is to be settled second, where the link has agreed on first (2.7.5)."""
    second = turn.event.rcv_settle_mode == ReceiverSettleMode.SECOND and not turn.event.settled
    return second and turn.link.receiver_mode == ReceiverSettleMode.FIRST


def is_too_large(turn: LinkTurn[Transfer]) -> bool:
    arriving, nodes = turn.link.arriving, turn.peer.nodes
    size = len(turn.payload) + (len(arriving.octets) if arriving is not None else 0)
    content = turn.peer.limits.content
    most = min(turn.policy.max_message_size or content, content)
    return size > most or nodes.octets + len(turn.payload) > nodes.most_octets


# -- taking it in --------------------------------------------------------------------------------------


def ignore(turn: LinkTurn[Transfer]) -> None:
    """Count a transfer, and a message, and let the delivery be."""
    count_transfer(turn.session)
    if not turn.link.ignoring:
        count_message(turn.link)
    turn.link.ignoring = turn.event.more and not turn.event.aborted


def take_part(turn: LinkTurn[Transfer]) -> None:
    """Keep a transfer's piece of a message."""
    link, said = turn.link, turn.event
    count_transfer(turn.session)
    if link.arriving is None:
        first = Serial(said.delivery_id or 0)
        link.arriving = Delivery(link, first, said.delivery_tag or b"", said.message_format or 0)
        count_message(link)
    link.arriving.settled |= bool(said.settled)
    link.arriving.octets += turn.payload
    turn.peer.nodes.octets += len(turn.payload)


def leads_to(state: Received) -> Callable[[LinkTurn[Transfer]], bool]:
    """Make the condition that a transfer leads there (figure 2.58)."""

    def holds(turn: LinkTurn[Transfer]) -> bool:
        begun = turn.link.arriving is not None
        return receiving(begun, turn.event.more, turn.event.aborted) is state

    return holds


def forget_delivery(turn: LinkTurn[Transfer]) -> None:
    """Discard what an aborted delivery has brought, which is settled by that (2.6.14, 2.7.5)."""
    arriving = turn.link.arriving
    assert arriving is not None
    turn.peer.nodes.octets -= len(arriving.octets)
    turn.link.arriving = None


def replenish(turn: LinkTurn[Transfer]) -> Reply:
    """Restore credit and window as the policy has it, and state them in one flow (2.5.6, 2.6.9)."""
    link, session, policy = turn.link, turn.session, turn.policy
    window = needs_window(session, policy) and not turn.peer.alarm
    left = policy.link_credit // 2 if policy.credit_given == "at half" else policy.link_credit - 1
    kept = len(session.received) < turn.peer.limits.unsettled
    credit = link.arriving is None and link.credit <= left and kept
    if window:
        session.incoming_window = policy.incoming_window
    if credit:
        link.credit = policy.link_credit
    if credit:
        return (link_flow(link, policy),)
    return (session_flow(session, policy),) if window else ()


def complete(turn: LinkTurn[Transfer]) -> Reply:
    """Keep the message and accept it: settled at once, or only once the client settles (2.7.5)."""
    link = turn.link
    delivery = link.arriving
    assert delivery is not None
    assert link.node is not None
    link.arriving = None
    turn.peer.nodes.keep(link.node, Message(delivery.format, bytes(delivery.octets)))
    if delivery.settled:
        return ()
    asked = turn.event.rcv_settle_mode
    settles = (link.receiver_mode if asked is None else asked) == ReceiverSettleMode.FIRST
    if not settles:
        turn.session.received[delivery.id] = delivery
        delivery.octets = bytearray()
    last = delivery.id if turn.policy.last == "given" else None
    hint = turn.policy.batchable or None
    said = Disposition(Role.RECEIVER, delivery.id, last, settles or None, Accepted(), hint)
    if turn.policy.outcomes == "one by one":
        return (said,)
    turn.session.gathered.append(said)
    turn.connection.gather()
    return ()


def complete_and_serve(turn: LinkTurn[Transfer]) -> None:
    """Answer first, then serve: receivers on this connection see their message after that."""
    turn.say((*complete(turn), *replenish(turn)))
    assert turn.link.node is not None
    traffic.serve(turn.peer, turn.link.node)


_transfer = Row("transfer", ATTACHED, Transfer)
_INVALID = refuse(AmqpError.INVALID_FIELD, Level.SESSION)
_INVALID_ON_LINK = refuse(AmqpError.INVALID_FIELD, Level.LINK)
MISPLACED = (
    _transfer(
        "refuses one beyond the window",
        exceeds_the_window,
        answer=refuse(SessionError.WINDOW_VIOLATION, Level.SESSION),
    ),
    _transfer(
        "refuses one on a link to the client",
        client_receives,
        answer=refuse(AmqpError.NOT_ALLOWED, Level.LINK),
    ),
)
TRANSFERS = (
    _transfer("ignores a resumed delivery", is_resumed, (ignore,), replenish),
    _transfer(
        "refuses one beyond the credit", exceeds_credit, answer=refuse_by(lambda policy: policy.beyond_credit)
    ),
    _transfer("refuses a first one that lacks a field", lacks_what_the_first_needs, answer=_INVALID),
    _transfer("refuses a delivery-tag too long", has_a_tag_too_long, answer=_INVALID),
    _transfer(
        "refuses a delivery-tag in use", has_a_tag_in_use, answer=refuse(AmqpError.NOT_ALLOWED, Level.LINK)
    ),
    _transfer(
        "refuses another delivery amid one",
        is_another_delivery,
        answer=refuse_by(lambda policy: policy.interleaved),
    ),
    _transfer("refuses what the sender's mode rules out", breaks_the_senders_mode, answer=_INVALID_ON_LINK),
    _transfer("refuses to settle second on a link of first", wants_second_on_first, answer=_INVALID_ON_LINK),
    _transfer(
        "refuses a message too large",
        is_too_large,
        answer=refuse(LinkError.MESSAGE_SIZE_EXCEEDED, Level.LINK),
    ),
    _transfer("more follows", leads_to(Received.RECEIVING), (take_part,), replenish),
    _transfer(
        "an aborted delivery is forgotten",
        leads_to(Received.ABORTED),
        (take_part, forget_delivery),
        replenish,
    ),
    _transfer("a message is kept", effects=(take_part, complete_and_serve)),
)
