"""2.8.13 Fields: maps whose keys are symbols and whose values are anything."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from harness.amqp1_0.broken.deviations import forwards, ignores, of_client, rewrites
from harness.amqp1_0.broken.faults import does, take_open
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import ENDINGS, answered, goes_on, stream_ended
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.peer.events import InvalidOpen
from harness.amqp1_0.peer.tables.connection import BEFORE_OPEN
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.encoding import array
from harness.amqp1_0.wire.performatives import Close, Error, Open
from harness.amqp1_0.wire.types import (
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Map,
    Short,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
)
from harness.peers.rows import always
from harness.play.watching import Found, came
from scenarios.amqp1_0.performatives.s2_7_1_open import carries, shuts_out, takes
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

KEY = Symbol("conformance:key")


def fields_of(said: Composite) -> Any:
    """Give what stands where an open, or the error of an ending, has a map of type fields; else False."""
    if isinstance(said, Open):
        return said.properties
    if isinstance(said, ENDINGS) and isinstance(said.error, Error):
        return said.error.info
    return False


def pairs_of(said: Composite) -> tuple[tuple[Any, Any], ...]:
    fields = fields_of(said)
    return fields.pairs if isinstance(fields, Map) else ()


def why_in_a_string(error: Error) -> Error:
    return error.replace(info=Map([("why", "faulty")]))


@watch(
    "1-0/2.8.13.fields-keys-are-symbols",
    during="1-0/2.8.15.decode-error",
    looks_at=came(Open, *ENDINGS),
    never="no open of the server has properties, and no error an info",
    of_clients=TALK,
)
@broken_by(
    "has strings for keys of its properties",
    of_client(rewrites(Open, properties=Map([("product", "faulty")]))),
    Role.CLIENT,
)
@broken_by("has strings for keys of its properties", rewrites(Open, properties=Map([("product", "faulty")])))
@broken_by("has a null among the keys", rewrites(Open, properties=Map([(KEY, "good"), (None, "bad")])))
@broken_by("has strings for keys of an error", rewrites(Close, when=carries("error"), error=why_in_a_string))
def every_key_is_a_symbol(each: Passage) -> Found:
    """In the properties of every open, and the info of every error of the run, all keys are symbols."""
    pairs = pairs_of(each.said)
    if not pairs:
        return None
    good = all(type(key) is Symbol for key, _ in pairs)
    return good or f"{each.said.type_name} at {each.at:.4f} s: a key that is no symbol"


def has_another_key(opening: Open) -> bool:
    return any(type(key) is not Symbol for key, _ in pairs_of(opening))


@scenario("1-0/2.8.13.fields-other-key")
@broken_by("says nothing at all", ignores(Open, when=has_another_key))
@broken_by("does not see it", forwards(Open, when=has_another_key, properties={}))
@broken_by("takes what it sees", does(BEFORE_OPEN, InvalidOpen, always, take_open))
def another_key_is_refused_or_not(container: Container) -> None:
    """Properties with a string, and with null, for a key: whether they are refused is recorded."""
    container.connection(properties={KEY: "good"}).fence()
    for key in ("text", None):
        odd = container.negotiated()
        odd.send(odd.the_open(properties=Map([(key, "bad")])))
        odd.refuses(answered(Close).recorded(), stream_ended().recorded(), goes_on().recorded())


OF_EVERY_TYPE: tuple[Any, ...] = (
    None, True, Ubyte(1), Ushort(1), Uint(1), Ulong(1), Byte(-1), Short(-1), Int(-1), -1, Float(0.5), 0.5,
    Decimal32(bytes(4)), Decimal64(bytes(8)), Decimal128(bytes(16)), Char("ä"), Timestamp(0), UUID(int=1),
    b"\0", "ä", Symbol("a"), (1, "a"), Map([("a", 1)]), array("uint", [1, 2]),
    Described(Symbol("conformance:value"), "a"),
)  # fmt: skip


def holds(kind: type[Any]) -> Callable[[Open], bool]:
    return lambda opening: any(type(value) is kind for _, value in pairs_of(opening))


@scenario("1-0/2.8.13.fields-any-value", slow=True)
@broken_by("knows no decimals", shuts_out(holds(Decimal128)))
@broken_by("knows no described values", shuts_out(holds(Described)))
@broken_by("knows no maps within maps", ignores(Open, when=holds(Map)))
def values_of_every_type_are_taken(container: Container) -> None:
    """An open whose properties have a value of every primitive type, and a described one, is taken."""
    container.connection(properties={KEY: "text"}).fence()
    takes(container, properties={f"x-{place}": value for place, value in enumerate(OF_EVERY_TYPE)})
