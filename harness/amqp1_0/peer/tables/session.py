"""Sessions: begin and end, windows, what is refused on them (2.5, 2.7.2, 2.7.8); the rows of links follow."""

from harness.amqp1_0.peer import traffic, windows
from harness.amqp1_0.peer.events import AlarmLifted, AlarmRaised, EmptyFrame, Invalid, Unacceptable
from harness.amqp1_0.peer.policy import Level
from harness.amqp1_0.peer.refusals import our_begin, refuse, refuse_by
from harness.amqp1_0.peer.states_of_sessions import (
    BEGIN_RCVD,
    DISCARDING,
    END_RCVD,
    MAPPED,
    RECEIVED,
    SAID,
    UNMAPPED,
    let_go,
)
from harness.amqp1_0.peer.tables.attach import ATTACHING, DETACHING, REFUSING, is_above_ours
from harness.amqp1_0.peer.tables.credit import CREDIT
from harness.amqp1_0.peer.tables.resuming import RESUMING, TAKING_UP
from harness.amqp1_0.peer.tables.settlement import SETTLEMENT
from harness.amqp1_0.peer.tables.transfer import MISPLACED, TRANSFERS
from harness.amqp1_0.peer.turn import Reply, SessionTurn
from harness.amqp1_0.peer.turn import SessionRow as Row
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Begin,
    ConnectionError_,
    Detach,
    End,
    Flow,
    SessionError,
    Transfer,
)
from harness.peers.rows import AnyRow, answering


def names_a_channel(turn: SessionTurn[Begin]) -> bool:
    """Say whether the begin claims to answer one of ours, though none was sent."""
    return turn.event.remote_channel is not None


def no_channel_is_left(turn: SessionTurn[Begin]) -> bool:
    """Say whether the client accepts no more channels, or there are as many sessions as we keep."""
    connection = turn.connection
    room = min(connection.channel_max + 1, turn.peer.limits.sessions)
    return len(connection.sessions) >= room


def begin(turn: SessionTurn[Begin]) -> Reply:
    return (our_begin(turn.session, turn.policy),)


def lacks_a_field(turn: SessionTurn[Invalid]) -> bool:
    return turn.event.missing


end = answering((End(),))


def names_a_handle(turn: SessionTurn[Transfer | Detach | Flow]) -> bool:
    return turn.event.handle is not None


def wants_an_answer(turn: SessionTurn[Flow]) -> bool:
    return turn.event.echo


def learn_windows(turn: SessionTurn[Flow]) -> None:
    """Take over the state of the client's end (2.5.6)."""
    windows.learn_windows(turn.session, turn.event)


def serve(turn: SessionTurn[Flow]) -> None:
    """Send what the client's window has held up."""
    traffic.serve_all(turn.peer, turn.session)


def flow(turn: SessionTurn[Flow]) -> Reply:
    """Answer with the state of the session."""
    return (windows.session_flow(turn.session, turn.policy),)


def closes_windows(turn: SessionTurn[AlarmRaised]) -> bool:
    return turn.policy.on_alarm == "closes windows"


def close_window(turn: SessionTurn[AlarmRaised]) -> None:
    turn.session.incoming_window = 0


def open_window(turn: SessionTurn[AlarmLifted]) -> None:
    turn.session.incoming_window = turn.policy.incoming_window


def state(turn: SessionTurn[AlarmRaised | AlarmLifted]) -> Reply:
    return (windows.session_flow(turn.session, turn.policy),)


def carries_link_state(turn: SessionTurn[Flow]) -> bool:
    """Say whether a field about a link is set without a handle, and the policy looks at it (2.7.4)."""
    refuses = turn.policy.stray_link_state != "ignore"
    return refuses and any(turn.event.carried(each) is not None for each in _OF_A_LINK)


def is_no_begin(turn: SessionTurn[Invalid]) -> bool:
    """Say whether it can only be about a session that is there."""
    return not isinstance(turn.event.performative, Begin)


_OF_A_LINK = ("delivery_count", "link_credit", "available", "drain", "properties")
"""Fields of a flow that MUST NOT be set without a handle (2.7.4)."""
_session = Row("session", (UNMAPPED, MAPPED), Invalid)
_begin = Row("begin", UNMAPPED, Begin)
SESSION: tuple[AnyRow, ...] = (
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
    Row("begin: is answered", BEGIN_RCVD, Begin, answer=begin),
    Row(
        "begin: refuses a channel in use",
        MAPPED,
        Begin,
        answer=refuse_by(lambda policy: policy.channel_in_use),
    ),
    Row("end: is answered", END_RCVD, End, effects=(let_go,), answer=end),
    *RECEIVED,
    *SAID,
    Row("session: all else behind our end is discarded", DISCARDING, (Composite, Unacceptable, EmptyFrame)),
    Row(
        "session: refuses a channel without one",
        UNMAPPED,
        Composite,
        answer=refuse_by(lambda policy: policy.unmapped_channel),
    ),
    Row[Transfer | Detach | Flow](
        "link: refuses a handle above ours",
        MAPPED,
        (Transfer, Detach, Flow),
        is_above_ours,
        answer=refuse(ConnectionError_.FRAMING_ERROR),
    ),
    Row[Transfer | Detach | Flow](
        "link: refuses a handle that is not attached",
        MAPPED,
        (Transfer, Detach, Flow),
        names_a_handle,
        answer=refuse(SessionError.UNATTACHED_HANDLE, Level.SESSION),
    ),
    Row(
        "flow: refuses the state of a link without a handle",
        MAPPED,
        Flow,
        carries_link_state,
        answer=refuse_by(lambda policy: policy.stray_link_state),
    ),
    Row("flow: of a session is answered", MAPPED, Flow, wants_an_answer, (learn_windows, serve), flow),
    Row("flow: of a session is taken", MAPPED, Flow, effects=(learn_windows, serve)),
    Row("session: closes its window", MAPPED, AlarmRaised, closes_windows, (close_window,), state),
    Row("session: opens its window again", MAPPED, AlarmLifted, effects=(open_window,), answer=state),
    *SETTLEMENT,
    *REFUSING,
    *RESUMING,
    *ATTACHING,
    *MISPLACED,
    *TAKING_UP,
    *TRANSFERS,
    *CREDIT,
    *DETACHING,
)
