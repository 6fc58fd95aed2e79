"""Streams: what is written stays, and everyone reads it from where they want."""

from collections.abc import Callable, Iterator
from typing import Any

from harness.amqp0_9_1.broken.deviations import (
    changes,
    drops,
    forwards,
    ignores,
    rejects,
    withholds,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE, QUIET
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, channel_closed, connection_closed, message
from harness.amqp0_9_1.peer.tables.basic import acknowledge, discard_rejected
from harness.amqp0_9_1.rabbitmq.broken.queues.streams import (
    and_remove,
    begin_one_late,
    by_the_first_value,
    forget_what_is_transient,
    is_urgent,
    lose,
    may_expire,
    without_filters,
    write_the_urgent_first,
)
from harness.amqp0_9_1.rabbitmq.queues.streams import OFFSET
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, PRECONDITION_FAILED, Basic, Queue
from harness.play.context import RESTART, Restart
from scenarios.registry import broken_by, scenario

LOG = (b"1", b"2", b"3")
MANY = tuple(b"%d" % number for number in range(30))
"""So many messages that several of them are written together."""
BURST = tuple(b"%d" % number for number in range(100))
"""Bodies of messages, more than a server writes one by one when they come at once."""
TRIES = 50
READS = "basic.consume: reads a stream"
WRITES = "stream: writes to its log"
REFUSED = (
    channel_closed(PRECONDITION_FAILED),
    EXCEPTION.under("the guide names no reply code for it"),
)


def declared(channel: AmqpChannel, **arguments: Any) -> str:
    """Judge that a stream can be declared, and give its name."""
    queue = channel.new_name("queue")
    channel.tries(declaring(queue, **arguments), Queue.DeclareOk)
    return queue


def declaring(queue: str, durable: bool = True, exclusive: bool = False, **arguments: Any) -> Queue.Declare:
    asked = {f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}
    return Queue.Declare(
        queue, durable=durable, exclusive=exclusive, arguments={"x-queue-type": "stream", **asked}
    )


def reading(
    broker: Broker, queue: str, offset: object = None, prefetch: int = 100, **more: Any
) -> AmqpChannel:
    """Judge that a reader can begin at an offset, on a new channel, and give the channel."""
    channel = broker.channel()
    channel.ask(Basic.Qos(prefetch_count=prefetch))
    channel.tries(consuming(queue, offset, **more), Basic.ConsumeOk)
    return channel


def consuming(queue: str, offset: object = None, **arguments: Any) -> Basic.Consume:
    asked = {} if offset is None else {OFFSET: offset}
    return Basic.Consume(queue, arguments={**asked, **arguments})


def comes(channel: AmqpChannel, *bodies: bytes) -> None:
    """Judge that these messages come next, in this order."""
    for body in bodies:
        channel.expect(message(Basic.Deliver, body))


def log(broker: Broker, *bodies: bytes, **arguments: Any) -> tuple[AmqpChannel, str]:
    """Give a channel, and a stream in which these messages are written: a reader has had them."""
    channel = broker.channel()
    queue = declared(channel, **arguments)
    for body in bodies:
        channel.publish(body, key=queue)
    reader = reading(broker, queue, "first")
    comes(reader, *bodies)
    reader.close()
    return channel, queue


def all_up_to(channel: AmqpChannel, last: bytes) -> list[bytes]:
    """Read on up to a message, and give the bodies."""
    bodies: list[bytes] = []
    while last not in bodies:
        came: Any = channel.observe(message(Basic.Deliver))
        bodies.append(came.body)
    return bodies


def asks(*arguments: str) -> Callable[[Any], bool]:
    """Say of a Declare or Consume whether it has one of these arguments."""
    return lambda sent: any(each in sent.arguments for each in arguments)


@scenario("rabbitmq/streams.durable")
@broken_by("takes it as it is", drops("queue.declare: refuses a stream that is not durable"))
@broken_by("makes it durable", forwards(Queue.Declare, durable=True))
@broken_by("has no streams", rejects(Queue.Declare, NOT_IMPLEMENTED, asks("x-queue-type")))
def transient_stream_is_refused(broker: Broker) -> None:
    """A durable stream can be declared, a transient one is refused."""
    channel = broker.channel()
    declared(channel)
    channel.refuses(declaring(channel.new_name("queue"), durable=False), *REFUSED)


@scenario("rabbitmq/streams.shared")
@broken_by("takes it as it is", drops("queue.declare: refuses an exclusive stream"))
@broken_by("shares it", forwards(Queue.Declare, exclusive=False))
def exclusive_stream_is_refused(broker: Broker) -> None:
    """A stream for all can be declared, an exclusive one is refused."""
    channel = broker.channel()
    declared(channel)
    channel.refuses(declaring(channel.new_name("queue"), exclusive=True), *REFUSED)


@scenario("rabbitmq/streams.prefetch-needed")
@broken_by("serves readers without a limit", drops("basic.consume: refuses a stream without a limit"))
@broken_by("serves nobody", rejects(Basic.Consume, NOT_IMPLEMENTED))
def reader_without_limit_is_refused(broker: Broker) -> None:
    """Consume from a stream is taken on a channel with a prefetch count, refused on one without."""
    queue = declared(broker.channel())
    reading(broker, queue)
    broker.channel().refuses(consuming(queue), *REFUSED)


@scenario("rabbitmq/streams.acknowledgements-needed")
@broken_by("serves them", drops("basic.consume: refuses a stream without acknowledgements"))
@broken_by("wants acknowledgements all the same", forwards(Basic.Consume, no_ack=False))
def reader_without_acknowledgements_is_refused(broker: Broker) -> None:
    """Consume from a stream is taken with no-ack clear, refused with it set."""
    queue = declared(broker.channel())
    channel = reading(broker, queue)
    missing = connection_closed(NOT_IMPLEMENTED) | channel_closed(PRECONDITION_FAILED)
    channel.refuses(consuming(queue).replace(no_ack=True), missing, REFUSED[1])


@scenario("rabbitmq/streams.global-prefetch-refused")
@broken_by("serves them", drops("basic.consume: refuses a stream with a limit for all"))
@broken_by("takes it for a limit of its own", forwards(Basic.Qos, global_=False))
def reader_with_limit_for_all_is_refused(broker: Broker) -> None:
    """Consume from a stream is refused on a channel whose prefetch count is for all its consumers."""
    channel = broker.channel(new_connection=True)
    queue = declared(channel)
    reading(broker, queue)
    channel.ask(Basic.Qos(prefetch_count=10))
    channel.ask(Basic.Qos(prefetch_count=10, global_=True))
    of_connection = EXCEPTION.under("the guide: a channel error; 4.8.1: only usually")
    channel.refuses(consuming(queue), channel_closed(), of_connection)


@scenario("rabbitmq/streams.reading-removes-nothing")
@broken_by("is a queue", forwards(Queue.Declare, arguments={}))
@broken_by("removes what was acknowledged", changes("basic.ack: settles", and_remove(acknowledge)))
@broken_by("gives what was left to others", drops("stream: forgets what a reader has left"))
def everyone_reads_all(broker: Broker) -> None:
    """Three messages are read and acknowledged by two at the same time, and by one afterwards.

    A reader that has gone before it had all of them takes nothing with it, and leaves nothing.
    """
    _, queue = log(broker, *LOG)
    hasty = reading(broker, queue, "first", prefetch=1)
    first, second = (reading(broker, queue, "first") for _ in range(2))
    comes(hasty, LOG[0])
    hasty.close()
    for each in (first, second):
        comes(each, *LOG)
        each.send(Basic.Ack(len(LOG), multiple=True))
        each.stays_quiet()
    comes(reading(broker, queue, "first"), *LOG)


@scenario("rabbitmq/streams.refusing-removes-nothing")
@broken_by("removes what was refused", changes("basic.nack: discards", and_remove(discard_rejected)))
@broken_by("is a queue", forwards(Queue.Declare, arguments={}))
def everyone_reads_what_was_refused(broker: Broker) -> None:
    """Of three messages one is refused, without requeue and with it: a reader afterwards gets all of them."""
    _, queue = log(broker, *LOG)
    for requeue in (False, True):
        reader = reading(broker, queue, "first")
        comes(reader, *LOG)
        reader.send(Basic.Nack(1, requeue=requeue), FENCE)
        again = message(Basic.Deliver, LOG[0]).under("no sentence says that it does not come again")
        reader.expect(QUIET, EXCEPTION.under("the guide speaks of acknowledgements alone"), again)
        comes(reading(broker, queue, "first"), *LOG)


@scenario("rabbitmq/streams.acknowledgements-are-credit")
@broken_by("sends one more", forwards(Basic.Qos, lambda sent: sent.prefetch_count == 2, prefetch_count=3))
@broken_by("sends all", forwards(Basic.Qos, prefetch_count=1000))
@broken_by("hears no acknowledgements", ignores(Basic.Ack))
def acknowledging_leads_further(broker: Broker) -> None:
    """With a prefetch count of two, two messages come; with the first one's Ack the third, and no more."""
    _, queue = log(broker, *BURST)
    channel = reading(broker, queue, "first", prefetch=2)
    comes(channel, *BURST[:2])
    channel.stays_quiet()
    channel.send(Basic.Ack(1))
    comes(channel, BURST[2])
    channel.stays_quiet()


@scenario("rabbitmq/streams.expiration-ignored")
@broken_by("lets it expire", changes(WRITES, lose(may_expire)))
def messages_do_not_expire(broker: Broker) -> None:
    """A message with expiration 0 is read, and one without."""
    channel = broker.channel()
    queue = declared(channel)
    channel.publish(b"1", key=queue, expiration="0")
    channel.publish(b"2", key=queue)
    comes(reading(broker, queue, "first"), b"1", b"2")


@scenario("rabbitmq/streams.priority-ignored")
@broken_by("has them in order of priority", changes(WRITES, write_the_urgent_first))
@broken_by("loses what is urgent", changes(WRITES, lose(is_urgent)))
def messages_keep_their_order(broker: Broker) -> None:
    """Messages with priorities 0, 9 and 4 are read in the order in which they were published."""
    channel = broker.channel()
    queue = declared(channel)
    for priority in (0, 9, 4):
        channel.publish(f"{priority}", key=queue, priority=priority)
    channel.depth(queue)
    comes(reading(broker, queue, "first"), b"0", b"9", b"4")


def reading_again(broker: Broker, queue: str) -> AmqpChannel:
    """Judge that a stream can be read after a restart, once its server has found it again."""
    for _ in range(TRIES):
        channel = broker.channel()
        channel.ask(Basic.Qos(prefetch_count=100))
        if channel.takes(consuming(queue, "first"), Basic.ConsumeOk):
            return channel
        broker.channel().settle()
    return reading(broker, queue, "first")


@scenario("rabbitmq/streams.always-persistent")
@broken_by("forgets the stream", drops("restart: keeps durable queues"))
@broken_by("keeps what is persistent", changes("restart: keeps durable queues", forget_what_is_transient))
@broken_by("is a queue", forwards(Queue.Declare, arguments={}))
def transient_message_is_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """A message with delivery mode 1 and one with 2 are read, and read again after a restart."""
    channel = broker.channel()
    queue = declared(channel)
    for mode in (1, 2):
        channel.publish(f"{mode}", key=queue, delivery_mode=mode)
    comes(reading(broker, queue, "first"), b"1", b"2")
    yield RESTART
    comes(reading_again(broker, queue), b"1", b"2")


@scenario("rabbitmq/streams.bindable")
@broken_by("binds no streams", rejects(Queue.Bind, NOT_IMPLEMENTED))
@broken_by("loses the messages", ignores(Basic.Publish, lambda sent: bool(sent.exchange)))
def stream_is_bound_as_a_queue(broker: Broker) -> None:
    """A stream that is bound to a direct, a fanout and a topic exchange gets what they route to it."""
    channel = broker.channel()
    queue = declared(channel)
    for kind in ("direct", "fanout", "topic"):
        exchange = channel.declare_exchange(kind)
        channel.tries(Queue.Bind(queue, exchange, "key"), Queue.BindOk)
        channel.publish(kind, exchange=exchange, key="key")
    comes(reading(broker, queue, "first"), b"direct", b"fanout", b"topic")


AGES = ("1Y", "2M", "7D", "12h", "30m", "90s")


def judged_argument(broker: Broker, name: str, good: tuple[Any, ...], bad: tuple[Any, ...]) -> None:
    """Judge that streams can be declared with the good values of an argument, and not with the bad ones."""
    for value in good:
        declared(broker.channel(), **{name: value})
    for value in bad:
        channel = broker.channel()
        channel.refuses(declaring(channel.new_name("queue"), **{name: value}), *REFUSED)


@scenario("rabbitmq/streams.max-age-units")
@broken_by("takes any age", drops("queue.declare: refuses a stream with an age in no unit"))
@broken_by(
    "knows no months", rejects(Queue.Declare, PRECONDITION_FAILED, lambda it: "2M" in it.arguments.values())
)
def age_has_a_known_unit(broker: Broker) -> None:
    """A stream can be declared with an age in each unit, not with 7X."""
    judged_argument(broker, "max_age", AGES, ("7X",))


@scenario("rabbitmq/streams.filter-size")
@broken_by("takes any size", drops("queue.declare: refuses a stream with a filter of another size"))
@broken_by("takes less", rejects(Queue.Declare, PRECONDITION_FAILED, lambda it: 255 in it.arguments.values()))
def filter_has_a_size_in_its_range(broker: Broker) -> None:
    """A stream can be declared with a filter of 16 and of 255 octets, not with one of 15 or 256."""
    judged_argument(broker, "stream_filter_size_bytes", (16, 255), (15, 256))


def valued(channel: AmqpChannel, queue: str, body: str, value: str | None) -> None:
    """Publish a message with a value to filter by, or with none."""
    channel.publish(body, key=queue, headers={} if value is None else {"x-stream-filter-value": value})


@scenario("rabbitmq/streams.filter-loses-nothing")
@broken_by("heeds one value", changes(READS, by_the_first_value))
@broken_by("begins one late", changes(READS, begin_one_late))
@broken_by("loses one", withholds(Basic.Deliver, skip=2))
def filter_passes_what_it_asks_for(broker: Broker) -> None:
    """Of messages with values a, b and c a reader of a, and one of a and c, get all that are theirs."""
    channel = broker.channel()
    queue = declared(channel)
    for number, value in enumerate("abcaca"):
        valued(channel, queue, f"{number}{value}", value)
    wants: dict[str, Any] = {"0a 3a 5a": "a", "0a 2c 3a 4c 5a": ["a", "c"]}
    for wanted, asked in wants.items():
        reader = reading(broker, queue, "first", **{"x-stream-filter": asked})
        came = [body.decode() for body in all_up_to(reader, b"5a")]
        mine = " ".join(each for each in came if each in wanted.split())
        broker.judge(wanted, mine, mine == wanted)


@scenario("rabbitmq/streams.unfiltered-on-demand")
@broken_by("filters them out", changes(READS, without_filters))
@broken_by("loses them", withholds(Basic.Deliver, skip=1))
def filter_passes_what_has_no_value(broker: Broker) -> None:
    """A reader of a that wants messages without a value as well gets both kinds."""
    channel = broker.channel()
    queue = declared(channel)
    for body, value in (("1", "a"), ("2", None), ("3", "a")):
        valued(channel, queue, body, value)
    asked: dict[str, Any] = {"x-stream-filter": "a", "x-stream-match-unfiltered": True}
    comes(reading(broker, queue, "first", **asked), b"1", b"2", b"3")
