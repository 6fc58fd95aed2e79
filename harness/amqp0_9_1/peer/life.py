"""What becomes of things when others end: connections, channels, consumers, queues, the server (4.5)."""

from collections.abc import Iterable

from harness.amqp0_9_1.peer.deliveries import (
    await_acknowledgement,
    consumer_needs_no_ack,
    deliver,
    enqueue,
    put_on_queue,
    settle,
)
from harness.amqp0_9_1.peer.entities import Binding, Channel, Consumer, Delivery, Entry, Exchange, Queue
from harness.amqp0_9_1.peer.events import (
    ChannelEnded,
    ChannelState,
    ConnectionEnded,
    ConsumerGone,
    Delivering,
    Discarded,
    ExchangeDeleted,
    Lengthened,
    QueueDeleted,
    Requeued,
    Shortened,
)
from harness.amqp0_9_1.peer.turn import AnyTurn, ChannelTurn, LifeTurn, Turn
from harness.amqp0_9_1.peer.turn import LifeRow as Row
from harness.amqp0_9_1.wire import vocabulary as words
from harness.peers.events import Event, Restarting
from harness.peers.rows import answering

DEAD_LETTER_EXCHANGE = "x-dead-letter-exchange"
"""The argument of a queue that names the exchange for its dead messages."""


def tell(turn: AnyTurn, event: Event, subjects: Iterable[object]) -> None:
    """Take the life table's row for `event` for each of `subjects`."""
    for subject in list(subjects):
        turn.peer.meet(type(subject), turn.about(event, subject))


def end_connection(turn: AnyTurn) -> None:
    """End the connection's channels and what belongs to it. Only the first time counts."""
    connection = turn.connection
    if connection.ended:
        return
    connection.ended = True
    if connection.opened:
        tell(turn, ConnectionEnded(), connection.channels.values())
        tell(turn, ConnectionEnded(), connection.host.queues.values())


def end_channel(turn: Turn[object, Channel, object]) -> None:
    """End the turn's channel: its transaction, consumers and deliveries."""
    channel = turn.channel
    channel.state = ChannelState.UNOPENED
    channel.forget_content()
    tell(turn, ChannelEnded(), [channel])
    tell(turn, ChannelEnded(), channel.consumers.values())
    tell(turn, ChannelEnded(), channel.unacknowledged.values())
    turn.host.paused.discard(channel)


def end_the_channel(turn: LifeTurn[object, Channel]) -> None:
    end_channel(turn.on(turn.subject))


def abandon_transaction(turn: ChannelTurn[object]) -> None:
    """Forget publications, and undo acknowledgements as if they had not been sent."""
    _abandon(turn.channel)


def abandon_its_transaction(turn: LifeTurn[object, Channel]) -> None:
    """Abandon the transaction of the channel this row is about."""
    _abandon(turn.subject)


def _abandon(channel: Channel) -> None:
    for item in channel.transaction:
        if isinstance(item, Delivery) and item in channel.withheld:
            channel.unacknowledged[item.tag] = item
            item.rejected = None
    channel.unacknowledged = dict(sorted(channel.unacknowledged.items()))
    channel.transaction.clear()
    channel.withheld.clear()


def cancel_consumer(turn: LifeTurn[object, Consumer]) -> None:
    """Send the consumer no more messages, and tell its queue that it is gone."""
    consumer = turn.subject
    consumer.alive = False
    consumer.channel.consumers.pop(consumer.tag, None)
    if consumer in consumer.queue.consumers:
        consumer.queue.consumers.remove(consumer)
        consumer.channel.connection.host.stir(consumer.queue)
        turn.peer.meet(Queue, turn.about(ConsumerGone(), consumer.queue))


def orphan_consumer(turn: LifeTurn[object, Consumer]) -> None:
    """Take the consumer's queue away; its tag stays known to its channel until it is cancelled."""
    turn.subject.queue.consumers.remove(turn.subject)


def delete_queue(turn: LifeTurn[object, Queue]) -> None:
    """Delete the queue this row is about, with its consumers, bindings and messages."""
    queue = turn.subject
    queue.alive = False
    turn.host.queues.pop(queue.name, None)
    tell(turn, QueueDeleted(), queue.consumers)
    bound = [each for bindings in turn.host.bindings.values() for each in bindings]
    tell(turn, QueueDeleted(), [each for each in bound if each.queue == queue.name])
    tell(turn, QueueDeleted(), queue)


def delete_exchange(turn: LifeTurn[object, Exchange]) -> None:
    exchange = turn.subject
    turn.host.exchanges.pop(exchange.name, None)
    tell(turn, ExchangeDeleted(), turn.host.bound_to(exchange.name))
    tell(turn, ExchangeDeleted(), turn.host.leading_to(exchange.name))


def remove_binding(turn: LifeTurn[object, Binding]) -> None:
    binding = turn.subject
    turn.host.bound_to(binding.exchange).remove(binding)


def bury(turn: LifeTurn[object, Entry]) -> None:
    """Move a message of a queue to the dead-letter area."""
    entry = turn.subject
    entry.queue.remove(entry)
    _pass_on(turn, entry)


def bury_delivery(turn: LifeTurn[object, Delivery]) -> None:
    """Move a delivered message to the dead-letter area."""
    _pass_on(turn, turn.subject.entry)


def _pass_on(turn: AnyTurn, entry: Entry) -> None:
    turn.host.dead_letters.append(entry.message)
    exchange = turn.host.exchanges.get(str(entry.queue.arguments.get(DEAD_LETTER_EXCHANGE)))
    if exchange is None:
        return
    matching = turn.strategies.routing[exchange.type]
    for name in turn.strategies.queues_for(exchange, entry.message, matching):
        if name in turn.host.queues:
            enqueue(turn, turn.host.queues[name], entry.message)


def lose(turn: LifeTurn[object, Entry]) -> None:
    """Lose a message that is not held on reliable storage."""
    turn.subject.queue.remove(turn.subject)


def requeue(turn: LifeTurn[object, Delivery]) -> None:
    """Settle the delivery and let the rows for requeued messages decide."""
    settle(turn.subject)
    turn.peer.meet(Delivery, turn.about(Requeued(), turn.subject))


def mark_redelivered(turn: LifeTurn[object, Delivery]) -> None:
    """Mark the message as delivered before (0-9-1/basic.recover.01)."""
    turn.subject.entry.redelivered = True


def prefer_original_client(turn: LifeTurn[object, Delivery]) -> None:
    """Redeliver to the same client if possible (domain redelivered, implementation)."""
    turn.subject.entry.original = turn.connection


def put_back(turn: LifeTurn[object, Delivery]) -> None:
    """Return the message to its old place on its queue."""
    put_on_queue(turn, turn.subject.entry)


def pause_publisher(turn: LifeTurn[Lengthened, Queue]) -> None:
    """Ask the publishing channel to stop (0-9-1/basic.03)."""
    assert turn.channel is not None
    turn.host.paused.add(turn.channel)
    turn.channel.flow_asked += 1


def hold_back(turn: LifeTurn[Lengthened, Queue]) -> None:
    """Keep the message that came last where no consumer gets it."""
    newest = max(turn.subject, key=lambda entry: entry.serial)
    newest.held_back = True


def give_back(turn: LifeTurn[object, Entry]) -> None:
    """Let a message that was held back be delivered again."""
    turn.subject.held_back = False


def resume_publishers(turn: LifeTurn[Shortened, Queue]) -> None:
    for channel in turn.host.paused:
        channel.flow_asked += 1
        channel.connection.send(channel.number, words.Channel.Flow(True))
    turn.host.paused.clear()


flow_stopped = answering(words.Channel.Flow(False))


def is_transacted(turn: ChannelTurn[object]) -> bool:
    return turn.channel.transacted


def was_transacted(turn: LifeTurn[object, Channel]) -> bool:
    return turn.subject.transacted


def belongs_to_the_connection(turn: LifeTurn[ConnectionEnded, Queue]) -> bool:
    return turn.subject.owner is turn.connection


def was_the_last_of_an_auto_delete_queue(turn: LifeTurn[ConsumerGone, Queue]) -> bool:
    return turn.subject.auto_delete and turn.subject.alive and not turn.subject.consumers


def queue_is_gone(turn: LifeTurn[object, Delivery]) -> bool:
    return not turn.subject.entry.queue.alive


def redelivered_too_often(turn: LifeTurn[object, Delivery]) -> bool:
    """Say whether the redelivery limit is used up (0-9-1/basic.deliver.01)."""
    return turn.subject.entry.deliveries > turn.policy.redelivery_limit


def is_durable(turn: LifeTurn[object, Queue | Exchange]) -> bool:
    return turn.subject.durable


def joins_durable_ends(turn: LifeTurn[object, Binding]) -> bool:
    """Say whether a durable queue is bound to a durable exchange (queue.bind.durable-exchange)."""
    exchange = turn.host.exchanges.get(turn.subject.exchange)
    queue = turn.host.queues.get(turn.subject.queue)
    return exchange is not None and queue is not None and exchange.durable and queue.durable


def is_predeclared(turn: LifeTurn[object, Exchange]) -> bool:
    return turn.subject.predeclared


def is_persistent(turn: LifeTurn[object, Entry]) -> bool:
    """Say whether a message has delivery-mode 2 and is on a durable queue."""
    return turn.subject.message.persistent and turn.subject.queue.durable


def queue_is_long(turn: LifeTurn[Lengthened, Queue]) -> bool:
    """Say whether the policy throttles and the publisher goes on; in an alarm any queue is long."""
    limit = turn.policy.pause_publishers_at
    if limit is None or turn.channel is None or turn.channel in turn.host.paused:
        return False
    return turn.peer.alarm or len(turn.subject) >= limit


def overflow_is_held_back(turn: LifeTurn[Lengthened, Queue]) -> bool:
    """Say whether every queue counts as overflowing and the policy holds back what comes then."""
    return turn.peer.alarm and turn.policy.overflow == "hold back"


def is_held_back(turn: LifeTurn[object, Entry]) -> bool:
    return is_persistent(turn) and turn.subject.held_back


def queue_is_short_again(turn: LifeTurn[Shortened, Queue]) -> bool:
    """Say whether publishers are stopped and the queue has drained to half the limit."""
    limit = turn.policy.pause_publishers_at
    if limit is None or turn.peer.alarm:
        return False
    return bool(turn.host.paused) and len(turn.subject) * 2 <= limit


_CONNECTION_ENDS = (
    Row("connection end: ends its channels", Channel, ConnectionEnded, effects=(end_the_channel,)),
    Row(
        "connection end: deletes its exclusive queues",
        Queue,
        ConnectionEnded,
        belongs_to_the_connection,
        (delete_queue,),
    ),
)
_CHANNEL_ENDS = (
    Row(
        "channel end: abandons its transaction",
        Channel,
        ChannelEnded,
        was_transacted,
        (abandon_its_transaction,),
    ),
    Row("channel end: cancels its consumers", Consumer, ChannelEnded, effects=(cancel_consumer,)),
    Row("channel end: requeues what is not acknowledged", Delivery, ChannelEnded, effects=(requeue,)),
    Row(
        "consumer end: the last one deletes an auto-delete queue",
        Queue,
        ConsumerGone,
        was_the_last_of_an_auto_delete_queue,
        (delete_queue,),
    ),
)
_DELETED = (
    Row("queue end: cancels its consumers", Consumer, QueueDeleted, effects=(orphan_consumer,)),
    Row("queue end: removes its bindings", Binding, QueueDeleted, effects=(remove_binding,)),
    Row("queue end: dead-letters its messages", Entry, QueueDeleted, effects=(bury,)),
    Row("exchange end: removes its bindings", Binding, ExchangeDeleted, effects=(remove_binding,)),
)
_delivery = Row("delivery", Delivery, Delivering)
_requeue = Row("requeue", Delivery, Requeued)
_overflow = Row("overflow", Queue, Lengthened)
_DELIVERIES = (
    _delivery("of a no-ack consumer ends with sending", consumer_needs_no_ack, answer=deliver),
    _delivery("awaits acknowledgement", effects=(await_acknowledgement,), answer=deliver),
    _requeue("to a deleted queue dead-letters", queue_is_gone, (bury_delivery,)),
    _requeue("too often dead-letters", redelivered_too_often, (bury_delivery,)),
    _requeue(
        "puts the message back, marked redelivered",
        effects=(mark_redelivered, prefer_original_client, put_back),
    ),
    Row("reject: without requeue dead-letters", Delivery, Discarded, effects=(bury_delivery,)),
    _overflow("holds back what comes", overflow_is_held_back, (hold_back,)),
    _overflow("asks the publisher to pause", queue_is_long, (pause_publisher,), flow_stopped),
    Row("overflow: lets publishers go on", Queue, Shortened, queue_is_short_again, (resume_publishers,)),
)
_RESTART = (
    Row("restart: keeps durable queues", Queue, Restarting, is_durable),
    Row("restart: drops transient queues", Queue, Restarting, effects=(delete_queue,)),
    Row("restart: keeps pre-declared exchanges", Exchange, Restarting, is_predeclared),
    Row("restart: keeps durable exchanges", Exchange, Restarting, is_durable),
    Row("restart: drops transient exchanges", Exchange, Restarting, effects=(delete_exchange,)),
    Row("restart: keeps bindings between durable ends", Binding, Restarting, joins_durable_ends),
    Row("restart: drops other bindings", Binding, Restarting, effects=(remove_binding,)),
    Row("restart: gives back what was held back", Entry, Restarting, is_held_back, (give_back,)),
    Row("restart: keeps persistent messages", Entry, Restarting, is_persistent),
    Row("restart: loses other messages", Entry, Restarting, effects=(lose,)),
)
LIFE = (*_CONNECTION_ENDS, *_CHANNEL_ENDS, *_DELETED, *_DELIVERIES, *_RESTART)
