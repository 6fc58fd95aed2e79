"""Links come and go: names, handles, attaching to a node, refusing, stealing, detaching (2.6.1-2.6.6)."""

from collections.abc import Callable

from harness.amqp1_0.peer import traffic
from harness.amqp1_0.peer.entities import Key, Link, Node
from harness.amqp1_0.peer.events import NodeRemoved
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import refuse, refuse_by
from harness.amqp1_0.peer.states_of_links import (
    ATTACH_RCVD,
    ATTACHED,
    DETACH_RCVD,
    DETACHED,
    ERRED,
    RECEIVED,
    SAID,
    SUSPENDED,
)
from harness.amqp1_0.peer.turn import LinkRow as Row
from harness.amqp1_0.peer.turn import LinkTurn, Reply, SessionTurn
from harness.amqp1_0.peer.windows import link_flow
from harness.amqp1_0.wire.frames import amqp_frame
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    ConnectionError_,
    Detach,
    Error,
    Flow,
    LinkError,
    ReceiverSettleMode,
    Role,
    SessionError,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.amqp1_0.wire.types import Map, Symbol

# -- what an attach asks for ---------------------------------------------------------------------------


def own_terminus(turn: LinkTurn[Attach]) -> Source | Target | None:
    """Give what names a node of ours: the target of a client that sends, the source of another."""
    attach = turn.event
    found = attach.target if attach.role == Role.SENDER else attach.source
    return found if isinstance(found, (Source, Target)) else None


def _address(turn: LinkTurn[Attach]) -> str:
    terminus = own_terminus(turn)
    address = terminus.address if terminus is not None else None
    return address if isinstance(address, str) else ""


def link_key(turn: LinkTurn[Attach]) -> Key:
    partner = turn.connection.partner
    return (partner.container_id if partner is not None else "", turn.event.role, turn.event.name)


def known_link(turn: LinkTurn[Attach]) -> Link | None:
    """Give the link that has this name between these containers in this direction (2.6.1)."""
    return turn.peer.termini.get(link_key(turn))


def is_above_ours(turn: LinkTurn[Attach] | SessionTurn[Transfer | Detach | Flow]) -> bool:
    """Say whether the handle is outside the range that our begin states (2.7.2)."""
    highest, handle = turn.policy.handle_max, turn.event.handle
    return highest is not None and handle is not None and handle > highest


def lacks_a_count(turn: LinkTurn[Attach]) -> bool:
    """Say whether a sender says no initial-delivery-count (2.7.3)."""
    return turn.event.role == Role.SENDER and turn.event.initial_delivery_count is None


def has_a_null_key(turn: LinkTurn[Attach]) -> bool:
    """Say whether a key of the unsettled map is null (2.7.3)."""
    unsettled = turn.event.carried("unsettled")
    return isinstance(unsettled, Map) and any(tag is None for tag, _ in unsettled.pairs)


def is_pipelined(turn: LinkTurn[Attach]) -> bool:
    """Say whether it reattaches an endpoint that was destroyed, instead of resuming the link (2.6.5)."""
    known = known_link(turn)
    erred = known is not None and known.state is ERRED
    return (erred or turn.event.name in turn.session.errant) and turn.event.unsettled is None


def is_resumption(turn: LinkTurn[Attach]) -> bool:
    """Say whether it resumes a link that we know, or recovers it by its name alone (2.6.3)."""
    known = known_link(turn)
    if known is None or known.node is None or turn.event.unsettled is None:
        return False
    return own_terminus(turn) is not None or turn.policy.recovering == "supported"


def is_refused_resumption(turn: LinkTurn[Attach]) -> bool:
    """Say whether it has unsettled deliveries, and the policy does not implement to resume any."""
    return bool(turn.event.unsettled) and turn.policy.resuming == "refused"


def may_not_steal(turn: LinkTurn[Attach]) -> bool:
    """Say whether the link is active and the policy leaves it where it is."""
    known = known_link(turn)
    return known is not None and known.state is ATTACHED and turn.policy.second_attach == "is refused"


def names_what_is_not_there(turn: LinkTurn[Attach]) -> bool:
    return _address(turn) in turn.peer.absent


def gets_no_answer_across(turn: LinkTurn[Attach]) -> bool:
    """Say whether the attach that answers is larger than a frame of the client (2.8.15)."""
    attach = turn.event
    answer = amqp_frame(turn.session.channel, attach_of(turn, attach.source, attach.target))
    return len(answer.encode()) > turn.connection.frame_max


def names_nothing(turn: LinkTurn[Attach]) -> bool:
    """Say whether there is no address of a node, and none is to be made up."""
    terminus = own_terminus(turn)
    return not is_resumption(turn) and not _address(turn) and not (terminus is not None and terminus.dynamic)


def may_not(turn: LinkTurn[Attach]) -> bool:
    """Say whether the user may open connections and sessions but use no node."""
    return turn.connection.user in turn.peer.restricted


def no_room(turn: LinkTurn[Attach]) -> bool:
    """Say whether there are as many nodes, or links of the session, as we keep or the client takes."""
    nodes, session = turn.peer.nodes, turn.session
    full = _address(turn) not in nodes.by_name and len(nodes.by_name) >= nodes.most
    limits = turn.peer.limits
    many = (
        len(session.links) + len(session.suspended) >= limits.links or turn.link.number > session.handle_max
    )
    return full or many or len(_address(turn)) > limits.address


# -- attaching -----------------------------------------------------------------------------------------


def hold(turn: LinkTurn[Attach]) -> None:
    """Take the handle from here on."""
    turn.link.sends = turn.event.role == Role.RECEIVER
    turn.session.links[turn.link.handle] = turn.link


def steal(turn: LinkTurn[Attach]) -> None:
    """Close the link where it is attached now, or take its place where it is suspended (2.6.1)."""
    known = known_link(turn)
    if known is None:
        return
    if known.state is ATTACHED:
        why = Error(LinkError.STOLEN, "attached elsewhere")
        known.session.connection.say_on(known.session, Detach(known.number, True, why), known)
    elif known.state is SUSPENDED and known.session is turn.session and turn.event.unsettled is None:
        traffic.hand_over(known, turn.link)
    elif known.state is SUSPENDED:
        # A new endpoint knows nothing of the old one's deliveries: what was sent before goes back.
        traffic.release(turn.peer, known)
    known.key = None


def attach_to_node(turn: LinkTurn[Attach]) -> None:
    node = turn.peer.nodes.named(_address(turn) or turn.peer.unique("node-"))
    assert node is not None
    attach_to(turn, node)


def attach_to(turn: LinkTurn[Attach], node: Node) -> None:
    """Let the link be known by its name, and be one of this node."""
    link, attach = turn.link, turn.event
    hold(turn)
    link.key = link_key(turn)
    turn.peer.termini[link.key] = link
    turn.session.errant.discard(attach.name)
    terminus = own_terminus(turn)
    asked = terminus is not None and terminus.expiry_policy == "never"
    link.outlives = asked and turn.policy.expiry == "as asked"
    link.node = node
    link.largest = attach.max_message_size or None
    link.sender_mode = attach.snd_settle_mode
    second = attach.rcv_settle_mode == ReceiverSettleMode.SECOND
    if link.sends or (second and turn.policy.receiver_mode == "as asked"):
        link.receiver_mode = attach.rcv_settle_mode
    count = turn.policy.initial_delivery_count if link.sends else attach.initial_delivery_count or 0
    link.initial_delivery_count = link.delivery_count = Serial(count)
    if link.sends:
        node.receivers.append(link)
    else:
        link.credit = turn.policy.link_credit


def attached(turn: LinkTurn[Attach]) -> Reply:
    """Answer with an attach, and credit for a client that sends."""
    link, attach = turn.link, turn.event
    source, target = attach.source, attach.target
    ours = actual(turn)
    source, target = (ours, target) if link.sends else (source, ours)
    said = attach_of(turn, source, target)
    if attach.unsettled is not None:
        # Nothing is known of what it wants to resume (2.6.3, 2.6.13).
        said = said.replace(unsettled={})
    return (said, link_flow(link, turn.policy)) if link.credit else (said,)


def actual(turn: LinkTurn[Attach]) -> Source | Target:
    """Give our terminus as it is: what was asked for and does not hold is reported (2.6.3)."""
    link, node = turn.link, turn.link.node
    assert node is not None
    asked = own_terminus(turn)
    if asked is None:
        return Source(node.name) if link.sends else Target(node.name)
    never = asked.expiry_policy == "never" and not link.outlives
    expiry = None if never else asked.carried("expiry_policy")
    told = asked.replace(address=node.name, dynamic=None, expiry_policy=expiry)
    # Our nodes know no filters.
    return told.replace(filter=None) if isinstance(told, Source) else told


def refused(turn: LinkTurn[Attach]) -> Reply:
    """Answer with the attach of a link that is not to be: no terminus of ours."""
    link, attach = turn.link, turn.event
    hold(turn)
    gone = (None, attach.target) if link.sends else (attach.source, None)
    return (attach_of(turn, *gone),)


def attach_of(turn: LinkTurn[Attach], source: object, target: object) -> Attach:
    """Give our attach with these termini."""
    link, attach, policy = turn.link, turn.event, turn.policy
    given: dict[str, object] = {"max_message_size": policy.max_message_size}
    if link.sends:
        given = {"initial_delivery_count": policy.initial_delivery_count}
    mode = attach.carried("rcv_settle_mode") if link.sends else link.receiver_mode
    return Attach(
        attach.name, link.number, not attach.role, attach.carried("snd_settle_mode"), mode, source, target
    ).replace(**given)


def refuse_link(condition: Symbol) -> Callable[[LinkTurn[Attach]], Reply]:
    """Attach, and detach at once with this condition (2.6.3, figure 2.33)."""
    return lambda turn: (*refused(turn), *refuse(condition, Level.LINK)(turn))


# -- detaching -----------------------------------------------------------------------------------------


def is_its_node(turn: LinkTurn[NodeRemoved]) -> bool:
    return turn.link.node is turn.event.node


def closes(turn: LinkTurn[Detach]) -> bool:
    return bool(turn.event.closed or turn.event.error is not None)


def detach(turn: LinkTurn[Detach]) -> Reply:
    """Answer with a detach without error, that closes the link if the client's does."""
    return (Detach(turn.link.number, turn.event.carried("closed")),)


_attach_detached = Row("attach", ATTACH_RCVD, Attach)
"""Of a link that was detached, and is half attached by it (2.6.2)."""
REFUSING = (
    _attach_detached(
        "refuses a handle above ours", is_above_ours, answer=refuse(ConnectionError_.FRAMING_ERROR)
    ),
    _attach_detached(
        "refuses a sender without a delivery-count",
        lacks_a_count,
        answer=refuse(AmqpError.INVALID_FIELD, Level.SESSION),
    ),
    _attach_detached(
        "refuses a null for a delivery-tag",
        has_a_null_key,
        answer=refuse(AmqpError.INVALID_FIELD, Level.SESSION),
    ),
    _attach_detached(
        "refuses to reattach what is in error",
        is_pipelined,
        answer=refuse(SessionError.ERRANT_LINK, Level.SESSION),
    ),
    _attach_detached(
        "refuses what it has no room to answer",
        gets_no_answer_across,
        answer=refuse_by(lambda policy: policy.answer_too_large),
    ),
    _attach_detached("refuses a name in use", may_not_steal, answer=refuse_link(AmqpError.RESOURCE_LOCKED)),
    _attach_detached(
        "refuses to resume",
        is_refused_resumption,
        answer=refuse_link(AmqpError.NOT_IMPLEMENTED),
    ),
    _attach_detached(
        "refuses an address that names nothing", names_nothing, answer=refuse_link(AmqpError.NOT_FOUND)
    ),
    _attach_detached(
        "refuses an address that is not there",
        names_what_is_not_there,
        answer=refuse_link(AmqpError.NOT_FOUND),
    ),
    _attach_detached(
        "refuses a user without rights", may_not, answer=refuse_link(AmqpError.UNAUTHORIZED_ACCESS)
    ),
    _attach_detached(
        "refuses more than we keep", no_room, answer=refuse(AmqpError.RESOURCE_LIMIT_EXCEEDED, Level.SESSION)
    ),
)
ATTACHING = (
    _attach_detached("is answered", effects=(steal, attach_to_node), answer=attached),
    Row(
        "attach: refuses a handle in use",
        ATTACHED,
        Attach,
        answer=refuse_by(lambda policy: policy.handle_in_use),
    ),
)
DETACHING = (
    Row("detach: that closes is answered", DETACH_RCVD, Detach, closes, answer=detach, next=DETACHED),
    Row("detach: that does not close is answered", DETACH_RCVD, Detach, answer=detach),
    *RECEIVED,
    *SAID,
    Row(
        "link: is detached when its node is removed",
        ATTACHED,
        NodeRemoved,
        is_its_node,
        answer=refuse_by(lambda policy: policy.node_removed),
    ),
    Row(
        "link: refuses what comes for an endpoint in error",
        ERRED,
        (Attach, Flow, Transfer),
        answer=refuse(SessionError.ERRANT_LINK, Level.SESSION),
    ),
)
