"""Quorum queues: what makes one, what works as with other queues, and what is kept."""

from collections.abc import Iterator
from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers
from harness.amqp0_9_1.broken.deviations import (
    answers,
    changes,
    drops,
    forwards,
    ignores,
    rewrites,
    withholds,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, connection_closed, message, refused
from harness.amqp0_9_1.rabbitmq.broken.queues.dead_letters import drop_it, expire_unseen, takes, without
from harness.amqp0_9_1.wire.vocabulary import (
    NOT_FOUND,
    PRECONDITION_FAILED,
    RESOURCE_LOCKED,
    Basic,
    Channel,
    Confirm,
    Queue,
)
from harness.play.context import RESTART, Restart
from scenarios.rabbitmq.queues.dead_letter_history import tell
from scenarios.rabbitmq.queues.dead_lettering import (
    EXPIRES,
    REJECTED,
    SOON,
    grave,
    is_refused,
    letter,
    reject,
)
from scenarios.registry import broken_by, scenario

CLASSIC = forwards(Queue.Declare, arguments=without("x-queue-type"))
UNKNOWN = answers(
    Queue.Declare, Channel.Close(PRECONDITION_FAILED), when=lambda it: "x-queue-type" in it.arguments
)
ANOTHER_CODE = rewrites(Channel.Close, reply_code=RESOURCE_LOCKED)
CONFIRMED = answered(Basic.Ack, Basic.Nack)
PERSISTENT, TRANSIENT = 2, 1
BEYOND = 7
"""More nodes than a cluster has that is judged."""
ENOUGH = 10
"""Messages to a queue for one of them, of which some may be too many before it says so."""
DIFFERS = channel_closed(PRECONDITION_FAILED)


def quorum(channel: AmqpChannel, *bodies: str, **arguments: Any) -> str:
    """Judge that a quorum queue can be declared; give it, with messages."""
    queue = channel.new_name("queue")
    channel.tries(declaration(queue, **arguments), Queue.DeclareOk)
    for body in bodies:
        channel.publish(body, key=queue)
    return queue


def declaration(queue: str, durable: bool = True, exclusive: bool = False, **arguments: Any) -> Queue.Declare:
    """Give the Declare of a quorum queue, with arguments by their names with "_" for "-"."""
    spelt = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    table = {"x-queue-type": "quorum", **spelt}
    return Queue.Declare(queue, durable=durable, exclusive=exclusive, arguments=table)


# -- declaring -----------------------------------------------------------------------------------------


@scenario("rabbitmq/quorum-queues.declared")
@broken_by("has none", UNKNOWN)
@broken_by("loses what it gets", ignores(Basic.Publish))
@broken_by("makes one once", answers(Queue.Declare, Channel.Close(PRECONDITION_FAILED), skip=1))
def quorum_queue_can_be_declared(broker: Broker) -> None:
    """A quorum queue is declared, declared again, and gives what is published."""
    channel = broker.channel()
    queue = quorum(channel, "1")
    channel.tries(declaration(queue), Queue.DeclareOk)
    channel.consumes(queue, b"1")


@scenario("rabbitmq/quorum-queues.type-fixed")
@broken_by("takes no notice of the type", CLASSIC)
@broken_by("gives another code", ANOTHER_CODE)
def type_of_a_queue_cannot_be_changed(broker: Broker) -> None:
    """Declare of a quorum queue as a classic one is refused with 406, and so is that of a classic one."""
    channel = broker.channel()
    one = quorum(channel)
    channel.tries(Queue.Declare(one, durable=True, arguments={"x-queue-type": "classic"}), DIFFERS)
    channel = broker.channel()
    other = channel.declare_queue(durable=True)
    channel.tries(declaration(other), DIFFERS)


@scenario("rabbitmq/quorum-queues.durable-only")
@broken_by("makes a classic queue", CLASSIC)
@broken_by("makes it durable", forwards(Queue.Declare, durable=True))
@broken_by("makes it all the same", drops("queue.declare: refuses a transient quorum queue"))
def transient_quorum_queue_is_refused(broker: Broker) -> None:
    """A Declare of a quorum queue without durable is refused; with durable it is confirmed."""
    quorum(broker.channel())
    is_refused(broker, declaration(broker.name("queue"), durable=False))


@scenario("rabbitmq/quorum-queues.not-exclusive")
@broken_by("makes a classic queue", CLASSIC)
@broken_by("makes it shared", forwards(Queue.Declare, exclusive=False))
@broken_by("makes it all the same", drops("queue.declare: refuses an exclusive quorum queue"))
def exclusive_quorum_queue_is_refused(broker: Broker) -> None:
    """A Declare of a quorum queue with exclusive is refused; without it is confirmed."""
    quorum(broker.channel())
    is_refused(broker, declaration(broker.name("queue"), exclusive=True))


@scenario("rabbitmq/quorum-queues.not-server-named")
@broken_by("makes a classic queue", CLASSIC)
@broken_by("makes it all the same", drops("queue.declare: refuses a nameless quorum queue"))
def nameless_quorum_queue_is_refused(broker: Broker) -> None:
    """A Declare of a quorum queue with a blank name is refused; with a name it is confirmed."""
    quorum(broker.channel())
    is_refused(broker, declaration(""))


@scenario("rabbitmq/quorum-queues.initial-group-size")
@broken_by("takes any", forwards(Queue.Declare, arguments=without("x-quorum-initial-group-size")))
@broken_by("refuses one", UNKNOWN)
def group_of_nobody_is_refused(broker: Broker) -> None:
    """A Declare with a group of none, of less than none or of a string is refused; of one it is confirmed."""
    quorum(broker.channel(), quorum_initial_group_size=1)
    for size in (0, -1, "one"):
        is_refused(broker, declaration(broker.name("queue"), quorum_initial_group_size=size))


@scenario("rabbitmq/quorum-queues.group-beyond-the-cluster")
@broken_by("refuses it", UNKNOWN)
@broken_by("waits for the others", ignores(Basic.Publish))
def group_is_no_larger_than_the_cluster(broker: Broker) -> None:
    """A quorum queue for a group of seven is declared, and gives what is published."""
    channel = broker.channel()
    channel.consumes(quorum(channel, "1", quorum_initial_group_size=BEYOND), b"1")


@scenario("rabbitmq/quorum-queues.bound")
@broken_by("has none", UNKNOWN)
@broken_by(
    "takes what comes by the default exchange", ignores(Basic.Publish, when=lambda it: bool(it.exchange))
)
@broken_by("can be bound once", ignores(Queue.Bind, skip=1))
def quorum_queue_can_be_bound(broker: Broker) -> None:
    """A quorum queue that is bound to an exchange of each type gets a message through each."""
    channel = broker.channel()
    queue = quorum(channel)
    channel.consume(queue, no_ack=True)
    for kind in ("direct", "fanout", "topic", "headers"):
        exchange = channel.declare_exchange(kind)
        channel.tries(Queue.Bind(queue, exchange, "key"), Queue.BindOk)
        channel.hears(kind, exchange=exchange, key="key")


# -- what works as with other queues -------------------------------------------------------------------


@scenario("rabbitmq/quorum-queues.consumed")
@broken_by("has none", UNKNOWN)
@broken_by("loses one", withholds(Basic.Deliver, skip=1))
@broken_by("goes on after Cancel", answers(Basic.Cancel, Basic.CancelOk("tag")))
def quorum_queue_is_consumed_from(broker: Broker) -> None:
    """A consumer gets messages in their order, and none after Cancel-Ok: the next one gets them."""
    channel = broker.channel()
    queue = quorum(channel, "1", "2", "3")
    channel.tries(Basic.Consume(queue, "tag", no_ack=True), Basic.ConsumeOk)
    for body in (b"1", b"2", b"3"):
        channel.expect(message(Basic.Deliver, body))
    channel.tries(Basic.Cancel("tag"), Basic.CancelOk)
    channel.publish("4", key=queue)
    broker.channel().consumes(queue, b"4")


@scenario("rabbitmq/quorum-queues.acknowledged")
@broken_by("has none", UNKNOWN)
@broken_by("takes it for one message", forwards(Basic.Ack, multiple=False))
@broken_by("does not hear it", ignores(Basic.Ack))
@broken_by("does not mark it", rewrites(Basic.Deliver, redelivered=False))
def acknowledged_messages_are_gone(broker: Broker) -> None:
    """Of three messages two are acknowledged by one Ack: the third comes again, marked, and no other."""
    channel = broker.channel()
    queue = quorum(channel, "1", "2", "3")
    channel.consume(queue)
    _, second, _ = [letter(channel).method.delivery_tag for _ in range(3)]
    channel.send(Basic.Ack(second, multiple=True))
    channel.close()
    other = broker.channel().consuming(queue)
    other.expect(message(Basic.Deliver, b"3", redelivered=True))
    other.stays_quiet()


@scenario("rabbitmq/quorum-queues.purged")
@broken_by("has none", UNKNOWN)
@broken_by("purges nothing", answers(Queue.Purge, Queue.PurgeOk(3)))
@broken_by("does not count", rewrites(Queue.PurgeOk, message_count=0))
def quorum_queue_is_purged(broker: Broker) -> None:
    """Purge of a quorum queue with three messages tells 3; the next message to come is a later one."""
    channel = broker.channel()
    queue = quorum(channel, "1", "2", "3")
    channel.depth(queue)
    purged = channel.tries(Queue.Purge(queue), Queue.PurgeOk)
    broker.judge("3 messages purged", "another number purged", purged.message_count == 3)
    channel.publish("4", key=queue)
    channel.consumes(queue, b"4")


@scenario("rabbitmq/quorum-queues.deleted")
@broken_by("has none", UNKNOWN)
@broken_by("keeps it", answers(Queue.Delete, Queue.DeleteOk(0)))
def quorum_queue_is_deleted(broker: Broker) -> None:
    """A quorum queue that is deleted is not found any more; another one is."""
    channel = broker.channel()
    one, other = quorum(channel), quorum(channel)
    channel.tries(Queue.Delete(one), Queue.DeleteOk)
    channel.tries(Queue.Declare(other, passive=True), Queue.DeclareOk)
    channel.tries(Queue.Declare(one, passive=True), *refused(NOT_FOUND))


@scenario("rabbitmq/quorum-queues.single-limit")
@broken_by("has none", UNKNOWN)
@broken_by("knows no limit", forwards(Basic.Qos, prefetch_count=0))
@broken_by("does not hear Ack", ignores(Basic.Ack))
def consumer_of_a_quorum_queue_has_a_limit(broker: Broker) -> None:
    """With a prefetch count of two a consumer gets two of four messages, and a third for an Ack."""
    channel = broker.channel()
    queue = quorum(channel, "1", "2", "3", "4")
    channel.depth(queue)
    channel.ask(Basic.Qos(0, 2), Basic.QosOk)
    channel.consume(queue)
    first, _ = letter(channel, "1"), letter(channel, "2")
    channel.depth(queue)
    channel.stays_quiet()
    channel.send(Basic.Ack(first.method.delivery_tag))
    letter(channel, "3")
    channel.stays_quiet()


@scenario("rabbitmq/quorum-queues.global-limit")
@broken_by("makes a classic queue", CLASSIC)
@broken_by("takes the limit for each consumer", forwards(Basic.Qos, global_=False))
@broken_by("does not mind", drops("basic.consume: refuses a quorum queue under a limit of the channel"))
def quorum_queue_has_no_limit_with_others(broker: Broker) -> None:
    """Under a limit for the whole channel Consume from a quorum queue is refused, from a classic one not."""
    channel, other = broker.channel(), broker.channel()
    queue, classic = quorum(channel), channel.declare_queue()
    channel.ask(Basic.Qos(0, 2, True), Basic.QosOk)
    channel.consume(classic)
    level = connection_closed().under("4.8.1: the level of an exception follows its class only usually")
    if isinstance(channel.tries(Basic.Consume(queue), channel_closed(), level), Channel.Close):
        other.stays_quiet()


# -- what is kept --------------------------------------------------------------------------------------


@scenario("rabbitmq/quorum-queues.always-persistent")
@broken_by("makes a classic queue", CLASSIC)
@broken_by("keeps persistent ones", drops("restart: keeps all messages of quorum queues"))
def messages_of_a_quorum_queue_outlive_a_restart(broker: Broker) -> Iterator[Restart]:
    """A persistent message, a transient one and one without a mode, all confirmed, come after a restart."""
    channel = broker.channel()
    queue = quorum(channel)
    channel.ask(Confirm.Select(), Confirm.SelectOk)
    for mode in (PERSISTENT, TRANSIENT, None):
        channel.publish(f"{mode}", key=queue, delivery_mode=mode)
        channel.control("the confirm", Basic.Ack)
    yield RESTART
    broker.channel().consumes(queue, *(f"{mode}".encode() for mode in (PERSISTENT, TRANSIENT, None)))


@scenario("rabbitmq/quorum-queues.delivery-mode-kept")
@broken_by("has none", UNKNOWN)
@broken_by("makes it persistent", delivers(delivery_mode=PERSISTENT))
@broken_by("makes it transient", delivers(delivery_mode=TRANSIENT))
def dead_letter_of_a_quorum_queue_has_its_mode(broker: Broker) -> None:
    """A persistent and a transient message, rejected in a quorum queue, keep their delivery mode."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue = quorum(channel, dead_letter_exchange=exchange)
    for mode in (PERSISTENT, TRANSIENT):
        channel.publish("dead", key=queue, delivery_mode=mode)
        channel.depth(queue)
        reject(channel, queue)
        reader.expect(message(Basic.Deliver, b"dead", carrying={"delivery_mode": mode}))


@scenario("rabbitmq/quorum-queues.dead-letters")
@broken_by("has none", UNKNOWN)
@broken_by("drops it", changes(REJECTED, drop_it))
@broken_by("has no dead letters", forwards(Queue.Declare, arguments=without("x-dead-letter-exchange")))
def quorum_queue_has_dead_letters(broker: Broker) -> None:
    """A message rejected in a quorum queue comes from its dead-letter exchange, and tells so."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue = quorum(channel, "dead", dead_letter_exchange=exchange)
    channel.depth(queue)
    reject(channel, queue)
    tell(broker, letter(reader, "dead"), {"queue": queue, "reason": "rejected", "count": 1})


@scenario("rabbitmq/quorum-queues.at-least-once")
@broken_by("has none", UNKNOWN)
@broken_by("has no dead letters", forwards(Queue.Declare, arguments=without("x-dead-letter-exchange")))
def quorum_queue_has_safer_dead_letters(broker: Broker) -> None:
    """A message rejected in a quorum queue with at-least-once and reject-publish is dead-lettered."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    safer = {"dead_letter_strategy": "at-least-once", "overflow": "reject-publish"}
    queue = quorum(channel, "dead", dead_letter_exchange=exchange, **safer)
    channel.depth(queue)
    reject(channel, queue)
    letter(reader, "dead")


@scenario("rabbitmq/quorum-queues.message-ttl")
@broken_by("has none", UNKNOWN)
@broken_by("drops them", changes(EXPIRES, expire_unseen))
@broken_by("knows no x-message-ttl", forwards(Queue.Declare, arguments=without("x-message-ttl")))
@broken_by("knows no expiration", takes(expiration=None))
def messages_of_a_quorum_queue_expire(broker: Broker) -> None:
    """A message with an expiration and one in a queue with x-message-ttl are dead-lettered as expired."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    own = quorum(channel, dead_letter_exchange=exchange)
    channel.publish("its own", key=own, expiration=f"{SOON}")
    tell(broker, letter(reader, "its own"), {"queue": own, "reason": "expired"})
    queue = quorum(channel, "its queue's", dead_letter_exchange=exchange, message_ttl=SOON)
    tell(broker, letter(reader, "its queue's"), {"queue": queue, "reason": "expired"})


@scenario("rabbitmq/quorum-queues.drop-head")
@broken_by("has none", UNKNOWN)
@broken_by("knows no limit", forwards(Queue.Declare, arguments=without("x-max-length")))
@broken_by("has room for two", forwards(Queue.Declare, arguments=lambda found: {**found, "x-max-length": 2}))
def long_quorum_queue_drops_its_oldest(broker: Broker) -> None:
    """Of three messages in a quorum queue for one the oldest two are dead-lettered, and the third is left."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue = quorum(channel, "1", "2", "3", dead_letter_exchange=exchange, max_length=1)
    came = sorted(letter(reader).body for _ in range(2))
    broker.judge("the two oldest dropped", "others dropped", came == [b"1", b"2"])
    channel.consumes(queue, b"3")


@scenario("rabbitmq/quorum-queues.reject-publish")
@broken_by("has none", UNKNOWN)
@broken_by("knows no limit", forwards(Queue.Declare, arguments=without("x-max-length")))
@broken_by("drops the oldest", forwards(Queue.Declare, arguments=without("x-overflow")))
@broken_by("confirms everything", withholds(Basic.Nack))
def full_quorum_queue_refuses_messages(broker: Broker) -> None:
    """With reject-publish a quorum queue for one refuses a message by Nack: the second, or a later one.

    What was confirmed before that is there, and nothing else.
    """
    channel = broker.channel()
    queue = quorum(channel, max_length=1, overflow="reject-publish")
    channel.ask(Confirm.Select(), Confirm.SelectOk)
    taken: list[bytes] = []
    for number in range(ENOUGH):
        channel.publish(f"{number}", key=queue)
        if isinstance(channel.expect(CONFIRMED), Basic.Nack):
            break
        taken.append(f"{number}".encode())
    broker.judge("a message refused", "no message refused", len(taken) < ENOUGH)
    left = broker.channel().drain(queue)
    broker.judge("those confirmed in the queue", "others in the queue", left == taken)
