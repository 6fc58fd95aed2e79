"""3.2.3.1 Field Tables: values of every type, and names, come through as they are."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from harness.amqp_fast.broken.deviations import Interposer, answers, carries
from harness.amqp_fast.client.outcomes import Received, message, read_head
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.tables import Fields, Table, Tagged, Time, encode_table, read_table
from harness.amqp_fast.wire.vocabulary import Channel, Handle
from scenarios.amqp_fast.connections.negotiation import granted
from scenarios.registry import broken_by, scenario

TIMES = (0, 1119398400, 0x7FFFFFFF)
"""Seconds that a time may count, signed or not."""
ORDER = "fields have no order: none is said to be kept"
ALL_TYPES = {"S": b"text", "I": -1, "D": Decimal("1.50"), "T": Time(1119398400)}
NAMES = ("a", "Z9", "$a", "#b", "a$#_9", "$", "#")


def rewriting(change: Callable[[Table], Fields]) -> Interposer:
    """Delivers other headers than were sent."""

    def by(fragment: bytes) -> bytes:
        if (begun := read_head(fragment)) is None:  # not the first one
            return fragment
        head, behind = begun
        return head.replace(headers=change(head.headers)).encode() + fragment[behind:]

    return carries(Handle.Notify, by)


def without(*kinds: type) -> Interposer:
    """Loses fields of these types."""
    return rewriting(lambda table: {name: v for name, v in table.items() if not isinstance(v, kinds)})


def each(kind: type, change: Callable[[Any], Any]) -> Interposer:
    """Delivers other values of a type than were sent."""
    return rewriting(
        lambda table: {name: change(v) if isinstance(v, kind) else v for name, v in table.items()}
    )


def come_through(server: Server, *tables: Fields) -> None:
    """Judge that messages with these headers are confirmed, and delivered with the same ones."""
    handle = server.handle()
    queue = server.queue()
    handle.consume(queue)
    for headers in tables:
        tag = handle.connection.tag()
        handle.send(*handle.carries(queue, b"body", tag=tag, headers=headers))
        seen = [handle.observe(granted(Handle.Reply, tag) | message(b"body")) for _ in range(2)]
        came = next((one for one in seen if isinstance(one.command, Handle.Notify)), None)
        handle.link.judged("a message and its confirmation", "one of them twice", came is not None)
        same_fields(server, headers, came)


def same_fields(server: Server, sent: Fields, came: Received | None) -> None:
    """Judge that the headers of a message are those that were sent; their order may be another one."""
    assert came is not None
    assert came.head is not None
    octets = encode_table(sent)
    pairs, ours = came.head.headers.pairs, read_table(octets, 0)[0].pairs
    same = sorted(map(encoded, pairs)) == sorted(map(encoded, ours))
    server.judge("the headers that were sent", "other headers", same)
    server.judge("the fields in their order", "the fields in another order", pairs == ours, ORDER)


def encoded(pair: tuple[str, Any]) -> bytes:
    """Give a field as octets: values that are equal may differ in their type."""
    return encode_table([pair])


@scenario("fast/3.2.3.1.four-types")
@broken_by("loses times", without(Time))
@broken_by("makes text of numbers", each(int, lambda value: b"%d" % value))
@broken_by("refuses them", answers(Handle.Send, Channel.Close(1, 502)))
def the_four_types_come_through(server: Server) -> None:
    """A message with a field of each type is confirmed, and delivered with the same headers."""
    come_through(server, ALL_TYPES)


@scenario("fast/3.2.3.1.decimal-kept")
@broken_by("loses decimals", without(Decimal))
@broken_by("rounds them", each(Decimal, lambda value: Decimal(round(value))))
def decimals_come_through(server: Server) -> None:
    """1.00, 0 and 12.345, between two strings, are delivered as they were sent."""
    come_through(server, *({"A": b"1", "D": Decimal(told), "Z": b"2"} for told in ("1.00", "0", "12.345")))


@scenario("fast/3.2.3.1.decimals-unsigned")
@broken_by("reads the octet with a sign", each(Decimal, lambda _: Decimal(1)))
@broken_by("loses decimals", without(Decimal))
def the_places_of_a_decimal_are_unsigned(server: Server) -> None:
    """Decimals with 127, 128 and 255 places are delivered as they were sent."""
    one = (1).to_bytes(4, "big")
    come_through(server, *({"D": Tagged(b"D", bytes((places,)) + one)} for places in (127, 128, 255)))


@scenario("fast/3.2.3.1.time-kept")
@broken_by("loses times", without(Time))
@broken_by("counts minutes", each(Time, lambda value: Time(value.seconds // 60 * 60)))
def times_come_through(server: Server) -> None:
    """The first second, one of 2005 and the last of 31 bits, before a string, are delivered as sent."""
    come_through(server, *({"T": Time(told), "Z": b"2"} for told in TIMES))


@scenario("fast/3.2.3.1.string-length-of-two-octets")
@broken_by("cuts long ones", each(bytes, lambda value: value[:255]))
@broken_by("loses empty ones", rewriting(lambda table: {name: v for name, v in table.items() if v != b""}))
def strings_of_any_length_come_through(server: Server) -> None:
    """Strings of 0, 255, 256 and 300 octets, before an integer, are delivered as they were sent."""
    come_through(server, *({"S": bytes(size), "I": 7} for size in (0, 255, 256, 300)))


@scenario("fast/3.2.3.1.valid-names-accepted")
@broken_by("drops those with signs", rewriting(lambda table: {n: v for n, v in table.items() if n.isalnum()}))
@broken_by("writes small letters", rewriting(lambda table: {name.lower(): v for name, v in table.items()}))
def names_of_every_form_come_through(server: Server) -> None:
    """Names that begin with a letter, $ or #, and have digits and underlines, are delivered as sent."""
    come_through(server, dict.fromkeys(NAMES, 1))


@scenario("fast/3.2.3.1.longest-name-accepted")
@broken_by("cuts it", rewriting(lambda table: {name[:64]: value for name, value in table.items()}))
@broken_by("refuses it", answers(Handle.Send, Channel.Close(1, 502)))
def a_name_of_128_characters_comes_through(server: Server) -> None:
    """A header whose name has 128 letters is delivered as it was sent."""
    come_through(server, {"a" * 128: 1})
