"""4.2.3 and 2.3.4: what a client makes of frames that a server must not send, and of a stream."""

from zlib import crc32

from harness.amqp0_9_1.broken.content_faults import body_of, is_body, is_heartbeat
from harness.amqp0_9_1.broken.deviations import ignores, mends, rewrites, spoils
from harness.amqp0_9_1.broken.frame_faults import on_channel, sent_on
from harness.amqp0_9_1.broken.provocations import carried, in_pieces, says_instead
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.server.told import Message
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, HEARTBEAT, OVERHEAD, Frame, RawFrame, method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    COMMAND_INVALID,
    FRAME_ERROR,
    REPLY_SUCCESS,
    Basic,
    Channel,
    Connection,
)
from harness.play.expect import ControlFailed
from harness.play.reports import Reports
from harness.shims.contract import filled
from harness.targets.client.ears import Ears, loses_pieces, mishears, stays
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_3_frames import BY_HANDSHAKE, OF_NO_FORM
from scenarios.amqp0_9_1.prose.chapters_1_2.clients.s2_3_3_limits import wider
from scenarios.amqp0_9_1.provoked import (
    connects,
    fits_into_frames,
    lost_in_use,
    provoked,
    refused_next,
    tune_ok,
)
from scenarios.registry import broken_by, scenario
from spec.rules import Role

SMALL = rewrites(Connection.Tune, frame_max=FRAME_MIN_SIZE)
"""A server that proposes the smallest frames there may be."""


@scenario("0-9-1/prose/4.2.3.unknown-frame-type-fatal", role=Role.CLIENT)
@broken_by("passes it over", mishears(RawFrame(255, 1).encode()), Role.CLIENT)
@broken_by("leaves the socket open", stays(), Role.CLIENT)
def client_ends_at_a_frame_of_an_undefined_type(client: Client) -> None:
    """Frames of types 5 and 9 on channel 0, and of 255 on a channel, make the client end the connection."""
    for frame_type, number in ((5, 0), (9, 0), (255, 1)):
        provoked(client, RawFrame(frame_type, number).encode()).expect(closed_silently(), BY_HANDSHAKE)


ENDS_WITH_ZERO = RawFrame(HEARTBEAT, 0, end=b"\x00").encode()


@scenario("0-9-1/prose/4.2.3.bad-frame-end-fatal", role=Role.CLIENT)
@broken_by("passes it over", mishears(ENDS_WITH_ZERO), Role.CLIENT)
@broken_by("leaves the socket open", stays(), Role.CLIENT)
def client_ends_at_a_wrong_frame_end(client: Client) -> None:
    """A heartbeat that ends with 00, and a Flow that ends with CD, make the client end the connection."""
    provoked(client, ENDS_WITH_ZERO).expect(closed_silently(), BY_HANDSHAKE)
    flow = RawFrame(1, 1, Channel.Flow(True).encode(), end=b"\xcd").encode()
    provoked(client, flow).expect(closed_silently(), BY_HANDSHAKE)


@scenario("0-9-1/prose/4.2.3.framing-error-logged", role=Role.CLIENT)
@broken_by("passes it over", mishears(ENDS_WITH_ZERO), Role.CLIENT)
@broken_by("takes it for the end of the socket", Ears(ends_at=ENDS_WITH_ZERO), Role.CLIENT)
def client_reports_a_wrong_frame_end(client: Client) -> None:
    """Of a frame that ends with 00 more is told, or logged, than of a connection that is closed or lost."""
    reports = Reports(client, client.connection())
    orderly = client.connection()
    reports.usual(orderly, orderly.closes())
    reports.usual(*lost_in_use(client))
    broken = provoked(client, ENDS_WITH_ZERO)
    reports.gains("a frame without its frame-end", broken, refused_next(broken))


@scenario("0-9-1/prose/4.2.3.frame-end-checked", role=Role.CLIENT)
@broken_by("takes any frame-end", mishears(b"unended\xcd", b"unended\xce"), Role.CLIENT)
def client_gives_no_message_with_a_wrong_end(client: Client) -> None:
    """A message is got; one whose body ends with CD in place of CE never reaches the application."""
    ends_wrongly = spoils(body_of(len("unended")), lambda it: it.encode()[:-1] + b"\xcd")
    connection = client.connection(ends_wrongly)
    channel, queue = connection.channel(), client.name("queue")
    channel.call("queue.declare", queue=queue)
    for body in ("ended", "unended"):
        channel.publish(body, key=queue)
    if channel.get(queue) is None:
        raise ControlFailed("basic.get", "no message")
    got = channel.tries_to_get(queue)
    client.judge("no message", "the message as if its frame were well-formed", not isinstance(got, Message))


ANNOUNCED = Basic.GetOk(1, routing_key="large")


def cut_in_two(frame: Frame) -> bytes:
    half = len(frame.payload) // 2
    pieces = (frame.payload[:half], frame.payload[half:])
    return b"".join(Frame(frame.type, frame.channel, each).encode() for each in pieces)


@scenario("0-9-1/prose/4.2.3.oversized-frame-refused", role=Role.CLIENT)
@broken_by(
    "takes it",
    spoils(lambda it: is_body(it) and len(it.payload) + OVERHEAD > FRAME_MIN_SIZE, cut_in_two),
    Role.CLIENT,
)
@broken_by("does not say so", ignores(Connection.Close), Role.CLIENT)
def client_refuses_a_frame_above_the_size(client: Client) -> None:
    """Where frames of 4096 octets are agreed upon a body in one of 4105 is refused with 501.

    2.3.3 lets the socket be closed without a word.
    """
    body = bytes(FRAME_MIN_SIZE + 1)
    in_one = says_instead(Basic.GetOk, carried(ANNOUNCED, body, frame_max=2 * FRAME_MIN_SIZE), skip=1)
    connection = client.connection(SMALL, in_one)
    channel, queue = connection.channel(), client.name("queue")
    channel.call("queue.declare", queue=queue)
    channel.publish("small enough", key=queue, count=2)
    if channel.get(queue) is None:
        raise ControlFailed("basic.get", "no message")
    channel.tries_to_get(queue)
    connection.came(Basic.Get)
    disconnected = closed_silently().under("2.3.3: a peer that sends too large frames is disconnected")
    connection.expect(connection_closed(FRAME_ERROR), disconnected)


@scenario("0-9-1/prose/4.2.3.own-frames-fit", role=Role.CLIENT)
@broken_by("sends larger frames", mends(is_body, wider), Role.CLIENT)
def client_sends_no_frame_above_the_size(client: Client) -> None:
    """The server proposes frames of 4096 octets: a message of 20,000 is published in frames of no more."""
    connection = client.connection(SMALL)
    fits_into_frames(connection, tune_ok(connection).frame_max or FRAME_MIN_SIZE)


CLOSE_ON_A_CHANNEL = method_frame(1, Connection.Close(REPLY_SUCCESS, "done")).encode()


@scenario("0-9-1/prose/4.2.3.connection-method-on-channel-refused", role=Role.CLIENT)
@broken_by("takes it", spoils(sent_on(Connection.Close, lambda it: it > 0), on_channel(0)), Role.CLIENT)
@broken_by("passes it over", mishears(CLOSE_ON_A_CHANNEL), Role.CLIENT)
def client_refuses_connection_close_on_a_channel(client: Client) -> None:
    """Connection.Close on an open channel makes the client end the connection with 503."""
    provoked(client, CLOSE_ON_A_CHANNEL).expect(connection_closed(COMMAND_INVALID))


@scenario("0-9-1/prose/4.2.3.heartbeat-on-channel-refused", role=Role.CLIENT)
@broken_by("takes it", spoils(lambda it: is_heartbeat(it) and it.channel > 0, on_channel(0)), Role.CLIENT)
def client_refuses_a_heartbeat_on_a_channel(client: Client) -> None:
    """A heartbeat on channel 0 does no harm; one on an open channel makes the client end the connection."""
    provoked(client, Frame(HEARTBEAT, 0, b"")).works_on()
    connection = provoked(client, Frame(HEARTBEAT, 1, b""))
    connection.expect(connection_closed(COMMAND_INVALID, FRAME_ERROR), OF_NO_FORM)


@scenario("0-9-1/prose/4.2.7.invalid-heartbeat-refused", role=Role.CLIENT)
@broken_by("takes it", spoils(lambda it: is_heartbeat(it) and bool(it.payload), lambda _: b""), Role.CLIENT)
def client_refuses_a_heartbeat_with_a_payload(client: Client) -> None:
    """A heartbeat does no harm; one with an octet in it makes the client end the connection with 501."""
    provoked(client, Frame(HEARTBEAT, 0, b"")).works_on()
    connection = provoked(client, Frame(HEARTBEAT, 0, b"\x00"))
    connection.expect(connection_closed(FRAME_ERROR), OF_NO_FORM)


@scenario("0-9-1/prose/2.3.4.client-reads-a-stream", role=Role.CLIENT)
@broken_by("takes each piece for a frame", loses_pieces(OVERHEAD), Role.CLIENT)
def client_reads_octets_as_they_come(client: Client) -> None:
    """All that the server says comes octet by octet: the client connects, declares, and gets a message."""
    client.connection()
    channel = connects(client, in_pieces(1)).tries_channel()
    if not isinstance(channel, JudgedChannel):
        client.judge("an open channel", channel.told, False)
        return
    queue = client.name("queue")
    channel.tries("queue.declare", queue=queue)
    channel.publish({"fill": 500}, key=queue)
    got = channel.tries_to_get(queue)
    whole = isinstance(got, Message) and (got.size, got.crc32) == (500, crc32(filled(500)))
    client.judge("the message as it was published", "another, or none", whole)
