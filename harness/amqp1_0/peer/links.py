"""Links: attaching to a node by its name, credit, transfers both ways, settlement (2.6), as far as needed."""

from collections.abc import Callable

from harness.amqp1_0.peer.entities import Link, Message, Said
from harness.amqp1_0.peer.events import LinkState
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import WINDOW, refuse
from harness.amqp1_0.peer.traffic import serve, take_back
from harness.amqp1_0.peer.turn import LinkRow as Row
from harness.amqp1_0.peer.turn import LinkTurn, Reply, SessionTurn
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Detach,
    Disposition,
    Flow,
    LinkError,
    Modified,
    Released,
    Role,
    SenderSettleMode,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.types import Symbol

DETACHED = LinkState.DETACHED
ATTACHED = LinkState.ATTACHED
DETACH_SENT = LinkState.DETACH_SENT


# -- attaching -----------------------------------------------------------------------------------------


def _terminus(turn: LinkTurn[Attach]) -> Source | Target | None:
    """Give what names a node of ours: the target of a client that sends, the source of another."""
    attach = turn.event
    found = attach.target if attach.role == Role.SENDER else attach.source
    return found if isinstance(found, (Source, Target)) else None


def _address(turn: LinkTurn[Attach]) -> str:
    terminus = _terminus(turn)
    address = terminus.address if terminus is not None else None
    return address if isinstance(address, str) else ""


def names_nothing(turn: LinkTurn[Attach]) -> bool:
    """Say whether there is no address of a node, and none is to be made up."""
    terminus = _terminus(turn)
    return not _address(turn) and not (terminus is not None and terminus.dynamic)


def may_not(turn: LinkTurn[Attach]) -> bool:
    """Say whether the user may open connections and sessions but use no node."""
    return turn.connection.user in turn.peer.restricted


def no_room(turn: LinkTurn[Attach]) -> bool:
    """Say whether there are as many nodes, or links of the session, as we keep."""
    nodes = turn.peer.nodes
    full = _address(turn) not in nodes.by_name and len(nodes.by_name) >= nodes.most
    limits = turn.peer.limits
    return full or len(_address(turn)) > limits.address or len(turn.session.links) >= limits.links


def hold(turn: LinkTurn[Attach]) -> None:
    """Take the handle from here on."""
    link, attach = turn.link, turn.event
    link.sends = attach.role == Role.RECEIVER
    turn.session.links[link.handle] = link


def attach_to_node(turn: LinkTurn[Attach]) -> None:
    link, attach = turn.link, turn.event
    hold(turn)
    node = turn.peer.nodes.named(_address(turn) or turn.peer.unique("node-"))
    assert node is not None
    link.node = node
    link.settles = attach.snd_settle_mode == SenderSettleMode.SETTLED
    link.delivery_count = attach.initial_delivery_count or 0
    if link.sends:
        node.receivers.append(link)
    else:
        link.credit = turn.policy.link_credit


def attached(turn: LinkTurn[Attach]) -> Reply:
    """Answer with an attach, and credit for a client that sends."""
    link, attach = turn.link, turn.event
    source, target = attach.source, attach.target
    terminus = _terminus(turn)
    if terminus is not None and terminus.dynamic:
        assert link.node is not None
        terminus = terminus.replace(address=link.node.name, dynamic=None)
        source, target = (terminus, target) if link.sends else (source, terminus)
    return _attach(turn, source, target)


def refused(turn: LinkTurn[Attach]) -> Reply:
    """Answer with the attach of a link that is not to be: no terminus of ours."""
    link, attach = turn.link, turn.event
    hold(turn)
    gone = (None, attach.target) if link.sends else (attach.source, None)
    return _attach(turn, *gone)


def _attach(turn: LinkTurn[Attach], source: object, target: object) -> Reply:
    link, attach = turn.link, turn.event
    said = Attach(
        attach.name,
        link.number,
        not attach.role,
        attach.carried("snd_settle_mode"),
        attach.carried("rcv_settle_mode"),
        source,
        target,
        initial_delivery_count=0 if link.sends else None,
    )
    return (said, _credit(link)) if link.credit else (said,)


def refuse_link(condition: Symbol) -> Callable[[LinkTurn[Attach]], Reply]:
    """Attach, and detach at once with this condition (2.6.3)."""
    return lambda turn: (*refused(turn), *refuse(condition, Level.LINK)(turn))


def _credit(link: Link) -> Flow:
    session = link.session
    return Flow(
        session.next_incoming_id,
        WINDOW,
        session.next_outgoing_id,
        WINDOW,
        link.number,
        link.delivery_count,
        link.credit,
    )


# -- what the client sends -----------------------------------------------------------------------------


def exceeds_credit(turn: LinkTurn[Transfer]) -> bool:
    return turn.link.first is None and turn.link.credit <= 0


def lacks_an_id(turn: LinkTurn[Transfer]) -> bool:
    return turn.link.first is None and turn.event.delivery_id is None


def client_receives(turn: LinkTurn[Transfer]) -> bool:
    return turn.link.sends


def is_too_large(turn: LinkTurn[Transfer]) -> bool:
    link, limits, nodes = turn.link, turn.peer.limits, turn.peer.nodes
    size = len(link.partial) + len(turn.payload)
    return size > limits.content or nodes.octets + len(turn.payload) > nodes.most_octets


def take_part(turn: LinkTurn[Transfer]) -> None:
    """Keep a transfer's piece of a message."""
    link, transfer = turn.link, turn.event
    link.session.next_incoming_id = (link.session.next_incoming_id + 1) % (1 << 32)
    if link.first is None:
        link.first = (transfer.delivery_id, transfer.message_format or 0, bool(transfer.settled))
        link.credit -= 1
        link.delivery_count = (link.delivery_count + 1) % (1 << 32)
    elif transfer.settled:
        link.first = (*link.first[:2], True)
    link.partial += turn.payload
    turn.peer.nodes.octets += len(turn.payload)


def more_follows(turn: LinkTurn[Transfer]) -> bool:
    return turn.event.more and not turn.event.aborted


def is_aborted(turn: LinkTurn[Transfer]) -> bool:
    return turn.event.aborted


def forget_delivery(turn: LinkTurn[Transfer]) -> None:
    turn.peer.nodes.octets -= len(turn.link.partial)
    turn.link.first, turn.link.partial = None, bytearray()


def complete(turn: LinkTurn[Transfer]) -> Reply:
    """Keep the message, settle it, and give new credit when half is used up."""
    link = turn.link
    assert link.first is not None
    assert link.node is not None
    delivery, form, settled = link.first
    kept = Message(form, bytes(link.partial))
    link.first, link.partial = None, bytearray()
    turn.peer.nodes.keep(link.node, kept)
    said: list[Said] = []
    if not settled:
        said.append(Disposition(Role.RECEIVER, delivery, delivery, True, Accepted()))
    if link.credit <= turn.policy.link_credit // 2:
        link.credit = turn.policy.link_credit
        said.append(_credit(link))
    return tuple(said)


def serve_node(turn: LinkTurn[object]) -> None:
    """Send what can be sent."""
    assert turn.link.node is not None
    serve(turn.peer, turn.link.node)


def complete_and_serve(turn: LinkTurn[Transfer]) -> None:
    """Answer first, then serve: receivers on this connection see their message after that."""
    turn.say(complete(turn))
    serve_node(turn)


# -- what the client receives --------------------------------------------------------------------------


def take_credit(turn: LinkTurn[Flow]) -> None:
    """Keep how many messages the client wants: its count and credit less ours (2.6.7)."""
    link, flow = turn.link, turn.event
    session = turn.session
    first = flow.next_incoming_id if flow.next_incoming_id is not None else 0
    session.remote_window = first + flow.incoming_window - session.next_outgoing_id
    if link.sends:
        link.credit = (flow.delivery_count or 0) + (flow.link_credit or 0) - link.delivery_count
        serve_node(turn)
        if flow.drain and link.credit > 0:
            link.delivery_count += link.credit
            link.credit = 0
            turn.connection.say(_credit(link), session.channel)


def asks_back(turn: LinkTurn[Flow]) -> bool:
    return turn.event.echo


def link_flow(turn: LinkTurn[Flow]) -> Reply:
    """Answer with the state of the link."""
    return (_credit(turn.link),)


def has_delivered(turn: SessionTurn[Disposition]) -> bool:
    """Say whether the client speaks as receiver, about something that is not settled."""
    return turn.event.role == Role.RECEIVER and bool(_named(turn))


def _named(turn: SessionTurn[Disposition]) -> list[int]:
    first = turn.event.first
    last = first if turn.event.last is None else turn.event.last
    return [each for each in turn.session.unsettled if first <= each <= last]


def accept_disposition(turn: SessionTurn[Disposition]) -> None:
    for delivery in _named(turn):
        link, message = turn.session.unsettled.pop(delivery)
        if isinstance(turn.event.state, (Released, Modified)):
            take_back(link, message)
        else:
            turn.peer.nodes.drop(message)


def settle_in_turn(turn: SessionTurn[Disposition]) -> Reply:
    """Settle what the client has not settled itself."""
    told = turn.event
    return () if told.settled else (Disposition(Role.SENDER, told.first, told.last, True, told.state),)


# -- detaching -----------------------------------------------------------------------------------------


def detach(turn: LinkTurn[Detach]) -> Reply:
    """Answer with a detach without error."""
    return (Detach(turn.link.number, turn.event.carried("closed")),)


def end_for_handle(turn: LinkTurn[Attach]) -> Reply:
    """Answer with an end, since the session cannot go on with a handle in use twice."""
    return refuse(SessionError.HANDLE_IN_USE, Level.SESSION)(turn)


_attach_detached = Row("attach", DETACHED, Attach)
_transfer = Row("transfer", ATTACHED, Transfer)
LINKS = (
    _attach_detached(
        "refuses an address that names nothing", names_nothing, answer=refuse_link(AmqpError.NOT_FOUND)
    ),
    _attach_detached(
        "refuses a user without rights", may_not, answer=refuse_link(AmqpError.UNAUTHORIZED_ACCESS)
    ),
    _attach_detached(
        "refuses more than we keep", no_room, answer=refuse(AmqpError.RESOURCE_LIMIT_EXCEEDED, Level.SESSION)
    ),
    _attach_detached("is answered", effects=(attach_to_node,), answer=attached, next=ATTACHED),
    Row("attach: refuses a handle in use", (ATTACHED, DETACH_SENT), Attach, answer=end_for_handle),
    _transfer(
        "refuses one on a link to the client",
        client_receives,
        answer=refuse(AmqpError.NOT_ALLOWED, Level.LINK),
    ),
    _transfer(
        "refuses one beyond the credit",
        exceeds_credit,
        answer=refuse(LinkError.TRANSFER_LIMIT_EXCEEDED, Level.LINK),
    ),
    _transfer(
        "refuses a delivery without id", lacks_an_id, answer=refuse(AmqpError.INVALID_FIELD, Level.SESSION)
    ),
    _transfer(
        "refuses a message too large",
        is_too_large,
        answer=refuse(LinkError.MESSAGE_SIZE_EXCEEDED, Level.LINK),
    ),
    _transfer("more follows", more_follows, (take_part,)),
    _transfer("an aborted delivery is forgotten", is_aborted, (take_part, forget_delivery)),
    _transfer("a message is kept", effects=(take_part, complete_and_serve)),
    Row("flow: of a link is answered", ATTACHED, Flow, asks_back, (take_credit,), link_flow),
    Row("flow: of a link is taken", ATTACHED, Flow, effects=(take_credit,)),
    Row("detach: is answered", ATTACHED, Detach, answer=detach, next=DETACHED),
    Row("detach: ends a link that we detached", DETACH_SENT, Detach, next=DETACHED),
    Row("link: all else behind our detach is discarded", DETACH_SENT, Composite),
)
