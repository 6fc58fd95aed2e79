"""Basic.Qos, Consume and Cancel: who gets messages, and how many in advance."""

from harness.amqp0_9_1.peer.deliveries import stir_queues_of
from harness.amqp0_9_1.peer.entities import Consumer, Window
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.life import cancel_consumer
from harness.amqp0_9_1.peer.names import first_free, use_of_a_queue
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, Reply
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, NOT_ALLOWED, RESOURCE_ERROR, Basic
from harness.peers.rows import answering

OPEN = ChannelState.OPEN


def is_for_the_connection(turn: ChannelTurn[Basic.Qos]) -> bool:
    return bool(turn.event.global_)


def set_channel_window(turn: ChannelTurn[Basic.Qos]) -> None:
    turn.channel.window.count, turn.channel.window.size = turn.event.prefetch_count, turn.event.prefetch_size
    stir_queues_of(turn.channel)


def set_connection_window(turn: ChannelTurn[Basic.Qos]) -> None:
    """Limit what is sent in advance on all channels of the connection together."""
    window = turn.connection.window
    for channel in turn.connection.channels.values():
        stir_queues_of(channel)
    window.count, window.size = turn.event.prefetch_count, turn.event.prefetch_size


qos_ok = answering(Basic.QosOk())


def tag_is_in_use(turn: ChannelTurn[Basic.Consume]) -> bool:
    return turn.event.consumer_tag in turn.channel.consumers


def wants_to_be_alone_but_is_not(turn: ChannelTurn[Basic.Consume]) -> bool:
    """Say whether exclusive access to a queue in use is asked for (0-9-1/basic.consume.exclusive.01)."""
    return bool(turn.event.exclusive and turn.queue.consumers)


def someone_consumes_exclusively(turn: ChannelTurn[Basic.Consume | Basic.Get]) -> bool:
    return any(each.exclusive for each in turn.queue.consumers)


def there_are_too_many(turn: ChannelTurn[Basic.Consume]) -> bool:
    """Say whether the queue or the channel has as many consumers as this peer admits."""
    limit = turn.peer.limits.entities
    return len(turn.queue.consumers) >= limit or len(turn.channel.consumers) >= limit


def has_no_tag(turn: ChannelTurn[Basic.Consume]) -> bool:
    return not turn.event.consumer_tag


def generate_tag(turn: ChannelTurn[Basic.Consume]) -> None:
    """Make a tag for a consumer without one; unique on its channel only where the policy says so."""
    if turn.policy.consumer_tags == "of the server":
        tag = turn.peer.unique("amq.ctag-")
    else:
        tag = first_free("amq.ctag-", turn.channel.consumers)
    turn.event = turn.event.replace(consumer_tag=tag)


def start_consumer(turn: ChannelTurn[Basic.Consume]) -> None:
    wanted, queue = turn.event, turn.queue
    consumer = Consumer(
        wanted.consumer_tag,
        turn.channel,
        queue,
        wanted.no_ack,
        wanted.no_local,
        wanted.exclusive,
        wanted.arguments,
        window=Window(turn.channel.prefetch),
    )
    turn.channel.consumers[consumer.tag] = consumer
    queue.consumers.append(consumer)
    turn.host.stir(queue)


def consume_ok(turn: ChannelTurn[Basic.Consume]) -> Reply:
    return Basic.ConsumeOk(turn.event.consumer_tag)


def tag_is_of_another_channel(turn: ChannelTurn[Basic.Cancel]) -> bool:
    """Say whether only another channel has the tag, refused by the policy (basic.consume.consumer-tag.02)."""
    tag, connection = turn.event.consumer_tag, turn.connection
    return (
        turn.policy.foreign_consumer_tag == "refuse"
        and tag not in turn.channel.consumers
        and any(tag in channel.consumers for channel in connection.channels.values())
    )


def tag_is_known(turn: ChannelTurn[Basic.Cancel]) -> bool:
    return turn.event.consumer_tag in turn.channel.consumers


def its_queue_is_gone_and_silence_is_due(turn: ChannelTurn[Basic.Cancel]) -> bool:
    """Say whether the queue was deleted and the policy ignores Cancel (0-9-1/basic.cancel.01)."""
    consumer = turn.channel.consumers.get(turn.event.consumer_tag)
    return turn.policy.cancel_without_queue == "silence" and consumer is not None and not consumer.queue.alive


def cancel_it(turn: ChannelTurn[Basic.Cancel]) -> None:
    """End the consumer; messages already delivered are not affected."""
    cancel_consumer(turn.about(turn.event, turn.channel.consumers[turn.event.consumer_tag]))


def cancel_ok(turn: ChannelTurn[Basic.Cancel]) -> Reply:
    return Basic.CancelOk(turn.event.consumer_tag)


_qos = Row("basic.qos", OPEN, Basic.Qos)
_consume = Row("basic.consume", OPEN, Basic.Consume)
_cancel = Row("basic.cancel", OPEN, Basic.Cancel)
CONSUMERS = (
    _qos("for the connection", is_for_the_connection, (set_connection_window,), qos_ok),
    _qos("for the channel", effects=(set_channel_window,), answer=qos_ok),
    *use_of_a_queue(Basic.Consume),
    _consume("refuses a tag in use", tag_is_in_use, answer=refuse(NOT_ALLOWED)),
    _consume(
        "refuses exclusive access to a queue with consumers",
        wants_to_be_alone_but_is_not,
        answer=refuse(ACCESS_REFUSED),
    ),
    _consume(
        "refuses a queue with an exclusive consumer",
        someone_consumes_exclusively,
        answer=refuse(ACCESS_REFUSED),
    ),
    _consume("refuses when there are too many", there_are_too_many, answer=refuse(RESOURCE_ERROR)),
    _consume(
        "starts a consumer with a generated tag", has_no_tag, (generate_tag, start_consumer), consume_ok
    ),
    _consume("starts a consumer", effects=(start_consumer,), answer=consume_ok),
    _cancel("refuses a tag of another channel", tag_is_of_another_channel, answer=refuse(NOT_ALLOWED)),
    _cancel("is ignored without the queue", its_queue_is_gone_and_silence_is_due, (cancel_it,)),
    _cancel("ends the consumer", tag_is_known, (cancel_it,), cancel_ok),
    _cancel("confirms what is no consumer", answer=cancel_ok),
)
