"""connection.tune-ok: limits are agreed upon."""

from dataclasses import replace
from itertools import dropwhile

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, ends_with, forwards, swaps
from harness.amqp0_9_1.broken.entity_faults import exceeds_the_offer_by_less_than_all
from harness.amqp0_9_1.broken.faults import uncut
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.outcomes import Received, answered, closed_silently, connection_closed
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, OVERHEAD, Frame
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, NOT_ALLOWED, Channel, Connection
from harness.wire.journal import Direction
from scenarios.registry import broken_by, scenario

CLOSE = Connection.Close(FRAME_ERROR, "not such a frame")
MOST = {"channel_max": 0xFFFF, "frame_max": 0xFFFFFFFF}
"""The highest number that the field holds: no more can be asked for where this is proposed."""
OBEYS = "connection.tune-ok: more than offered ends in silence"
OPENED = replace(answered(Connection.OpenOk), waits_for_end=True)
"""The connection is open; a server that refuses what was asked for may take its time to end it."""


def one_less(limit: int) -> int:
    """Give one less than the limit, so that the server never sees more than it proposed."""
    return limit - 1


@scenario("0-9-1/connection.tune-ok.channel-max.upper-limit", slow=True)
@broken_by("takes any channel-max", drops(OBEYS))
@broken_by("takes the highest for no limit", changes(OBEYS, condition=exceeds_the_offer_by_less_than_all))
@broken_by("does not see it", forwards(Connection.TuneOk, channel_max=one_less))
@broken_by("says Close before it closes", ends_with(Connection.Close(NOT_ALLOWED, "too many channels")))
def channel_max_above_the_proposal_ends_without_negotiation(broker: Broker) -> None:
    """One channel more than Tune proposed, then 65535: the socket is closed, with no Close before."""
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
    modest.opens(modest.tune_ok(frame_max=FRAME_MIN_SIZE), OPENED)
    small = broker.tuned()
    small.open(small.tune_ok(frame_max=FRAME_MIN_SIZE))
    largest = largest_frame_around(bytes(3 * FRAME_MIN_SIZE), small.channel())
    broker.judge("frames of at most 4096 octets", "a larger frame", largest <= FRAME_MIN_SIZE)


BELOW = "connection.tune-ok: frames below the minimum end in silence"


@scenario("0-9-1/connection.tune-ok.frame-max.minimum", slow=True)
@broken_by("agrees to less", drops(BELOW))
@broken_by("agrees to one octet less", changes(BELOW, condition=lambda turn: 0 < turn.event.frame_max < 8))
def less_than_frame_min_size_cannot_be_negotiated(broker: Broker) -> None:
    """Tune-Ok with a frame-max of 4095, and of 1, then Open: the socket is closed, and nothing said before.

    A server may also take frame-min-size for agreed upon, which a client cannot see.
    """
    broker.connection()
    strangers = [broker.tuned(), broker.tuned()]
    for stranger, size in zip(strangers, (FRAME_MIN_SIZE - 1, 1), strict=True):
        stranger.send(stranger.tune_ok(frame_max=size), Connection.Open(stranger.endpoint.virtual_host))
    told = connection_closed().under("the rule names no reaction; 2.2.4 wants none to be said before Open")
    raised = OPENED.under("the rule names no reaction: 4096 may count as agreed upon")
    for stranger in strangers:
        seen = stranger.expect(closed_silently(), told, raised)
        if isinstance(seen, Received) and isinstance(seen.method, Connection.OpenOk):
            carries_full_frames(stranger)


def carries_full_frames(connection: AmqpConnection) -> None:
    """Judge that frames of frame-min-size are taken on a connection that was just opened."""
    channel = connection.unopened()
    channel.tries(Channel.Open(), Channel.OpenOk)
    connection.link.frame_max = FRAME_MIN_SIZE
    channel.publish(bytes(2 * FRAME_MIN_SIZE), key=channel.new_name("queue"))
    channel.stays_quiet()


def largest_frame_around(body: bytes, channel: AmqpChannel) -> int:
    """Judge that a body comes back; give the octets of the largest frame received, header and end included.

    Start and what a mechanism asks are left out: they come before a frame-max is proposed.
    """
    channel.consumes(channel.queue_with(body), body)
    came = (each.unit for each in channel.connection.link.transcript if each.direction is Direction.RECEIVED)
    behind_tune = dropwhile(lambda unit: not isinstance(readable(unit), Connection.Tune), came)
    return max(len(unit.payload) + OVERHEAD for unit in behind_tune if isinstance(unit, Frame))


@scenario("0-9-1/connection.tune-ok.frame-max.upper-limit", slow=True)
@broken_by("takes any frame-max", drops(OBEYS))
@broken_by("takes the highest for no limit", changes(OBEYS, condition=exceeds_the_offer_by_less_than_all))
@broken_by("does not see it", forwards(Connection.TuneOk, frame_max=one_less))
@broken_by("says Close before it closes", ends_with(Connection.Close(NOT_ALLOWED, "too large frames")))
def frame_max_above_the_proposal_ends_without_negotiation(broker: Broker) -> None:
    """One octet more than Tune proposed, then all 32 bits: the socket is closed, with no Close before."""
    refuses_more_than_proposed(broker, "frame_max")


def refuses_more_than_proposed(broker: Broker, limit: str) -> None:
    """Ask for one more than the limit that was proposed, and for the most there is.

    Open follows, so that obedience would show.
    """
    broker.connection()
    greedy, greediest = broker.tuned(), broker.tuned()
    proposed, most = getattr(greedy.tune, limit), MOST[limit]
    if proposed in (0, most):
        broker.inapplicable(f"the server proposes no limit for {limit.replace('_', '-')}")
    for connection, wanted in ((greedy, proposed + 1), (greediest, most)):
        connection.send(connection.tune_ok(**{limit: wanted}))
        connection.send(Connection.Open(connection.endpoint.virtual_host))
    for connection in (greedy, greediest):
        connection.expect(closed_silently())
