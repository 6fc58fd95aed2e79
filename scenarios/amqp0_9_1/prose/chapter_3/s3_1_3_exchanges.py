"""3.1.3: how long an exchange lasts, how fanout and topic route, which types there may be."""

from collections.abc import Iterator, Mapping

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, ignores, routes, swaps
from harness.amqp0_9_1.broken.entity_faults import (
    become_direct,
    delete_unless,
    is_durable_unless,
    one_queue_of,
)
from harness.amqp0_9_1.broken.faults import (
    first_queue_only,
    hash_wants_a_word,
    no_empty_words,
    only_with_a_key,
    purge_every_queue,
    star_takes_any_number,
)
from harness.amqp0_9_1.broken.restart_faults import brings_back, exchange_again
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, message, refused
from harness.amqp0_9_1.peer.routing import direct
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Basic, Exchange, Queue
from harness.play.context import RESTART, Restart
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types, knows
from scenarios.registry import broken_by, scenario

PURGES = "queue.purge: removes what awaits no acknowledgement"
DROPPED = "restart: drops transient exchanges"
KEPT = "restart: keeps durable exchanges"


@scenario("0-9-1/prose/3.1.3.message-copied-to-queues")
@broken_by("gives it to one queue", swaps(queues_for=first_queue_only))
@broken_by("has one message for all", changes(PURGES, purge_every_queue))
def each_queue_has_a_message_of_its_own(broker: Broker) -> None:
    """Three queues get one message. In one it is acknowledged, in one purged: in the third it is there."""
    channel = broker.channel()
    exchange = channel.declare_exchange("direct")
    first, second, third = (bound(channel, exchange, "key") for _ in range(3))
    channel.publish(b"copied", exchange=exchange, key="key")
    channel.send(Basic.Ack(channel.tries(Basic.Get(first), message(Basic.GetOk, b"copied")).delivery_tag))
    channel.tries(Queue.Purge(second), Queue.PurgeOk)
    channel.gets(third, b"copied")


@scenario("0-9-1/prose/3.1.3.message-copied-to-queues")
@broken_by("gives it to one queue of a fanout exchange", swaps(queues_for=one_queue_of("fanout")))
@broken_by("gives it to one queue of a topic exchange", swaps(queues_for=one_queue_of("topic")))
@broken_by("gives it to one queue of a headers exchange", swaps(queues_for=one_queue_of("headers")))
def exchange_of_each_other_type_copies_to_all_queues(broker: Broker) -> None:
    """A message comes to each of three queues bound alike to an exchange that is no direct one."""
    for kind in [each for each in known_types(broker) if each != "direct"]:
        channel = broker.channel()
        exchange = channel.declare_exchange(kind)
        queues = [channel.declare_queue() for _ in range(3)]
        for queue in queues:
            channel.ask(WAYS[kind].bind(queue, exchange))
        WAYS[kind].publish(channel, exchange, b"copied")
        for queue in queues:
            channel.consumes(queue, b"copied")


def bound(channel: AmqpChannel, exchange: str, key: str = "") -> str:
    """Give a queue of its own, bound to the exchange."""
    queue = channel.declare_queue()
    channel.bind(queue, exchange, key)
    return queue


@scenario("0-9-1/prose/3.1.3.durable-exchange-lasts")
@broken_by("forgets it", drops("restart: keeps durable exchanges"))
@broken_by("keeps what is deleted", changes("exchange.delete: deletes it", effects=()))
@broken_by("forgets those of one type", changes(KEPT, condition=is_durable_unless("fanout")))
@broken_by("remembers direct exchanges only", changes(KEPT, become_direct))
def durable_exchange_is_there_until_deleted(broker: Broker) -> Iterator[Restart]:
    """A durable exchange of each type is there after the restart, and routes; once deleted it is not."""
    types = known_types(broker)
    exchanges = {kind: broker.channel().declare_exchange(kind, durable=True) for kind in types}
    yield RESTART
    broker.channel().misses("exchange")
    for kind, exchange in exchanges.items():
        look = Exchange.Declare(exchange, kind, passive=True)
        channel = broker.channel()
        channel.tries(look, Exchange.DeclareOk)
        queue = channel.declare_queue()
        channel.ask(WAYS[kind].bind(queue, exchange))
        WAYS[kind].publish(channel, exchange, b"through")
        channel.gets(queue, b"through")
        channel.ask(Exchange.Delete(exchange))
        channel.tries(look, *refused(NOT_FOUND))


@scenario("0-9-1/prose/3.1.3.durable-exchange-lasts")
@broken_by("brings back what was deleted", brings_back("exchange.delete: deletes it", exchange_again))
def deleted_exchange_is_gone_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """A durable exchange of each type that was deleted before the restart is not there after it."""
    channel = broker.channel()
    exchanges = {kind: channel.declare_exchange(kind, durable=True) for kind in known_types(broker)}
    for exchange in exchanges.values():
        channel.ask(Exchange.Delete(exchange))
    channel.settle()
    yield RESTART
    for kind, exchange in exchanges.items():
        broker.channel().tries(Exchange.Declare(exchange, kind, passive=True), *refused(NOT_FOUND))


@scenario("0-9-1/prose/3.1.3.transient-exchange-ends")
@broken_by("keeps it", changes(DROPPED, effects=()))
@broken_by("keeps no exchange", drops("restart: keeps durable exchanges"))
@broken_by("keeps those of one type", changes(DROPPED, delete_unless("topic")))
def transient_exchange_ends_with_the_server(broker: Broker) -> Iterator[Restart]:
    """Of a durable and a transient exchange of each type only the durable one is there after the restart."""
    channel = broker.channel()
    exchanges = {
        kind: [channel.declare_exchange(kind, durable=each) for each in (True, False)]
        for kind in known_types(broker)
    }
    yield RESTART
    for kind, (durable, transient) in exchanges.items():
        channel = broker.channel()
        channel.tries(Exchange.Declare(durable, kind, passive=True), Exchange.DeclareOk)
        channel.tries(Exchange.Declare(transient, kind, passive=True), *refused(NOT_FOUND))


@scenario("0-9-1/prose/3.1.3.2.fanout-unconditional")
@broken_by("compares keys", routes(fanout=direct))
@broken_by("passes no message without a key", routes(fanout=only_with_a_key))
def fanout_takes_no_notice_of_keys(broker: Broker) -> None:
    """Two queues, bound with a key and without, get what is published with it, with another and with none."""
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    queues = bound(channel, exchange, "key"), bound(channel, exchange)
    for key in ("key", "another", ""):
        channel.publish(f"by {key!r}", exchange=exchange, key=key)
    for queue in queues:
        channel.gets(queue, *(f"by {key!r}".encode() for key in ("key", "another", "")))


# -- topic ---------------------------------------------------------------------------------------------

NO_WORDS = ("two words", "two-words", "two..dots", "dot.at.end.", ".dot.first")
"""Keys that do not consist of words of letters and digits with dots between."""


def topic(broker: Broker) -> tuple[AmqpChannel, str]:
    """Give a channel, and a topic exchange of its own."""
    if not knows(broker, "topic"):
        broker.inapplicable("the server has no topic exchanges")
    channel = broker.channel()
    return channel, channel.declare_exchange("topic")


@scenario("0-9-1/prose/3.1.3.3.topic-key-of-words")
@broken_by("drops keys with a space", ignores(Basic.Publish, when=lambda it: " " in it.routing_key))
@broken_by("takes the empty word for none", routes(topic=no_empty_words))
def keys_that_are_no_words_are_recorded(broker: Broker) -> None:
    """What becomes of messages whose keys are not made of words, where a queue is bound with #."""
    channel, exchange = topic(broker)
    queue = bound(channel, exchange, "#")
    channel.publish(b"two words", exchange=exchange, key="two.words")
    channel.ask(Basic.Get(queue, no_ack=True), Basic.GetOk)
    for key in NO_WORDS:
        channel = broker.channel()
        channel.publish(b"by its key", exchange=exchange, key=key)
        channel.send(Basic.Get(queue, no_ack=True))
        came = channel.expect((answered(Basic.GetOk, Basic.GetEmpty) | channel_closed()).recorded())
        broker.note(f"{key!r}: {came.full_name}")


KEYS = ("a.stock", "usd.stock", "eur.stock.db", "stock.nasdaq", "a", "a.b", "a.x.y.b", "b.a", "")
MATCHED: Mapping[str, tuple[str, ...]] = {
    "*.stock.#": ("a.stock", "usd.stock", "eur.stock.db"),
    "#": KEYS,
    "*": ("a",),
    "a.#.b": ("a.b", "a.x.y.b"),
    "#.a": ("a", "b.a"),
    "*.*": ("a.stock", "usd.stock", "stock.nasdaq", "a.b", "b.a"),
}
"""Patterns, and which of the keys they match. Whether * matches the empty key the text does not say."""


@scenario("0-9-1/prose/3.1.3.3.topic-patterns")
@broken_by("compares keys", routes(topic=direct))
@broken_by("takes # for one word or more", routes(topic=hash_wants_a_word))
@broken_by("takes * for any number of words", routes(topic=star_takes_any_number))
def patterns_match_word_by_word(broker: Broker) -> None:
    """Queues bound by six patterns get, of nine messages, those whose keys the pattern matches."""
    channel, exchange = topic(broker)
    queues = {pattern: bound(channel, exchange, pattern) for pattern in MATCHED}
    for key in KEYS:
        channel.publish(key, exchange=exchange, key=key)
    for pattern, queue in queues.items():
        got = [body.decode(errors="replace") for body in channel.drain(queue)]
        told = [key for key in got if key or pattern != "*"]
        wanted = list(MATCHED[pattern])
        broker.judge(f"by {pattern} come {wanted}", f"by {pattern} come {told}", told == wanted)


# -- types ---------------------------------------------------------------------------------------------


@scenario("0-9-1/prose/3.1.3.5.system-exchange")
@broken_by("has it", answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda it: it.type == "system"))
def system_exchange_is_recorded(broker: Broker) -> None:
    """Whether an exchange of type system can be declared."""
    channel = broker.channel()
    channel.send(Exchange.Declare(broker.name("exchange"), "system"))
    channel.expect(answered(Exchange.DeclareOk).recorded(), EXCEPTION.recorded())


TAKEN = ("random", "default", "content", "failover", "xml")
"""Types that are no standard's, some of which servers are known to have had under these names."""


@scenario("0-9-1/prose/3.1.3.6.own-types-begin-with-x")
@broken_by("takes any type", drops("exchange.declare: refuses a type that is not supported"))
@broken_by(
    "has a type random", answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda it: it.type == "random")
)
def types_without_x_are_refused(broker: Broker) -> None:
    """A direct exchange is declared; one of a type that no standard names, and without x-, is refused."""
    broker.channel().declare_exchange("direct")
    for kind in (f"kind-{broker.context.prefix}", *TAKEN):
        broker.channel().tries(Exchange.Declare(broker.name("exchange"), kind), EXCEPTION)
