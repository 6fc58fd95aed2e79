"""Answers that are errors: a close, an end or a detach that says why (2.8.14), or the end of the stream."""

from collections.abc import Callable

from harness.amqp1_0.peer.entities import Said, Session
from harness.amqp1_0.peer.events import ConnectionState, SaslState, SessionState
from harness.amqp1_0.peer.policy import Level, Policy, Refusal
from harness.amqp1_0.peer.traffic import map_session
from harness.amqp1_0.peer.turn import AnyTurn, Reply
from harness.amqp1_0.peer.windows import session_flow
from harness.amqp1_0.wire.performatives import Begin, Close, Detach, End, Error, Open
from harness.amqp1_0.wire.types import Symbol

Answer = Callable[[AnyTurn], Reply]

BEFORE_OPEN = (ConnectionState.HDR_EXCH, ConnectionState.OPEN_RCVD)
UNSAID = (*SaslState, ConnectionState.START, ConnectionState.HDR_RCVD, ConnectionState.HDR_SENT)
_MOST_TEXT = 200
"""Characters of a description: with them a close fits into the smallest frame there is."""


def refuse(condition: Symbol, level: Level = Level.CONNECTION) -> Answer:
    """End the connection, or the session or link, with this error condition."""
    refusal = Refusal(condition, level)
    return lambda turn: refuse_with(turn, refusal)


def refuse_by(choice: Callable[[Policy], Refusal | Symbol | str]) -> Answer:
    """Refuse as the policy has it: with a condition, a Refusal, or not at all for "ignore"."""

    def refusing(turn: AnyTurn) -> Reply:
        chosen = choice(turn.policy)
        if chosen == "ignore":
            return ()
        return refuse_with(turn, chosen if isinstance(chosen, Refusal) else Refusal(Symbol(chosen)))

    return refusing


def refuse_with(turn: AnyTurn, refusal: Refusal) -> Reply:
    """Say what ends the link, the session or the connection, as far as the event is about one."""
    why = error(turn, refusal.condition)
    if refusal.level is Level.LINK and turn.link is not None:
        return (Detach(turn.link.number, True, why),)
    if refusal.level is not Level.CONNECTION and turn.session is not None:
        return _end(turn, turn.session, why)
    connection = turn.connection
    if connection.state in UNSAID:
        connection.go(ConnectionState.END)
        return ()
    if connection.state in BEFORE_OPEN:
        if turn.policy.refusal_before_open == "end":
            connection.go(ConnectionState.END)
            return ()
        return our_open(turn)[0], Close(why)
    return (Close(why),)


def _end(turn: AnyTurn, session: Session, why: Error) -> Reply:
    said = list[Said]()
    if session.state is SessionState.UNMAPPED:
        # What is not mapped cannot be ended: the begin is answered first.
        if not map_session(turn.peer, session):
            return (Close(why),)
        session.state = SessionState.BEGIN_RCVD
        said.append(our_begin(session, turn.policy))
    return (*said, End(why))


def error(turn: AnyTurn, condition: Symbol) -> Error:
    """Make the error, with the row and what is known of the cause for a description."""
    why = getattr(turn.event, "why", "")
    text = ": ".join(filter(None, (turn.row, why)))
    return Error(condition, text[:_MOST_TEXT] or "no more is known")


def our_open(turn: AnyTurn) -> tuple[Open]:
    """Make our open with what the policy has to say (2.7.1)."""
    policy = turn.policy
    return (
        Open(
            policy.container_id,
            None,
            policy.max_frame_size,
            policy.channel_max,
            policy.idle_time_out or None,
            policy.outgoing_locales or None,
            policy.incoming_locales or None,
            policy.offered_capabilities or None,
            policy.desired_capabilities or None,
            dict(policy.properties) or None,
        ),
    )


def our_begin(session: Session, policy: Policy) -> Begin:
    """Make the begin that answers the client's: its channel, our windows (2.5.1)."""
    told = session_flow(session, policy)
    return Begin(
        session.number, told.next_outgoing_id, told.incoming_window, told.outgoing_window, policy.handle_max
    )
