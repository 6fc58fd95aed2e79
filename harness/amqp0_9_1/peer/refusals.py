"""Answers that are exceptions (4.8.1): a Close for the channel or the connection, or none at all."""

from collections.abc import Callable

from harness.amqp0_9_1.peer.events import ChannelState, ConnectionState
from harness.amqp0_9_1.peer.life import end_channel, end_connection
from harness.amqp0_9_1.peer.policy import NAMES, Level, Policy, Refusal
from harness.amqp0_9_1.peer.turn import AnyTurn, Reply
from harness.amqp0_9_1.wire.vocabulary import Channel, Connection

CLOSE_TIMEOUT = 30.0
"""Seconds a client may take to confirm our Close before the socket is closed."""


def refuse(code: int, at: Level | None = None) -> Callable[[AnyTurn], Reply]:
    """Refuse with an exception of this code; `at` overrides the level its constant has."""
    refusal = Refusal(code, at)
    return lambda turn: except_with(turn, refusal)


def refuse_by(choice: Callable[[Policy], object]) -> Callable[[AnyTurn], Reply]:
    """Refuse with what the policy decides: a Refusal, a code, or "silent"."""

    def refusing(turn: AnyTurn) -> Reply:
        chosen = choice(turn.policy)
        if chosen == "silent":
            close_in_silence(turn)
            return None
        return except_with(turn, chosen if isinstance(chosen, Refusal) else Refusal(int(str(chosen))))

    return refusing


def except_with(turn: AnyTurn, refusal: Refusal) -> Reply:
    """End the channel or the connection and return the Close that says why."""
    turn.note(f"{turn.row}, with {NAMES[refusal.code]}")
    text = f"{NAMES[refusal.code]}: {turn.row}"[:255]
    class_id, method_id = turn.failing
    if refusal.level is Level.CHANNEL and turn.channel is not None:
        end_channel(turn.on(turn.channel))
        turn.channel.state = ChannelState.CLOSING
        return Channel.Close(refusal.code, text, class_id, method_id)
    end_connection(turn)
    turn.connection.state = ConnectionState.CLOSING
    turn.connection.wait(CLOSE_TIMEOUT)
    return Connection.Close(refusal.code, text, class_id, method_id)


def close_in_silence(turn: AnyTurn) -> None:
    """Say nothing more; close the socket now or after the policy's delay (2.2.4, 4.10.2)."""
    turn.note(f"{turn.row}, without a word")
    end_connection(turn)
    turn.connection.state = ConnectionState.CONDEMNED
    if turn.policy.silent_close_delay:
        turn.connection.wait(turn.policy.silent_close_delay)
    else:
        turn.connection.close()
