"""Dead letters: which messages become one, where they go, and what they look like there."""

from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers
from harness.amqp0_9_1.broken.deviations import answers, changes, forwards, ignores, rewrites, routes
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import Received, channel_closed, connection_closed, message, refused
from harness.amqp0_9_1.peer.life import delete_queue
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.routing import direct
from harness.amqp0_9_1.rabbitmq.broken.dead_letters import (
    bury_once_in_each_queue,
    bury_unless_a_letter,
    bury_what_was_acknowledged,
    bury_what_was_consumed,
    drop_it,
    expire_as_if_rejected,
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
    """Give an exchange for dead letters, and a channel that consumes from a queue bound to it by these keys."""
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


# -- which messages ------------------------------------------------------------------------------------


@scenario("rabbitmq/dlx.rejected")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("drops it", changes(REJECTED, drop_it))
@broken_by("puts it back", forwards(Basic.Reject, requeue=True))
@broken_by("looks at what was consumed alone", changes(REJECTED, bury_what_was_consumed))
def rejected_message_is_a_dead_letter(broker: Broker) -> None:
    """A message that was got and one that was consumed, both rejected without requeue, come as dead letters."""
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


# -- where they go -------------------------------------------------------------------------------------


@scenario("rabbitmq/dlx.exchange-types")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("routes by equal keys alone", routes(topic=direct, headers=direct))
@broken_by("routes everything everywhere", routes(direct=lambda *_: True, topic=lambda *_: True))
def exchange_of_any_type_takes_dead_letters(broker: Broker) -> None:
    """A direct, a fanout, a topic and a headers exchange route a dead letter as they route what is published."""
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


# -- what they look like -------------------------------------------------------------------------------


@scenario("rabbitmq/dlx.exchange-replaced")
@broken_by("tells where it was published", rewrites(Basic.Deliver, exchange="amq.fanout"))
@broken_by("tells no exchange", rewrites(Basic.Deliver, exchange=""))
def dead_letter_is_delivered_from_its_exchange(broker: Broker) -> None:
    """The Deliver of a dead letter names the dead-letter exchange, not the one it was published to."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue, source = mortal(channel, exchange), channel.declare_exchange("fanout")
    channel.bind(queue, source)
    channel.publish("dead", exchange=source)
    reject(channel, queue)
    reader.expect(message(Basic.Deliver, b"dead", exchange=exchange))


@scenario("rabbitmq/dlx.routing-key-replaced")
@broken_by("tells no key of the queue", rewrites(Basic.Deliver, routing_key=""))
@broken_by("always tells its own key", forwards(Queue.Declare, arguments=without(KEY)))
@broken_by("tells the name of the queue", BY_QUEUE)
def dead_letter_is_delivered_with_its_new_key(broker: Broker) -> None:
    """The Deliver of a dead letter has the key of the queue it died in, without one that of the message."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    source = channel.declare_exchange("fanout")
    for arguments, key in (({"dead_letter_routing_key": "new"}, "new"), ({}, "its own")):
        queue = mortal(channel, exchange, **arguments)
        channel.bind(queue, source)
        channel.publish(key, exchange=source, key="its own")
        reject(channel, queue)
        reader.expect(message(Basic.Deliver, key.encode(), routing_key=key))
        channel.ask(Queue.Delete(queue))


@scenario("rabbitmq/dlx.cc-removed")
@broken_by("leaves CC there", forwards(Queue.Declare, arguments=without(KEY)))
@broken_by("always takes CC off", delivers(headers=without("CC")))
def cc_goes_where_the_key_is_replaced(broker: Broker) -> None:
    """A dead letter under its own key has its CC, one under the key of its queue has none."""
    channel, (exchange, reader) = broker.channel(), grave(broker, "direct", "dead")
    kept, replaced = mortal(channel, exchange), mortal(channel, exchange, dead_letter_routing_key="dead")
    channel.bind(kept, source := channel.declare_exchange("fanout"))
    channel.publish("kept", exchange=source, key="dead", headers={"CC": ["copy"]})
    reject(channel, kept)
    broker.judge("CC as published", "another CC", headers_of(letter(reader, "kept")).get("CC") == ["copy"])
    channel.publish("replaced", key=replaced, headers={"CC": ["copy"]})
    reject(channel, replaced)
    broker.judge("no CC", "CC", "CC" not in headers_of(letter(reader, "replaced")))


@scenario("rabbitmq/dlx.bcc-removed")
@broken_by("leaves BCC there", delivers(headers=lambda found: {**found, "BCC": ["blind copy"]}))
def bcc_is_on_no_dead_letter(broker: Broker) -> None:
    """A dead letter has no BCC, whether its queue has a key or not."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    for arguments in ({"dead_letter_routing_key": "dead"}, {}):
        queue = mortal(channel, exchange, **arguments)
        channel.publish("dead", key=queue, headers={"BCC": ["blind copy"]})
        reject(channel, queue)
        broker.judge("no BCC", "BCC", "BCC" not in headers_of(letter(reader, "dead")))


@scenario("rabbitmq/dlx.rest-kept")
@broken_by("drops headers", delivers(headers=without("kept")))
@broken_by("makes it transient", delivers(delivery_mode=1))
@broken_by("forgets its type", delivers(type=None))
@broken_by("knows no dead letters", UNKNOWN)
def everything_else_of_a_message_is_kept(broker: Broker) -> None:
    """Body, properties and headers of a dead letter are those that were published."""
    channel, (exchange, reader) = broker.channel(), grave(broker)
    queue = mortal(channel, exchange)
    properties: dict[str, Any] = {
        "content_type": "text/plain", "content_encoding": "utf-8", "delivery_mode": 2, "priority": 3,
        "correlation_id": "correlation", "reply_to": "nobody", "message_id": "message",
        "timestamp": 1234567890, "type": "type", "user_id": broker.endpoint.user, "app_id": "application",
    }  # fmt: skip
    headers = {"kept": "value", "number": 7, "table": {"list": [True, "two"]}}
    channel.publish("dead", key=queue, headers=headers, **properties)
    reject(channel, queue)
    seen = reader.observe(message(Basic.Deliver, b"dead", carrying=properties))
    assert isinstance(seen, Received)
    kept = {name: value for name, value in headers_of(seen).items() if name in headers}
    broker.judge("the headers as published", "other headers", kept == headers)


@scenario("rabbitmq/dlx.dead-again")
@broken_by("knows no dead letters", UNKNOWN)
@broken_by("buries a message once", changes(REJECTED, bury_unless_a_letter))
def message_dies_several_times(broker: Broker) -> None:
    """A message that is rejected in three queues, each with the next for its letters, comes from a fourth."""
    channel, target = broker.channel(), ""
    consumers = []
    for _ in range(4):
        arguments = {"dead_letter_exchange": "", "dead_letter_routing_key": target} if target else {}
        target = declares(channel, **arguments)
        consumers.append(broker.channel().consuming(target))
    channel.publish("dead", key=target)
    for consumer in reversed(consumers[1:]):
        dies(consumer)
    letter(consumers[0], "dead")


# -- arguments -----------------------------------------------------------------------------------------


@scenario("rabbitmq/dlx.exchange-is-a-name")
@broken_by("takes anything", forwards(Queue.Declare, arguments=lambda _: {}))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=NOT_FOUND))
def number_is_no_name(broker: Broker) -> None:
    """A Declare with a number for the exchange or the key is refused; with strings it is confirmed."""
    mortal(broker.channel(), "", dead_letter_routing_key="key")
    for arguments in ({EXCHANGE: 1}, {EXCHANGE: "", KEY: 1}):
        channel = broker.channel()
        outcome = channel_closed(PRECONDITION_FAILED)
        other = (channel_closed() | connection_closed()).under("no sentence names the code")
        channel.tries(Queue.Declare(channel.new_name("queue"), arguments=arguments), outcome, other)
