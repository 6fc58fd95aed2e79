"""4.2.6.1: the content header."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from harness.amqp0_9_1.broken.content_faults import body_of, delivers, header_of, heads, is_header
from harness.amqp0_9_1.broken.deviations import (
    Interposer,
    adds,
    changes,
    drops,
    mends,
    objects,
    spoils,
    swallows,
    withholds,
)
from harness.amqp0_9_1.broken.frame_faults import on_channel
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import connection_closed, message
from harness.amqp0_9_1.client.transcript import ABOVE, ZERO, Contents, Framed
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.field_tables import shortstr
from harness.amqp0_9_1.wire.fields import attribute, write_field
from harness.amqp0_9_1.wire.frames import BODY, HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    COMMAND_INVALID,
    FRAME_ERROR,
    SYNTAX_ERROR,
    UNEXPECTED_FRAME,
    Basic,
    Queue,
)
from harness.play.watching import Found, Gaps, Repeats, came, went
from scenarios.amqp0_9_1.grammar.content import over
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_6_content import OCCASION
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_6_content import TEXT as BODY_OF_OCCASION
from scenarios.amqp0_9_1.talk import TALK
from scenarios.amqp0_9_1.three_ways import ThreeWays
from scenarios.registry import broken_by, scenario, watch
from spec.readers.amqp0_9_1 import Field
from spec.rules import Role

BAD_FORMAT = "content header: refuses one badly formatted"
CLASS = Basic.Publish.spec.class_index
TEXT = b"behind a header"
ON_ZERO = "content: refuses channel zero"
OF_OCCASION = len(BODY_OF_OCCASION)


def each_of(found: list[Found]) -> Found | list[Found]:
    """Give findings, of which there is nearly always one."""
    return found[0] if len(found) == 1 else found


def header(class_index: int = CLASS, weight: int = 0, flags_and_values: bytes = b"\x00\x00") -> bytes:
    """Give a content header for the text, whose class, weight and properties may be wrong."""
    prefix = class_index.to_bytes(2) + weight.to_bytes(2) + len(TEXT).to_bytes(8)
    return prefix + flags_and_values


def publish(channel: AmqpChannel, queue: str, payload: bytes) -> None:
    channel.publish_octets(queue, payload, TEXT)


def publishing(broker: Broker) -> tuple[AmqpChannel, str]:
    """Give a channel of a connection of its own and a queue, where such a content has been taken."""
    channel, queue = broker.queue(new_connection=True)
    publish(channel, queue, header())
    channel.ask(Basic.Get(queue, no_ack=True), Basic.GetOk)
    return channel, queue


def is_of_another_class(frame: Frame) -> bool:
    return is_header(frame) and int.from_bytes(frame.payload[:2]) != CLASS


def with_weight(frame: Frame) -> bool:
    return is_header(frame) and frame.payload[2:4] != b"\x00\x00"


def of_client(change: Callable[[bytes], bytes]) -> Interposer:
    """Sends content headers of the client with other octets in them."""
    return mends(is_header, lambda frame: Frame(HEADER, frame.channel, change(frame.payload)))


def as_it_should_be(frame: Frame) -> Frame:
    return Frame(HEADER, frame.channel, CLASS.to_bytes(2) + b"\x00\x00" + frame.payload[4:])


@watch("0-9-1/prose/4.2.6.1.own-class-id-matches", during=OCCASION, looks_at=came(Contents), of_clients=TALK)
@broken_by("says the class of queues", of_client(lambda octets: b"\x00\x32" + octets[2:]), Role.CLIENT)
@broken_by("says the class of queues", heads(OF_OCCASION, lambda octets: b"\x00\x32" + octets[2:]))
def class_is_that_of_the_method(contents: Contents) -> Found | list[Found]:
    """The class in every content header that comes is that of the method before it."""
    method = contents.method
    if method is None:
        return None
    own = method.spec.class_index
    found: list[Found] = []
    for octets in contents.headers:
        told = int.from_bytes(octets[:2])
        found.append(told == own or f"class {told} behind {method.full_name} at {contents.at:.4f} s")
    return each_of(found)


@scenario("0-9-1/prose/4.2.6.1.wrong-class-id-refused")
@broken_by("does not look at it", mends(is_of_another_class, as_it_should_be))
@broken_by(
    "gives another code", changes("content header: refuses another class", answer=refuse(SYNTAX_ERROR))
)
def header_of_another_class_is_refused(broker: Broker) -> None:
    """A content header of class 60 is taken, one of class 50 or 999 ends the connection with 501 or 505."""
    for class_index in (Queue.Declare.spec.class_index, 999):
        channel, queue = publishing(broker)
        publish(channel, queue, header(class_index))
        channel.expect(connection_closed(FRAME_ERROR, UNEXPECTED_FRAME))


@watch(
    "0-9-1/prose/4.2.6.1.own-weight-zero",
    during=OCCASION,
    looks_at=came(Contents) + went(HEADER),
    start=Repeats,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("gives a weight", of_client(lambda octets: octets[:2] + b"\x00\x01" + octets[4:]), Role.CLIENT)
@broken_by("gives a weight", heads(OF_OCCASION, lambda octets: octets[:2] + b"\x00\x01" + octets[4:]))
def weight_is_zero(weights: Repeats, each: Framed | Contents) -> Found | list[Found]:
    """The weight in every content header that comes is zero.

    One that only repeats a weight of ours, sent to see what becomes of it, is left out.
    """
    if not isinstance(each, Contents):
        weights.ours.append(each.unit.payload[2:4])
        return None
    if each.method is None:
        return None
    found: list[Found] = []
    for octets in each.headers:
        weight = octets[2:4]
        if any(weight):
            where = f"behind {each.method.full_name} at {each.at:.4f} s"
            weights.wrong.append((weight, f"weight {int.from_bytes(weight)} {where}"))
        else:
            found.append(True)
    return each_of(found)


@scenario("0-9-1/prose/4.2.6.1.weight-of-others")
@broken_by("does not look at it", mends(with_weight, as_it_should_be))
@broken_by("gives another code", changes(BAD_FORMAT, answer=refuse(COMMAND_INVALID)))
def what_a_weight_comes_to_is_recorded(broker: Broker) -> None:
    """A content header with weight 1: a connection exception, or the message without further ado."""
    channel, queue = publishing(broker)
    publish(channel, queue, header(weight=1))
    channel.send(Basic.Get(queue, no_ack=True))
    refusal = connection_closed(FRAME_ERROR, SYNTAX_ERROR, UNEXPECTED_FRAME)
    channel.expect((refusal | message(Basic.GetOk, TEXT)).recorded("4.2.6.1: no reaction is named"))


@watch(
    "0-9-1/prose/4.2.6.1.body-size-is-the-sum",
    during="0-9-1/prose/4.2.6.1.empty-body",
    looks_at=came(Contents),
    of_clients=TALK,
)
@broken_by(
    "sends a frame behind an empty body",
    adds(header_of(0), lambda frame: Frame(BODY, frame.channel, b""), from_server=False),
    Role.CLIENT,
)
@broken_by(
    "announces too little",
    of_client(
        lambda octets: octets[:4] + (max(int.from_bytes(octets[4:12]), 1) - 1).to_bytes(8) + octets[12:]
    ),
    Role.CLIENT,
)
@broken_by("announces too little", heads(len(TEXT), lambda it: it[:11] + bytes((len(TEXT) - 1,)) + it[12:]))
@broken_by("sends a frame behind an empty body", adds(header_of(0), lambda it: Frame(BODY, it.channel, b"")))
def bodies_add_up_to_their_size(contents: Contents) -> Found:
    """The body frames of every content that comes are as long as its header says; with zero none comes.

    A content may be given up, so less is not counted.
    """
    if contents.kinds[0] != HEADER:
        return None
    bodies, announced = contents.bodies, contents.announced
    there = sum(bodies)
    if there < announced:
        return None
    if there == announced and (announced or not bodies):
        return True
    return f"{there} octets where {announced} were announced at {contents.at:.4f} s"


@scenario("0-9-1/prose/4.2.6.1.empty-body")
@broken_by("waits for a body", drops("content header: without body completes the content"))
@broken_by("sends a body", adds(header_of(0), lambda frame: Frame(BODY, frame.channel, b"")))
@broken_by("delivers none", withholds(Basic.Deliver, skip=1))
def content_of_size_zero_has_no_body(broker: Broker) -> None:
    """A content is whole with a header that says zero: got, delivered and returned, it has no body frame.

    One with a body goes before.
    """
    ways = ThreeWays(broker)
    for way, body in product(ways, (TEXT, b"")):
        ways.publish(way, body)
        ways.channel.expect(message(way, body))
    ways.channel.stays_quiet()


BY_TYPE: Mapping[str, Any] = {
    "shortstr": "text",
    "octet": 1,
    "timestamp": 1_700_000_000,
    "table": {"name": 1},
}
MEANT: Mapping[str, Any] = {"expiration": "60000"}
"""What servers read: the document leaves its form open, this fits everywhere."""
HIGHEST = 15
"""The bit of the first property."""
Sent = Mapping[Field, Any]


def valued(broker: Broker) -> Sent:
    """Give each property with a value; the one that is reserved, once cluster-id, is left out."""
    known = {**MEANT, "user-id": broker.endpoint.user}
    named = [each for each in Basic.Properties.fields if each.name != "reserved"]
    return {each: known.get(each.name, BY_TYPE[each.type]) for each in named}


def flagged(values: Sent) -> bytes:
    """Give property flags and values in octets, each flag in the place that its property has in the class."""
    flags = sum(1 << HIGHEST - Basic.Properties.fields.index(each) for each in values)
    return flags.to_bytes(2) + b"".join(write_field(each.type, value) for each, value in values.items())


@scenario("0-9-1/prose/4.2.6.1.property-flags-from-high")
@broken_by("loses the last", delivers(app_id=None))
@broken_by("has two in one another's place", delivers(reply_to=None, message_id="text"))
@broken_by("loses the last where it delivers", delivers(behind=Basic.Deliver, app_id=None))
@broken_by("loses the last where it returns", delivers(behind=Basic.Return, app_id=None))
@broken_by("begins with bit 14", objects(lambda it: is_header(it) and it.payload[12] >= 0x80, FRAME_ERROR))
def each_property_has_its_bit(broker: Broker) -> None:
    """Each property of Basic alone, and every second one, are got, delivered and returned.

    Their flags are written in raw octets. Properties that a server adds are legal.
    """
    ways, all_of_them = ThreeWays(broker), valued(broker)
    alone = [{each: value} for each, value in all_of_them.items()]
    every_second = dict(list(all_of_them.items())[::2])
    for way, values in product(ways, (*alone, every_second)):
        ways.publish_raw(way, header(flags_and_values=flagged(values)), TEXT)
        named = {attribute(each.name): value for each, value in values.items()}
        ways.channel.expect(message(way, TEXT, carrying=named), *over(named, way))


@scenario("0-9-1/prose/4.2.6.1.property-flags-continued")
@broken_by(
    "takes it for an error",
    objects(lambda frame: is_header(frame) and frame.payload[13] & 1 == 1, FRAME_ERROR),
)
@broken_by("loses what follows", delivers(content_type=None))
def flags_may_go_on(broker: Broker) -> None:
    """Flags whose lowest bit is set, then a second field of flags without any: content-type comes back."""
    channel, queue = publishing(broker)
    publish(channel, queue, header(flags_and_values=b"\x80\x01" + b"\x00\x00" + shortstr("text/plain")))
    channel.send(Basic.Get(queue, no_ack=True))
    channel.expect(message(Basic.GetOk, TEXT, carrying={"content_type": "text/plain"}))


@watch(
    "0-9-1/prose/4.2.6.1.own-content-not-on-zero",
    during=OCCASION,
    looks_at=came(HEADER, BODY, on=ZERO),
    counts=came(HEADER, BODY, on=ABOVE),
    of_clients=TALK,
)
@broken_by("sends headers on channel 0", mends(is_header, on_channel(0)), Role.CLIENT)
@broken_by(
    "sends headers on channel 0",
    spoils(header_of(OF_OCCASION), lambda frame: Frame(HEADER, 0, frame.payload)),
)
@broken_by("sends bodies on channel 0", spoils(body_of(OF_OCCASION), lambda it: Frame(BODY, 0, it.payload)))
def contents_are_on_channels(each: Framed) -> Found:
    """No header and no body frame that comes is on channel 0."""
    return f"type {each.unit.type} on channel {each.unit.channel} at {each.at:.4f} s"


@scenario("0-9-1/prose/4.2.6.1.content-on-zero-refused")
@broken_by("does not see it", swallows(lambda frame: frame.type in (HEADER, BODY) and not frame.channel))
@broken_by("passes it over", drops(ON_ZERO))
@broken_by("gives another code", changes(ON_ZERO, answer=refuse(FRAME_ERROR)))
def content_frame_on_channel_zero_is_refused(broker: Broker) -> None:
    """The same header and body are taken on a channel; on channel 0 each ends the connection with 504.

    As no method can announce a content there, each lacks another part of it, for which 505 is due.
    """
    incomplete = connection_closed(UNEXPECTED_FRAME).under("4.2.6: a content that lacks a part gets 505")
    for frame in (Frame(HEADER, 0, header()), Frame(BODY, 0, TEXT)):
        channel, _ = publishing(broker)
        channel.connection.send_frames(frame)
        channel.expect(connection_closed(CHANNEL_ERROR), incomplete)
