"""3.1.4 to 3.1.10: queues and their bindings, consumers, acknowledgement, names."""

from collections.abc import Iterator
from itertools import product

from harness.amqp0_9_1.broken.basic_faults import all_that_are_out, send_to_all_consumers
from harness.amqp0_9_1.broken.deviations import Fault, changes, drops, forwards, rewrites, spoils, swaps
from harness.amqp0_9_1.broken.end_faults import (
    delete_queue_alone,
    keeps_what_is_closed,
    orphan_consumers,
    remove_binding_unless,
)
from harness.amqp0_9_1.broken.faults import queue_name_begins_like, twice
from harness.amqp0_9_1.broken.frame_faults import sent_whole
from harness.amqp0_9_1.broken.settling_faults import consumed_only, up_to_but_not_including, zero_is_nothing
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import fields, message, on_its_channel, refused, silence
from harness.amqp0_9_1.peer.deliveries import await_acknowledgement
from harness.amqp0_9_1.peer.life import end_connection
from harness.amqp0_9_1.peer.tables.basic import await_its_acknowledgement, take_what_is_due
from harness.amqp0_9_1.wire.frames import Frame
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Basic, Exchange, Queue
from harness.play.context import RESTART, Restart
from scenarios.amqp0_9_1.ends import WAYS as ENDS
from scenarios.amqp0_9_1.ends import is_left
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types
from scenarios.registry import broken_by, scenario

LAST_CONSUMER = "consumer end: the last one deletes an auto-delete queue"
CONNECTION_END = "connection end: deletes its exclusive queues"
GETS = "basic.get: without acknowledgement"
IS_DONE = "delivery: of a no-ack consumer ends with sending"
RESERVED = "queue.declare: refuses a reserved name"
FORTY = 40
UNBINDS = "queue end: removes its bindings"
AWAITS = "delivery: awaits acknowledgement"


@scenario("0-9-1/prose/3.1.4.sent-to-one-client")
@broken_by("puts each message on the queue twice", swaps(queues_for=twice))
@broken_by("sends it to all", changes(AWAITS, send_to_all_consumers, await_acknowledgement))
def message_goes_to_one_of_two_clients(broker: Broker) -> None:
    """Of forty messages each comes once: to one of two consumers, or to Get once they are cancelled."""
    clients = broker.channel(), broker.channel(new_connection=True)
    queue = clients[0].declare_queue()
    tags = [client.consume(queue) for client in clients]
    publisher = broker.channel(new_connection=True)
    for number in range(FORTY):
        publisher.publish(f"{number}", key=queue)
    publisher.fence()
    # By 4.6 nothing is delivered behind Cancel-Ok: what had come to a client has come by then.
    for client, tag in zip(clients, tags, strict=True):
        client.ask(Basic.Cancel(tag))
    came = [each.body for client in clients for each in client.arrived()] + publisher.drain(queue)
    missing, again = FORTY - len(set(came)), len(came) - len(set(came))
    broker.note(f"{missing} messages missing, {again} more than once")
    broker.judge("each of forty messages once", "not each of them once", not (missing or again))
    for client in clients:
        client.send(Basic.Ack(0, multiple=True))
        client.fence()
    publisher.tries(Basic.Get(queue), Basic.GetEmpty)


@scenario("0-9-1/prose/3.1.4.transient-queue-ends")
@broken_by("keeps it", changes("restart: drops transient queues", effects=()))
@broken_by("keeps no queue", drops("restart: keeps durable queues"))
def transient_queue_ends_with_the_server(broker: Broker) -> Iterator[Restart]:
    """Of a durable queue and one that is not only the durable one is there after the restart."""
    channel = broker.channel()
    durable, transient = channel.declare_queue(durable=True), broker.name("queue")
    if not channel.takes(Queue.Declare(transient), Queue.DeclareOk):
        broker.inapplicable("the server refuses queues that are neither durable nor exclusive")
    yield RESTART
    channel = broker.channel()
    channel.tries(Queue.Declare(durable, passive=True), Queue.DeclareOk)
    channel.tries(Queue.Declare(transient, passive=True), *refused(NOT_FOUND))


@scenario("0-9-1/prose/3.1.5.bindings-end-with-queue")
@broken_by("keeps them", changes(UNBINDS, effects=()))
@broken_by("keeps those to topic exchanges", changes(UNBINDS, remove_binding_unless("topic")))
@broken_by("keeps them when the last consumer ends", changes(LAST_CONSUMER, delete_queue_alone))
@broken_by("keeps them when a connection ends", changes(CONNECTION_END, delete_queue_alone))
def bindings_go_with_their_queue(broker: Broker) -> None:
    """A queue is bound, deleted and declared again: what came by the binding comes no more.

    So it is for exchanges of each type, and where the queue goes with its last consumer or its connection.
    """
    types, look = known_types(broker), broker.channel()
    for kind, (declare, ends) in product(types, DELETED_BY.items()):
        channel, queue = broker.channel(new_connection=True), look.new_name("queue")
        exchange, way = look.declare_exchange(kind), WAYS[kind]
        channel.ask(Queue.Declare(queue).replace(**{declare: True}))
        channel.ask(way.bind(queue, exchange))
        way.publish(channel, exchange, b"bound")
        channel.gets(queue, b"bound")
        ends(channel, queue)
        if not is_gone(broker, queue):
            continue
        look = broker.channel()
        look.ask(Queue.Declare(queue, durable=True))
        way.publish(look, exchange, b"not bound")
        look.tries(Basic.Get(queue, no_ack=True), Basic.GetEmpty)


def is_gone(broker: Broker, queue: str) -> bool:
    """Say whether the queue is not found: where its connection has just ended that may take a moment."""
    for waits in (False, True):
        if waits:
            broker.channel().expect(silence())
        if not broker.channel().takes(Queue.Declare(queue, passive=True), Queue.DeclareOk):
            return True
    broker.note("a queue did not go, which is judged by other rules")
    return False


def by_delete(channel: AmqpChannel, queue: str) -> None:
    channel.ask(Queue.Delete(queue))


def by_last_consumer(channel: AmqpChannel, queue: str) -> None:
    channel.ask(Basic.Cancel(channel.consume(queue)))


def by_connection(channel: AmqpChannel, _: str) -> None:
    """Close the connection that it is exclusive to."""
    channel.connection.close()


DELETED_BY = {"durable": by_delete, "auto_delete": by_last_consumer, "exclusive": by_connection}
"""How a queue goes that was declared with one bit."""


@scenario("0-9-1/prose/3.1.6.consumer-created-and-destroyed")
@broken_by("counts none", rewrites(Queue.DeclareOk, consumer_count=0))
@broken_by("keeps it", changes("basic.cancel: ends the consumer", effects=()))
def consumer_is_there_from_consume_to_cancel(broker: Broker) -> None:
    """A passive Declare counts no consumer, after Consume-Ok one, after Cancel-Ok none again."""
    channel, queue = broker.queue()
    counts_consumers(channel, queue, 0)
    tag = channel.consume(queue)
    counts_consumers(channel, queue, 1)
    channel.ask(Basic.Cancel(tag))
    counts_consumers(channel, queue, 0)


def counts_consumers(channel: AmqpChannel, queue: str, count: int) -> None:
    channel.tries(Queue.Declare(queue, passive=True), fields(Queue.DeclareOk, consumer_count=count))


CLOSE = "connection.close: is answered"
HANGING_UP = "connection: hanging up ends it"


@scenario("0-9-1/prose/3.1.6.consumer-belongs-to-channel")
@broken_by("keeps it when its connection is closed", changes(CLOSE, orphan_consumers, end_connection))
@broken_by("keeps it when its socket is lost", changes(HANGING_UP, orphan_consumers, end_connection))
def consumer_ends_with_its_channel(broker: Broker) -> None:
    """However its channel or connection ends, the consumer does: messages come to another one."""
    witness = broker.channel()
    for ends in ENDS:
        channel, queue = broker.queue(new_connection=True, durable=True)
        channel.consume(queue)
        ends(channel)
        witness.consume(queue, no_ack=True)
        for _ in range(2):
            witness.hears(b"for another", key=queue)


@scenario("0-9-1/prose/3.1.6.consumer-belongs-to-channel")
@broken_by(
    "delivers on another channel",
    spoils(sent_whole(Basic.Deliver, lambda n: n == 1), lambda it: Frame(it.type, 2, it.payload)),
)
@broken_by("keeps it when its channel is closed", drops("channel end: cancels its consumers"))
def consumer_lives_on_its_channel(broker: Broker) -> None:
    """Messages come on the channel of the consumer and no other; when that is closed there is no consumer."""
    first, second = broker.channel(), broker.channel()
    queue = first.declare_queue()
    first.consume(queue, no_ack=True)
    second.publish(b"for the first", key=queue)
    first.expect(on_its_channel(message(Basic.Deliver, b"for the first")))
    second.stays_quiet()
    first.close()
    counts_consumers(second, queue, 0)


# -- acknowledgement -----------------------------------------------------------------------------------


@scenario("0-9-1/prose/3.1.8.automatic-acknowledgement", slow=True)
@broken_by("keeps what is got", changes(GETS, take_what_is_due, await_its_acknowledgement))
@broken_by("keeps what is delivered", changes(IS_DONE, await_acknowledgement))
def message_without_ack_is_gone_when_delivered(broker: Broker) -> None:
    """A message is got and one consumed with no-ack; the socket is dropped, and neither comes again."""
    queue = taken_without_ack(broker.channel())
    broker.drop()
    broker.channel().consuming(queue).expect(silence())


def taken_without_ack(channel: AmqpChannel) -> str:
    """Give the name of a queue of which one message was got and one consumed with no-ack."""
    queue = channel.queue_with(b"got", b"consumed")
    channel.ask(Basic.Get(queue, no_ack=True), Basic.GetOk)
    channel.consume(queue, no_ack=True)
    channel.deliveries(1)
    return queue


@scenario("0-9-1/prose/3.1.8.automatic-acknowledgement", slow=True)
@broken_by("puts it back when its channel is closed", Fault(keeps_what_is_closed))
def message_without_ack_is_gone_however_its_channel_ends(broker: Broker) -> None:
    """A message got and one consumed with no-ack: the channel or its connection ends, and neither comes."""
    heir = broker.channel()
    for ends in ENDS:
        channel = broker.channel(new_connection=True)
        queue = taken_without_ack(channel)
        ends(channel)
        heir.consume(queue)
    heir.expect(silence())


@scenario("0-9-1/prose/3.1.8.explicit-acknowledgement")
@broken_by("does not hear it", changes("basic.ack: settles", effects=()))
@broken_by("takes every Ack for all messages", swaps(named=all_that_are_out))
@broken_by("forgets what is left", drops("channel end: requeues what is not acknowledged"))
@broken_by("stops before the tag", swaps(named=up_to_but_not_including))
@broken_by("takes every tag for an upper bound", forwards(Basic.Ack, multiple=True))
def message_stays_until_it_is_acknowledged(broker: Broker) -> None:
    """Of six the first is acknowledged, the third with all before it, the fifth alone: two are left."""
    channel, queue = broker.queue(*map(str, range(1, 7)))
    channel.consume(queue)
    tags = [each.method.delivery_tag for each in channel.deliveries(6)]
    channel.send(Basic.Ack(tags[0]), Basic.Ack(tags[2], multiple=True), Basic.Ack(tags[4]))
    channel.stays_quiet()
    channel.close()
    is_left(broker, queue, b"4", b"6")


@scenario("0-9-1/prose/3.1.8.explicit-acknowledgement")
@broken_by("takes zero for no message", swaps(named=zero_is_nothing))
@broken_by("does not hear it for what was got", swaps(named=consumed_only))
@broken_by("takes every tag of what was got for an upper bound", forwards(Basic.Ack, multiple=True))
def what_was_got_is_acknowledged_as_well(broker: Broker) -> None:
    """Of four messages got, the second is acknowledged, then all up to the third, then all that are out.

    After each step a fresh channel finds what is left once the one that got them is closed.
    """
    for steps, left in ((0, FOUR), (1, [b"1", *FOUR[2:]]), (2, FOUR[3:]), (3, [])):
        channel, queue = broker.queue(*FOUR)
        _, second, third, _ = (channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for _ in FOUR)
        acks = Basic.Ack(second), Basic.Ack(third, multiple=True), Basic.Ack(0, multiple=True)
        for ack in acks[:steps]:
            channel.send(ack)
        channel.stays_quiet()
        channel.close()
        is_left(broker, queue, *left)


# -- names ---------------------------------------------------------------------------------------------

FOUR = [b"1", b"2", b"3", b"4"]
LIKE_RESERVED = ("amq{}", "AMQ.{}", "amqp.{}", "x.amq.{}")


@scenario("0-9-1/prose/3.1.10.application-names")
@broken_by("reserves amq without a dot", changes(RESERVED, condition=queue_name_begins_like("amq")))
@broken_by("reserves it by any case", changes(RESERVED, condition=queue_name_begins_like("AMQ.")))
def other_names_belong_to_applications(broker: Broker) -> None:
    """Queues and exchanges can be declared under names that only look like reserved ones."""
    channel = broker.channel().misses("queue")
    for pattern in LIKE_RESERVED:
        channel.tries(Queue.Declare(broker.name("queue", pattern)), Queue.DeclareOk)
        channel.tries(Exchange.Declare(broker.name("exchange", pattern), "direct"), Exchange.DeclareOk)
