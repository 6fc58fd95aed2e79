"""4.2.5.1 to 4.2.5.4: integers, bits, strings and timestamps."""

from itertools import product

from harness.amqp0_9_1.broken.content_faults import delivers, header_with, is_header
from harness.amqp0_9_1.broken.deviations import changes, forwards, mends, objects, rejects, rewrites
from harness.amqp0_9_1.broken.entity_faults import set_signed_window
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    channel_closed,
    connection_closed,
    fields,
    message,
    refused,
    silence,
)
from harness.amqp0_9_1.wire.frames import METHOD, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    FRAME_ERROR,
    NOT_FOUND,
    PRECONDITION_FAILED,
    REPLY_SUCCESS,
    RESOURCE_LOCKED,
    SYNTAX_ERROR,
    Basic,
    Connection,
    Queue,
)
from scenarios.amqp0_9_1.connection.tune_ok import OPENED
from scenarios.amqp0_9_1.three_ways import ThreeWays
from scenarios.registry import broken_by, scenario

TEXT = b"with properties"
FAR_TAG = (1 << 63) + 1
QOS = "basic.qos: for the channel"


def low_32_bits(number: int) -> int:
    return number & 0xFFFFFFFF


# -- 4.2.5.1 -------------------------------------------------------------------------------------------


@scenario("0-9-1/prose/4.2.5.1.integers-unsigned")
@broken_by(
    "takes a large count for a negative one",
    rejects(Basic.Qos, SYNTAX_ERROR, lambda qos: qos.prefetch_count > 32767),
)
@broken_by("keeps four octets of eight", delivers(timestamp=low_32_bits))
@broken_by(
    "takes a large tag for a negative one",
    rejects(Basic.Ack, SYNTAX_ERROR, lambda ack: ack.delivery_tag >= FAR_TAG),
)
@broken_by("takes a large window for none at all", changes(QOS, set_signed_window))
@broken_by(
    "takes a large heartbeat for a negative one",
    rejects(Connection.TuneOk, SYNTAX_ERROR, lambda ok: ok.heartbeat > 32767),
)
def integers_use_all_their_bits(broker: Broker) -> None:
    """Qos with 65535 is answered and holds no message back, priority 9 and timestamp 2 to the 40th come back.

    A connection opens with a heartbeat of 65535 seconds, and is there when all else has been tried.

    A delivery-tag of 2 to the 63rd plus 1 is an unknown one: an error of the channel, or passed over.
    """
    patient = broker.tuned()
    patient.opens(patient.tune_ok(heartbeat=65535), OPENED)
    channel, queue = broker.queue()
    channel.tries(Basic.Qos(prefetch_count=65535), Basic.QosOk)
    tag = channel.consume(queue)
    for body in (b"first", b"second"):
        channel.hears(body, key=queue)
    channel.ask(Basic.Cancel(tag))
    channel.publish(TEXT, key=queue, priority=9, timestamp=1 << 40)
    channel.send(Basic.Get(queue, no_ack=True))
    channel.expect(message(Basic.GetOk, TEXT, carrying={"priority": 9, "timestamp": 1 << 40}))
    channel.send(Basic.Ack(FAR_TAG))
    # Not for a wrong reading of its octets: that would be an exception of the connection.
    passed_over = silence().under("refusing unknown tags is judged by 0-9-1/basic.ack.multiple.exists")
    channel.expect(channel_closed(), passed_over)
    patient.tries(Connection.Close(REPLY_SUCCESS, "done"), Connection.CloseOk)


NOON = 1_700_000_000


def stands_unevenly(frame: Frame) -> bool:
    return len(frame.payload) % 2 == 1


@scenario("0-9-1/prose/4.2.5.1.alignment-not-assumed")
@broken_by("reads at even octets", delivers(when=stands_unevenly, timestamp=lambda seconds: seconds >> 8))
@broken_by(
    "loses a letter of some names",
    rewrites(Queue.DeclareOk, lambda ok: ok.queue.endswith("-xxx"), queue=lambda name: name[:-1]),
)
def integers_may_stand_anywhere(broker: Broker) -> None:
    """Behind names and correlation-ids of eight lengths in a row, every integer is read as it is meant."""
    channel = broker.channel()
    for length in range(8):
        queue = broker.name("queue", "{}-" + length * "x")
        channel.send(Queue.Declare(queue))
        channel.expect(fields(Queue.DeclareOk, queue=queue, message_count=0, consumer_count=0))
        channel.publish(TEXT, key=queue, correlation_id=length * "c", timestamp=NOON)
        channel.send(Basic.Get(queue, no_ack=True))
        whole = {"correlation_id": length * "c", "timestamp": NOON}
        channel.expect(message(Basic.GetOk, TEXT, carrying=whole))


# -- 4.2.5.2 -------------------------------------------------------------------------------------------

PASSIVE, EXCLUSIVE, AUTO_DELETE, NO_WAIT = 1, 4, 8, 16
BITS_FROM_BEHIND = 5
"""The octet of bits in Queue.Declare stands before its table, which is empty."""


def with_bits(queue: str, bits: int) -> bytes:
    octets = Queue.Declare(queue).encode()
    return octets[:-BITS_FROM_BEHIND] + bytes((bits,)) + octets[-BITS_FROM_BEHIND + 1 :]


def has_one_bit(frame: Frame) -> bool:
    """Say whether it is a Queue.Declare with passive or no-wait alone, and no arguments."""
    octets = frame.payload
    plain = sent_on(Queue.Declare)(frame) and octets.endswith(bytes(BITS_FROM_BEHIND - 1))
    return plain and octets[-BITS_FROM_BEHIND] in (PASSIVE, NO_WAIT)


def from_the_high_bit(frame: Frame) -> Frame:
    """Give the same Declare with its five bits the other way round."""
    at = len(frame.payload) - BITS_FROM_BEHIND
    turned = int(f"{frame.payload[at]:05b}"[::-1], 2)
    return Frame(METHOD, frame.channel, frame.payload[:at] + bytes((turned,)) + frame.payload[at + 1 :])


def declare(channel: AmqpChannel, queue: str, bits: int) -> None:
    channel.connection.send_frames(Frame(METHOD, channel.number, with_bits(queue, bits)))


@scenario("0-9-1/prose/4.2.5.2.bits-packed-from-low")
@broken_by("reads bits from the high end", mends(has_one_bit, from_the_high_bit))
@broken_by("does not see passive", forwards(Queue.Declare, lambda sent: sent.passive, passive=False))
@broken_by("does not see exclusive", forwards(Queue.Declare, lambda sent: sent.exclusive, exclusive=False))
@broken_by("does not see auto-delete", forwards(Queue.Declare, lambda it: it.auto_delete, auto_delete=False))
def each_bit_has_its_place(broker: Broker) -> None:
    """In Queue.Declare 1 is passive, 4 exclusive and 8 auto-delete: each does what it says."""
    channel, missing = broker.channel(), broker.name("queue")
    declare(channel, missing, PASSIVE)
    channel.expect(*refused(NOT_FOUND))
    channel, locked, passing = broker.channel(), broker.name("queue"), broker.name("queue")
    declare(channel, locked, EXCLUSIVE)
    channel.expect(Queue.DeclareOk)
    stranger = broker.channel(new_connection=True)
    stranger.send(Queue.Declare(locked, passive=True))
    another = "judged by 0-9-1/queue.declare.exclusive.exclusive: locked, by another code"
    stranger.expect(*refused(RESOURCE_LOCKED), EXCEPTION.under(another))
    declare(channel, passing, AUTO_DELETE)
    channel.expect(Queue.DeclareOk)
    channel.ask(Basic.Cancel(channel.consume(passing)))
    channel.tries(Queue.Declare(passing, passive=True), *refused(NOT_FOUND))


# -- 4.2.5.3 -------------------------------------------------------------------------------------------

LONGEST = 255
KEY = LONGEST * "k"
OF_MANY_OCTETS = 28 * "ü€😀" + "€"
"""Letters of two, three and four octets: 255 altogether."""


@scenario("0-9-1/prose/4.2.5.3.short-string-of-255")
@broken_by(
    "cuts the routing key",
    rewrites(Basic.GetOk, lambda ok: ok.routing_key == KEY, routing_key=lambda key: key[:127]),
)
@broken_by("counts letters", delivers(correlation_id=lambda text: text[:-1]))
@broken_by("takes no more than 127", rejects(Queue.Bind, SYNTAX_ERROR, lambda it: len(it.routing_key) > 127))
def short_string_has_255_octets(broker: Broker) -> None:
    """A routing key and a correlation-id of 255 octets, the latter of long letters, come as published."""
    channel = broker.channel()
    queue, exchange = channel.declare_queue(), channel.declare_exchange()
    channel.tries(Queue.Bind(queue, exchange, KEY), Queue.BindOk)
    channel.publish(TEXT, exchange=exchange, key=KEY, correlation_id=OF_MANY_OCTETS)
    channel.send(Basic.Get(queue, no_ack=True))
    whole = {"correlation_id": OF_MANY_OCTETS}
    channel.expect(message(Basic.GetOk, TEXT, carrying=whole, routing_key=KEY))


@scenario("0-9-1/prose/4.2.5.3.names-kept-whole")
@broken_by("cuts names", forwards(Queue.Declare, lambda it: len(it.queue) > 127, queue=lambda it: it[:127]))
@broken_by("ends the connection", rejects(Queue.Declare, SYNTAX_ERROR, lambda sent: len(sent.queue) > 127))
def long_name_is_kept_whole_or_refused(broker: Broker) -> None:
    """A queue's name of 128 octets, and one of 255, is answered as it was sent, or refused on the channel.

    Under the first 127 octets of it no queue is found.
    """
    for length in (128, LONGEST):
        channel, name = broker.channel(), broker.name("queue", f"{{:x>{length}}}")
        channel.send(Queue.Declare(name))
        whole, refusal = fields(Queue.DeclareOk, queue=name), channel_closed(PRECONDITION_FAILED)
        another = channel_closed().under("4.2.5.3 against the assert: refused with another code")
        if isinstance(channel.expect(whole | refusal, another), Queue.DeclareOk):
            channel.tries(Queue.Declare(name[:127], passive=True), *refused(NOT_FOUND))


WITH_ZERO, IN_PLACE = "a\0b", "a-b"


def is_sent_with_zero(frame: Frame) -> bool:
    """Say whether it is a content header with the correlation-id that has a zero octet."""
    return is_header(frame) and WITH_ZERO.encode() in frame.payload


def without_zero(frame: Frame) -> Frame:
    return Frame(frame.type, frame.channel, frame.payload.replace(WITH_ZERO.encode(), IN_PLACE.encode()))


TAKES_IT = mends(is_sent_with_zero, without_zero)
DELIVERS_IT = delivers(header_with(correlation_id=lambda text: text == IN_PLACE), correlation_id=WITH_ZERO)


@scenario("0-9-1/prose/4.2.5.3.zero-octet-refused")
@broken_by("passes it on", TAKES_IT + DELIVERS_IT)
@broken_by("makes another text of it", TAKES_IT)
def zero_octet_in_a_short_string_is_refused(broker: Broker) -> None:
    """A correlation-id of two letters comes back; one with a zero octet between them ends the connection.

    Another exception is legal, and so is taking the text to end there.
    """
    channel, queue = broker.queue()
    channel.publish(TEXT, key=queue, correlation_id="ab")
    channel.ask(Basic.Get(queue, no_ack=True), Basic.GetOk)
    channel.publish(TEXT, key=queue, correlation_id=WITH_ZERO)
    channel.send(Basic.Get(queue, no_ack=True))
    other = EXCEPTION.under("4.2.5.3: no reaction is named")
    cut = message(Basic.GetOk, TEXT, carrying={"correlation_id": "a"})
    channel.expect(connection_closed(FRAME_ERROR, SYNTAX_ERROR), other, cut.under("4.2.5.3: it ends there"))


OCTETS = {"every": bytes(range(256)), "many": b"\xff" * 2000}


@scenario("0-9-1/prose/4.2.5.3.long-string-of-anything")
@broken_by("takes zero for the end", delivers(headers={"every": b"", "many": OCTETS["many"]}))
@broken_by(
    "cuts it at 255 octets",
    delivers(headers=lambda table: {name: value[:255] for name, value in table.items()}),
)
@broken_by("loses them where it delivers", delivers(behind=Basic.Deliver, headers={}))
@broken_by("loses them where it returns", delivers(behind=Basic.Return, headers={}))
@broken_by("wants text", objects(header_with(headers=lambda table: "every" in table), SYNTAX_ERROR))
def long_string_holds_any_octets(broker: Broker) -> None:
    """A long string with each octet there is, and one of 2000 octets, are got, delivered and returned."""
    ways = ThreeWays(broker)
    for way in ways:
        ways.publish(way, TEXT, headers=OCTETS)
        ways.channel.expect(message(way, TEXT, carrying={"headers": OCTETS}))


# -- 4.2.5.4 -------------------------------------------------------------------------------------------


@scenario("0-9-1/prose/4.2.5.4.timestamps-of-64-bits")
@broken_by("counts in 32 bits", delivers(timestamp=low_32_bits))
@broken_by("counts in 32 bits where it delivers", delivers(behind=Basic.Deliver, timestamp=low_32_bits))
@broken_by("counts in 32 bits where it returns", delivers(behind=Basic.Return, timestamp=low_32_bits))
@broken_by("takes zero for none", delivers(header_with(timestamp=lambda it: not it), timestamp=None))
def timestamp_has_64_bits(broker: Broker) -> None:
    """Timestamps of 0, and of 2 to the 31st, 32nd and 33rd seconds, are got, delivered and returned."""
    ways = ThreeWays(broker)
    for way, seconds in product(ways, (0, 1 << 31, 1 << 32, 1 << 33)):
        ways.publish(way, TEXT, timestamp=seconds)
        ways.channel.expect(message(way, TEXT, carrying={"timestamp": seconds}))
