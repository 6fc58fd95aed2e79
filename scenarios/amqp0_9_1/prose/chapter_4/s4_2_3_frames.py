"""4.2.3: the frame, its type, its channel, its size and its end."""

from harness.amqp0_9_1.broken.basic_faults import wants_room_in_the_frame
from harness.amqp0_9_1.broken.content_faults import is_heartbeat
from harness.amqp0_9_1.broken.deviations import (
    changes,
    drops,
    ends_with,
    mends,
    objects,
    overlooks_frame_ends,
    serves,
    spoils,
    swallows,
    swaps,
    withholds,
)
from harness.amqp0_9_1.broken.faults import uncut
from harness.amqp0_9_1.broken.frame_faults import (
    OPEN_OK,
    START,
    TUNE,
    before_it,
    on_channel,
    sent_on,
    without_its_last,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed, message, refused, silence
from harness.amqp0_9_1.client.pulse import beating
from harness.amqp0_9_1.client.transcript import ABOVE, UNREAD, ZERO, Framed, Passage
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.frames import (
    FRAME_MIN_SIZE,
    HEADER,
    HEARTBEAT,
    METHOD,
    OVERHEAD,
    ContentHeader,
    Frame,
    RawFrame,
)
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    CODEC,
    COMMAND_INVALID,
    FRAME_ERROR,
    NOT_FOUND,
    REPLY_SUCCESS,
    UNEXPECTED_FRAME,
    Basic,
    Channel,
    Connection,
    Exchange,
    Queue,
)
from harness.play.watching import Found, came
from harness.wire.units import Garbage
from scenarios.amqp0_9_1.connection.tune_ok import largest_frame_around
from scenarios.amqp0_9_1.talk import TALK
from scenarios.amqp0_9_1.three_ways import ThreeWays
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

BEAT_ON_A_CHANNEL = "heartbeat: refuses one on a channel"
WRONG_END = "the frame ends with"
"""How the reader says that only the last octet of a frame is wrong."""
OF_NO_FORM = closed_silently().under("4.2.3: a frame of no defined form is fatal")
BY_HANDSHAKE = connection_closed().under("2.3.7: an open connection is closed by a hand-shake")
LARGER = "frame: refuses one larger than agreed"
MISPLACED = "method: refuses the connection class on a channel"
BLAMES_A_CHANNEL = ends_with(Channel.Close(FRAME_ERROR, "no such frame"))


DECLARES, OF_QOS_OK = sent_on(Queue.Declare), sent_on(Basic.QosOk)


def one_octet_longer(frame: Frame) -> bytes:
    return RawFrame(frame.type, frame.channel, frame.payload, size=len(frame.payload) + 1).encode()


@watch(
    "0-9-1/prose/4.2.3.frame-layout",
    during="0-9-1/prose/4.2.5.1.integers-unsigned",
    looks_at=came(Garbage),
    counts=came(Frame),
    of_clients=TALK,
)
@broken_by("counts the frame-end", spoils(OF_QOS_OK, one_octet_longer))
@broken_by(
    "has a type of its own",
    mends(DECLARES, lambda it: RawFrame(7, it.channel, it.payload).encode()),
    Role.CLIENT,
)
@broken_by("has a type of its own", spoils(OF_QOS_OK, lambda frame: RawFrame(7, 1, frame.payload).encode()))
@broken_by("has a type of its own before Start", spoils(START, before_it(RawFrame(7, 0, b"hello").encode())))
@broken_by("has a type of its own for Start", spoils(START, lambda it: RawFrame(7, 0, it.payload).encode()))
def everything_divides_into_frames(each: Passage) -> Found:
    """All that comes is frames of the four types, with the size in its place.

    Octets that begin a connection and are no frame belong to another protocol (4.2.2).
    """
    return f"{why_not(each)} at {each.at:.4f} s"


def why_not(each: Passage) -> str:
    assert isinstance(each.unit, Garbage)
    return each.unit.why


@watch(
    "0-9-1/prose/4.2.3.frame-end-is-ce",
    during="0-9-1/prose/4.2.5.1.integers-unsigned",
    looks_at=came(Garbage),
    counts=came(Frame),
    of_clients=TALK,
)
@broken_by("ends a frame with zero", spoils(OF_QOS_OK, lambda frame: frame.encode()[:-1] + b"\x00"))
@broken_by("ends a frame with zero", mends(DECLARES, lambda it: it.encode()[:-1] + b"\x00"), Role.CLIENT)
@broken_by("ends Start with zero", spoils(START, lambda frame: frame.encode()[:-1] + b"\x00"))
@broken_by("ends Tune with zero", spoils(TUNE, lambda frame: frame.encode()[:-1] + b"\x00"))
def every_frame_ends_with_ce(each: Passage) -> Found:
    """The last octet of every frame that comes is CE."""
    return f"{why_not(each)} at {each.at:.4f} s" if why_not(each).startswith(WRONG_END) else None


@scenario("0-9-1/prose/4.2.3.unknown-frame-type-fatal", slow=True)
@broken_by("passes it over", drops("frame: refuses an undefined type"))
@broken_by("closes a channel", BLAMES_A_CHANNEL)
def frame_of_an_undefined_type_is_fatal(broker: Broker) -> None:
    """A frame of type 5 on channel 0, and one of type 255 on a channel, end the connection.

    Without a further octet, by the letter; by the handshake as well.
    """
    for frame_type, of_connection in ((5, True), (255, False)):
        channel = broker.channel(new_connection=True).fence()
        number = 0 if of_connection else channel.number
        channel.connection.send_frames(RawFrame(frame_type, number))
        channel.expect(closed_silently(), BY_HANDSHAKE)


def send_with_end(channel: AmqpChannel, queue: str, end: bytes) -> None:
    """Declare a queue, in a frame that ends with this octet."""
    payload = Queue.Declare(queue).encode()
    channel.connection.send_frames(RawFrame(METHOD, channel.number, payload, end=end))


LATE = "-with-a-wrong-end"


@scenario("0-9-1/prose/4.2.3.frame-end-checked", slow=True)
@broken_by("takes any frame-end", overlooks_frame_ends())
@broken_by(
    "looks too late", overlooks_frame_ends() + withholds(Queue.DeclareOk, lambda ok: ok.queue.endswith(LATE))
)
def frame_with_a_wrong_end_has_no_effect(broker: Broker) -> None:
    """A declaration in a frame that ends with CD is not answered, and the queue is not found afterwards."""
    channel = broker.channel()
    channel.declare_queue()
    queue = broker.name("queue", f"{{}}{LATE}")
    send_with_end(channel, queue, b"\xcd")
    channel.expect(closed_silently() | connection_closed() | silence())
    broker.channel(new_connection=True).tries(Queue.Declare(queue, passive=True), *refused(NOT_FOUND))


@scenario("0-9-1/prose/4.2.3.bad-frame-end-fatal", slow=True)
@broken_by("passes it over", drops("frame: refuses a bad end"))
@broken_by("takes any frame-end", overlooks_frame_ends())
@broken_by("closes a channel", BLAMES_A_CHANNEL)
def frame_with_a_wrong_end_is_fatal(broker: Broker) -> None:
    """A declaration in a frame that ends with CD, and one in a frame that ends with 00, end the connection.

    Without a further octet, by the letter; by the handshake as well.
    """
    for end in (b"\xcd", b"\x00"):
        channel, queue = broker.queue(new_connection=True)
        send_with_end(channel, queue, end)
        channel.expect(closed_silently(), BY_HANDSHAKE)


SMALL = 2 * FRAME_MIN_SIZE
"""A frame-max below what is usual. That the smallest one can be agreed upon is judged by rules of its own."""


def with_small_frames(broker: Broker) -> tuple[AmqpConnection, int]:
    """Give a connection on which a small frame-max was agreed upon, and that frame-max."""
    connection = broker.tuned()
    agreed = min(SMALL, connection.tune_ok().frame_max or SMALL)
    connection.open(connection.tune_ok(frame_max=agreed))
    return connection, agreed


@scenario("0-9-1/prose/4.2.3.own-frames-fit")
@broken_by("sends larger frames", swaps(cut=uncut))
def no_frame_is_larger_than_agreed(broker: Broker) -> None:
    """A message of 40000 octets is delivered in frames of at most 8192, all 8 octets around included.

    By 4.2.6.2 the agreed size may be that of the payload.
    """
    small, agreed = with_small_frames(broker)
    largest = largest_frame_around(bytes(40_000), small.channel())
    fits, payload_fits = largest <= agreed, largest <= agreed + OVERHEAD
    broker.judge(f"payloads of at most {agreed} octets", "a larger payload", payload_fits)
    payloads = "4.2.6.2: the size agreed upon is that of the payload"
    broker.judge(f"frames of at most {agreed} octets", f"payloads of at most {agreed} octets", fits, payloads)


def fills_a_frame(frame: Frame) -> bool:
    """Match content headers that are exactly as long as the small frame-max allows."""
    return frame.type == HEADER and len(frame.payload) + OVERHEAD == SMALL


@scenario("0-9-1/prose/4.2.3.own-frames-fit")
@broken_by("refuses a header that fills a frame", objects(fills_a_frame, FRAME_ERROR))
@broken_by("delivers no such header", swaps(may_have=wants_room_in_the_frame))
@broken_by("cuts such a header", spoils(fills_a_frame, without_its_last(1), Basic.Return))
def header_that_fills_a_frame_comes_back(broker: Broker) -> None:
    """A content header of 8192 octets, all 8 around included, is taken; it is got, delivered and returned."""
    small, agreed = with_small_frames(broker)
    ways = ThreeWays(broker, small.channel())
    empty = ContentHeader(
        Basic.Publish.spec.class_index, 0, Basic.Properties(headers={"filler": ""})
    ).encode()
    filled = {"filler": (agreed - OVERHEAD - len(empty)) * "x"}
    for way in ways:
        ways.publish(way, b"below a full header", headers=filled)
        ways.channel.expect(message(way, b"below a full header", carrying={"headers": filled}))


@scenario("0-9-1/prose/4.2.3.oversized-frame-refused", slow=True)
@broken_by("passes it over", drops(LARGER))
@broken_by("gives another code", changes(LARGER, answer=refuse(UNEXPECTED_FRAME)))
@broken_by("closes a channel", changes(LARGER, answer=lambda _: Channel.Close()))
def frame_larger_than_agreed_is_refused(broker: Broker) -> None:
    """A body frame of 8192 octets is taken, one of 8201 and one of 16384 end the connection with 501.

    2.3.3 lets the socket be closed without a word. Up to 8 octets more could be taken to fit (4.2.6.2).
    """
    disconnected = closed_silently().under("2.3.3: a peer that sends too large frames is disconnected")
    for times, more in ((1, OVERHEAD + 1), (2, 0)):
        small, agreed = with_small_frames(broker)
        channel = small.channel()
        queue = channel.declare_queue()
        send_in_one_frame(channel, queue, bytes(agreed - OVERHEAD))
        channel.ask(Basic.Get(queue, no_ack=True), Basic.GetOk)
        send_in_one_frame(channel, queue, bytes(times * agreed + more - OVERHEAD))
        channel.expect(connection_closed(FRAME_ERROR), disconnected)


def send_in_one_frame(channel: AmqpChannel, queue: str, body: bytes) -> None:
    """Publish a message with its body in a single frame, however large."""
    header = ContentHeader(Basic.Publish.spec.class_index, len(body), Basic.Properties())
    channel.publish_octets(queue, header.encode(), body)


def of_close(frame: Frame) -> bool:
    """Match a Close of the server's that says 503."""
    begun = Connection.Close(COMMAND_INVALID).encode()[:6]
    return frame.type == METHOD and frame.payload.startswith(begun)


def is_of_the_connection(frame: Frame) -> bool:
    return frame.type == HEARTBEAT or frame.payload[:2] == OF_CONNECTIONS


OF_CONNECTIONS = Connection.Open.spec.class_index.to_bytes(2)
OF_THE_CLASS = [each for name, each in CODEC.methods.items() if name.startswith("connection.")]
OF_OTHERS = [each for name, each in CODEC.methods.items() if not name.startswith("connection.")]


@watch(
    "0-9-1/prose/4.2.3.connection-frames-on-zero",
    during="0-9-1/prose/4.2.3.connection-method-on-channel-refused",
    looks_at=came(HEARTBEAT, UNREAD, *OF_THE_CLASS),
    of_clients=TALK,
)
@broken_by("closes on channel 1", mends(sent_on(Connection.Close), on_channel(1)), Role.CLIENT)
@broken_by("closes on channel 1", spoils(of_close, on_channel(1)))
@broken_by("starts on channel 1", spoils(START, on_channel(1)))
@broken_by("tunes on channel 7", spoils(TUNE, on_channel(7)))
@broken_by("opens on channel 1", spoils(OPEN_OK, on_channel(1)))
def connection_speaks_on_channel_zero(each: Framed) -> Found:
    """Heartbeats and methods of the Connection class come on channel 0."""
    frame = each.unit
    if not is_of_the_connection(frame):
        return None
    return not frame.channel or f"type {frame.type} on channel {frame.channel} at {each.at:.4f} s"


@watch(
    "0-9-1/prose/4.2.3.channels-not-zero",
    during="0-9-1/prose/2.2.3.success-is-silent",
    looks_at=came(METHOD, on=ZERO) + came(UNREAD),
    counts=came(*OF_OTHERS, on=ABOVE),
    of_clients=TALK,
)
@broken_by("declares on channel 0", mends(DECLARES, on_channel(0)), Role.CLIENT)
@broken_by("answers on channel 0", spoils(sent_on(Exchange.DeclareOk), on_channel(0)))
def channels_have_numbers_above_zero(each: Framed) -> Found:
    """Methods of other classes come on channels above 0."""
    if is_of_the_connection(each.unit):
        return None
    return each.unit.channel > 0 or f"{each.unit.payload[:4].hex()} on channel 0 at {each.at:.4f} s"


@scenario("0-9-1/prose/4.2.3.connection-method-on-channel-refused")
@broken_by("answers it there", serves(sent_on(Connection.Close, lambda it: it > 0), Connection.CloseOk()))
@broken_by("passes it over", drops(MISPLACED))
@broken_by("gives another code", changes(MISPLACED, answer=refuse(UNEXPECTED_FRAME)))
def connection_close_on_a_channel_is_refused(broker: Broker) -> None:
    """Connection.Close is answered on channel 0; on an open channel it ends the connection with 503.

    So it does on a channel that was never opened, where 504 fits as well.
    """
    close = Connection.Close(REPLY_SUCCESS, "done")
    right = broker.connection()
    right.send(close)
    right.control("connection.close on channel 0", Connection.CloseOk)
    broker.channel(new_connection=True).tries(close, connection_closed(COMMAND_INVALID))
    AmqpChannel(broker.connection(), 1).tries(close, connection_closed(COMMAND_INVALID, CHANNEL_ERROR))


@scenario("0-9-1/prose/4.2.3.heartbeat-on-channel-refused", slow=True)
@broken_by("does not see it", swallows(lambda frame: frame.type == HEARTBEAT and frame.channel > 0))
@broken_by("passes it over", drops(BEAT_ON_A_CHANNEL))
@broken_by("closes a channel", changes(BEAT_ON_A_CHANNEL, answer=lambda _: Channel.Close()))
@broken_by("gives another code", changes(BEAT_ON_A_CHANNEL, answer=refuse(UNEXPECTED_FRAME)))
def heartbeat_on_a_channel_is_refused(broker: Broker) -> None:
    """With heartbeats agreed upon one on channel 0 does no harm; on an open channel it ends the connection.

    With 503 or 501.
    """
    channel = beating(broker).channel()
    channel.connection.heartbeat()
    channel.fence()
    channel.connection.heartbeat(channel.number)
    channel.expect(connection_closed(COMMAND_INVALID, FRAME_ERROR), OF_NO_FORM)


@watch(
    "0-9-1/prose/4.2.3.heartbeat-form",
    during="0-9-1/prose/4.2.7.heartbeats-at-intervals",
    looks_at=came(HEARTBEAT, Garbage),
    of_clients="0-9-1/prose/4.2.7.client-sends-heartbeats",
)
@broken_by("puts something into it", mends(is_heartbeat, lambda _: Frame(HEARTBEAT, 0, b"!")), Role.CLIENT)
@broken_by("puts something into it", spoils(is_heartbeat, lambda _: Frame(HEARTBEAT, 0, b"alive")))
@broken_by("gives it type 4", spoils(is_heartbeat, lambda _: RawFrame(4, 0).encode()))
def heartbeats_are_empty_frames_of_type_8(each: Passage) -> Found:
    """Every heartbeat has type 8 and no payload; none has type 4."""
    if isinstance(each.unit, Frame):
        return not each.unit.payload or f"{len(each.unit.payload)} octets of payload at {each.at:.4f} s"
    return f"type 4 at {each.at:.4f} s" if each.unit.octets[0] == 4 else None
