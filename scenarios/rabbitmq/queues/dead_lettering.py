"""Dead letters: which messages become one, and where they go."""

from typing import Any

from harness.amqp0_9_1.broken.deviations import answers, changes, forwards, ignores, rewrites, routes
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import Received, channel_closed, connection_closed, message, refused
from harness.amqp0_9_1.peer.life import delete_queue
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.routing import direct
from harness.amqp0_9_1.rabbitmq.broken.queues.dead_letters import (
    bury_a_copy,
    bury_once_in_each_queue,
    bury_what_was_acknowledged,
    bury_what_was_consumed,
    drop_it,
    expire_a_copy,
    expire_as_if_rejected,
    expire_unseen,
    expire_with_a_short_memory,
    takes,
    with_key,
    without,
)
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, PRECONDITION_FAILED, Basic, Channel, Exchange, Queue
from scenarios.registry import broken_by, scenario

EXCHANGE = "x-dead-letter-exchange"
KEY = "x-dead-letter-routing-key"
REJECTED = "reject: without requeue sends to the dead-letter exchange"
EXPIRES = "time-to-live: what is dead at the head goes"
UNKNOWN = forwards(Queue.Declare, arguments=without(EXCHANGE))
BY_QUEUE = changes(REJECTED, with_key(lambda entry: entry.queue.name))
WANTS_IT_FIRST = answers(Queue.Declare, Channel.Close(NOT_FOUND), when=lambda it: EXCHANGE in it.arguments)
SOON = 100
"""Milliseconds after which a message or a queue is to expire."""


def grave(broker: Broker, kind: str = "fanout", *keys: str) -> tuple[str, AmqpChannel]:
    """Give an exchange for dead letters, and a channel that consumes from a queue bound by these keys."""
    channel = broker.channel()
    exchange, queue = channel.declare_exchange(kind), channel.declare_queue()
    for key in keys or ("",):
        channel.bind(queue, exchange, key)
    return exchange, broker.channel().consuming(queue, no_ack=True)


def reading(broker: Broker, exchange: str, key: str, **arguments: Any) -> AmqpChannel:
    """Bind a further queue to an exchange, and give a channel that consumes from it."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.ask(Queue.Bind(queue, exchange, key, arguments=arguments))
    return channel.consuming(queue, no_ack=True)


def declares(channel: AmqpChannel, name: str = "", **arguments: Any) -> str:
    """Judge that a queue can be declared with these arguments, by their names with "_" for "-"; give it."""
    queue = name or channel.new_name("queue")
    spelt = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    channel.tries(Queue.Declare(queue, arguments=spelt), Queue.DeclareOk)
    return queue


def mortal(channel: AmqpChannel, exchange: str, *bodies: str, **arguments: Any) -> str:
    """Judge that a queue can be declared whose dead letters go to an exchange; give it, with messages."""
    queue = declares(channel, dead_letter_exchange=exchange, **arguments)
    for body in bodies:
        channel.publish(body, key=queue)
    return queue


def reject(channel: AmqpChannel, queue: str) -> None:
    """Take a message of a queue, and reject it without requeue."""
    tag = channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag
    channel.send(Basic.Reject(tag, requeue=False))


def dies(channel: AmqpChannel) -> Received:
    """Judge that a message comes to the consumer of a channel, reject it without requeue, and give it."""
    seen = letter(channel)
    channel.send(Basic.Reject(seen.method.delivery_tag, requeue=False))
    return seen


def letter(channel: AmqpChannel, body: str | None = None) -> Received:
    """Judge that a dead letter comes, and give it."""
    seen = channel.observe(message(Basic.Deliver, None if body is None else body.encode()))
    assert isinstance(seen, Received)
    return seen


def headers_of(seen: Received) -> dict[str, Any]:
    """Give the headers of a message; none where it has none."""
    return dict(getattr(seen.properties, "headers", None) or {})


def is_refused(broker: Broker, declaration: Queue.Declare) -> None:
    """Judge that a Declare is refused, best with 406; that of its channel ends no other one."""
    channel, other = broker.channel(), broker.channel()
    any_code = (channel_closed() | connection_closed()).under("no sentence names the code")
    answer = channel.tries(declaration, channel_closed(PRECONDITION_FAILED), any_code)
    if isinstance(answer, Channel.Close):
        other.stays_quiet()


# -- which messages ------------------------------------------------------------------------------------


@scenario("rabbitmq/dlx.rejected")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("drops it", changes(REJECTED, drop_it))
@broken_by("puts it back", forwards(Basic.Reject, requeue=True))
@broken_by("looks at what was consumed alone", changes(REJECTED, bury_what_was_consumed))
def rejected_message_is_a_dead_letter(broker: Broker) -> None:
    """A message that was got and one that was consumed, both rejected without requeue, are dead letters."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue = mortal(channel, exchange, "got")
    reject(channel, queue)
    letter(reader, "got")
    consumer = broker.channel().consuming(queue)
    channel.publish("consumed", key=queue)
    dies(consumer)
    letter(reader, "consumed")


@scenario("rabbitmq/dlx.nacked")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("drops them", changes(REJECTED, drop_it))
@broken_by("takes it for one message", forwards(Basic.Nack, multiple=False))
@broken_by("puts them back", forwards(Basic.Nack, requeue=True))
def messages_refused_together_are_dead_letters(broker: Broker) -> None:
    """Of three messages two are refused by one Nack without requeue and one by another: all three come."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    channel.consume(mortal(channel, exchange, "1", "2", "3"))
    _, second, third = [letter(channel).method.delivery_tag for _ in range(3)]
    channel.send(Basic.Nack(second, multiple=True), Basic.Nack(third))
    came = sorted(letter(reader).body for _ in range(3))
    broker.judge("a letter for each of the three", "other letters", came == [b"1", b"2", b"3"])


@scenario("rabbitmq/dlx.expired")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("drops them", changes(EXPIRES, expire_unseen))
@broken_by("knows no expiration", takes(expiration=None))
@broken_by("knows no x-message-ttl", forwards(Queue.Declare, arguments=without("x-message-ttl")))
def expired_message_is_a_dead_letter(broker: Broker) -> None:
    """A message with an expiration and one in a queue with x-message-ttl come when that time is over."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    channel.publish("its own", key=mortal(channel, exchange), expiration=f"{SOON}")
    letter(reader, "its own")
    mortal(channel, exchange, "its queue's", message_ttl=SOON)
    letter(reader, "its queue's")


@scenario("rabbitmq/dlx.maxlen")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("knows no limit", forwards(Queue.Declare, arguments=without("x-max-length")))
def dropped_message_is_a_dead_letter(broker: Broker) -> None:
    """Of two messages in a queue for one the older comes as a dead letter."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    mortal(channel, exchange, "older", "newer", max_length=1)
    letter(reader, "older")


@scenario("rabbitmq/dlx.expired-queue")
@broken_by("buries what waits in it", changes("lease: what was not used is deleted", delete_queue))
@broken_by("knows no dead letters", UNKNOWN)
def messages_of_an_expired_queue_are_no_dead_letters(broker: Broker) -> None:
    """When a queue with x-expires is gone, a message rejected elsewhere is the first to be dead-lettered.

    That it is gone shows when a message in a queue beside it has expired after three times as long.
    """
    channel, (exchange, reader) = broker.channel(), grave(broker)
    other, later = grave(broker)
    queue = mortal(channel, exchange, "in the queue", expires=SOON)
    mortal(channel, other, "later", message_ttl=3 * SOON)
    letter(later, "later")
    broker.channel().tries(Queue.Declare(queue, passive=True), *refused(NOT_FOUND))
    reject(channel, mortal(channel, exchange, "rejected"))
    letter(reader, "rejected")


@scenario("rabbitmq/dlx.nothing-else")
@broken_by("takes every end for a death", changes("basic.ack: settles", bury_what_was_acknowledged))
@broken_by("knows no dead letters", UNKNOWN)
def what_did_not_die_is_no_dead_letter(broker: Broker) -> None:
    """Messages that were acknowledged, need no acknowledgement or are purged are not dead-lettered.

    The first letter is for one that is rejected after them.
    """
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue = mortal(channel, exchange, "acknowledged", "without acknowledgement", "purged")
    channel.send(Basic.Ack(channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag))
    channel.ask(Basic.Get(queue, no_ack=True), Basic.GetOk)
    channel.ask(Queue.Purge(queue))
    channel.publish("rejected", key=queue)
    reject(channel, queue)
    letter(reader, "rejected")


@scenario("rabbitmq/dlx.leaves-its-queue")
@broken_by("keeps what is rejected", changes(REJECTED, bury_a_copy))
@broken_by("keeps what expires", changes(EXPIRES, expire_a_copy))
@broken_by("knows no dead letters", UNKNOWN)
def dead_message_leaves_its_queue(broker: Broker) -> None:
    """Queues out of which a message was rejected, has expired or was dropped for another have it no more."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    rejected, expired = mortal(channel, exchange, "1"), mortal(channel, exchange, "2", message_ttl=SOON)
    dropped = mortal(channel, exchange, "3", "4", max_length=1)
    reject(channel, rejected)
    came = sorted(letter(reader).body for _ in range(3))
    broker.judge("a letter for each of the three", "other letters", came == [b"1", b"2", b"3"])
    left = [body for queue in (rejected, expired, dropped) for body in broker.channel().drain(queue)]
    broker.judge("none of them in its queue", "one of them in its queue", left == [b"4"])


# -- where they go -------------------------------------------------------------------------------------


@scenario("rabbitmq/dlx.exchange-types")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("routes by equal keys alone", routes(topic=direct, headers=direct))
@broken_by("routes everything everywhere", routes(direct=lambda *_: True, topic=lambda *_: True))
def exchange_of_any_type_takes_dead_letters(broker: Broker) -> None:
    """A direct, a topic, a headers and a fanout exchange route dead letters as they route the rest."""
    channel = broker.channel()
    for kind, key, other in (
        ("direct", "a.dead.letter", "a.living.letter"),
        ("topic", "*.dead.*", "*.living.*"),
        ("headers", "", ""),
        ("fanout", "", None),
    ):
        exchange = channel.declare_exchange(kind)
        reader = reading(broker, exchange, key, state="dead")
        stranger = None if other is None else reading(broker, exchange, other, state="living")
        queue = mortal(channel, exchange, dead_letter_routing_key="a.dead.letter")
        channel.publish(kind, key=queue, headers={"state": "dead"})
        reject(channel, queue)
        letter(reader, kind)
        if stranger is not None:
            stranger.stays_quiet()


@scenario("rabbitmq/dlx.default-exchange")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("takes the blank name for none", changes(REJECTED, drop_it))
@broken_by("refuses it", WANTS_IT_FIRST)
def default_exchange_takes_dead_letters(broker: Broker) -> None:
    """A blank x-dead-letter-exchange is the default exchange: the letter goes to the queue its key names."""
    channel, reader = broker.channel(), broker.channel()
    reader.consume(target := channel.declare_queue(), no_ack=True)
    reject(channel, mortal(channel, "", "dead", dead_letter_routing_key=target))
    letter(reader, "dead")


@scenario("rabbitmq/dlx.exchange-declared-later")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("wants it first", WANTS_IT_FIRST)
def exchange_can_be_declared_after_the_queue(broker: Broker) -> None:
    """A queue is declared with an exchange that is not there; that exchange takes its dead letters later."""
    channel = broker.channel()
    queue = mortal(channel, exchange := channel.new_name("exchange"), "dead")
    channel.ask(Exchange.Declare(exchange, "fanout"))
    reader = reading(broker, exchange, "")
    reject(channel, queue)
    letter(reader, "dead")


@scenario("rabbitmq/dlx.missing-exchange")
@broken_by("ends the channel", changes(REJECTED, drop_it, answer=refuse(NOT_FOUND)))
@broken_by("puts it back", forwards(Basic.Reject, requeue=True))
@broken_by("does not hear it", ignores(Basic.Reject))
def without_its_exchange_a_dead_message_is_dropped(broker: Broker) -> None:
    """A message that dies while the exchange of its queue is not there is gone, and nobody is told."""
    channel, other = broker.channel(), broker.channel(new_connection=True)
    queue = mortal(channel, channel.new_name("exchange"), "dead")
    reject(channel, queue)
    channel.stays_quiet()
    channel.close()
    broker.judge("an empty queue", "the message in its queue", other.get(queue) is None)


@scenario("rabbitmq/dlx.routing-key")
@broken_by("knows no key", forwards(Queue.Declare, arguments=without(KEY)))
@broken_by("drops it", changes(REJECTED, drop_it))
def key_of_the_queue_routes_its_dead_letters(broker: Broker) -> None:
    """Dead letters go where x-dead-letter-routing-key leads to, not where their own key and that in CC do."""
    channel, (exchange, reader) = broker.channel(), grave(broker, "direct", "dead")
    queue = mortal(channel, exchange, dead_letter_routing_key="dead")
    others = [reading(broker, exchange, key) for key in (queue, "copy")]
    for body in ("1", "2"):
        channel.publish(body, key=queue, headers={"CC": ["copy"]})
        reject(channel, queue)
        letter(reader, body)
    for other in others:
        other.stays_quiet()


@scenario("rabbitmq/dlx.own-routing-key")
@broken_by("routes by the name of the queue", BY_QUEUE)
@broken_by("routes by no key", changes(REJECTED, with_key(lambda _: "nowhere")))
@broken_by("knows no dead letters", UNKNOWN)
def without_a_key_of_the_queue_messages_keep_their_own(broker: Broker) -> None:
    """A message that was published through a fanout exchange is dead-lettered under the key it had there."""
    channel, (exchange, reader) = broker.channel(), grave(broker, "direct", "its own")
    queue, source = mortal(channel, exchange), channel.declare_exchange("fanout")
    channel.bind(queue, source)
    channel.publish("dead", exchange=source, key="its own")
    reject(channel, queue)
    letter(reader, "dead")


@scenario("rabbitmq/dlx.own-further-keys")
@broken_by("knows no CC", takes(headers=without("CC")))
@broken_by("knows no BCC", takes(headers=without("BCC")))
@broken_by("knows no dead letters", UNKNOWN)
def further_keys_route_dead_letters_too(broker: Broker) -> None:
    """A message with a key in CC and one in BCC is dead-lettered under these and its routing key."""
    channel, (exchange, first) = broker.channel(), grave(broker, "direct", "first")
    others = [reading(broker, exchange, key) for key in ("copy", "blind copy")]
    queue, source = mortal(channel, exchange), channel.declare_exchange("fanout")
    channel.bind(queue, source)
    channel.publish("dead", exchange=source, key="first", headers={"CC": ["copy"], "BCC": ["blind copy"]})
    reject(channel, queue)
    for reader in (first, *others):
        letter(reader, "dead")


# -- cycles --------------------------------------------------------------------------------------------


@scenario("rabbitmq/dlx.cycle-dropped")
@broken_by("goes in circles", changes(EXPIRES, expire_as_if_rejected))
@broken_by("knows no dead letters", UNKNOWN)
def automatic_cycle_ends(broker: Broker) -> None:
    """A message that expires in a queue which gets its own dead letters is not put there again.

    A second queue gets one letter for it; the next one there is that of a message published afterwards.
    """
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue = mortal(channel, exchange, "first", message_ttl=SOON)
    channel.bind(queue, exchange)
    letter(reader, "first")
    channel.publish("second", key=queue)
    letter(reader, "second")


@scenario("rabbitmq/dlx.cycle-dropped")
@broken_by("goes in circles of two", changes(EXPIRES, expire_as_if_rejected))
@broken_by("looks at one queue alone", changes(EXPIRES, expire_with_a_short_memory))
def automatic_cycle_of_two_queues_ends(broker: Broker) -> None:
    """A message that expires in two queues, the second of which leads to the first, comes from there once."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    second = mortal(channel, exchange, message_ttl=SOON)
    first = mortal(channel, "", "first", dead_letter_routing_key=second, message_ttl=SOON)
    channel.bind(first, exchange)
    letter(reader, "first")
    channel.publish("second", key=first)
    letter(reader, "second")


@scenario("rabbitmq/dlx.cycle-with-rejection")
@broken_by("ends every cycle", changes(REJECTED, bury_once_in_each_queue))
@broken_by("knows no dead letters", UNKNOWN)
def cycle_with_a_rejection_goes_on(broker: Broker) -> None:
    """A message that is rejected in a queue which gets its own dead letters comes again, three times.

    So does one that goes from its queue, by rejection, to another one and, by expiry, back.
    """
    channel = broker.channel()
    channel.consume(mortal(channel, "", "1"))
    for _ in range(4):
        dies(channel)
    other, there, here = broker.channel(), channel.new_name("queue"), channel.new_name("queue")
    declares(other, here, dead_letter_exchange="", dead_letter_routing_key=there)
    declares(other, there, dead_letter_exchange="", dead_letter_routing_key=here, message_ttl=SOON)
    other.publish("2", key=here)
    other.consume(here)
    for _ in range(3):
        dies(other)


# -- arguments -----------------------------------------------------------------------------------------


@scenario("rabbitmq/dlx.exchange-is-a-name")
@broken_by("takes anything", forwards(Queue.Declare, arguments=lambda _: {}))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=NOT_FOUND))
def number_is_no_name(broker: Broker) -> None:
    """A Declare with a number for the exchange or the key is refused; with strings it is confirmed."""
    mortal(broker.channel(), "", dead_letter_routing_key="key")
    for arguments in ({EXCHANGE: 1}, {EXCHANGE: "", KEY: 1}):
        is_refused(broker, Queue.Declare(broker.name("queue"), arguments=arguments))
