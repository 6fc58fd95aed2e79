"""connection.tune-ok: limits are agreed upon."""

from __future__ import annotations

from dataclasses import replace

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.connection import AmqpConnection
from harness.amqp0_9_1.deviations import answers, drops, ends_with, forwards, swaps
from harness.amqp0_9_1.faults import uncut
from harness.amqp0_9_1.frames import FRAME_MIN_SIZE, OVERHEAD, Frame
from harness.amqp0_9_1.outcomes import answered, closed_silently, message
from harness.amqp0_9_1.vocabulary import FRAME_ERROR, NOT_ALLOWED, Basic, Connection
from harness.journal import Direction
from scenarios.registry import broken_by, scenario

CLOSE = Connection.Close(FRAME_ERROR, "not such a frame")
NO_LIMIT = {"channel_max": (0, 0xFFFF), "frame_max": (0, 0xFFFFFFFF)}
OBEYS = "connection.tune-ok: more than offered ends in silence"
OPENED = replace(answered(Connection.OpenOk), waits_for_end=True)
"""The connection is open; a server that refuses what was asked for may take its time to end it."""


def one_less(limit: int) -> int:
    """So that the server never sees more than it proposed."""
    return limit - 1


@scenario("0-9-1/connection.tune-ok.channel-max.upper-limit", slow=True)
@broken_by("takes any channel-max", drops(OBEYS))
@broken_by("does not see it", forwards(Connection.TuneOk, channel_max=one_less))
@broken_by("says Close before it closes", ends_with(Connection.Close(NOT_ALLOWED, "too many channels")))
def channel_max_above_the_proposal_ends_without_negotiation(broker: Broker) -> None:
    """One channel more than Tune proposed: the socket is closed, and no Connection.Close comes before."""
    refuses_more_than_proposed(broker, "channel_max")


@scenario("0-9-1/connection.tune-ok.frame-max.minimum")
@broken_by(
    "wants larger frames", answers(Connection.TuneOk, CLOSE, when=lambda ok: ok.frame_max == FRAME_MIN_SIZE)
)
@broken_by("agrees and sends larger frames", swaps(cut=uncut))
def frame_max_of_frame_min_size_can_be_negotiated(broker: Broker) -> None:
    """Tune-Ok with frame-max 4096, the smallest legal one, leads to Open-Ok.

    On such a connection a message of several frames comes whole, and no frame is larger than agreed.
    """
    modest = broker.tuned()
    modest.send(modest.tune_ok(frame_max=FRAME_MIN_SIZE))
    modest.send(Connection.Open(modest.endpoint.virtual_host))
    modest.expect(OPENED)
    small = broker.tuned()
    small.open(small.tune_ok(frame_max=FRAME_MIN_SIZE))
    channel, body = small.channel(), bytes(3 * FRAME_MIN_SIZE)
    queue = channel.declare_queue()
    channel.publish(body, key=queue)
    channel.consume(queue, no_ack=True)
    channel.expect(message(Basic.Deliver, body))
    largest = max(frame_sizes(small))
    broker.judge("frames of at most 4096 octets", "a larger frame", largest <= FRAME_MIN_SIZE)


def frame_sizes(connection: AmqpConnection) -> list[int]:
    """The sizes in octets of all frames received, frame header and end included."""
    received = [each.unit for each in connection.link.transcript if each.direction is Direction.RECEIVED]
    return [len(unit.payload) + OVERHEAD for unit in received if isinstance(unit, Frame)]


@scenario("0-9-1/connection.tune-ok.frame-max.upper-limit", slow=True)
@broken_by("takes any frame-max", drops(OBEYS))
@broken_by("does not see it", forwards(Connection.TuneOk, frame_max=one_less))
@broken_by("says Close before it closes", ends_with(Connection.Close(NOT_ALLOWED, "too large frames")))
def frame_max_above_the_proposal_ends_without_negotiation(broker: Broker) -> None:
    """One octet more than Tune proposed: the socket is closed, and no Connection.Close comes before."""
    refuses_more_than_proposed(broker, "frame_max")


def refuses_more_than_proposed(broker: Broker, limit: str) -> None:
    """Ask for one more than the limit that was proposed; Open follows, so that obedience would show."""
    broker.connection()
    greedy: AmqpConnection = broker.tuned()
    proposed = getattr(greedy.tune, limit)
    if proposed in NO_LIMIT[limit]:
        broker.inapplicable(f"the server proposes no limit for {limit.replace('_', '-')}")
    greedy.send(greedy.tune_ok(**{limit: proposed + 1}))
    greedy.send(Connection.Open(greedy.endpoint.virtual_host))
    greedy.expect(closed_silently())
