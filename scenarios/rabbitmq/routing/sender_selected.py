"""Messages with several routing keys: those of Publish, of the header CC and of the header BCC."""

from collections.abc import Mapping
from typing import Any

from harness.amqp0_9_1.broken.deviations import changes, forwards, rewrites, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE, QUIET
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, channel_closed, message
from harness.amqp0_9_1.peer.refusals import close_in_silence
from harness.amqp0_9_1.rabbitmq.broken.routing.alternates import (
    by_own_key_behind,
    by_the_others_alone,
    drops_what_has_no_array,
    looks_at,
    looks_at_headers,
    names_further_keys,
    once_for_each_key,
    only_in_exchanges_of_type,
    takes_strings,
    with_a_header_more,
    with_blanked,
    without_headers,
)
from harness.amqp0_9_1.rabbitmq.broken.routing.exchanges import goes_no_further
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic, Exchange
from scenarios.amqp0_9_1.exchange.types import known_types
from scenarios.rabbitmq.joining import bound_queue, declares, joins
from scenarios.registry import broken_by, scenario

NO_ARRAY = "content header: refuses further keys that are no array"
PROPERTIES: Mapping[str, Any] = {"content_type": "text/plain", "correlation_id": "one", "delivery_mode": 1}


def comes_by(channel: AmqpChannel, *headers: str) -> None:
    """Judge that a message comes by the key of Publish and by two in each of the headers, and by no other.

    It is published to the default exchange, then to a direct one.
    """
    queues = [channel.declare_queue() for _ in range(2 + 2 * len(headers))]
    other, own, *named = queues
    exchange = declares(channel)
    for queue in queues:
        channel.bind(queue, exchange, queue)
    keys = {header: named[2 * place : 2 * place + 2] for place, header in enumerate(headers)}
    for each in ("", exchange):
        channel.publish("several", exchange=each, key=own, headers=keys)
        for queue in (own, *named):
            channel.holds(queue, "several")
    channel.holds(other)


@scenario("rabbitmq/sender-selected.cc")
@broken_by("does not know it", looks_at("BCC"))
@broken_by("takes the first key alone", looks_at("CC", "BCC", most=1))
@broken_by("leaves the key of Publish out", swaps(reached=by_the_others_alone))
@broken_by("heeds it in no direct exchange", only_in_exchanges_of_type("topic"))
def keys_in_cc_are_added(broker: Broker) -> None:
    """A message comes to the queue of its key, and to each of those whose keys CC names."""
    comes_by(broker.channel(), "CC")


@scenario("rabbitmq/sender-selected.bcc")
@broken_by("does not know it", looks_at("CC"))
@broken_by("takes the first key alone", looks_at("CC", "BCC", most=1))
@broken_by("leaves the key of Publish out", swaps(reached=by_the_others_alone))
def keys_in_bcc_are_added(broker: Broker) -> None:
    """A message comes by its key and by each of those that BCC names, with CC or without."""
    channel = broker.channel()
    comes_by(channel, "BCC")
    comes_by(channel, "CC", "BCC")


@scenario("rabbitmq/sender-selected.bcc-removed")
@broken_by("leaves it there", without_headers())
@broken_by("leaves its name there", with_blanked("BCC"))
@broken_by("takes all headers off", without_headers("BCC", "CC", "colour"))
@broken_by("does not know it", looks_at("CC"))
def bcc_is_not_delivered(broker: Broker) -> None:
    """From each queue, by Get and by Deliver, a message comes without BCC and with its other headers."""
    channel = broker.channel()
    queues = own, copied, blind = [channel.declare_queue() for _ in range(3)]
    kept = {"colour": "red", "CC": [copied]}
    for _ in range(2):
        channel.publish(b"several", key=own, headers={**kept, "BCC": [blind]})
    for queue in queues:
        got = message(Basic.GetOk, b"several", carrying={"headers": kept})
        channel.tries(Basic.Get(queue, no_ack=True), got)
        channel.consume(queue, no_ack=True)
        channel.expect(message(Basic.Deliver, b"several", carrying={"headers": kept}))


@scenario("rabbitmq/sender-selected.cc-kept")
@broken_by("takes it off", without_headers("CC", "BCC"))
@broken_by("adds a header", with_a_header_more())
@broken_by("tells the key by which it came", rewrites(Basic.Deliver, routing_key=""))
@broken_by("does not know it", looks_at("BCC"))
def cc_is_delivered(broker: Broker) -> None:
    """From each queue a message comes with CC, and all else, as it was published."""
    channel = broker.channel()
    exchange = declares(channel)
    queues = [bound_queue(channel, exchange, key=key) for key in ("own", "copied")]
    carried = {**PROPERTIES, "headers": {"CC": ["copied", "nowhere"], "colour": "red"}}
    channel.publish(b"several", exchange=exchange, key="own", **carried)
    for queue in queues:
        channel.publish(b"sentinel", key=queue)
        channel.consume(queue, no_ack=True)
        channel.expect_each(
            message(Basic.Deliver, b"several", carrying=carried, exchange=exchange, routing_key="own"),
            message(Basic.Deliver, b"sentinel"),
        )


@scenario("rabbitmq/sender-selected.array")
@broken_by("takes a string for a key", takes_strings())
@broken_by("drops the message", drops_what_has_no_array())
@broken_by("closes the socket", changes(NO_ARRAY, close_in_silence, answer=None))
@broken_by("refuses arrays", changes(NO_ARRAY, condition=names_further_keys))
def keys_that_are_no_array_are_refused(broker: Broker) -> None:
    """With a string or a number in CC or BCC a message is refused by 406, and comes nowhere."""
    channel = broker.channel()
    own, other = channel.declare_queue(), channel.declare_queue()
    channel.publish("array", key=own, headers={"CC": [other]})
    channel.stays_quiet()
    channel.holds(own, "array")
    channel.holds(other, "array")
    for header in ("CC", "BCC"):
        for value in (other, 5):
            channel = broker.channel()
            channel.publish("no array", key=own, headers={header: value})
            channel.send(FENCE)
            routed = QUIET.under("the key of Publish is there, and it is all that is")
            wanted = channel_closed(PRECONDITION_FAILED)
            seen = channel.expect(wanted, EXCEPTION.under("the guide names no code"), routed)
            channel = broker.channel()
            channel.holds(other)
            channel.holds(own, *(["no array"] if isinstance(seen, Exchange.DeclareOk) else []))


@scenario("rabbitmq/sender-selected.once")
@broken_by("delivers once for each key", swaps(reached=once_for_each_key))
def queue_gets_it_once_by_several_keys(broker: Broker) -> None:
    """A message comes once to a queue that its own key, CC and BCC lead to, by name or by two bindings."""
    channel = broker.channel()
    exchange = declares(channel)
    queue = bound_queue(channel, exchange, key="one")
    channel.bind(queue, exchange, "two")
    channel.publish("by name", key=queue, headers={"CC": [queue, queue], "BCC": [queue]})
    channel.publish("by keys", exchange=exchange, key="one", headers={"CC": ["two"], "BCC": ["one", "two"]})
    channel.holds(queue, "by name", "by keys")


@scenario("rabbitmq/sender-selected.case-sensitive")
@broken_by("takes them in any case", looks_at_headers("CC", "BCC"))
@broken_by("takes them off in any case", without_headers("bcc", "Bcc"))
def names_of_the_headers_are_case_sensitive(broker: Broker) -> None:
    """A message with cc, Cc, bcc and Bcc comes by its own key alone, and with these headers."""
    channel = broker.channel()
    own, other = channel.declare_queue(), channel.declare_queue()
    headers = {name: [other] for name in ("cc", "Cc", "bcc", "Bcc")}
    channel.publish(b"own", key=own, headers=headers)
    channel.holds(other)
    channel.tries(Basic.Get(own, no_ack=True), message(Basic.GetOk, b"own", carrying={"headers": headers}))


@scenario("rabbitmq/sender-selected.by-type")
@broken_by("heeds them in no topic exchange", only_in_exchanges_of_type("direct"))
@broken_by("takes the first key alone", looks_at("CC", "BCC", most=1))
@broken_by("delivers once for each key", swaps(reached=once_for_each_key))
def keys_are_matched_as_the_type_has_it(broker: Broker) -> None:
    """In a topic exchange patterns match any of the keys; through a fanout exchange a message comes once."""
    channel = broker.channel()
    headers = {"CC": ["other.word", "bond.nyse"], "BCC": ["other.words", "fund.lse.uk"]}
    fanout = declares(channel, "fanout")
    queue = bound_queue(channel, fanout)
    channel.publish("once", exchange=fanout, key="stock.usd", headers=headers)
    channel.holds(queue, "once")
    if "topic" not in known_types(broker):
        return
    exchange = declares(channel, "topic")
    queues = {
        key: bound_queue(channel, exchange, key=key) for key in ("stock.*", "*.nyse", "#.lse.#", "*.lse")
    }
    channel.publish("topic", exchange=exchange, key="stock.usd", headers=headers)
    for pattern, queue in queues.items():
        channel.holds(queue, *(() if pattern == "*.lse" else ("topic",)))


@scenario("rabbitmq/sender-selected.some-of-them")
@broken_by("returns what its own key leads nowhere", looks_at())
@broken_by("returns nothing", forwards(Basic.Publish, mandatory=False))
@broken_by("leaves the key of Publish out", swaps(reached=by_the_others_alone))
def one_key_that_leads_somewhere_is_enough(broker: Broker) -> None:
    """With mandatory set a message is returned only where none of its keys leads to a queue."""
    channel = broker.channel()
    queue, nowhere = channel.declare_queue(), channel.new_name("queue")
    channel.publish(b"nowhere", key=nowhere, headers={"CC": [nowhere], "BCC": [nowhere]}, mandatory=True)
    channel.expect(message(Basic.Return, b"nowhere"))
    for own, named in ((nowhere, {"CC": [queue]}), (nowhere, {"BCC": [queue]}), (queue, {"CC": [nowhere]})):
        channel.publish("routed", key=own, headers=named, mandatory=True)
        channel.stays_quiet()
        channel.holds(queue, "routed")


@scenario("rabbitmq/sender-selected.over-exchanges")
@broken_by("heeds the own key behind the first exchange", swaps(reached=by_own_key_behind))
@broken_by("does not know them", looks_at())
@broken_by("goes no further", goes_no_further())
def keys_count_in_every_exchange(broker: Broker) -> None:
    """Over a binding by a key in CC a message comes to queues bound by its own key and by one in BCC."""
    channel = broker.channel()
    source, destination = declares(channel), declares(channel)
    joins(channel, source, destination, "copied")
    queues = [bound_queue(channel, destination, key=key) for key in ("own", "blind")]
    channel.publish("several", exchange=source, key="own", headers={"CC": ["copied"], "BCC": ["blind"]})
    for queue in queues:
        channel.holds(queue, "several")
