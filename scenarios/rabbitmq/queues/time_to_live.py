"""Time-to-live: how long messages live on a queue, and a queue that nobody uses."""

from harness.amqp0_9_1.broken.deviations import changes, drops
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, message, refused
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.queues.expiry import (
    BEGINS,
    at_once,
    by_its_queue_alone,
    by_its_queue_first,
    by_itself_alone,
    by_itself_first,
    everywhere_with_the_first,
    expire_and_lose,
    in_seconds,
    is_no_number,
    leave_it,
    live_anew,
    not_of_fanout,
    turn_away_what_has_no_time,
    zero_is_no_limit,
)
from harness.amqp0_9_1.wire.vocabulary import (
    INTERNAL_ERROR,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    Basic,
    Queue,
)
from scenarios.registry import broken_by, scenario

SHORT = 200
"""Milliseconds that are over when AFTER has passed."""
AFTER = 0.5
"""Seconds after which what had SHORT to live is dead, on a server that is busy as well."""
LONG = 60_000
"""Milliseconds that no scenario waits for."""
DEAD = "time-to-live: what is dead at the head goes"
BEHIND = "time-to-live: what is dead behind others is nobody's"
WRONG_TTL = "queue.declare: refuses a wrong x-message-ttl"
EMPTY = answered(Basic.GetEmpty)


def living(**milliseconds: int) -> dict[str, object]:
    """Give the arguments of a queue with these limits of time."""
    names = {"messages": "x-message-ttl", "queue": "x-expires"}
    return {names[name]: value for name, value in milliseconds.items()}


def finds_nothing(channel: AmqpChannel, queue: str) -> None:
    """Judge that a queue has nothing for Get."""
    channel.tries(Basic.Get(queue), EMPTY)


def has_no_message(broker: Broker, queue: str) -> None:
    """Judge that a queue does not count any message either."""
    broker.judge("no message on the queue", "a message on the queue", not broker.channel().depth(queue))


@scenario("rabbitmq/ttl.queue-limit")
@broken_by("does not know it", drops(BEGINS))
@broken_by("takes it for seconds", changes(BEGINS, in_seconds))
@broken_by("lets messages alone have a time", changes(BEGINS, by_itself_alone))
@broken_by("leaves what is dead where it is", changes(DEAD, leave_it))
def dead_message_is_not_got(broker: Broker) -> None:
    """When the time of a message on its queue is over, Get does not find it; one without a limit is there."""
    channel = broker.channel()
    short, plain = channel.queue_with("1", arguments=living(messages=SHORT)), channel.queue_with("1")
    channel.wait(AFTER)
    channel.gets(plain, b"1")
    finds_nothing(channel, short)
    has_no_message(broker, short)


@scenario("rabbitmq/ttl.not-to-consumers")
@broken_by("does not know it", drops(BEGINS))
@broken_by("takes it for seconds", changes(BEGINS, in_seconds))
@broken_by("leaves what is dead where it is", changes(DEAD, leave_it))
def dead_message_is_not_delivered(broker: Broker) -> None:
    """A consumer that comes when the time of a message is over gets the next message first."""
    channel = broker.channel()
    queue = channel.queue_with("1", arguments=living(messages=SHORT))
    channel.wait(AFTER)
    channel.consume(queue, no_ack=True)
    channel.hears("2", key=queue)


@scenario("rabbitmq/ttl.not-before")
@broken_by("discards at once", changes(BEGINS, at_once))
def living_message_stays(broker: Broker) -> None:
    """A message with a minute to live, by its queue or by itself, is there a moment later."""
    channel = broker.channel()
    limited, plain = channel.queue_with("1", arguments=living(messages=LONG)), channel.declare_queue()
    channel.publish("2", key=plain, expiration=str(LONG))
    channel.wait(SHORT / 1000)
    channel.gets(limited, b"1")
    channel.gets(plain, b"2")


@scenario("rabbitmq/ttl.each-queue")
@broken_by("lets it die everywhere with the first", changes(DEAD, everywhere_with_the_first))
@broken_by("lets it live everywhere", changes(BEGINS, not_of_fanout))
def message_dies_in_each_queue_by_itself(broker: Broker) -> None:
    """A message that went to two queues dies in the one with a limit; the other one still has it."""
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    short, plain = channel.declare_queue(arguments=living(messages=SHORT)), channel.declare_queue()
    for queue in (short, plain):
        channel.bind(queue, exchange)
    channel.publish("1", exchange=exchange)
    channel.wait(AFTER)
    finds_nothing(channel, short)
    channel.gets(plain, b"1")


def declares_alone(broker: Broker, name: str, *, good: tuple[object, ...], bad: tuple[object, ...]) -> None:
    """Judge that queues are made with some values of an argument, and refused with 406 with others."""
    for value in good:
        broker.channel().tries(Queue.Declare(broker.name("queue"), arguments={name: value}), Queue.DeclareOk)
    for value in bad:
        channel = broker.channel()
        method = Queue.Declare(broker.name("queue"), arguments={name: value})
        channel.tries(method, *refused(PRECONDITION_FAILED))


@scenario("rabbitmq/ttl.illegal-queue-limit")
@broken_by("takes any value", drops(WRONG_TTL))
@broken_by("takes any number", changes(WRONG_TTL, condition=is_no_number("x-message-ttl")))
@broken_by("calls it an error of its own", changes(WRONG_TTL, answer=refuse(INTERNAL_ERROR)))
def message_ttl_is_a_number(broker: Broker) -> None:
    """Zero and a minute are a time-to-live of messages; -1, a text and the like are refused: 406."""
    declares_alone(broker, "x-message-ttl", good=(0, LONG), bad=(-1, "1000", 1.5, True))


@scenario("rabbitmq/ttl.zero")
@broken_by("takes zero for no limit", changes(BEGINS, zero_is_no_limit))
@broken_by("does not know it", drops(BEGINS))
def nobody_gets_what_has_no_time(broker: Broker) -> None:
    """With a time-to-live of zero, of the queue or of the message, Get finds nothing."""
    channel = broker.channel()
    queue, plain = channel.queue_with("1", arguments=living(messages=0)), channel.declare_queue()
    channel.publish("2", key=plain, expiration="0")
    channel.publish("3", key=plain)
    channel.fence()
    finds_nothing(channel, queue)
    channel.gets(plain, b"3")


@scenario("rabbitmq/ttl.zero")
@broken_by("discards it anyway", changes(BEGINS, turn_away_what_has_no_time))
def consumer_gets_what_has_no_time(broker: Broker) -> None:
    """With a time-to-live of zero, of the queue or of the message, a consumer that waits gets it."""
    channel = broker.channel()
    queue, plain = channel.declare_queue(arguments=living(messages=0)), channel.declare_queue()
    channel.consume(queue, no_ack=True)
    channel.consume(plain, no_ack=True)
    channel.hears("1", key=queue)
    channel.publish("2", key=plain, expiration="0")
    channel.expect(message(Basic.Deliver, b"2"))


@scenario("rabbitmq/ttl.zero")
@broken_by("keeps it for whoever is there", changes(BEGINS, zero_is_no_limit))
def full_consumer_does_not_get_what_has_no_time(broker: Broker) -> None:
    """While a consumer has no room, what has a time-to-live of zero is gone: it gets the one after that."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.ask(Basic.Qos(prefetch_count=1))
    channel.consume(queue)
    channel.publish("1", key=queue)
    (first,) = channel.deliveries(1)
    channel.publish("2", key=queue, expiration="0")
    channel.publish("3", key=queue)
    channel.fence()
    channel.send(Basic.Ack(first.method.delivery_tag))
    channel.expect(message(Basic.Deliver, b"3"))


@scenario("rabbitmq/ttl.requeued")
@broken_by("lets it live anew", changes("time-to-live: what is put back too late goes", live_anew))
@broken_by("looks no more", drops("time-to-live: what is put back too late goes"))
def message_that_is_put_back_keeps_its_time(broker: Broker) -> None:
    """A message that was got in time and comes back too late is dead; one without a limit comes back."""
    channel, other = broker.channel(), broker.channel()
    short, plain = channel.declare_queue(arguments=living(messages=5 * SHORT)), channel.declare_queue()
    for queue in (short, plain):
        with broker.before(5 * SHORT / 1000):
            channel.publish("1", key=queue)
            channel.ask(Basic.Get(queue), Basic.GetOk)
    channel.wait(3 * AFTER)
    channel.close()
    other.gets(plain, b"1")
    finds_nothing(other, short)


@scenario("rabbitmq/ttl.requeued")
@broken_by(
    "lets it live anew once it is put back",
    changes("requeue: puts the message back, marked redelivered", live_anew),
)
def message_that_is_put_back_dies_in_its_time(broker: Broker) -> None:
    """A message that was got and put back in time is dead when its own time is over."""
    channel, other = broker.channel(), broker.channel()
    queue = channel.declare_queue(arguments=living(messages=4 * SHORT))
    with broker.before(4 * SHORT / 1000):
        channel.publish("1", key=queue)
        channel.wait(2 * SHORT / 1000)
        channel.ask(Basic.Get(queue), Basic.GetOk)
        channel.close()
    other.wait(2 * SHORT / 1000 + SHORT / 1000)
    finds_nothing(other, queue)


@scenario("rabbitmq/ttl.expiration")
@broken_by("does not know it", changes(BEGINS, by_its_queue_alone))
@broken_by("takes it for seconds", changes(BEGINS, in_seconds))
@broken_by("leaves what is dead where it is", changes(DEAD, leave_it))
def message_has_its_own_time(broker: Broker) -> None:
    """Of two messages on a plain queue the one with an expiration is gone when that is over."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.publish("1", key=queue, expiration=str(SHORT))
    channel.publish("2", key=queue)
    channel.wait(AFTER)
    channel.gets(queue, b"2")
    finds_nothing(channel, queue)


@scenario("rabbitmq/ttl.illegal-expiration")
@broken_by("takes any text", drops("content: refuses an expiration that is no time"))
@broken_by(
    "says that it cannot",
    changes("content: refuses an expiration that is no time", answer=refuse(NOT_IMPLEMENTED)),
)
def expiration_is_a_number(broker: Broker) -> None:
    """A message that expires after 60000 is taken; after "soon", "-1" and the like it is refused: 406."""
    for text in ("soon", "-1", "1.5", "100ms", ""):
        channel = broker.channel()
        queue = channel.declare_queue()
        channel.publish("1", key=queue, expiration=str(LONG))
        channel.gets(queue, b"1")
        channel.publish("2", key=queue, expiration=text)
        channel.send(Basic.Get(queue, no_ack=True))
        channel.expect(*refused(PRECONDITION_FAILED))


@scenario("rabbitmq/ttl.lower")
@broken_by("goes by the queue", changes(BEGINS, by_its_queue_first))
@broken_by("goes by the message", changes(BEGINS, by_itself_first))
def lower_time_counts(broker: Broker) -> None:
    """A message with little time on a queue with much, and the other way round: both are gone soon."""
    channel = broker.channel()
    for of_queue, own in ((SHORT, LONG), (LONG, SHORT)):
        plain = channel.queue_with("1")
        queue = channel.declare_queue(arguments=living(messages=of_queue))
        channel.publish("1", key=queue, expiration=str(own))
        channel.wait(AFTER)
        channel.gets(plain, b"1")
        finds_nothing(channel, queue)


@scenario("rabbitmq/ttl.dead-behind-others")
@broken_by(
    "does not look behind the head", drops("time-to-live: what is dead goes when it comes to the head")
)
@broken_by("does not know it", drops(BEGINS))
def dead_message_behind_others_is_not_got(broker: Broker) -> None:
    """Of three messages the second expires while it waits behind the first: it is not got after it."""
    channel = broker.channel()
    queue = channel.queue_with("1")
    channel.publish("2", key=queue, expiration=str(SHORT))
    channel.publish("3", key=queue)
    channel.wait(AFTER)
    channel.gets(queue, b"1", b"3")
    has_no_message(broker, queue)


@scenario("rabbitmq/ttl.dead-lettered")
@broken_by("lets it be lost", changes(DEAD, expire_and_lose))
@broken_by("loses what is put back", changes("time-to-live: what is put back too late goes", leave_it))
def dead_message_is_sent_on(broker: Broker) -> None:
    """A message that dies on its queue, and one that is put back dead, come to the queue for dead ones."""
    channel, other = broker.channel(), broker.channel()
    dead = channel.declare_queue()
    other.consume(dead, no_ack=True)
    goes_on = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
    queue = channel.declare_queue(arguments={"x-message-ttl": 5 * SHORT, **goes_on})
    with broker.before(5 * SHORT / 1000):
        channel.publish("1", key=queue)
        channel.publish("2", key=queue)
        channel.ask(Basic.Get(queue), Basic.GetOk)
    other.expect(message(Basic.Deliver, b"2"))
    channel.wait(AFTER)
    channel.close()
    other.expect(message(Basic.Deliver, b"1"))


@scenario("rabbitmq/ttl.dead-behind-others")
@broken_by("gives it to whom the one before is not for", drops(BEHIND))
def dead_message_behind_a_refused_one_is_not_got(broker: Broker) -> None:
    """A message expires behind one that this channel has refused: Get gives that again, or nothing."""
    channel = broker.channel()
    queue = channel.queue_with("1")
    channel.publish("2", key=queue, expiration=str(2 * SHORT))
    channel.send(Basic.Reject(channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag, requeue=True))
    channel.wait(2 * AFTER)
    channel.tries(Basic.Get(queue, no_ack=True), message(Basic.GetOk, b"1") | EMPTY)
