"""basic.qos as RabbitMQ has it: a limit for each new consumer, or for all consumers of a channel together."""

from harness.amqp0_9_1.peer import strategies
from harness.amqp0_9_1.peer.consumers import is_for_the_connection, qos_ok, set_channel_window
from harness.amqp0_9_1.peer.entities import Consumer, Entry
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn
from harness.amqp0_9_1.wire.vocabulary import Basic


def limit_new_consumers(turn: ChannelTurn[Basic.Qos]) -> None:
    """Limit what is out to each consumer that starts on this channel from now on."""
    turn.channel.prefetch = turn.event.prefetch_count


def windows_allow(consumer: Consumer, entry: Entry) -> bool:
    """Say whether neither the window of the consumer nor that of its channel is full."""
    own = consumer.window
    full = bool(own.count) and own.messages >= own.count and not consumer.no_ack
    return not full and strategies.window_allows(consumer, entry)


_qos = Row("basic.qos", ChannelState.OPEN, Basic.Qos)
PREFETCH = (
    _qos(
        "global is for the channel's consumers together", is_for_the_connection, (set_channel_window,), qos_ok
    ),
    _qos("is for each new consumer", effects=(limit_new_consumers,), answer=qos_ok),
)
