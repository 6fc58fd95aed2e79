"""Effects and conditions that are wrong about secrets that are renewed."""

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.life import end_channel


def end_channels(turn: Turn) -> None:
    """Ends all channels of the connection, and has them open as if nothing were."""
    for channel in turn.connection.channels.values():
        state = channel.state
        end_channel(turn.on(channel))
        channel.state = state


def secret_is_empty(turn: Turn) -> bool:
    return not turn.event.new_secret
