"""3.1.1: what a server leaves as it is on a message's way."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from harness.amqp0_9_1.broken.basic_faults import seven_bits_only
from harness.amqp0_9_1.broken.content_faults import (
    bare,
    delivers,
    header_with,
    is_body,
    is_header,
    with_properties,
)
from harness.amqp0_9_1.broken.deviations import changes, spoils, swaps
from harness.amqp0_9_1.broken.settling_faults import strip_what_is_put_back
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import EXCEPTION, Observation, Received, message
from harness.amqp0_9_1.wire.compiled import Properties
from harness.amqp0_9_1.wire.frames import BODY, Frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection
from harness.play.expect import Outcome
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_1_tables import without
from scenarios.amqp0_9_1.three_ways import ThreeWays, Way
from scenarios.registry import broken_by, scenario

PUTS_BACK = "requeue: puts the message back, marked redelivered"
SIZES = (1, 4088, 4089, 1 << 20)
"""One octet, what fits into the smallest frame and what does not, and many frames."""

OCTETS = bytes(range(256)) * (SIZES[-1] // 256)


def ends_otherwise(frame: Frame) -> Frame:
    return Frame(BODY, frame.channel, frame.payload[:-1] + b"\xfe")


@scenario("0-9-1/prose/3.1.1.body-unmodified")
@broken_by("changes the last octet of a frame", spoils(is_body, ends_otherwise))
@broken_by("takes bodies for text", swaps(cut=seven_bits_only))
@broken_by("changes what it delivers", spoils(is_body, ends_otherwise, Basic.Deliver))
@broken_by("changes what it returns", spoils(is_body, ends_otherwise, Basic.Return))
def body_comes_octet_for_octet(broker: Broker) -> None:
    """Bodies of four sizes, with every value of an octet, are got, delivered and returned as published."""
    ways = ThreeWays(broker)
    for way, size in product(ways, SIZES):
        ways.publish(way, OCTETS[:size])
        ways.channel.expect(message(way, OCTETS[:size]))


def every_property(broker: Broker) -> dict[str, Any]:
    """Give a value for each property that this version does not reserve; user-id may only be who we are.

    Expiration is left out: what it means is not said, so that a message may be gone by it
    (0-9-1/grammar/basic.expiration.round-trip).
    """
    return {
        "content_type": "text/plain",
        "content_encoding": "identity",
        "headers": {"text": "value", "number": -1, "table": {"inner": True}, "list": [1, "two", [False]]},
        "delivery_mode": 1,
        "priority": 4,
        "correlation_id": "correlation",
        "reply_to": "reply",
        "message_id": "message",
        "timestamp": 1_700_000_000,
        "type": "kind",
        "user_id": broker.endpoint.user,
        "app_id": "application",
    }


FULL = header_with(app_id=bool)


def added(sent: Mapping[str, Any], came: Properties) -> list[str]:
    """Give the properties that were not sent, and the entries of headers that were not."""
    properties = [name for name in came.names if name not in sent and getattr(came, name) is not None]
    entries = set(getattr(came, "headers", None) or {}) - set(sent.get("headers", ()))
    return properties + sorted(entries)


@scenario("0-9-1/prose/3.1.1.header-additions")
@broken_by(
    "adds an entry",
    spoils(is_header, lambda it: with_properties(it, {"headers": {"x-received-by": "server"}})),
)
@broken_by("adds a property", spoils(is_header, lambda it: with_properties(it, {"timestamp": 0})))
def additions_to_a_header_are_recorded(broker: Broker) -> None:
    """What has been added to a message without properties, and to one with all of them, when it comes.

    It is got, delivered and returned.
    """
    ways = ThreeWays(broker)
    for way, sent in product(ways, ({}, every_property(broker))):
        ways.publish(way, b"body", **sent)
        came = ways.channel.observe(message(way, b"body").recorded())
        assert isinstance(came, Received)
        assert came.properties is not None
        found = ", ".join(added(sent, came.properties))
        broker.note(f"to {len(sent)} properties the server adds {found or 'nothing'} in {way.full_name}")


ITS_TYPES = "which types of values a server takes is judged by 0-9-1/prose/4.2.1.table-types-understood"


@scenario("0-9-1/prose/3.1.1.header-kept")
@broken_by("loses a property", delivers(app_id=None))
@broken_by("changes a property", delivers(FULL, timestamp=0))
@broken_by("loses entries of headers", delivers(FULL, headers={"text": "value"}))
@broken_by("delivers without properties", bare(Basic.Deliver))
@broken_by("returns without properties", bare(Basic.Return))
def header_comes_with_all_it_had(broker: Broker) -> None:
    """A message with all properties, and a table and a list in its headers, comes with all of them.

    It is got, delivered and returned. What is refused has not been changed: then headers of a text and a
    number are tried.
    """
    refused = EXCEPTION.recorded(ITS_TYPES)
    sent = every_property(broker)
    plain = {name: sent["headers"][name] for name in ("text", "number")}
    if not all_ways_keep(broker, sent, refused):
        all_ways_keep(broker, {**sent, "headers": plain})


def all_ways_keep(broker: Broker, sent: Mapping[str, Any], *refused: Outcome) -> bool:
    """Judge that a message comes with all it had, got, delivered and returned; whether none was refused."""
    ways = ThreeWays(broker)
    for way in ways:
        ways.publish(way, b"body", **sent)
        if isinstance(ways.channel.expect(with_all(sent, way), *refused), Channel.Close | Connection.Close):
            return False
    return True


@scenario("0-9-1/prose/3.1.1.header-kept")
@broken_by("puts back without properties", changes(PUTS_BACK, strip_what_is_put_back))
def header_comes_again_with_all_it_had(broker: Broker) -> None:
    """A message that was got and not acknowledged comes again with all properties, and two headers."""
    channel, sent = broker.channel(), every_property(broker)
    sent["headers"] = {name: sent["headers"][name] for name in ("text", "number")}
    queue = channel.declare_queue()
    channel.publish(b"body", key=queue, **sent)
    channel.ask(Basic.Get(queue), Basic.GetOk)
    channel.close()
    broker.channel().consuming(queue, no_ack=True).expect(with_all(sent, Basic.Deliver))


ROUTED_BY = ("CC", "BCC")
"""Headers in which some servers look for further routing keys."""


@scenario("0-9-1/prose/3.1.1.headers-with-a-use-kept")
@broken_by("keeps who else got it to itself", delivers(headers=without("BCC")))
@broken_by("takes further keys away when it delivers", delivers(behind=Basic.Deliver, headers=without("CC")))
@broken_by("takes them away when it returns", delivers(behind=Basic.Return, headers=without("CC")))
def headers_that_servers_route_by_are_kept(broker: Broker) -> None:
    """A message with routing keys in a header comes with it, got, delivered and returned."""
    refused = EXCEPTION.recorded(ITS_TYPES)
    for name in ROUTED_BY:
        all_ways_keep(broker, {"headers": {name: [broker.name("queue")]}}, refused)


def with_all(sent: Mapping[str, Any], way: Way) -> Outcome:
    """Expect the message, come this way, with all properties and entries of headers that were sent."""
    simple = {name: value for name, value in sent.items() if name != "headers"}
    plain = message(way, b"body", carrying=simple)

    def matches(seen: Observation) -> bool:
        if not plain.matches(seen) or not isinstance(seen, Received):
            return False
        came: Mapping[str, Any] = getattr(seen.properties, "headers", None) or {}
        return all(name in came and came[name] == value for name, value in sent["headers"].items())

    return Outcome(f"{plain.says}, and the headers {', '.join(sent['headers'])}", matches)
