"""2.3.3: the protocol and the limits of a connection are agreed upon."""

from collections.abc import Iterator

from harness.amqp0_9_1.broken.deviations import (
    changes,
    drops,
    rejects,
    repeats,
    replaces,
    swaps,
    takes_any_header,
)
from harness.amqp0_9_1.broken.faults import is_not_the_only_one, uncut
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.outcomes import (
    Unreadable,
    answered,
    closed_silently,
    connection_closed,
    signature,
)
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE
from harness.amqp0_9_1.wire.vocabulary import CHANNEL_ERROR, CODEC, NOT_ALLOWED, Channel, Connection
from harness.play.expect import Outcome
from harness.play.watching import Found, Gaps, came, went
from harness.wire.journal import RECEIVED
from scenarios.amqp0_9_1.connection.start import ANY_HEADER, OF_OTHERS
from scenarios.amqp0_9_1.connection.tune_ok import OPENED, largest_frame_around
from scenarios.registry import broken_by, scenario, watch

FOREIGN = Outcome("octets of another protocol", lambda seen: isinstance(seen, Unreadable))
FEW = 4


@scenario("0-9-1/prose/2.3.3.several-protocols", slow=True)
@broken_by("takes them all for its own", takes_any_header())
def other_versions_are_recorded(broker: Broker) -> None:
    """What the headers of 0-8, 0-9, 0-10 and 1.0 are answered with, each on a connection of its own."""
    broker.started()
    for version, header in OF_OTHERS.items():
        speaker = broker.socket()
        speaker.send_octets(header)
        any_answer = ANY_HEADER | FOREIGN | answered(Connection.Start) | closed_silently()
        broker.note(f"{version}: {signature(speaker.expect(any_answer.recorded()))}")


def few_channels(broker: Broker, count: int) -> AmqpConnection:
    """Give a connection with `count` channels, or less where the server proposes less."""
    connection = broker.tuned()
    count = min(count, connection.tune.channel_max or count)
    connection.open(connection.tune_ok(channel_max=count))
    return connection


BEYOND = "channel.open: refuses more than agreed"


@scenario("0-9-1/prose/2.3.3.beyond-channel-max-disconnected")
@broken_by("opens it", drops(BEYOND))
@broken_by("closes only the channel", changes(BEYOND, answer=refuse(CHANNEL_ERROR, Level.CHANNEL)))
@broken_by("does not notice it", changes(BEYOND, answer=None))
def channel_beyond_the_limit_ends_the_connection(broker: Broker) -> None:
    """Of four channels agreed upon all are opened; the fifth, with number 5, ends the connection."""
    connection = few_channels(broker, FEW)
    for _ in range(min(FEW, connection.tune.channel_max or FEW)):
        last = connection.channel()
    beyond = connection.unopened(last.number + 1)
    beyond.send(Channel.Open())
    other = connection_closed() | closed_silently()
    beyond.expect(connection_closed(CHANNEL_ERROR), other.under("2.3.3 disconnects, without naming a code"))


BEFORE_LOGIN = (Connection.Start, Connection.Secure, Connection.Close, Connection.CloseOk)
"""What a server may say to a client that has not logged in."""
PAST_LOGIN = [each for each in CODEC.methods.values() if each not in BEFORE_LOGIN]


@watch(
    "0-9-1/prose/2.3.3.limits-proposed",
    during="0-9-1/channel.open.state",
    looks_at=came(*PAST_LOGIN) + went(Connection.StartOk),
    whole=True,
    gap=Gaps.STOPS,
)
@broken_by("opens without a proposal", replaces(Connection.Tune, Connection.OpenOk()))
@broken_by("proposes twice", repeats(Connection.Tune))
@broken_by("serves without a proposal", replaces(Connection.Tune, Channel.OpenOk()))
def tune_comes_once(seen: list[Passage]) -> Iterator[Found]:
    """Past log-in the server's first method is Tune, and the only one."""
    said = [each.said for each in seen if each.direction is RECEIVED]
    tunes = sum(isinstance(each, Connection.Tune) for each in said)
    if said and len(said) < len(seen):
        held = isinstance(said[0], Connection.Tune) and tunes == 1
        yield held or f"{said[0].full_name} first, {tunes} times Tune"


@scenario("0-9-1/prose/2.3.3.reduced-limits-borne")
@broken_by("wants more channels", rejects(Connection.TuneOk, NOT_ALLOWED, lambda ok: ok.channel_max == 1))
@broken_by("opens no channel then", changes("channel.open: is answered", condition=is_not_the_only_one))
@broken_by("agrees and sends larger frames", swaps(cut=uncut))
def lowest_limits_can_be_agreed(broker: Broker) -> None:
    """With one channel and frames of 4096 octets the connection opens, and a long message comes back so."""
    broker.channel()
    modest = broker.tuned()
    lowest = modest.tune_ok(channel_max=1, frame_max=FRAME_MIN_SIZE)
    modest.opens(lowest, OPENED)
    small = broker.tuned()
    small.open(lowest)
    largest = largest_frame_around(bytes(10_000), opened(small, 1))
    broker.judge("frames of at most 4096 octets", "a larger frame", largest <= FRAME_MIN_SIZE)


def opened(connection: AmqpConnection, number: int) -> AmqpChannel:
    """Judge that a channel with this number can be opened."""
    channel = connection.unopened(number)
    channel.tries(Channel.Open(), Channel.OpenOk)
    return channel
