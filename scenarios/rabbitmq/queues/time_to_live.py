"""Time-to-live: how long messages live on a queue, and a queue that nobody uses."""

from harness.amqp0_9_1.broken.deviations import changes, drops
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, message, refused
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.expiry import (
    BEGINS,
    at_once,
    by_its_queue_alone,
    by_its_queue_first,
    by_itself_alone,
    by_itself_first,
    everywhere_with_the_first,
    has_nothing,
    in_seconds,
    is_no_number,
    is_no_number_or_negative,
    leave_it,
    live_anew,
    not_of_fanout,
    not_renewed_by,
    time_is_over,
    turn_away_what_has_no_time,
    zero_is_no_limit,
)
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import (
    INTERNAL_ERROR,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    Basic,
    Channel,
    Queue,
)
from scenarios.registry import broken_by, scenario

SHORT = 200
"""Milliseconds that are over when AFTER has passed."""
AFTER = 0.5
"""Seconds after which what had SHORT to live is dead, on a server that is busy as well."""
LONG = 60_000
"""Milliseconds that no scenario waits for."""
LEASE = 1200
"""Milliseconds of a queue's lease, of which HALF leaves enough for a busy server."""
HALF = 0.7
GONE = (1.0, 2.0, 4.0)
"""Seconds before each look for a queue whose time is over: each look may count as use."""
DEAD = "time-to-live: what is dead at the head goes"
ENDS = "lease: what was not used is deleted"
WRONG_TTL = "queue.declare: refuses a wrong x-message-ttl"
WRONG_LEASE = "queue.declare: refuses a wrong x-expires"
EMPTY = answered(Basic.GetEmpty)


def living(**milliseconds: int) -> dict[str, object]:
    """Give the arguments of a queue with these limits of time."""
    names = {"messages": "x-message-ttl", "queue": "x-expires"}
    return {"arguments": {names[name]: value for name, value in milliseconds.items()}}


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
    short, plain = channel.queue_with("1", **living(messages=SHORT)), channel.queue_with("1")
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
    queue = channel.queue_with("1", **living(messages=SHORT))
    channel.wait(AFTER)
    channel.consume(queue, no_ack=True)
    channel.hears("2", key=queue)


@scenario("rabbitmq/ttl.not-before")
@broken_by("discards at once", changes(BEGINS, at_once))
def living_message_stays(broker: Broker) -> None:
    """A message with a minute to live, by its queue or by itself, is there a moment later."""
    channel = broker.channel()
    limited, plain = channel.queue_with("1", **living(messages=LONG)), channel.declare_queue()
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
    short, plain = channel.declare_queue(**living(messages=SHORT)), channel.declare_queue()
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
    """Zero and a minute are a time-to-live of messages; -1 and a text are refused: 406."""
    declares_alone(broker, "x-message-ttl", good=(0, LONG), bad=(-1, "1000"))


@scenario("rabbitmq/ttl.zero")
@broken_by("takes zero for no limit", changes(BEGINS, zero_is_no_limit))
@broken_by("does not know it", drops(BEGINS))
def nobody_gets_what_has_no_time(broker: Broker) -> None:
    """With a time-to-live of zero, of the queue or of the message, Get finds nothing."""
    channel = broker.channel()
    queue, plain = channel.queue_with("1", **living(messages=0)), channel.declare_queue()
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
    queue, plain = channel.declare_queue(**living(messages=0)), channel.declare_queue()
    channel.consume(queue, no_ack=True)
    channel.consume(plain, no_ack=True)
    channel.hears("1", key=queue)
    channel.publish("2", key=plain, expiration="0")
    channel.expect(message(Basic.Deliver, b"2"))


@scenario("rabbitmq/ttl.requeued")
@broken_by("lets it live anew", changes("time-to-live: what is put back too late goes", live_anew))
@broken_by("looks no more", drops("time-to-live: what is put back too late goes"))
def message_that_is_put_back_keeps_its_time(broker: Broker) -> None:
    """A message that was got in time and comes back too late is dead; one without a limit comes back."""
    channel, other = broker.channel(), broker.channel()
    short, plain = channel.queue_with("1", **living(messages=2 * SHORT)), channel.declare_queue()
    channel.ask(Basic.Get(short), Basic.GetOk)
    channel.publish("1", key=plain)
    channel.ask(Basic.Get(plain), Basic.GetOk)
    channel.wait(2 * AFTER)
    channel.close()
    other.gets(plain, b"1")
    finds_nothing(other, short)


@scenario("rabbitmq/ttl.requeued")
@broken_by("lets it live anew", changes("requeue: puts the message back, marked redelivered", live_anew))
def message_that_is_put_back_dies_in_its_time(broker: Broker) -> None:
    """A message that was got and put back in time is dead when its own time is over."""
    channel, other = broker.channel(), broker.channel()
    queue = channel.queue_with("1", **living(messages=4 * SHORT))
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
@broken_by("says that it cannot", changes("content: refuses an expiration that is no time", answer=refuse(NOT_IMPLEMENTED)))
def expiration_is_a_number(broker: Broker) -> None:
    """A message that expires after 60000 is taken; after "soon", "-1" or "1.5" it is refused: 406."""
    for text in ("soon", "-1", "1.5"):
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
        queue = channel.declare_queue(**living(messages=of_queue))
        channel.publish("1", key=queue, expiration=str(own))
        channel.wait(AFTER)
        finds_nothing(channel, queue)


@scenario("rabbitmq/ttl.dead-behind-others")
@broken_by("does not look behind the head", drops("time-to-live: what is dead goes when it comes to the head"))
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


def goes(broker: Broker, queue: str) -> None:
    """Judge that a queue is deleted before long."""
    *early, last = GONE
    there = answered(Queue.DeclareOk).under("how promptly it goes is not promised")
    gone = channel_closed(NOT_FOUND)
    for seconds in early:
        channel = broker.channel()
        channel.wait(seconds)
        if isinstance(channel.tries(Queue.Declare(queue, passive=True), gone | there), Channel.Close):
            return
    channel = broker.channel()
    channel.wait(last)
    channel.tries(Queue.Declare(queue, passive=True), gone)


def is_there(channel: AmqpChannel, queue: str) -> None:
    """Judge that a queue has not been deleted."""
    channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)


@scenario("rabbitmq/ttl.unused-queue", slow=True)
@broken_by("keeps it", drops(ENDS))
@broken_by("does not count from its making", not_renewed_by("queue.declare: creates it"))
def unused_queue_is_deleted(broker: Broker) -> None:
    """A queue that nobody uses for as long as it says is not found any more; one that says nothing stays."""
    channel = broker.channel()
    plain, short = channel.declare_queue(), channel.declare_queue(**living(queue=SHORT))
    goes(broker, short)
    is_there(channel, plain)


@scenario("rabbitmq/ttl.consumed-queue", slow=True)
@broken_by("deletes it under its consumer", changes(ENDS, condition=time_is_over))
def consumed_queue_stays(broker: Broker) -> None:
    """A queue with a consumer is there when its time is over, and delivers."""
    channel = broker.channel()
    queue = channel.declare_queue(**living(queue=LEASE))
    channel.consume(queue, no_ack=True)
    channel.wait(LEASE / 1000 + AFTER)
    channel.hears("1", key=queue)


@scenario("rabbitmq/ttl.consumed-queue", slow=True)
@broken_by("keeps it for good", drops("lease: begins when the last consumer is gone"))
def queue_goes_after_its_last_consumer(broker: Broker) -> None:
    """A queue that was consumed from for longer than it says is deleted after the last consumer."""
    channel = broker.channel()
    queue = channel.declare_queue(**living(queue=2 * SHORT))
    tag = channel.consume(queue)
    channel.wait(2 * AFTER)
    channel.ask(Basic.Cancel(tag))
    goes(broker, queue)


def is_kept_by(broker: Broker, use: Method, queue: str) -> None:
    """Judge that a queue with a LEASE, declared just now, is there behind it when it was used amid it."""
    channel = broker.channel()
    channel.wait(HALF)
    channel.ask(use)
    channel.wait(HALF)
    is_there(channel, queue)


@scenario("rabbitmq/ttl.got-queue", slow=True)
@broken_by("does not count Get", not_renewed_by("basic.get: answers that the queue is empty"))
@broken_by("counts nothing", changes(ENDS, condition=has_nothing))
def queue_that_is_got_from_stays(broker: Broker) -> None:
    """Get, from an empty queue, amid the time that is left to it: it is there when that is over."""
    queue = broker.channel().declare_queue(**living(queue=LEASE))
    is_kept_by(broker, Basic.Get(queue), queue)


@scenario("rabbitmq/ttl.got-queue", slow=True)
@broken_by("does not count a Get that gets", not_renewed_by("basic.get: without acknowledgement"))
def queue_that_gives_a_message_stays(broker: Broker) -> None:
    """Get of a message without acknowledgement amid the time that is left to its queue: it is there behind it."""
    queue = broker.channel().queue_with("1", **living(queue=LEASE))
    is_kept_by(broker, Basic.Get(queue, no_ack=True), queue)


@scenario("rabbitmq/ttl.got-queue", slow=True)
@broken_by("does not count a Get that gets", not_renewed_by("basic.get: awaits acknowledgement"))
def queue_that_lends_a_message_stays(broker: Broker) -> None:
    """Get of a message amid the time that is left to its queue: the queue is there when that is over."""
    queue = broker.channel().queue_with("1", **living(queue=LEASE))
    is_kept_by(broker, Basic.Get(queue), queue)


@scenario("rabbitmq/ttl.declared-queue", slow=True)
@broken_by("does not count Declare", not_renewed_by("queue.declare: confirms the same again"))
@broken_by("counts nothing", changes(ENDS, condition=has_nothing))
def queue_that_is_declared_again_stays(broker: Broker) -> None:
    """Declare amid the time that is left to a queue: it is there when that is over."""
    queue = broker.channel().declare_queue(**living(queue=LEASE))
    is_kept_by(broker, Queue.Declare(queue, arguments={"x-expires": LEASE}), queue)


@scenario("rabbitmq/ttl.illegal-lease")
@broken_by("takes any value", drops(WRONG_LEASE))
@broken_by("takes any number", changes(WRONG_LEASE, condition=is_no_number("x-expires")))
@broken_by("takes zero", changes(WRONG_LEASE, condition=is_no_number_or_negative("x-expires")))
@broken_by("calls it an error of its own", changes(WRONG_LEASE, answer=refuse(INTERNAL_ERROR)))
def lease_is_a_positive_number(broker: Broker) -> None:
    """A minute is a time for a queue; 0, -1 and a text are refused: 406."""
    declares_alone(broker, "x-expires", good=(LONG,), bad=(0, -1, "1000"))
