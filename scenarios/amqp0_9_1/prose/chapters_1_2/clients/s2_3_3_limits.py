"""2.3.3, 2.2.5 and 4.3: how a client agrees to limits, and what it makes of frames beyond them."""

from harness.amqp0_9_1.broken.deviations import forwards, mends, rewrites, withholds
from harness.amqp0_9_1.broken.frame_faults import on_channel, sent_on
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed
from harness.amqp0_9_1.peer.policy import DEFAULT
from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.wire.frames import Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import CHANNEL_ERROR, Channel, Connection
from harness.targets.client.ears import mishears
from scenarios.amqp0_9_1.provoked import connects, provoked
from scenarios.registry import broken_by, scenario
from spec.rules import Role

ONE_CHANNEL = rewrites(Connection.Tune, channel_max=1)
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
    """A channel-max of 1 is proposed: a client with one channel that is told to open another does not."""
    connection = client.connection(ONE_CHANNEL)
    connection.channel()
    connection.tries_channel()
    connection.hear_out()
    beyond = [unit for unit in connection.link.received() if isinstance(unit, Frame) and unit.channel > 1]
    client.judge("nothing on channels above 1", "frames on channels above 1", not beyond)


STRAY = Channel.Flow(True)


@scenario("0-9-1/prose/2.3.3.beyond-channel-max-disconnected", role=Role.CLIENT)
@broken_by("passes it over", mishears(method_frame(2, STRAY).encode()), Role.CLIENT)
def client_ends_at_a_channel_beyond_the_limit(client: Client) -> None:
    """With a channel-max of 1 the server says something on channel 2: the client ends the connection."""
    connection = provoked(client, method_frame(2, STRAY), meets=(ONE_CHANNEL,), channel_max=1)
    connection.expect(connection_closed() | closed_silently())


@scenario("0-9-1/prose/2.2.5.client-minds-unopened-channels", role=Role.CLIENT)
@broken_by("passes it over", mishears(method_frame(7, STRAY).encode()), Role.CLIENT)
def client_ends_at_a_channel_that_is_not_open(client: Client) -> None:
    """The server says something on channel 7, which was never opened: the client ends the connection."""
    connection = provoked(client, method_frame(7, STRAY))
    another = (connection_closed() | closed_silently()).under("2.2.5 names no reply code")
    connection.expect(connection_closed(CHANNEL_ERROR), another)
