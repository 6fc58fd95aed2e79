"""Sessions and links, as much of them as fences and traffic need: begin and end, links, messages (2.5, 2.6).

Made to grow: the states are those of the document that a server which begins nothing by itself comes to.
"""

from harness.amqp1_0.peer import traffic
from harness.amqp1_0.peer.entities import Session
from harness.amqp1_0.peer.events import EmptyFrame, Invalid, SessionState, Unacceptable
from harness.amqp1_0.peer.links import LINKS, accept_disposition, has_delivered, settle_in_turn
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import WINDOW, our_begin, refuse, refuse_by
from harness.amqp1_0.peer.turn import Reply, SessionTurn
from harness.amqp1_0.peer.turn import SessionRow as Row
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Begin,
    Detach,
    Disposition,
    End,
    Flow,
    SessionError,
    Transfer,
)
from harness.peers.rows import answering

UNMAPPED = SessionState.UNMAPPED
MAPPED = SessionState.MAPPED
DISCARDING = SessionState.DISCARDING


def names_a_channel(turn: SessionTurn[Begin]) -> bool:
    """Say whether the begin claims to answer one of ours, though none was sent."""
    return turn.event.remote_channel is not None


def no_channel_is_left(turn: SessionTurn[Begin]) -> bool:
    """Say whether the client accepts no more channels, or there are as many sessions as we keep."""
    connection = turn.connection
    room = min(connection.channel_max + 1, turn.peer.limits.sessions)
    return len(connection.sessions) >= room


def map_it(turn: SessionTurn[Begin]) -> None:
    """Give the session a channel in either direction."""
    session, begin = turn.session, turn.event
    session.next_incoming_id = begin.next_outgoing_id
    session.remote_window = begin.incoming_window
    traffic.map_session(turn.peer, session)


def begin(turn: SessionTurn[Begin]) -> Reply:
    return (our_begin(turn.session),)


def lacks_a_field(turn: SessionTurn[Invalid]) -> bool:
    return turn.event.missing


end = answering((End(),))


def leave(turn: SessionTurn[End]) -> None:
    traffic.leave(turn.peer, turn.session)


def session_flow(session: Session) -> Flow:
    """Give the state of a session, without that of a link."""
    return Flow(session.next_incoming_id, WINDOW, session.next_outgoing_id, WINDOW)


def names_a_handle(turn: SessionTurn[Transfer | Detach | Flow]) -> bool:
    return turn.event.handle is not None


def wants_an_answer(turn: SessionTurn[Flow]) -> bool:
    return turn.event.echo


def take_window(turn: SessionTurn[Flow]) -> None:
    """Keep how many transfers the client is ready to take."""
    session, given = turn.session, turn.event
    first = given.next_incoming_id if given.next_incoming_id is not None else 0
    session.remote_window = first + given.incoming_window - session.next_outgoing_id
    for link in list(session.links.values()):
        if link.sends and link.node is not None:
            traffic.serve(turn.peer, link.node)


def flow(turn: SessionTurn[Flow]) -> Reply:
    """Answer with the state of the session."""
    return (session_flow(turn.session),)


def is_no_begin(turn: SessionTurn[Invalid]) -> bool:
    """Say whether it can only be about a session that is there."""
    return not isinstance(turn.event.performative, Begin)


_session = Row("session", (UNMAPPED, MAPPED), Invalid)
_begin = Row("begin", UNMAPPED, Begin)
_disposition = Row("disposition", MAPPED, Disposition)
SESSION = (
    Row(
        "session: refuses an invalid performative on a channel without one",
        UNMAPPED,
        Invalid,
        is_no_begin,
        answer=refuse_by(lambda policy: policy.unmapped_channel),
    ),
    _session(
        "refuses a performative that lacks a field",
        lacks_a_field,
        answer=refuse_by(lambda policy: policy.missing_field),
    ),
    _session("refuses an invalid field", answer=refuse_by(lambda policy: policy.invalid_field)),
    _begin("refuses an answer to none of ours", names_a_channel, answer=refuse(AmqpError.NOT_ALLOWED)),
    _begin(
        "refuses more sessions than there are channels",
        no_channel_is_left,
        answer=refuse(AmqpError.RESOURCE_LIMIT_EXCEEDED),
    ),
    _begin("is answered", effects=(map_it,), answer=begin, next=MAPPED),
    Row(
        "begin: refuses a channel in use",
        MAPPED,
        Begin,
        answer=refuse_by(lambda policy: policy.channel_in_use),
    ),
    Row("end: is answered", MAPPED, End, effects=(leave,), answer=end),
    Row("end: ends a session that we ended", DISCARDING, End, effects=(leave,)),
    Row("session: all else behind our end is discarded", DISCARDING, (Composite, Unacceptable, EmptyFrame)),
    Row(
        "session: refuses a channel without one",
        UNMAPPED,
        Composite,
        answer=refuse_by(lambda policy: policy.unmapped_channel),
    ),
    Row[Transfer | Detach | Flow](
        "link: refuses a handle that is not attached",
        MAPPED,
        (Transfer, Detach, Flow),
        names_a_handle,
        answer=refuse(SessionError.UNATTACHED_HANDLE, Level.SESSION),
    ),
    Row("flow: of a session is answered", MAPPED, Flow, wants_an_answer, (take_window,), flow),
    Row("flow: of a session is taken", MAPPED, Flow, effects=(take_window,)),
    _disposition("settles what we sent", has_delivered, (accept_disposition,), settle_in_turn),
    _disposition("of nothing we sent is taken"),
    *LINKS,
)
