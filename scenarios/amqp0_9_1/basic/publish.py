"""basic.publish: a message goes to an exchange."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from harness.amqp0_9_1.broken.basic_faults import (
    exchange_is_named,
    exchange_is_of_type_topic,
    has_bindings,
    is_of_type,
    return_nothing_but_the_method,
)
from harness.amqp0_9_1.broken.content_faults import bare
from harness.amqp0_9_1.broken.deviations import (
    Fault,
    answers,
    changes,
    drops,
    forwards,
    ignores,
    rejects,
    rewrites,
    withholds,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.outcomes import channel_closed, connection_closed, message, refused
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.basic import enqueue_everywhere, is_immediate, is_mandatory_and_unroutable
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NO_CONSUMERS,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    Basic,
    Channel,
    Connection,
    Exchange,
)
from scenarios.amqp0_9_1.basic.common import NOTHING
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types, publish
from scenarios.registry import broken_by, scenario

MISSING = "basic.publish: refuses an exchange that does not exist"
IMMEDIATE = "routing: immediate without a ready consumer is returned"
FOLLOWS = "basic.publish: its content follows"
RETURNS = "routing: mandatory and unroutable is returned"
PROPERTIES: Mapping[str, Any] = {
    "content_type": "text/plain",
    "headers": {"text": "value"},
    "delivery_mode": 1,
    "message_id": "message",
}
"""What a message comes with again; all properties are judged by 0-9-1/prose/3.1.1.header-kept."""

TYPES = ("direct", "fanout", "topic", "headers")


@scenario("0-9-1/basic.publish.exchange.must-exist")
@broken_by("loses the message", drops(MISSING))
@broken_by("overlooks the message", ignores(Basic.Publish, skip=1))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=PRECONDITION_FAILED))
def publishing_to_a_missing_exchange_is_not_found(broker: Broker) -> None:
    """A message for an exchange that exists is taken; one for an exchange that does not is refused, 404."""
    channel, queue = broker.queue()
    channel.publish(b"taken", exchange="amq.direct", key=queue)
    channel.fence()
    channel.publish(b"refused", exchange=f"{queue}.missing", key=queue)
    channel.expect(*refused(NOT_FOUND))


@scenario("0-9-1/basic.publish.exchange.default-exchange")
@broken_by("wants a name", changes(FOLLOWS, condition=exchange_is_named))
@broken_by("loses the message", forwards(Basic.Publish, routing_key="lost"))
@broken_by("takes another exchange", forwards(Basic.Publish, exchange="amq.fanout"))
def blank_exchange_is_the_default_exchange(broker: Broker) -> None:
    """A message published with a blank exchange arrives in the queue whose name is its routing key."""
    channel, queue = broker.queue()
    channel.consume(queue, no_ack=True)
    channel.hears(b"by default", exchange="", key=queue, routing_key=queue)


@scenario("0-9-1/basic.publish.exchange.02")
@broken_by("loses the message", ignores(Basic.Publish))
@broken_by(
    "closes the connection",
    changes(FOLLOWS, effects=(), answer=refuse(ACCESS_REFUSED, Level.CONNECTION), next=None),
)
@broken_by("gives another code", changes(FOLLOWS, effects=(), answer=refuse(PRECONDITION_FAILED), next=None))
def internal_exchange_takes_no_message(broker: Broker) -> None:
    """A message for an exchange declared with the bit that was `internal` is refused, 403.

    A server that refuses the bit, or routes the message like any other, has no internal exchanges.
    """
    channel = broker.channel()
    internal = Exchange.Declare(broker.name("exchange"), "fanout", internal=True)
    if not channel.takes(internal, Exchange.DeclareOk):
        broker.inapplicable("the server declares no exchange with the bit reserved-3, once internal")
    queue = channel.declare_queue()
    channel.bind(queue, internal.exchange)
    channel.publish(b"refused", exchange=internal.exchange)
    channel.send(FENCE)
    seen = channel.expect(channel_closed(ACCESS_REFUSED) | NOTHING)
    if isinstance(seen, Exchange.DeclareOk):
        routed = channel.get(queue) is not None
        broker.judge("channel.close 403 (access-refused)", "a message lost without an exception", routed)
        broker.inapplicable("the bit reserved-3, once internal, has no effect: the message is routed")


@scenario("0-9-1/basic.publish.exchange.03")
@broken_by("gives another code", answers(Basic.Publish, Channel.Close(ACCESS_REFUSED, "not here")))
@broken_by(
    "closes the connection with another code, for one type",
    changes(MISSING, condition=exchange_is_of_type_topic, answer=refuse(NOT_ALLOWED)),
)
def exchange_that_refuses_content_says_not_implemented(broker: Broker) -> None:
    """A message for an exchange of each type with a queue bound: where it is refused, then with 540."""
    refusals = 0
    for kind in TYPES:
        channel = broker.channel()
        exchange = Exchange.Declare(broker.name("exchange"), kind)
        if not channel.takes(exchange, Exchange.DeclareOk):
            continue
        channel.bind(channel.declare_queue(), exchange.exchange)
        channel.publish(b"taken or refused", exchange=exchange.exchange)
        channel.send(FENCE)
        by_class = connection_closed(NOT_IMPLEMENTED).under("540 is of the class hard error")
        seen = channel.expect(channel_closed(NOT_IMPLEMENTED) | NOTHING, by_class)
        refusals += isinstance(seen, Channel.Close | Connection.Close)
    if not refusals:
        broker.inapplicable("no exchange of the document's types refuses basic content")


@scenario("0-9-1/basic.publish.mandatory.01")
@broken_by("loses what cannot be routed", drops(RETURNS))
@broken_by("withholds what is returned", withholds(Basic.Return))
@broken_by("returns another content", changes(RETURNS, answer=return_nothing_but_the_method))
@broken_by("returns the body alone", bare(Basic.Return))
@broken_by("returns everything", changes(RETURNS, condition=lambda turn: not turn.targets))
@broken_by("returns what was routed", changes(RETURNS, condition=lambda turn: turn.subject.method.mandatory))
@broken_by(
    "refuses what cannot be routed",
    rejects(Basic.Publish, NOT_FOUND, when=lambda publish: publish.mandatory, skip=1),
)
def unroutable_mandatory_message_is_returned(broker: Broker) -> None:
    """A mandatory message that can be routed arrives, another is returned; without the flag it is not.

    Both come with the properties they had.
    """
    channel, queue = broker.queue()
    channel.consume(queue, no_ack=True)
    channel.publish(b"routed", key=queue, mandatory=True, **PROPERTIES)
    channel.expect(message(Basic.Deliver, b"routed", carrying=PROPERTIES))
    channel.publish(b"dropped", exchange="amq.direct", key=f"{queue}.nowhere", **PROPERTIES)
    channel.stays_quiet()
    nowhere: Any = {"exchange": "amq.direct", "key": f"{queue}.nowhere"}
    channel.publish(b"returned", **nowhere, mandatory=True, **PROPERTIES)
    channel.expect(message(Basic.Return, b"returned", carrying=PROPERTIES))


def loses_what_comes_to(kind: str) -> Fault:
    return changes(
        RETURNS, condition=lambda turn: is_mandatory_and_unroutable(turn) and not is_of_type(turn, kind)
    )


@scenario("0-9-1/basic.publish.mandatory.01")
@broken_by("returns nothing from fanout exchanges", loses_what_comes_to("fanout"))
@broken_by("returns nothing from topic exchanges", loses_what_comes_to("topic"))
@broken_by("returns nothing from headers exchanges", loses_what_comes_to("headers"))
@broken_by("returns nothing from the default exchange", loses_what_comes_to(""))
@broken_by(
    "returns nothing where anything is bound",
    changes(RETURNS, condition=lambda turn: is_mandatory_and_unroutable(turn) and not has_bindings(turn)),
)
def mandatory_message_is_returned_by_each_exchange(broker: Broker) -> None:
    """The default exchange returns what is for no queue, each type what comes when nothing is bound.

    With a queue bound a message comes if it matches, and is returned if it does not.
    """
    channel = broker.channel()
    channel.publish(b"for no queue", key=channel.new_name("queue"), mandatory=True)
    channel.expect(message(Basic.Return, b"for no queue"))
    for kind in known_types(broker):
        exchange, queue = channel.declare_exchange(kind), channel.declare_queue()
        WAYS[kind].publish(channel, exchange, b"not bound", mandatory=True)
        channel.expect(message(Basic.Return, b"not bound"))
        channel.ask(WAYS[kind].bind(queue, exchange))
        channel.consume(queue, no_ack=True)
        WAYS[kind].publish(channel, exchange, b"bound", mandatory=True)
        channel.expect(message(Basic.Deliver, b"bound"))
        stays = WAYS[kind].stays
        if stays is not None and kind != "direct":
            publish(channel, exchange, stays, b"bound otherwise", mandatory=True)
            channel.expect(message(Basic.Return, b"bound otherwise"))


@scenario("0-9-1/basic.publish.immediate.01")
@broken_by("knows no such flag", rejects(Basic.Publish, NOT_IMPLEMENTED, when=lambda it: it.immediate))
@broken_by("overlooks the flag", forwards(Basic.Publish, immediate=False))
@broken_by("returns the body alone", bare(Basic.Return))
@broken_by("delivers the body alone", bare(Basic.Deliver))
@broken_by("loses the message", drops(IMMEDIATE))
@broken_by("returns a copy", changes(IMMEDIATE, enqueue_everywhere))
@broken_by("returns what a consumer waits for", changes(IMMEDIATE, condition=is_immediate))
def immediate_message_without_consumer_is_returned(broker: Broker) -> None:
    """An immediate message is returned from a queue without consumers, and delivered where one waits."""
    channel, queue = broker.queue()
    channel.publish(b"returned", key=queue, immediate=True, **PROPERTIES)
    returned = partial(message, Basic.Return, b"returned", carrying=PROPERTIES)
    other_code = returned().under("the reply code is not said where the flag is")
    channel.expect(returned(reply_code=NO_CONSUMERS), other_code)
    channel.tries(Basic.Get(queue), Basic.GetEmpty)
    channel.consume(queue, no_ack=True)
    channel.publish(b"delivered", key=queue, immediate=True, **PROPERTIES)
    channel.expect(message(Basic.Deliver, b"delivered", carrying=PROPERTIES))
