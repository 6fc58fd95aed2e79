"""4.2.5.1 to 4.2.5.4: integers, bits, strings and timestamps, as clients send and read them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers, header_with, is_body, with_properties
from harness.amqp0_9_1.broken.deviations import Interposer, forwards, mends, rewrites
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed, fields, message, silence
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.server.told import Message, plain
from harness.amqp0_9_1.wire.field_tables import Timestamp, longstr
from harness.amqp0_9_1.wire.frames import HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from harness.shims.contract import Refused
from scenarios.amqp0_9_1.getting import TEXT, content, framed, getting, given_wrongly, got, header_sent, soon
from scenarios.amqp0_9_1.getting import with_properties as headed_with
from scenarios.amqp0_9_1.prose.chapter_4.clients.s4_2_6_content import SAYS_NOTHING
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_5_fields import (
    BITS_FROM_BEHIND,
    KEY,
    NOON,
    OCTETS,
    OF_MANY_OCTETS,
    WITH_ZERO,
    low_32_bits,
)
from scenarios.registry import broken_by, scenario
from spec.rules import Role

BODY = TEXT.decode()


def is_told(channel: JudgedChannel, told: Message | None, **expected: object) -> None:
    """Judge what the client tells of a message: its key, or properties."""
    for name, value in expected.items():
        if told is not None:
            named = name.replace("_", "-")
            seen = told.key if name == "key" else plain(told.properties.get(named))
            channel.client.judge(f"{named} as it came", f"another {named}", seen == value)


def sends_with(**values: Any) -> Interposer:
    """Sends content headers with other values of properties that are there."""
    return mends(header_with(**dict.fromkeys(values, lambda _: True)), lambda it: with_properties(it, values))


def on_the_wire(given: Any) -> Any:
    value = plain(given)
    return value.seconds if isinstance(value, Timestamp) else value


def publishes(channel: JudgedChannel, key: str = "", **properties: Any) -> None:
    """Have the client publish a message with properties, and judge that they come as they were given."""
    given = {name.replace("_", "-"): value for name, value in properties.items()}
    channel.tries_to_publish(BODY, key=key, properties=given)
    carried = {name: on_the_wire(value) for name, value in properties.items()}
    channel.connection.expect(message(Basic.Publish, TEXT, carrying=carried, routing_key=key))


# -- 4.2.5.1 -------------------------------------------------------------------------------------------

MANY, FAR = 65535, 1 << 40


@scenario("0-9-1/prose/4.2.5.1.integers-unsigned", role=Role.CLIENT)
@broken_by(
    "counts with a sign", forwards(Basic.Qos, prefetch_count=lambda count: count & 0x7FFF), Role.CLIENT
)
@broken_by("keeps four octets of eight", delivers(timestamp=low_32_bits), Role.CLIENT)
@broken_by("keeps seven bits of a priority", sends_with(priority=lambda level: level & 0x7F), Role.CLIENT)
def client_uses_all_bits_of_integers(client: Client) -> None:
    """Qos goes out with 65535, a message with priority 255; priority 200 and a time of 40 bits are told."""
    large = Basic.Properties(priority=200, timestamp=FAR)
    channel, queue = getting(client, content(headed_with(large), TEXT))
    is_told(channel, got(channel, queue), priority=200, timestamp=plain({"time": str(FAR)}))
    channel.connection.hear_out()
    publishes(channel, client.name("nobody"), priority=255)
    channel.tries("basic.qos", prefetch_count=MANY)
    channel.connection.expect(fields(Basic.Qos, prefetch_count=MANY))


LENGTHS = range(8)


@scenario("0-9-1/prose/4.2.5.1.alignment-not-assumed", role=Role.CLIENT)
@broken_by(
    "reads at even octets",
    delivers(when=lambda it: len(it.payload) % 2 == 1, timestamp=lambda seconds: seconds >> 8),
    Role.CLIENT,
)
@broken_by(
    "loses a letter of some keys",
    rewrites(Basic.GetOk, lambda ok: ok.routing_key == "kkk", routing_key="kk"),
    Role.CLIENT,
)
def client_reads_integers_anywhere(client: Client) -> None:
    """Behind keys and correlation-ids of eight lengths in a row, timestamps are told as they came."""
    said = [
        content(
            headed_with(Basic.Properties(correlation_id=length * "c", timestamp=NOON)),
            TEXT,
            method=Basic.GetOk(1, routing_key=length * "k"),
        )
        for length in LENGTHS
    ]
    channel, queue = getting(client, *said)
    for length in LENGTHS:
        told = got(channel, queue)
        is_told(channel, told, key=length * "k", timestamp=plain({"time": str(NOON)}))


# -- 4.2.5.2 -------------------------------------------------------------------------------------------

BITS = ("passive", "durable", "exclusive", "auto_delete")


def from_the_high_bit(frame: Frame) -> Frame:
    """Give the same Declare with its five bits the other way round; it has no arguments."""
    at = len(frame.payload) - BITS_FROM_BEHIND
    turned = int(f"{frame.payload[at]:05b}"[::-1], 2)
    return Frame(frame.type, frame.channel, frame.payload[:at] + bytes((turned,)) + frame.payload[at + 1 :])


@scenario("0-9-1/prose/4.2.5.2.bits-packed-from-low", role=Role.CLIENT)
@broken_by("begins with the high bit", mends(sent_on(Queue.Declare), from_the_high_bit), Role.CLIENT)
@broken_by("has no auto-delete", forwards(Queue.Declare, auto_delete=False), Role.CLIENT)
def client_puts_each_bit_in_its_place(client: Client) -> None:
    """The client declares queues, passive, durable, exclusive and auto-delete each alone: so they come."""
    connection = client.connection()
    channel, there = connection.channel(), client.name("queue")
    channel.declares(there)
    connection.hear_out()
    for bit in BITS:
        said = {each: each == bit for each in BITS}
        channel.tries("queue.declare", queue=there if bit == "passive" else client.name("queue"), **said)
        connection.expect(fields(Queue.Declare, **said))


# -- 4.2.5.3 -------------------------------------------------------------------------------------------

GIVES_UP = "4.2.5.3: such a string cannot be sent, and no sentence says what becomes of the connection"


def is_not_sent(channel: JudgedChannel, **what: Any) -> None:
    """Have the client publish what it cannot, behind one message: it says so, and nothing of it comes.

    One that hands it over to another thread says so by the end of the connection.
    """
    refused = channel.tries_to_publish(BODY, **what)
    ends = (closed_silently() | connection_closed()).under(GIVES_UP)
    if isinstance(refused, Refused):
        soon(channel.connection, silence(), ends)
    else:
        channel.connection.expect(ends)
    # Counted by octets, for what cannot be read is not observed.
    sent = sum(
        sent_on(Basic.Publish)(each) for each in channel.connection.link.received() if isinstance(each, Frame)
    )
    channel.client.judge("nothing of it is sent", "it is sent", sent == 1)


@scenario("0-9-1/prose/4.2.5.3.short-string-of-255", role=Role.CLIENT)
@broken_by(
    "cuts the key",
    forwards(Basic.Publish, lambda it: it.routing_key == KEY, routing_key=KEY[:127]),
    Role.CLIENT,
)
@broken_by("counts letters", delivers(correlation_id=lambda text: text[:-1]), Role.CLIENT)
@broken_by("tells a key cut short", rewrites(Basic.GetOk, routing_key=lambda key: key[:127]), Role.CLIENT)
def client_has_short_strings_of_255_octets(client: Client) -> None:
    """A key and a correlation-id of 255 octets go out, and are told, whole."""
    whole = headed_with(Basic.Properties(correlation_id=OF_MANY_OCTETS))
    channel, queue = getting(client, content(whole, TEXT, method=Basic.GetOk(1, routing_key=KEY)))
    is_told(channel, got(channel, queue), key=KEY, correlation_id=OF_MANY_OCTETS)
    channel.connection.hear_out()
    publishes(channel, KEY, correlation_id=OF_MANY_OCTETS)


def and_publishes(key: str = "", properties: Basic.Properties | None = None) -> Interposer:
    """Publishes another message behind each."""
    header = headed_with(properties or Basic.Properties(), 0)
    more = framed(Basic.Publish(routing_key=key), (HEADER, header))
    return mends(is_body, lambda it: it.encode() + more(it.channel))


@scenario("0-9-1/prose/4.2.5.3.short-string-of-255", role=Role.CLIENT)
@broken_by("sends it cut", and_publishes(KEY), Role.CLIENT)
def client_cuts_no_string(client: Client) -> None:
    """A key of 255 octets is sent, one of 256 is refused by the client: it can be neither sent nor cut."""
    channel = client.connection().channel()
    channel.connection.hear_out()
    publishes(channel, KEY)
    is_not_sent(channel, key=KEY + "k")


@scenario("0-9-1/prose/4.2.5.3.zero-octet-refused", role=Role.CLIENT)
@broken_by("sends it", and_publishes(properties=Basic.Properties(correlation_id=WITH_ZERO)), Role.CLIENT)
def client_sends_no_zero_octet(client: Client) -> None:
    """A correlation-id of two letters is sent; one with a zero octet between them the client refuses."""
    channel = client.connection().channel()
    channel.connection.hear_out()
    publishes(channel, client.name("nobody"), correlation_id="ab")
    is_not_sent(channel, key=client.name("nobody"), properties={"correlation-id": WITH_ZERO})


NO_TEXT = "\udcff\udcfe"
"""Two octets that are no UTF-8, FF and FE."""
ENDS = (connection_closed(), closed_silently().under("2.3.7: an open connection is closed by a hand-shake"))


@scenario("0-9-1/prose/4.2.5.3.client-bears-other-text", role=Role.CLIENT)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
def client_bears_what_is_no_text(client: Client) -> None:
    """A routing key, and a correlation-id, that is no UTF-8: the client ends the connection, or can go on."""
    of_key = content(headed_with(Basic.Properties()), TEXT, method=Basic.GetOk(1, routing_key=NO_TEXT))
    of_property = content(headed_with(Basic.Properties(correlation_id=NO_TEXT)), TEXT)
    for said in (of_key, of_property):
        connection, told = given_wrongly(client, said)
        if isinstance(told, Message):
            connection.works_on()
        else:
            connection.expect(*ENDS)


HEADERS: Mapping[str, Any] = {"map": [[name, {"bin": octets.hex()}] for name, octets in OCTETS.items()]}


def holds_the_octets(channel: JudgedChannel, how: str, act: Callable[[], object]) -> None:
    """Judge what the client sends then: the octets are there, whatever it gives for their type."""
    header = header_sent(channel.connection, act)
    there = all(longstr(each) in header for each in OCTETS.values())
    channel.client.judge(f"the octets are {how}", "others, or none", there)


@scenario("0-9-1/prose/4.2.5.3.long-string-of-anything", role=Role.CLIENT)
@broken_by("takes zero for the end", sends_with(headers={"every": b"", "many": OCTETS["many"]}), Role.CLIENT)
@broken_by("tells none", delivers(headers={}), Role.CLIENT)
def client_has_long_strings_of_anything(client: Client) -> None:
    """A long string with each octet there is, and one of 2000 octets: they are told, given on, and sent."""
    channel, queue = getting(client, content(headed_with(Basic.Properties(headers=OCTETS)), TEXT))
    nobody = client.name("nobody")
    if told := got(channel, queue):
        holds_the_octets(channel, "given on", partial(channel.tries_to_echo, told, nobody))
    publishes_it = partial(channel.tries_to_publish, BODY, key=nobody, properties={"headers": HEADERS})
    holds_the_octets(channel, "sent", publishes_it)


# -- 4.2.5.4 -------------------------------------------------------------------------------------------

TIMES = (1 << 31, 1 << 32, 1 << 33)


@scenario("0-9-1/prose/4.2.5.4.timestamps-of-64-bits", role=Role.CLIENT)
@broken_by("reads 32 bits", delivers(timestamp=low_32_bits), Role.CLIENT)
@broken_by("sends 32 bits", sends_with(timestamp=low_32_bits), Role.CLIENT)
def client_has_timestamps_of_64_bits(client: Client) -> None:
    """Timestamps of 2 to the 31st, 32nd and 33rd seconds are told, and sent, as they are."""
    channel, queue = getting(
        client, *(content(headed_with(Basic.Properties(timestamp=each)), TEXT) for each in TIMES)
    )
    for seconds in TIMES:
        is_told(channel, got(channel, queue), timestamp=plain({"time": str(seconds)}))
    channel.connection.hear_out()
    for seconds in TIMES:
        publishes(channel, client.name("nobody"), timestamp={"time": str(seconds)})
