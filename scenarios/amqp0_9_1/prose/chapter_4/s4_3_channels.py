"""4.3: how many channels there are, and how they share a connection."""

from collections.abc import Sequence

from harness.amqp0_9_1.broken.basic_faults import lower_channels_first, then_look_at_the_others
from harness.amqp0_9_1.broken.deviations import changes, drops, ignores, rejects, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, connection_closed
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.frames import METHOD, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    NOT_ALLOWED,
    REPLY_SUCCESS,
    Basic,
    Channel,
    Connection,
    Exchange,
)
from harness.wire.journal import Direction
from scenarios.amqp0_9_1.grammar.calls import AT_ONCE
from scenarios.amqp0_9_1.prose.chapters_1_2.s2_3_3_negotiation import BEYOND, few_channels, opened
from scenarios.registry import broken_by, scenario

FEW, BEYOND_FEW = 4, 10


@scenario("0-9-1/prose/4.3.many-channels")
@broken_by("has only one", rejects(Channel.Open, CHANNEL_ERROR, skip=1))
def number_of_channels_is_recorded(broker: Broker) -> None:
    """Which channel-max the server proposes, and whether a second channel can be opened."""
    connection = broker.channel().connection
    broker.note(f"the server proposes a channel-max of {connection.tune.channel_max}")
    second = connection.unopened()
    second.send(Channel.Open())
    second.expect(
        answered(Channel.OpenOk).recorded(), (EXCEPTION | AT_ONCE).recorded("4.3: a peer MAY have one")
    )


@scenario("0-9-1/prose/4.3.single-channel-borne")
@broken_by("wants more", rejects(Connection.TuneOk, NOT_ALLOWED, when=lambda it: it.channel_max == 1))
@broken_by("opens it once", rejects(Channel.Open, CHANNEL_ERROR, skip=1))
@broken_by("delivers nothing there", ignores(Basic.Publish))
def one_channel_is_enough(broker: Broker) -> None:
    """One channel agreed upon can be opened, closed and opened again, and a message goes through it."""
    broker.channel()
    modest = broker.tuned()
    modest.opens(modest.tune_ok(channel_max=1), Connection.OpenOk)
    single = few_channels(broker, 1)
    channel = opened(single, 1)
    channel.tries(Channel.Close(REPLY_SUCCESS, "done"), Channel.CloseOk)
    channel = opened(single, 1)
    channel.gets(channel.queue_with(b"through"), b"through")


@scenario("0-9-1/prose/4.3.channel-max-meaning")
@broken_by("takes it for a count", drops(BEYOND))
@broken_by("refuses the channel alone", changes(BEYOND, answer=refuse(CHANNEL_ERROR, Level.CHANNEL)))
def meaning_of_channel_max_is_recorded(broker: Broker) -> None:
    """With four channels agreed upon the first one is opened as number 10."""
    high = few_channels(broker, FEW).unopened(BEYOND_FEW)
    high.send(Channel.Open())
    high.expect(
        answered(Channel.OpenOk).recorded("Tune-Ok: channel-max is how many channels there are"),
        (connection_closed() | AT_ONCE).recorded("Tune: channel-max is the highest number of a channel"),
        channel_closed().recorded("the channel is refused by itself"),
    )


# -- traffic -------------------------------------------------------------------------------------------

MANY, BODY = 160, bytes(12_288)
"""More than sockets hold, and fewer messages than any server's flow control would stop."""

SHARE = 10
"""While one channel gets all its messages, the other gets at least one for so many."""

ROUNDS = 6
"""Who shares in one of them knows how: in another the machine may not have let one channel begin in time."""


def in_order(connection: AmqpConnection) -> list[tuple[int, str]]:
    """Give the methods received on channels, each with its channel's number."""
    came = [each.unit for each in connection.link.transcript if each.direction is Direction.RECEIVED]
    frames = [unit for unit in came if isinstance(unit, Frame) and unit.type == METHOD]
    read = [(frame.channel, readable(frame)) for frame in frames]
    return [(number, method.full_name) for number, method in read if method is not None]


def taken_meanwhile(channels: Sequence[int], one: int, other: int) -> int:
    """Say how many of its messages a channel has had when the first of both has had all of its."""
    first_to_end = min((one, other), key=lambda number: _last(channels, number))
    second = other if first_to_end == one else one
    return channels[: _last(channels, first_to_end)].count(second)


def _last(channels: Sequence[int], number: int) -> int:
    return len(channels) - 1 - channels[::-1].index(number)


@scenario("0-9-1/prose/4.3.traffic-balanced")
@broken_by(
    "serves one channel after the other",
    swaps(hears=lower_channels_first, choose=then_look_at_the_others),
)
def two_busy_channels_share_the_connection(broker: Broker) -> None:
    """Two channels consume from full queues: while one gets all messages the other gets a tenth or more.

    The best of some rounds counts: of one channel that was begun late nothing follows.
    """
    wanted, best = MANY // SHARE, 0
    for _ in range(ROUNDS):
        best = max(best, shared_in_a_round(broker))
        if best >= wanted:
            break
    broker.note(f"while one channel got all its messages the other got {best} of {MANY}")
    broker.judge(f"one in {SHARE} or more meanwhile", "fewer", best >= wanted)


def shared_in_a_round(broker: Broker) -> int:
    """Say how many deliveries one of two busy channels had when the other had all of its."""
    one = broker.channel(new_connection=True)
    other = one.connection.channel()
    queues = [one.declare_queue() for _ in range(2)]
    for queue in queues * MANY:
        one.publish(BODY, key=queue)
    one.fence()
    one.connection.send_frames(
        *(
            method_frame(channel.number, Basic.Consume(queue, "tag", no_ack=True))
            for channel, queue in zip((one, other), queues, strict=True)
        )
    )
    for channel in (one, other):
        channel.control("basic.consume", Basic.ConsumeOk)
        channel.deliveries(MANY)
    came = [number for number, name in in_order(one.connection) if name == Basic.Deliver.full_name]
    return taken_meanwhile(came, one.number, other.number)


@scenario("0-9-1/prose/4.3.busy-channel-starves-nobody")
@broken_by("answers nobody else", ignores(Exchange.Declare, skip=1))
def quiet_channel_is_answered_amid_deliveries(broker: Broker) -> None:
    """A Declare, sent when the first of many messages has come on another channel, is answered amid them.

    Ten messages are sent in advance, each is acknowledged as it comes: so no buffer can hold them all. Once
    in some rounds is enough: in another the machine may not have let the quiet channel begin in time.
    """
    amid = any(answered_amid_deliveries(broker) for _ in range(ROUNDS))
    broker.judge("the answer before the last delivery", "the answer behind all deliveries", amid)


def answered_amid_deliveries(broker: Broker) -> bool:
    """Say whether a quiet channel is answered before the last of many messages on a busy one."""
    busy = broker.channel(new_connection=True)
    quiet = busy.connection.channel()
    queue = busy.queue_with(*[b"busy"] * MANY)
    busy.fence()
    busy.ask(Basic.Qos(prefetch_count=10))
    busy.consume(queue)
    for number in range(MANY):
        busy.send(Basic.Ack(busy.deliveries(1)[0].method.delivery_tag))
        if number == 0:
            quiet.send(FENCE)
    quiet.expect(Exchange.DeclareOk)
    came = in_order(busy.connection)
    last = len(came) - 1 - came[::-1].index((busy.number, Basic.Deliver.full_name))
    return came.index((quiet.number, Exchange.DeclareOk.full_name)) < last
