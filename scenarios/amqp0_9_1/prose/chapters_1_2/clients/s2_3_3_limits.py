"""2.3.3, 2.2.5 and 4.3: how a client agrees to limits, and what it makes of frames beyond them."""

from harness.amqp0_9_1.broken.content_faults import is_body
from harness.amqp0_9_1.broken.deviations import (
    FrameRule,
    Interposer,
    adds,
    forwards,
    mends,
    rewrites,
    withholds,
)
from harness.amqp0_9_1.broken.frame_faults import next_channel, on_channel, sent_on
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed
from harness.amqp0_9_1.peer.policy import DEFAULT
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, OVERHEAD, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import CHANNEL_ERROR, Channel, Connection
from harness.peers.interposer import nothing
from harness.play.expect import Inapplicable
from harness.targets.client.ears import mishears
from scenarios.amqp0_9_1.getting import channel_numbers
from scenarios.amqp0_9_1.provoked import connects, fits_into_frames, provoked, tune_ok
from scenarios.registry import broken_by, scenario
from spec.rules import Role

ONE_CHANNEL = rewrites(Connection.Tune, channel_max=1)
TWO_CHANNELS = rewrites(Connection.Tune, channel_max=2)
UNLIMITED = rewrites(Connection.Tune, channel_max=0, frame_max=0) + forwards(
    Connection.TuneOk,
    channel_max=lambda it: min(it or DEFAULT.channel_max, DEFAULT.channel_max),
    frame_max=lambda it: min(it or DEFAULT.frame_max, DEFAULT.frame_max),
)
"""A server that proposes no limits; behind it is one that has some."""


def opens(frame: Frame) -> bool:
    return sent_on(Channel.Open)(frame)


@scenario("0-9-1/prose/2.3.3.client-bears-no-limits", role=Role.CLIENT)
@broken_by(
    "takes zero for a limit", withholds(Connection.Tune, when=lambda it: not it.frame_max), Role.CLIENT
)
def client_goes_on_without_limits(client: Client) -> None:
    """Tune proposes no frame-max and no channel-max: the client connects, and publishes 300,000 octets."""
    client.connection()
    channel = connects(client, UNLIMITED).tries_channel()
    if not isinstance(channel, JudgedChannel):
        client.judge("an open channel", channel.told, False)
        return
    queue = client.name("queue")
    refused = channel.attempt("queue.declare", queue=queue)
    client.judge("a queue", refused.told if refused else "", refused is None)
    refused = channel.tries_to_publish({"fill": 300_000}, key=queue)
    client.judge("a large message", refused.told if refused else "", refused is None)
    channel.connection.works_on()


@scenario("0-9-1/prose/4.3.single-channel-borne", role=Role.CLIENT)
@broken_by("numbers it 2", mends(opens, on_channel(2)), Role.CLIENT)
@broken_by("does without it", withholds(Connection.Tune, when=lambda it: it.channel_max == 1), Role.CLIENT)
def client_bears_a_single_channel(client: Client) -> None:
    """Tune proposes a channel-max of 1: the client connects, and uses a channel."""
    client.connection()
    channel = connects(client, ONE_CHANNEL, channel_max=1).tries_channel()
    if not isinstance(channel, JudgedChannel):
        client.judge("an open channel", channel.told, False)
        return
    refused = channel.attempt("queue.declare", queue=client.name("queue"))
    client.judge("a queue", refused.told if refused else "", refused is None)


@scenario("0-9-1/prose/2.3.3.client-keeps-to-channel-max", role=Role.CLIENT)
@broken_by("does not hear of it", rewrites(Connection.Tune, channel_max=7), Role.CLIENT)
def client_opens_no_channel_beyond_the_limit(client: Client) -> None:
    """A channel-max of 2 is proposed: a client that is told to open three channels does not."""
    connection = client.connection(TWO_CHANNELS)
    connection.channel()
    for _ in range(2):
        connection.tries_channel()
    connection.hear_out()
    beyond = [unit for unit in connection.link.received() if isinstance(unit, Frame) and unit.channel > 2]
    client.judge("nothing on channels above 2", "frames on channels above 2", not beyond)


def wider(frame: Frame) -> Frame:
    return Frame(frame.type, frame.channel, frame.payload + bytes(2 * OVERHEAD))


LOWER = 2 * FRAME_MIN_SIZE
"""Octets of a frame that every library can be told."""
BESIDE = adds(opens, next_channel, from_server=False) + Interposer(
    frames=(FrameRule(sent_on(Channel.OpenOk, lambda number: number > 1), True, nothing),)
)
"""Opens one channel more than it is asked for, and does not hear that it is open."""


@scenario("0-9-1/prose/2.3.3.reduced-limits-borne", role=Role.CLIENT)
@broken_by("sends larger frames all the same", mends(is_body, wider), Role.CLIENT)
def client_keeps_to_a_lower_size_of_its_own(client: Client) -> None:
    """Larger frames are proposed than the client is told to use: it keeps to what it has agreed to."""
    connection = client.connection(frame_max=LOWER)
    agreed = tune_ok(connection).frame_max
    if not 0 < agreed < DEFAULT.frame_max:
        raise Inapplicable("the client agrees to the frames that are proposed, though it is told to use less")
    fits_into_frames(connection, agreed)


@scenario("0-9-1/prose/2.3.3.reduced-limits-borne", role=Role.CLIENT)
@broken_by("opens another beside", BESIDE, Role.CLIENT)
def client_keeps_to_a_lower_number_of_channels_of_its_own(client: Client) -> None:
    """More channels are proposed than the client is told to use: it opens no more than it has agreed to."""
    client.connection()
    connection = client.connecting(channel_max=1)
    if connection.refused:
        raise Inapplicable("the client cannot be told to use one channel")
    if tune_ok(connection).channel_max != 1:
        raise Inapplicable("the client agrees to more channels than one, though it is told to use one")
    for _ in range(2):
        connection.tries_channel()
    connection.hear_out()
    client.judge("channel 1 alone", "another, or none", channel_numbers(connection) == [1])


STRAY = Channel.Flow(True)


@scenario("0-9-1/prose/2.3.3.beyond-channel-max-disconnected", role=Role.CLIENT)
@broken_by("passes it over", mishears(method_frame(3, STRAY).encode()), Role.CLIENT)
def client_ends_at_a_channel_beyond_the_limit(client: Client) -> None:
    """With a channel-max of 2 the server says something on channel 3: the client ends the connection."""
    connection = provoked(client, method_frame(3, STRAY), meets=(TWO_CHANNELS,), channel_max=2)
    connection.expect(connection_closed() | closed_silently())


@scenario("0-9-1/prose/2.2.5.client-minds-unopened-channels", role=Role.CLIENT)
@broken_by("passes it over", mishears(method_frame(7, STRAY).encode()), Role.CLIENT)
def client_ends_at_a_channel_that_is_not_open(client: Client) -> None:
    """The server says something on channel 7, which was never opened: the client ends the connection."""
    connection = provoked(client, method_frame(7, STRAY))
    another = (connection_closed() | closed_silently()).under("2.2.5 names no reply code")
    connection.expect(connection_closed(CHANNEL_ERROR), another)
