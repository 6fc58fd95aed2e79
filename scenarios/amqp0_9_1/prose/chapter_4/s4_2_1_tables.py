"""4.2.1: the types of a field table, as the formal grammar has them."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers, header_with
from harness.amqp0_9_1.broken.deviations import objects, spoils, withholds
from harness.amqp0_9_1.broken.frame_faults import START, with_properties
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    Observation,
    Received,
    closed_silently,
    connection_closed,
    message,
)
from harness.amqp0_9_1.wire.field_tables import As, Timestamp
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, SYNTAX_ERROR, Basic
from harness.play.expect import Outcome
from scenarios.amqp0_9_1.three_ways import ThreeWays
from scenarios.registry import broken_by, scenario

TEXT = b"with a table"
AGREED: Mapping[str, As] = {
    "truth": As("t", True),
    "octet": As("b", -100),
    "unsigned_octet": As("B", 200),
    "long": As("I", -2_000_000_000),
    "float": As("f", 0.5),
    "double": As("d", 0.1),
    "text": As("S", "text"),
    "array": As("A", [1, "two"]),
    "time": As("T", Timestamp(1_700_000_000)),
    "table": As("F", {"inner": True}),
    "nothing": As("V", None),
}
"""A value of each type whose letter means the same everywhere."""
IN_DOUBT: Mapping[str, Any] = {
    "s": "short",
    "U": -2,
    "u": 65535,
    "i": (1 << 32) - 1,
    "l": (1 << 63) + 1,
    "L": -3,
}
"""Values of the other types, chosen so that another meaning of the letter gives another value."""


def plain(table: Mapping[str, As]) -> dict[str, Any]:
    """Give what the values are, whatever their letters."""
    return {name: each.value for name, each in table.items()}


def without(name: str) -> Callable[[Any], Any]:
    return lambda table: {each: value for each, value in table.items() if each != name}


@scenario("0-9-1/prose/4.2.1.table-types-understood")
@broken_by("loses what has no value", delivers(headers=without("nothing")))
@broken_by("loses it where it delivers", delivers(behind=Basic.Deliver, headers=without("nothing")))
@broken_by("loses it where it returns", delivers(behind=Basic.Return, headers=without("nothing")))
@broken_by("delivers a float as a text", delivers(headers=lambda table: {**table, "float": "0.5"}))
@broken_by("has a type of its own", spoils(START, with_properties(b"\x00\x00\x00\x04\x01aZ\x01")))
@broken_by("does not know a type", objects(header_with(headers=lambda table: "float" in table), SYNTAX_ERROR))
def values_of_the_agreed_types_come_back(broker: Broker) -> None:
    """A headers table with values of t, b, B, I, f, d, S, A, T, F and V comes with the same values.

    It is got, delivered and returned.
    """
    ways = ThreeWays(broker)
    for way in ways:
        ways.publish(way, TEXT, headers=AGREED)
        ways.channel.expect(message(way, TEXT, carrying={"headers": plain(AGREED)}))


def has_a_probe(seen: Observation) -> bool:
    return isinstance(seen, Received) and "probe" in (getattr(seen.properties, "headers", None) or {})


READ_OTHERWISE = Outcome(
    "the value as another meaning of the letter has it", has_a_probe
) | connection_closed(FRAME_ERROR, SYNTAX_ERROR)
"""What a server may make of a letter that it knows with another meaning, or not at all."""


@scenario("0-9-1/prose/4.2.1.table-types-in-doubt")
@broken_by("loses the value", delivers(headers={}))
@broken_by("delivers nothing", withholds(Basic.GetOk))
def values_of_the_other_types_come_back(broker: Broker) -> None:
    """A headers table with a value of s, U, u, i, l or L comes with the same value, each on its connection.

    Another meaning of the letter, and a refusal with 501 or 502, are recorded.
    """
    practice = READ_OTHERWISE.recorded("4.2.1 against practice: the letter has another meaning here")
    for letter, value in IN_DOUBT.items():
        channel, queue = broker.queue(new_connection=True)
        channel.publish(TEXT, key=queue, headers={"probe": As(letter, value)})
        channel.send(Basic.Get(queue, no_ack=True))
        channel.expect(message(Basic.GetOk, TEXT, carrying={"headers": {"probe": value}}), practice)


EMPTY: Mapping[str, Any] = {"array": [], "after": 1}
NESTED: Mapping[str, Any] = {"array": [True, 7, [1, 2]], "after": 1}


def has_values(table: Mapping[str, Any]) -> bool:
    return bool(table.get("array"))


def has_no_array(seen: Observation) -> bool:
    """Say whether the entry behind the array came, and another value or none in the array's place."""
    carried = seen.properties if isinstance(seen, Received) else None
    came: Mapping[str, Any] = getattr(carried, "headers", None) or {}
    return came.get("after") == EMPTY["after"] and not isinstance(came.get("array"), list)


def knows_arrays(broker: Broker) -> None:
    """End the scenario where not even an empty array is known, whose length is zero however it is counted."""
    channel, queue = broker.queue(new_connection=True)
    channel.publish(TEXT, key=queue, headers=EMPTY)
    channel.send(Basic.Get(queue, no_ack=True))
    lost = Outcome("a message without the array, with what follows it", has_no_array)
    refused = EXCEPTION | closed_silently()
    kept = message(Basic.GetOk, TEXT, carrying={"headers": EMPTY})
    another = "judged by 0-9-1/grammar/table.field-array.round-trip"
    seen = channel.observe(kept, (lost | refused).recorded(another))
    if not kept.matches(seen):
        broker.inapplicable("the server does not know the type of an array, so nothing tells how it counts")


@scenario("0-9-1/prose/4.2.1.array-counts-octets")
@broken_by("loses the array", delivers(header_with(headers=has_values), headers=without("array")))
@broken_by(
    "cuts the array",
    delivers(header_with(headers=has_values), headers=lambda table: {**table, "array": table["array"][:1]}),
)
@broken_by("counts values", objects(header_with(headers=has_values), FRAME_ERROR))
@broken_by(
    "loses what follows", delivers(header_with(headers=lambda it: "array" in it), headers=without("after"))
)
def array_comes_back_with_what_follows(broker: Broker) -> None:
    """An array of a boolean, an integer and an array comes back whole, with the entry behind it.

    An empty one goes before, to see whether the server knows arrays at all.
    """
    knows_arrays(broker)
    channel, queue = broker.queue()
    channel.publish(TEXT, key=queue, headers=NESTED)
    channel.tries(Basic.Get(queue, no_ack=True), message(Basic.GetOk, TEXT, carrying={"headers": NESTED}))
