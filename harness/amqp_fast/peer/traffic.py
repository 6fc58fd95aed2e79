"""Messages on their way: into queues, to consumers, back; and how one is cut into fragments (3.4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha1

from harness.amqp_fast.peer.entities import (
    Channel,
    Connection,
    Consumer,
    Delivery,
    Handle,
    Host,
    Message,
    Outgoing,
    Queue,
    Stored,
)
from harness.amqp_fast.peer.turn import Server
from harness.amqp_fast.wire.vocabulary import QUEUE, TOPIC, MessageHead
from harness.amqp_fast.wire.vocabulary import Handle as Said
from harness.wire.units import DecodeError


def route(peer: Server, host: Host, service: int, name: bytes, message: Message) -> None:
    """Hand a message to its destination: a queue, or all who subscribe to a topic (2.2.6)."""
    queue = host.queues.get(name)
    if service == QUEUE or (service != TOPIC and queue is not None):
        if queue is not None:
            queue.store(message)
            peer.stored += len(message.body)
        return
    for consumer in list(host.to_topic(name)):
        if not (consumer.no_local and consumer.handle.channel.connection.number == message.sender):
            consumer.queue.store(message)
            peer.stored += len(message.body)


def deliver(peer: Server, host: Host) -> None:
    """Send consumers what is there for them, as long as one is free."""
    subscribed = [each.queue for each in host.subscribers]
    # Of the queues of a long run nearly all are empty, and this is asked after every frame.
    for queue in [each for each in (*host.queues.values(), *subscribed) if each.messages]:
        drop_expired(peer, queue)
        while queue.messages and _deliver_one(peer, queue):
            pass


def _deliver_one(peer: Server, queue: Queue) -> bool:
    strategies = peer.tables.strategies
    for consumer in strategies.next_consumer([each for each in queue.consumers if each.free]):
        stored = _next(peer, queue, consumer)
        if stored is not None:
            queue.messages.remove(stored)
            send(peer, consumer, stored)
            return True
    return False


def _next(peer: Server, queue: Queue, consumer: Consumer) -> Stored | None:
    if peer.policy.selectors == "applies" and consumer.selector:
        for unwanted in [
            each
            for each in queue.messages
            if consumer.topic and not peer.tables.strategies.selects(consumer.selector, each.message)
        ]:
            forget(peer, queue, unwanted)
        fit = [e for e in queue.messages if peer.tables.strategies.selects(consumer.selector, e.message)]
        view = Queue(queue.name, messages=type(queue.messages)(fit))
        return peer.tables.strategies.next_message(view, consumer)
    others = [each for each in queue.consumers if each is not consumer and each.free]
    if peer.policy.ungets_to == "anybody" or not others:
        for each in queue.messages:
            each.passed_over = None
    return peer.tables.strategies.next_message(queue, consumer)


def drop_expired(peer: Server, queue: Queue) -> None:
    """Drop messages that have expired, if messages expire (3.4.4)."""
    if peer.policy.expires == "keeps":
        return
    for each in [e for e in queue.messages if peer.tables.strategies.expired(e.message, peer.today())]:
        forget(peer, queue, each)


def forget(peer: Server, queue: Queue, stored: Stored) -> None:
    """Remove a message from a queue."""
    queue.messages.remove(stored)
    peer.stored -= len(stored.message.body)


def send(peer: Server, consumer: Consumer, stored: Stored) -> None:
    """Deliver a message: at once, or in restartable mode what is large after HANDLE PREPARE (3.3.2.2)."""
    channel = consumer.handle.channel
    delivery = Delivery(channel.take_number(), stored, consumer)
    stored.passed_over = None
    if consumer.no_ack:
        peer.stored -= len(stored.message.body)
    else:
        channel.unacknowledged.append(delivery)
        consumer.outstanding += 1
    large = len(stored.message.octets) > channel.connection.frame_max
    if large and channel.restartable and peer.policy.prepares == "large messages":
        prepare(delivery)
    else:
        notify(delivery, stored.message.octets)


def prepare(delivery: Delivery) -> None:
    """Ask the client how much it has of a message, and send its beginning (3.5.12)."""
    message = delivery.stored.message
    handle = delivery.consumer.handle
    connection = handle.channel.connection
    begun = message.octets[: connection.frame_max]
    handle.channel.waits_for = Outgoing(delivery, message.header, message.body)
    told = sha1(message.body).hexdigest()
    connection.say(Said.Prepare(handle.id, len(begun), told), begun)


def resume(handle: Handle, held: int) -> None:
    """Send what a client has not got of a message that was prepared (3.5.13)."""
    outgoing, handle.channel.waits_for = handle.channel.waits_for, None
    if outgoing is not None:
        notify(outgoing.delivery, outgoing.body[held:], recovery=True)


def notify(delivery: Delivery, octets: bytes, recovery: bool = False) -> None:
    """Send a message, or the rest of one, in fragments that the client takes (3.5.10)."""
    consumer, stored = delivery.consumer, delivery.stored
    said = Said.Notify(
        consumer.handle.id,
        delivery.number,
        recovery=recovery,
        delivered=True,
        redelivered=stored.is_redelivered(consumer.handle.channel.connection),
        dest_name=consumer.topic or consumer.queue.name,
    )
    say_message(consumer.handle.channel.connection, said, octets)


def say_message(connection: Connection, said: Said.Notify, octets: bytes) -> None:
    """Say HANDLE NOTIFY as often as it takes; the last one is not partial, and has the destination's name."""
    pieces = list(cut(octets, _size(connection, octets)))
    each_named = connection.policy.dest_name == "each"
    for place, piece in enumerate(pieces, 1):
        last = place == len(pieces)
        name = said.dest_name if last or each_named else b""
        connection.say(said.replace(fragment_size=len(piece), partial=not last, dest_name=name), piece)


def _size(connection: Connection, octets: bytes) -> int:
    """Give the size of fragments: the first one holds the whole header in any case (3.4.4)."""
    if connection.policy.fragments == "largest":
        return connection.frame_max
    try:
        header = MessageHead.decode(octets)[1]
    except DecodeError:
        header = 0
    return min(max(connection.frame_max // 2, header), connection.frame_max)


def cut(octets: bytes, largest: int) -> Iterator[bytes]:
    """Cut octets into fragments; nothing is one empty fragment."""
    for start in range(0, len(octets) or 1, largest):
        yield octets[start : start + largest]


def give_back(deliveries: Iterable[Delivery], over: Consumer | None = None) -> None:
    """Return messages to their queues, to be delivered again; one `over` is not asked first."""
    for each in deliveries:
        each.consumer.outstanding -= 0 if each.acknowledged else 1
        each.stored.seen_by.append(each.consumer.handle.channel.connection)
        each.stored.passed_over = over
        each.consumer.queue.put_back(each.stored)


def settle(peer: Server, channel: Channel, deliveries: Iterable[Delivery]) -> None:
    """Take messages as processed: they are gone."""
    for each in list(deliveries):
        channel.unacknowledged.remove(each)
        each.consumer.outstanding -= 0 if each.acknowledged else 1
        peer.stored -= len(each.stored.message.body)


def acknowledge_for_now(deliveries: Iterable[Delivery]) -> None:
    """Let consumers have more for what is acknowledged in a transaction, whatever becomes of that."""
    for each in deliveries:
        each.consumer.outstanding -= 0 if each.acknowledged else 1
        each.acknowledged = True


def release_handle(peer: Server, host: Host | None, handle: Handle) -> None:
    """End the consumers of a handle; subscriptions end with them (3.5.4)."""
    for consumer in handle.consumers:
        if consumer in consumer.queue.consumers:
            consumer.queue.consumers.remove(consumer)
        if not consumer.queue.consumers:
            consumer.queue.exclusive = False
        if host is not None and consumer in host.subscribers:
            host.subscribers.remove(consumer)
            peer.stored -= sum(len(each.message.body) for each in consumer.queue.messages)
    handle.consumers.clear()


def release(peer: Server, host: Host, owner: int) -> None:
    """Remove the dynamic queues that a connection made (74)."""
    for name in [name for name, queue in host.queues.items() if queue.owner == owner]:
        queue = host.queues.pop(name)
        peer.stored -= sum(len(each.message.body) for each in queue.messages)
        queue.consumers.clear()
