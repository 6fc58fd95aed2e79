"""What a content carries: each property and each type of a table's values come as they were published."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers, with_properties
from harness.amqp0_9_1.broken.deviations import Interposer, spoils, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import (
    Closed,
    Observation,
    Received,
    Unreadable,
    answered,
    connection_closed,
    message,
    silence,
)
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.field_tables import As, Timestamp, encode_value, shortstr
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.frames import HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, SYNTAX_ERROR, Basic
from harness.play.expect import Outcome
from harness.wire.journal import Direction
from scenarios.amqp0_9_1.grammar.calls import BODY, given, of
from scenarios.amqp0_9_1.three_ways import ThreeWays, Way
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject, contested
from spec.readers.amqp0_9_1 import Field

USUAL: Mapping[str, Sequence[Any]] = {
    "shortstr": ("plain", "", "Grüße", "x" * 255),
    "octet": (1, 2),
    "timestamp": (0, 1_700_000_000, 1 << 40),
    "table": ({}, {"text": "value", "number": 1, "inner": {"flag": True}}),
}
"""Values of a property by its type: an ordinary one and the ends of what it can be."""

MEANT: Mapping[str, Sequence[Any]] = {
    "reserved": ("",),
    "priority": (0, 4, 9),
    "expiration": ("60000", "3600000"),
}
"""Values of properties that servers read: the document leaves their form open, these fit everywhere.

What is reserved must be empty.
"""


def values(broker: Broker, field: Field) -> Sequence[Any]:
    """Say what to publish in a property; user-id may only be who we are."""
    if field.name == "user-id":
        return (broker.endpoint.user,)
    return MEANT.get(field.name, USUAL[field.type])


# -- properties ----------------------------------------------------------------------------------------


def otherwise(value: Any) -> Any:
    match value:
        case str():
            return value[:-1] if value else "filled"
        case int():
            return value + 1
        case _:
            return {"other": "value"}


def loses(about: Subject, behind: type[Method] | None = None) -> Interposer:
    """Sends contents without the property; with `behind` those of this method."""
    nothing: dict[str, Any] = {attribute(given(about.field).name): None}
    return delivers(behind=behind, **nothing)


def alters(about: Subject, behind: type[Method] | None = None) -> Interposer:
    """Sends contents with another value of the property; with `behind` those of this method."""
    return delivers(behind=behind, **{attribute(given(about.field).name): otherwise})


@scenarios_for(of("property"))
@broken_by("loses it", loses)
@broken_by("delivers another value", alters)
@broken_by("loses it where it delivers", lambda about: loses(about, Basic.Deliver))
@broken_by("returns another value", lambda about: alters(about, Basic.Return))
def property_comes_as_it_was_published(broker: Broker, about: Subject) -> None:
    """Messages with several values of the property, got, delivered and returned, each have it when they come.

    Further properties may be added (3.1.9), so only this one is looked at. A message with an expiration may
    be gone, since the document does not say what it means.
    """
    ways, name = ThreeWays(broker), attribute(given(about.field).name)
    for way, value in product(ways, values(broker, given(about.field))):
        ways.publish(way, BODY, **{name: value})
        ways.channel.expect(with_value(way, given(about.field).name, value), *over((name,), way))


def over(named: Iterable[str], way: Way = Basic.GetOk) -> tuple[Outcome, ...]:
    """Say what else may become of a message with these properties: it may have expired."""
    meaning = "the document does not say what expiration means: by another meaning the message is over"
    gone = answered(Basic.GetEmpty) if way is Basic.GetOk else silence()
    return (gone.under(meaning),) if "expiration" in named else ()


def with_value(way: Way, name: str, value: Any) -> Outcome:
    """Expect a message with this value of a property that comes this way."""

    def matches(seen: Observation) -> bool:
        carried = seen.properties if isinstance(seen, Received) else None
        return message(way).matches(seen) and getattr(carried, attribute(name)) == value

    return Outcome(f"{way.full_name} with {name} as published", matches)


# -- tables --------------------------------------------------------------------------------------------

PROBE = "probe"
VALUES: Mapping[str, Sequence[Any]] = {
    "t": (True, False),
    "b": (-128, 0, 127),
    "B": (0, 255),
    "U": (-32768, 32767),
    "u": (0, 65535),
    "I": (-(1 << 31), 0, (1 << 31) - 1),
    "i": (0, (1 << 32) - 1),
    "L": (0, 1 << 62),  # where the highest bit is set, implementations differ
    "l": (0, 1 << 62),
    "f": (0.0, -1.5),
    "d": (0.1, -1e300),
    "D": (Decimal("12.34"), Decimal("0"), Decimal("4294967295")),
    "s": ("short", ""),
    "S": ("long", "", "x" * 1000, b"\x00\xff"),
    "A": ([], [1, "two", [True]]),
    "T": (Timestamp(0), Timestamp(1_700_000_000)),
    "F": ({}, {"inner": {"text": "value"}}),
    "V": (None,),
}
"""Values of each type of a field table, its ends among them."""


def is_probe(tag: str) -> Callable[[Frame], bool]:
    begun = shortstr(PROBE) + tag.encode()
    return lambda frame: frame.type == HEADER and begun in frame.payload


def without_probe(about: Subject, behind: type[Method] | None = None) -> Interposer:
    """Sends contents without the value; with `behind` those of this method."""
    return spoils(
        is_probe(given(about.type).tag), lambda frame: with_properties(frame, {"headers": {}}), behind
    )


ALIKE = {"L": "l", "l": "L"}
"""Tags whose values are the same as long as the highest bit is not set."""


def as_text(about: Subject) -> Interposer | None:
    """Delivers the value as a text; where the reading of a type is contested, that is not judged."""
    if given(about.type).tag in contested() - set(ALIKE):
        return None
    return spoils(
        is_probe(given(about.type).tag), lambda frame: with_properties(frame, {"headers": {PROBE: "as text"}})
    )


@scenarios_for(of("table"))
@broken_by("loses it", without_probe)
@broken_by("loses it where it delivers", lambda about: without_probe(about, Basic.Deliver))
@broken_by("loses it where it returns", lambda about: without_probe(about, Basic.Return))
@broken_by("delivers a text", as_text)
@broken_by(
    "delivers nothing", lambda about: withholds(Basic.GetOk) if given(about.type).tag in contested() else None
)
def table_value_comes_as_it_was_published(broker: Broker, about: Subject) -> None:
    """Messages with several values of the type in their headers come with the same octets for each.

    They are got, delivered and returned. Where implementations read the tag otherwise, what becomes of it is
    recorded.
    """
    tag, ways = given(about.type).tag, ThreeWays(broker)
    for way, value in product(ways, VALUES[tag]):
        probe = As(tag, value)
        ways.publish(way, BODY, headers={PROBE: probe})
        unchanged = with_octets(ways, way, shortstr(PROBE) + encode_value(probe), tag)
        legal: tuple[Outcome, ...] = ()
        if tag in ALIKE:
            same = with_octets(ways, way, shortstr(PROBE) + renamed(probe), ALIKE[tag])
            legal = (same.under(SIGNS), UNKNOWN.recorded(READING))
        elif tag in contested():
            legal = (MISREAD.recorded(READING),)
        if not isinstance(ways.channel.expect(unchanged, *legal), way):
            return


READING = "4.2.1 against practice: the tag has another meaning for this server, or none"
SIGNS = "4.2.1, where implementations differ in the sign: the value is the same under the other tag"


def renamed(probe: As) -> bytes:
    return ALIKE[probe.tag].encode() + encode_value(probe)[1:]


def has_lost_it(seen: Observation) -> bool:
    """Say whether the message came with nothing left in its headers."""
    return isinstance(seen, Received) and seen.method.spec.content and not headers(seen)


def headers(seen: Received) -> Any:
    return getattr(seen.properties, "headers", None)


MISREAD = Outcome(
    "the value under another tag, or a refusal",
    lambda seen: isinstance(seen, Received | Closed | Unreadable) and not has_lost_it(seen),
)


UNKNOWN = connection_closed(FRAME_ERROR, SYNTAX_ERROR)
"""What a server that knows no such type may make of it (4.2.1.table-types-in-doubt)."""


def with_octets(ways: ThreeWays, way: Way, octets: bytes, tag: str) -> Outcome:
    """Expect a message that comes this way and whose header holds these octets."""

    def matches(seen: Observation) -> bool:
        link = ways.channel.connection.link
        came = [each.unit for each in link.transcript if each.direction is Direction.RECEIVED]
        headers = [each for each in came if isinstance(each, Frame) and each.type == HEADER]
        return message(way, BODY).matches(seen) and octets in headers[-1].payload

    return Outcome(f"{way.full_name} with the value of type {tag} as published", matches)
