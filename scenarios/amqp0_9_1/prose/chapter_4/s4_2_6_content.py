"""4.2.6, 4.2.6.2: contents, their frames in order, and what is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from harness.amqp0_9_1.broken.content_faults import (
    add_to_every_body,
    body_of,
    deliver_what_there_is,
    header_of,
)
from harness.amqp0_9_1.broken.deviations import adds, answers, changes, drops, mends, spoils, swallows
from harness.amqp0_9_1.broken.frame_faults import Matching, sent_on
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, connection_closed, fields, message
from harness.amqp0_9_1.client.transcript import Contents
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.field_tables import encode_value, shortstr
from harness.amqp0_9_1.wire.frames import BODY, HEADER, OVERHEAD, ContentHeader, Frame, content_frames
from harness.amqp0_9_1.wire.vocabulary import (
    FRAME_ERROR,
    INTERNAL_ERROR,
    SYNTAX_ERROR,
    UNEXPECTED_FRAME,
    Basic,
    Queue,
)
from harness.play.watching import Found, came
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_5_fields import TEXT as OF_INTEGERS
from scenarios.amqp0_9_1.talk import SIZES, TALK
from scenarios.amqp0_9_1.three_ways import ThreeWays
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

OCCASION = "0-9-1/prose/4.2.6.2.split-body-handled"
OUT_OF_SEQUENCE = "content: refuses a frame out of sequence"
CUT_OFF = "content: refuses a method before its end"
BEYOND = "content body: refuses more than announced"
ANOTHER = refuse(FRAME_ERROR)
TEXT = b"twenty-four octets of it"
HALF = len(TEXT) // 2
EMPTY = ContentHeader(Basic.Publish.spec.class_index, 0, Basic.Properties()).encode()


# -- 4.2.6 ---------------------------------------------------------------------------------------------


@watch(
    "0-9-1/prose/4.2.6.content-in-sequence",
    during="0-9-1/prose/4.2.5.1.integers-unsigned",
    looks_at=came(Contents),
    of_clients=TALK,
)
@broken_by("sends a header twice", adds(header_of(SIZES[1]), lambda it: it, from_server=False), Role.CLIENT)
@broken_by("sends a header twice", adds(header_of(len(OF_INTEGERS)), lambda frame: frame))
@broken_by(
    "sends a header behind the body",
    adds(body_of(len(OF_INTEGERS)), lambda frame: Frame(HEADER, frame.channel, EMPTY)),
)
@broken_by(
    "sends a body behind an answer",
    adds(sent_on(Basic.QosOk), lambda frame: Frame(BODY, frame.channel, b"")),
)
def content_frames_come_in_sequence(contents: Contents) -> Found:
    """Behind each method with content comes one header, then bodies; behind others neither.

    Where there is nothing behind a method with content, the content was given up, which is legal.
    """
    carries = contents.method is not None and contents.method.spec.content
    if carries and contents.kinds[0] == HEADER and len(contents.headers) == 1:
        return True
    return f"types {[*contents.kinds]} behind {contents.method} at {contents.at:.4f} s"


def publication(channel: AmqpChannel, queue: str, body: bytes, room: int) -> list[Frame]:
    """Give the frames of a message for the queue, its body in frames of `room` octets."""
    method = Basic.Publish("", queue)
    return list(content_frames(channel.number, method, Basic.Properties(), body, room + OVERHEAD))


@scenario("0-9-1/prose/4.2.6.contents-on-several-channels")
@broken_by("loses a body", swallows(lambda frame: body_of(HALF // 2)(frame) and frame.channel == 2))
@broken_by("mixes them up", changes("content body: is kept", add_to_every_body))
def contents_may_be_mixed_frame_by_frame(broker: Broker) -> None:
    """Two messages whose frames are sent in turn on two channels are in their queues whole."""
    channels = broker.channel(), broker.channel()
    queues = [each.declare_queue() for each in channels]
    bodies = TEXT, TEXT[::-1]
    one, other = (publication(*each, HALF // 2) for each in zip(channels, queues, bodies, strict=True))
    mixed = [frame for pair in zip(one, other, strict=True) for frame in pair]
    channels[0].connection.send_frames(*mixed)
    for channel, queue, body in zip(channels, queues, bodies, strict=True):
        channel.gets(queue, body)


def ready_to_publish(broker: Broker) -> tuple[AmqpChannel, str]:
    """Give a channel of a connection of its own and a queue, where a content in two frames has been taken."""
    channel, queue = broker.queue(new_connection=True)
    channel.connection.send_frames(*publication(channel, queue, TEXT, HALF))
    channel.ask(Basic.Get(queue, no_ack=True), Basic.GetOk)
    return channel, queue


@scenario("0-9-1/prose/4.2.6.interrupted-content")
@broken_by("waits for ever", drops("content: a method ends it", CUT_OFF))
@broken_by("delivers what there is", changes(CUT_OFF, deliver_what_there_is, answer=None))
@broken_by("gives another code", changes(CUT_OFF, answer=ANOTHER))
def content_cut_off_by_a_method_is_refused(broker: Broker) -> None:
    """A content of which half has come when a Declare follows ends the connection with 505.

    Or it was given up on purpose: then the Declare is answered, and no message is in the queue.
    """
    channel, queue = ready_to_publish(broker)
    *begun, _ = publication(channel, queue, TEXT, HALF)
    channel.connection.send_frames(*begun)
    channel.send(Queue.Declare(queue, passive=True))
    given_up = fields(Queue.DeclareOk, message_count=0).under("4.2.6: a sender may abort a content")
    channel.expect(connection_closed(UNEXPECTED_FRAME), given_up)


@scenario("0-9-1/prose/4.2.6.content-header-missing")
@broken_by("passes it over", drops(OUT_OF_SEQUENCE))
@broken_by("gives another code", changes(OUT_OF_SEQUENCE, answer=ANOTHER))
def content_without_its_one_header_is_refused(broker: Broker) -> None:
    """A body right behind Publish, and a header behind a header, end the connection with 505."""
    for left_out, doubled in ((1, 0), (0, 1)):
        channel, queue = ready_to_publish(broker)
        method, header, *bodies = publication(channel, queue, TEXT, HALF)
        headers = [header] * (1 - left_out + doubled)
        channel.connection.send_frames(method, *headers, bodies[0])
        channel.expect(connection_closed(UNEXPECTED_FRAME))


SHORTER = len(TEXT) - 2


@scenario("0-9-1/prose/4.2.6.body-beyond-size")
@broken_by("waits for more", drops(BEYOND))
@broken_by("cuts it off", mends(body_of(len(TEXT)), lambda it: Frame(BODY, it.channel, it.payload[:SHORTER])))
@broken_by("passes over what follows", drops(OUT_OF_SEQUENCE))
@broken_by("gives another code", changes(BEYOND, answer=ANOTHER))
def body_longer_than_its_header_says_is_refused(broker: Broker) -> None:
    """Two octets more than the header says, in the same frame or in another, end the connection with 505."""
    header = ContentHeader(Basic.Publish.spec.class_index, SHORTER, Basic.Properties()).encode()
    for pieces in ((TEXT,), (TEXT[:SHORTER], TEXT[SHORTER:])):
        channel, queue = ready_to_publish(broker)
        channel.publish_octets(queue, header, *pieces)
        channel.expect(connection_closed(UNEXPECTED_FRAME))


ONE = encode_value(1)
LIE = (100).to_bytes(4)
"""More octets than the table has behind it, and fewer than the frame."""
BROKEN: Mapping[str, bytes] = {
    "is of an unknown type": shortstr("entry") + b"Z" + bytes(4),
    "has text beyond the table": shortstr("entry") + b"S" + LIE + b"text",
    "is cut short": shortstr("entry") + b"I" + bytes(2),
    "has a name beyond the table": b"\x64entry" + ONE,
    "is an array that lies": shortstr("entry") + b"A" + LIE + ONE,
    "is a table that lies": shortstr("entry") + b"F" + LIE + shortstr("inner") + ONE,
    "is within a table and of an unknown type": shortstr("entry") + b"F" + bytes(3) + b"\x02\x00Z",
}
"""The only entry of a headers table whose own length is right."""
WITH_HEADERS_AND_MESSAGE_ID = b"\x20\x80"


def headed(entry: bytes) -> bytes:
    """Give a content header with this entry in its headers table, and a long message-id behind it."""
    announced = ContentHeader(Basic.Publish.spec.class_index, len(TEXT), Basic.Properties()).encode()[:-2]
    table = len(entry).to_bytes(4) + entry
    return announced + WITH_HEADERS_AND_MESSAGE_ID + table + shortstr(200 * "m")


def is_broken(way: str) -> Matching:
    return lambda frame: frame.type == HEADER and frame.payload == headed(BROKEN[way])


def unbroken(frame: Frame) -> Frame:
    return Frame(HEADER, frame.channel, headed(shortstr("entry") + ONE))


UNREADABLE = "content header: refuses one badly formatted"
READS_ON = mends(lambda frame: any(is_broken(way)(frame) for way in BROKEN), unbroken)


@scenario("0-9-1/prose/4.2.6.broken-header-table")
@broken_by("does not look into arrays", mends(is_broken("is an array that lies"), unbroken))
@broken_by("does not look into tables", mends(is_broken("is a table that lies"), unbroken))
@broken_by("takes any type", mends(is_broken("is within a table and of an unknown type"), unbroken))
@broken_by("is helpless", changes(UNREADABLE, answer=refuse(INTERNAL_ERROR)))
@broken_by("reads what it can", READS_ON)
@broken_by("says it got none", READS_ON + answers(Basic.Get, Basic.GetEmpty(), skip=2))
def broken_entry_of_a_headers_table_is_refused(broker: Broker) -> None:
    """A message whose headers table has an entry comes back; broken in seven ways it ends the connection.

    With 505, or with 501 or 502, which are for frames that cannot be decoded and for illegal values. A Get
    that was on its way may be answered before that: with Get-Empty.
    """
    refused = connection_closed(UNEXPECTED_FRAME, FRAME_ERROR, SYNTAX_ERROR)
    on_its_way = answered(Basic.GetEmpty).recorded("no sentence says how soon the exception comes")
    for broken in BROKEN.values():
        channel, queue = ready_to_publish(broker)
        for entry in (shortstr("entry") + ONE, broken):
            channel.publish_octets(queue, headed(entry), TEXT)
            channel.send(Basic.Get(queue, no_ack=True))
            if entry is not broken:
                channel.control("a headers table with an entry", Basic.GetOk)
        if isinstance(channel.expect(refused, on_its_way), Basic.GetEmpty):
            channel.expect(refused)


# -- 4.2.6.2 -------------------------------------------------------------------------------------------

WHOLE = (len(TEXT),)
UNEQUAL = (1, 10, 3, 8, 2)
WITH_AN_EMPTY_ONE = (HALF, 0, HALF)


def cut(lengths: Sequence[int]) -> Iterator[bytes]:
    at = 0
    for length in lengths:
        yield TEXT[at : at + length]
        at += length


def reversed_body(frame: Frame) -> Frame:
    return Frame(BODY, frame.channel, frame.payload[::-1])


@scenario("0-9-1/prose/4.2.6.2.split-body-handled")
@broken_by("keeps the last frame alone", changes("content body: is kept", effects=()))
@broken_by("fills an empty frame", mends(body_of(0), lambda frame: Frame(BODY, frame.channel, b"\x00")))
@broken_by("loses a short frame", swallows(body_of(1)))
@broken_by("delivers another body", spoils(body_of(len(TEXT)), reversed_body, Basic.Deliver))
@broken_by("returns another body", spoils(body_of(len(TEXT)), reversed_body, Basic.Return))
def body_is_taken_in_any_number_of_frames(broker: Broker) -> None:
    """The same body in one frame, in many, in unequal ones, and with an empty one, comes back the same.

    It is got, delivered and returned.
    """
    ways = ThreeWays(broker)
    header = ContentHeader(Basic.Publish.spec.class_index, len(TEXT), Basic.Properties()).encode()
    for way, lengths in product(ways, (WHOLE, len(TEXT) * (1,), UNEQUAL, WITH_AN_EMPTY_ONE)):
        ways.publish_raw(way, header, *cut(lengths))
        ways.channel.expect(message(way, TEXT))
