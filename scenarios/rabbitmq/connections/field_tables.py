"""The types of values in a field table, as the errata have them."""

import struct
from collections.abc import Callable
from typing import Final

from harness.amqp0_9_1.broken.content_faults import is_header
from harness.amqp0_9_1.broken.deviations import Interposer, objects, spoils
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import Unreadable, message
from harness.amqp0_9_1.wire.field_tables import longstr, shortstr
from harness.amqp0_9_1.wire.frames import HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import SYNTAX_ERROR, Basic
from harness.play.expect import Outcome
from harness.wire.journal import Direction
from scenarios.registry import broken_by, scenario

TEXT = b"with a table"
UNREADABLE = Outcome("a message with letters of practice", lambda seen: isinstance(seen, Unreadable))
"""Our own reading follows the grammar of 0-9-1; what came is compared octet by octet."""


def entry(letter: str, value: bytes, name: str = "") -> bytes:
    """Give the octets of a table's entry, which is called by its letter."""
    return shortstr(name or f"type_{letter}") + letter.encode() + value


VALUES: Final = {
    "t": b"\x01",
    "b": b"\x9c",
    "B": b"\xc8",
    "u": b"\xff\xfe",
    "I": struct.pack(">i", -2_000_000_000),
    "i": struct.pack(">I", 4_000_000_000),
    "f": struct.pack(">f", 0.5),
    "d": struct.pack(">d", 0.1),
    "D": b"\x02" + struct.pack(">i", 12345),
    "S": longstr("text"),
    "A": longstr(b"I" + bytes(4) + b"S" + longstr("two")),
    "T": struct.pack(">Q", 1_700_000_000),
    "F": longstr(entry("t", b"\x01")),
    "V": b"",
}
"""By letter the octets of a value of each type whose letter is nowhere in doubt."""
BEHIND = entry("t", b"\x00", "behind")
SHORT = entry("s", struct.pack(">h", -2))
LONG = entry("l", struct.pack(">q", -3))
POSITIVE = entry("l", struct.pack(">q", 3), "positive")
OCTETS = entry("x", longstr(b"\x00\xff\xfe"))
NEGATIVE = entry("D", b"\x02" + struct.pack(">i", -12345))


def headed(*entries: bytes) -> bytes:
    """Give the content header of a message with these entries in its headers."""
    return struct.pack(">HHQH", 60, 0, len(TEXT), 0x2000) + longstr(b"".join(entries))


def comes_back(broker: Broker, *entries: bytes) -> None:
    """Judge that a message with these entries in its headers comes back with the same octets for each."""
    channel, queue = broker.queue(new_connection=True)
    channel.publish_octets(queue, headed(*entries), TEXT)
    channel.send(Basic.Get(queue, no_ack=True))
    channel.expect(message(Basic.GetOk) | UNREADABLE)
    passed = channel.connection.link.transcript
    units = [each.unit for each in passed if each.direction is Direction.RECEIVED]
    came = b"".join(each.payload for each in units if isinstance(each, Frame) and each.type == HEADER)
    lost = [each for each in entries if each not in came]
    broker.judge("the same octets", ", ".join(map(repr, lost)) or "the same octets", not lost)


def sends(old: bytes, new: bytes) -> Interposer:
    """Sends other octets for some in a content header."""
    return spoils(
        lambda frame: is_header(frame) and old in frame.payload,
        lambda frame: Frame(HEADER, frame.channel, frame.payload.replace(old, new)),
    )


def has(octets: bytes) -> Callable[[Frame], bool]:
    """Match content headers with these octets in them."""
    return lambda frame: is_header(frame) and octets in frame.payload


def refuses(octets: bytes) -> Interposer:
    """Ends the connection for a content header with these octets."""
    return objects(has(octets), SYNTAX_ERROR)


@scenario("rabbitmq/errata.types-kept")
@broken_by("knows no unsigned short", refuses(entry("u", VALUES["u"])))
@broken_by("sends a signed short", sends(b"type_uu", b"type_us"))
@broken_by("sends a signed long", sends(b"type_ii", b"type_iI"))
@broken_by("rounds a double", sends(VALUES["d"], struct.pack(">d", 0.2)))
@broken_by("sends texts as octets", sends(b"type_SS", b"type_Sx"))
def agreed_types_come_back(broker: Broker) -> None:
    """Values of all types whose letters are nowhere in doubt come back with the same octets."""
    comes_back(broker, *(entry(letter, value) for letter, value in VALUES.items()))


@scenario("rabbitmq/errata.short-integers")
@broken_by("takes it for a text", refuses(SHORT))
@broken_by("sends the letter of the grammar", sends(b"type_ss", b"type_sU"))
@broken_by("loses the sign", sends(SHORT, entry("s", b"\x00\x02")))
def short_integer_comes_back(broker: Broker) -> None:
    """A negative integer behind the letter s comes back with the same octets, with what follows it."""
    comes_back(broker, SHORT, BEHIND)


@scenario("rabbitmq/errata.long-integers")
@broken_by("refuses it", refuses(LONG))
@broken_by("sends the letter of the grammar", sends(b"type_ll", b"type_lL"))
@broken_by("does so where it is positive", sends(b"positivel", b"positiveL"))
def long_integers_come_back(broker: Broker) -> None:
    """A negative integer and a positive one behind the letter l come back with the same octets."""
    comes_back(broker, LONG, POSITIVE, BEHIND)


@scenario("rabbitmq/errata.byte-arrays")
@broken_by("knows no such type", refuses(OCTETS))
@broken_by("sends a text", sends(b"type_xx", b"type_xS"))
def octets_come_back(broker: Broker) -> None:
    """Octets behind the letter x come back the same, with what follows them."""
    comes_back(broker, OCTETS, BEHIND)


@scenario("rabbitmq/errata.decimals-signed")
@broken_by("refuses it", refuses(NEGATIVE))
@broken_by("loses the sign", sends(NEGATIVE, entry("D", b"\x02" + struct.pack(">i", 12345))))
def negative_decimal_comes_back(broker: Broker) -> None:
    """A negative decimal comes back with the same octets."""
    comes_back(broker, NEGATIVE, BEHIND)
