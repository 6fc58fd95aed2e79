"""What the vendor makes of sentences of 0-9-1 that are wrong, silent or in contradiction."""

from harness.amqp0_9_1.broken.deviations import (
    answers,
    changes,
    drops,
    forwards,
    ignores,
    rejects,
    rewrites,
    withholds,
)
from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    channel_closed,
    connection_closed,
    message,
    refused,
)
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.queue import declared_queue_is_locked, exists_otherwise
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NOT_ALLOWED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    RESOURCE_LOCKED,
    Basic,
    Channel,
    Exchange,
    Queue,
)
from scenarios.registry import broken_by, scenario

LOCKED = refused(RESOURCE_LOCKED)
GONE = refused(NOT_FOUND)
EQUIVALENT = refused(PRECONDITION_FAILED)
CLOSED = (channel_closed(ACCESS_REFUSED), EXCEPTION.under("no sentence names the code"))
NO_ROUTE = 312
TYPED = "exchange.declare: refuses another type"
SAYS_LOCKED = "refuses a queue locked by another connection"
DECLARES_LOCKED = f"queue.declare: {SAYS_LOCKED}"
REJECTED = "basic.reject: refuses a tag of no delivered message"


def is_locked_and_equivalent(turn: Turn) -> bool:
    """Say whether nothing is wrong but that the queue is another connection's."""
    return declared_queue_is_locked(turn) and not exists_otherwise(turn)


def exclusive(broker: Broker) -> str:
    """Give a queue that is exclusive to a connection of its own."""
    return broker.channel(new_connection=True).declare_queue(exclusive=True)


def elsewhere(broker: Broker) -> AmqpChannel:
    """Give a channel on a connection of its own."""
    return broker.channel(new_connection=True)


# -- queues that go ------------------------------------------------------------------------------------


@scenario("rabbitmq/errata.deletion-synchronous")
@broken_by("keeps it", drops("consumer end: the last one deletes an auto-delete queue"))
@broken_by("keeps exclusive queues", drops("connection end: deletes its exclusive queues"))
@broken_by("keeps it while its channel is open", changes("basic.cancel: ends the consumer", effects=()))
@broken_by("hears no Close of a channel", answers(Channel.Close, Channel.CloseOk()))
def queues_are_gone_at_once(broker: Broker) -> None:
    """Queues with auto-delete are gone with their consumer, exclusive ones with their connection."""
    witness = elsewhere(broker)
    for ends in ("consumer", "channel", "connection"):
        channel = elsewhere(broker)
        queue, own = channel.declare_queue(auto_delete=True), channel.declare_queue(exclusive=True)
        tag = channel.consume(queue)
        if ends == "consumer":
            channel.ask(Basic.Cancel(tag))
        elif ends == "channel":
            channel.close()
        else:
            channel.connection.shake_hands()
            witness.refuses(Queue.Declare(own, passive=True), *GONE)
        witness.refuses(Queue.Declare(queue, passive=True), *GONE)


@scenario("rabbitmq/errata.durable-exclusive")
@broken_by("takes it as it is", drops("queue.declare: an exclusive queue is not durable"))
@broken_by("refuses it", rejects(Queue.Declare, PRECONDITION_FAILED, lambda it: it.durable and it.exclusive))
def exclusive_queue_is_not_durable(broker: Broker) -> None:
    """A durable exclusive queue is the same as an exclusive one that is not durable: nobody else has it."""
    channel = broker.channel()
    queue = broker.name("queue")
    channel.tries(Queue.Declare(queue, durable=True, exclusive=True), Queue.DeclareOk)
    channel.tries(Queue.Declare(queue, exclusive=True), Queue.DeclareOk)
    elsewhere(broker).refuses(Queue.Declare(queue, passive=True), *LOCKED)


# -- declaring again -----------------------------------------------------------------------------------


@scenario("rabbitmq/errata.not-equivalent")
@broken_by("has another code for a type", changes(TYPED, answer=refuse(NOT_ALLOWED)))
@broken_by("takes any type", drops(TYPED))
@broken_by("takes any queue", drops("queue.declare: refuses another durable or exclusive or other arguments"))
@broken_by("takes any exchange", answers(Exchange.Declare, Exchange.DeclareOk(), lambda it: it.durable))
def another_queue_or_exchange_is_refused(broker: Broker) -> None:
    """A queue is refused as a durable one, an exchange as a durable one and as one of another type."""
    channel, queue = broker.queue()
    exchange = channel.declare_exchange("direct")
    channel.refuses(Queue.Declare(queue, durable=True), *EQUIVALENT)
    channel.refuses(Exchange.Declare(exchange, "direct", durable=True), *EQUIVALENT)
    channel.refuses(Exchange.Declare(exchange, "topic"), *EQUIVALENT)


@scenario("rabbitmq/errata.predeclared-durable")
@broken_by("has them not durable", forwards(Exchange.Declare, durable=False))
@broken_by("looks at nothing", answers(Exchange.Declare, Exchange.DeclareOk(), lambda it: not it.passive))
def predeclared_exchanges_are_durable(broker: Broker) -> None:
    """Each of the pre-declared exchanges can be declared as durable, and not as another one."""
    channel = broker.channel()
    for kind in ("direct", "fanout", "topic", "headers"):
        name = f"amq.{kind}"
        there = Exchange.Declare(name, kind, passive=True)
        if kind == "headers" and not channel.takes(there, Exchange.DeclareOk):
            channel, name = broker.channel(), "amq.match"
        channel.tries(Exchange.Declare(name, kind, durable=True), Exchange.DeclareOk)
        channel.refuses(Exchange.Declare(name, kind, durable=False), *EQUIVALENT)


@scenario("rabbitmq/spec-differences.reserved-not-deleted", disruptive=True)
@broken_by(
    "deletes them", answers(Exchange.Delete, Exchange.DeleteOk(), lambda it: it.exchange.startswith("amq."))
)
@broken_by(
    "keeps those that are used", answers(Exchange.Delete, Exchange.DeleteOk(), lambda it: it.if_unused)
)
@broken_by("deletes nothing", rejects(Exchange.Delete, NOT_ALLOWED))
def predeclared_exchanges_stay(broker: Broker) -> None:
    """An exchange of ours can be deleted, a pre-declared one cannot, unused or not."""
    channel = broker.channel()
    channel.tries(Exchange.Delete(channel.declare_exchange()), Exchange.DeleteOk)
    for kind in ("direct", "fanout", "topic"):
        for if_unused in (False, True):
            channel = channel if channel.connection.usable else elsewhere(broker)
            channel.refuses(Exchange.Delete(f"amq.{kind}", if_unused), *CLOSED)
        broker.channel().tries(Exchange.Declare(f"amq.{kind}", kind, passive=True), Exchange.DeclareOk)


# -- exclusive queues ----------------------------------------------------------------------------------


@scenario("rabbitmq/errata.exclusive-everywhere")
@broken_by("lets others declare it", drops(DECLARES_LOCKED))
@broken_by("lets others bind it", drops(f"queue.bind: {SAYS_LOCKED}"))
@broken_by("lets others unbind it", drops(f"queue.unbind: {SAYS_LOCKED}"))
@broken_by("lets others purge it", drops(f"queue.purge: {SAYS_LOCKED}"))
@broken_by("lets others delete it", drops(f"queue.delete: {SAYS_LOCKED}"))
@broken_by("lets others consume from it", drops(f"basic.consume: {SAYS_LOCKED}"))
@broken_by("lets others get from it", drops(f"basic.get: {SAYS_LOCKED}"))
def exclusive_queue_is_refused_to_all_methods(broker: Broker) -> None:
    """A queue that is exclusive to another connection is refused to every method that names it."""
    owner = elsewhere(broker)
    queue = owner.declare_queue(exclusive=True)
    owner.bind(queue, "amq.direct", "key")
    for method in (
        Queue.Declare(queue, exclusive=True),
        Queue.Declare(queue, passive=True),
        Queue.Bind(queue, "amq.direct", "another key"),
        Queue.Unbind(queue, "amq.direct", "key"),
        Queue.Purge(queue),
        Queue.Delete(queue),
        Basic.Consume(queue),
        Basic.Get(queue),
    ):
        either = channel_closed(RESOURCE_LOCKED) | connection_closed(RESOURCE_LOCKED)
        elsewhere(broker).refuses(method, *([either] if isinstance(method, Queue.Unbind) else LOCKED))


@scenario("rabbitmq/errata.exclusive-first")
@broken_by("looks at the rest first", changes(DECLARES_LOCKED, condition=is_locked_and_equivalent))
def exclusive_comes_first(broker: Broker) -> None:
    """A queue that is exclusive to another connection is refused as such, though it is declared otherwise."""
    queue = exclusive(broker)
    elsewhere(broker).refuses(Queue.Declare(queue, durable=True, arguments={"x-expires": 60_000}), *LOCKED)


@scenario("rabbitmq/errata.passive-no-wait")
@broken_by("says nothing of queues", ignores(Queue.Declare, lambda sent: sent.no_wait))
@broken_by("says nothing of exchanges", ignores(Exchange.Declare, lambda sent: sent.no_wait))
@broken_by("lets others look", drops(DECLARES_LOCKED))
def passive_declare_fails_without_waiting(broker: Broker) -> None:
    """With no-wait a missing queue is refused, a missing exchange, and a queue of another connection."""
    locked = exclusive(broker)
    channel = elsewhere(broker).misses("queue")
    channel.refuses(Queue.Declare(broker.name("queue"), passive=True, no_wait=True), *GONE)
    channel.refuses(Exchange.Declare(broker.name("exchange"), "direct", passive=True, no_wait=True), *GONE)
    channel.refuses(Queue.Declare(locked, passive=True, no_wait=True), *LOCKED)


# -- the default exchange ------------------------------------------------------------------------------


@scenario("rabbitmq/errata.default-exchange")
@broken_by("lets it be declared", answers(Exchange.Declare, Exchange.DeclareOk(), lambda it: not it.exchange))
@broken_by("lets it be deleted", answers(Exchange.Delete, Exchange.DeleteOk(), lambda it: not it.exchange))
@broken_by("lets queues be bound to it", drops("queue.bind: refuses the default exchange"))
@broken_by("lets queues be unbound from it", drops("queue.unbind: refuses the blank exchange"))
@broken_by("does not route", ignores(Basic.Publish))
def default_exchange_is_for_publishing(broker: Broker) -> None:
    """By the default exchange messages come to queues; it is neither declared, deleted, bound nor unbound."""
    channel, queue = broker.queue(b"published")
    channel.gets(queue, b"published")
    for method in (
        Exchange.Declare("", "direct", durable=True),
        Exchange.Delete(""),
        Queue.Bind(queue, "", "key"),
        Queue.Unbind(queue, "", queue),
    ):
        channel = elsewhere(broker)
        channel.refuses(method, *CLOSED)


# -- messages ------------------------------------------------------------------------------------------


@scenario("rabbitmq/errata.no-route")
@broken_by("has another code", rewrites(Basic.Return, reply_code=NOT_FOUND))
@broken_by("returns nothing", withholds(Basic.Return))
def unroutable_message_comes_back_with_its_code(broker: Broker) -> None:
    """A mandatory message to an exchange without bindings comes back with 312."""
    channel = broker.channel()
    exchange = channel.declare_exchange()
    channel.publish(b"nowhere", exchange=exchange, key="key", mandatory=True)
    channel.expect(message(Basic.Return, b"nowhere", reply_code=NO_ROUTE))


@scenario("rabbitmq/errata.unknown-tag-rejected")
@broken_by("passes it over", ignores(Basic.Reject, skip=1))
@broken_by("has another code", changes(REJECTED, answer=refuse(NOT_ALLOWED)))
def unknown_tag_is_rejected(broker: Broker) -> None:
    """Reject of a message that was got is taken, that of the next tag refused."""
    channel, queue = broker.queue(b"one")
    tag = channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag
    channel.send(Basic.Reject(tag, requeue=False))
    channel.stays_quiet()
    channel.refuses(Basic.Reject(tag + 1, requeue=False), *EQUIVALENT)
