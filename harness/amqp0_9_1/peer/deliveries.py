"""Messages between queues and channels: enqueued, delivered, awaiting acknowledgement, settled."""

from harness.amqp0_9_1.peer.entities import (
    Channel,
    Consumer,
    Delivery,
    Entry,
    Message,
    Queue,
    VirtualHost,
    Window,
)
from harness.amqp0_9_1.peer.events import Arriving, Delivering, Lengthened, Shortened
from harness.amqp0_9_1.peer.turn import AnyTurn, LifeTurn, Reply, Server, Turn, WithContent
from harness.amqp0_9_1.wire.vocabulary import Basic


def enqueue(turn: AnyTurn, queue: Queue, message: Message) -> None:
    """Add a message that has been routed to `queue`."""
    entry = Entry(message, queue, queue.arrived)
    queue.arrived += 1
    turn.peer.meet(Entry, turn.about(Arriving(), entry))
    if entry.turned_away:
        return
    put_on_queue(turn, entry)
    turn.peer.meet(Queue, turn.about(Lengthened(), queue))


def put_on_queue(turn: AnyTurn, entry: Entry) -> None:
    """Place an entry by its priority and its order of arrival."""
    strategies = turn.strategies
    level = strategies.level(turn.policy.priority_levels, entry.message.priority)
    strategies.place(entry.queue, min(level, len(entry.queue.levels) - 1), entry)
    turn.host.stir(entry.queue)


def take_from_queue(turn: Turn[object, Channel, object], entry: Entry, consumer: Consumer | None) -> Delivery:
    """Remove an entry for delivery on the turn's channel and give it a tag."""
    entry.queue.remove(entry)
    entry.queue.seen = entry.queue.arrived
    entry.deliveries += 1
    delivery = Delivery(turn.strategies.tag(turn.channel), turn.channel, entry, consumer)
    turn.peer.meet(Queue, turn.about(Shortened(), entry.queue))
    return delivery


def await_acknowledgement(turn: LifeTurn[object, Delivery]) -> None:
    """Keep the message as its channel's until it is settled."""
    keep(turn.subject)


def keep(delivery: Delivery) -> None:
    """Remember a delivery as its channel's; it counts in the prefetch windows."""
    channel = delivery.channel
    channel.unacknowledged[delivery.tag] = delivery
    delivery.entry.queue.unacknowledged += 1
    if delivery.consumer is not None:
        for window in _windows(delivery.consumer):
            window.messages += 1
            window.octets += len(delivery.entry.message.body)


def _windows(consumer: Consumer) -> tuple[Window, ...]:
    """Give what is filled by a message that is out to a consumer."""
    return consumer.window, consumer.channel.window, consumer.channel.connection.window


def settle(delivery: Delivery) -> None:
    """End a delivery that is acknowledged, rejected or requeued: its channel keeps it no longer."""
    channel = delivery.channel
    channel.unacknowledged.pop(delivery.tag, None)
    delivery.entry.queue.unacknowledged -= 1
    if delivery.consumer is not None:
        for window in _windows(delivery.consumer):
            window.messages -= 1
            window.octets -= len(delivery.entry.message.body)
        stir_queues_of(channel)


def stir_queues_of(channel: Channel) -> None:
    """Have the channel's queues looked at: something about its consumers or windows has changed."""
    connection = channel.connection
    for each in connection.channels.values() if connection.window.limited else (channel,):
        for consumer in each.consumers.values():
            connection.host.stir(consumer.queue)


def consumer_needs_no_ack(turn: LifeTurn[Delivering, Delivery]) -> bool:
    consumer = turn.subject.consumer
    return consumer is not None and consumer.no_ack


def deliver(turn: LifeTurn[object, Delivery]) -> Reply:
    """Answer with Basic.Deliver and the message."""
    delivery = turn.subject
    message = delivery.entry.message
    tag = delivery.consumer.tag if delivery.consumer else ""
    flag = turn.strategies.redelivered(delivery.entry)
    return WithContent(Basic.Deliver(tag, delivery.tag, flag, message.exchange, message.routing_key), message)


def serve(peer: Server, host: VirtualHost) -> None:
    """Deliver whatever can be delivered now; queues take turns, message by message (4.3)."""
    while host.stirred:
        queue = next(iter(host.stirred))
        del host.stirred[queue]
        if queue.alive and queue.consumers and _serve_one(peer, queue):
            host.stir(queue)


def _serve_one(peer: Server, queue: Queue) -> bool:
    strategies = peer.tables.strategies
    ready = [each for each in queue.consumers if strategies.hears(each)]
    for entry in queue:
        if not ready:
            return False
        candidates = [each for each in ready if strategies.may_have(each.channel, each, entry)]
        able = [each for each in candidates if strategies.window_allows(each, entry)]
        consumer = strategies.choose(queue, entry, able) if able else None
        if consumer is not None:
            turn = Turn(peer, consumer.channel.connection, consumer.channel, Delivering(), None)
            peer.meet(Delivery, turn.about(turn.event, take_from_queue(turn, entry, consumer)))
            return True
        # Who must wait with this message must not overtake it with a later one (4.7).
        ready = [each for each in ready if each not in candidates]
    return False


def someone_could_take(turn: AnyTurn, queue: Queue, message: Message) -> bool:
    """Say whether a consumer of `queue` would get `message` at once, with nothing waiting before it."""
    strategies = turn.strategies
    entry = Entry(message, queue, queue.arrived)
    return not len(queue) and any(
        strategies.hears(each)
        and strategies.may_have(each.channel, each, entry)
        and strategies.window_allows(each, entry)
        for each in queue.consumers
    )
