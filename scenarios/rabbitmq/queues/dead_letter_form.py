"""What dead letters look like: exchange and key of their Deliver, and what of the message is kept."""

from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers
from harness.amqp0_9_1.broken.deviations import changes, forwards, rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import Received, message
from harness.amqp0_9_1.rabbitmq.broken.queues.dead_letters import bury_unless_a_letter, without
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from scenarios.rabbitmq.queues.dead_lettering import (
    BY_QUEUE,
    KEY,
    REJECTED,
    UNKNOWN,
    declares,
    dies,
    grave,
    headers_of,
    letter,
    mortal,
    reject,
)
from scenarios.registry import broken_by, scenario


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
