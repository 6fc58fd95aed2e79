"""connection.tune and tune-ok: limits are proposed and agreed upon."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.connection import AmqpConnection
from harness.amqp0_9_1.deviations import answers, drops, ends_with
from harness.amqp0_9_1.frames import FRAME_MIN_SIZE, OVERHEAD, method_frame
from harness.amqp0_9_1.outcomes import closed_silently
from harness.amqp0_9_1.vocabulary import FRAME_ERROR, NOT_ALLOWED, Connection
from scenarios.registry import broken_by, scenario

CLOSE = Connection.Close(FRAME_ERROR, "not such a frame")


def is_padded(start_ok: Connection.StartOk) -> bool:
    """The Start-Ok that fills a whole frame."""
    return "padding" in start_ok.client_properties


NO_LIMIT = {"channel_max": (0, 0xFFFF), "frame_max": (0, 0xFFFFFFFF)}


@scenario("0-9-1/connection.tune.frame-max.minimum")
@broken_by("takes no large frame before Tune", answers(Connection.StartOk, CLOSE, when=is_padded))
def start_ok_of_frame_min_size_is_accepted(broker: Broker) -> None:
    """A Start-Ok padded to exactly frame-min-size octets is answered by Secure or Tune."""
    connection = broker.started()
    room = FRAME_MIN_SIZE - OVERHEAD - len(connection.start_ok(client_properties={"padding": ""}).encode())
    padded = connection.start_ok(client_properties={"padding": "." * room})
    connection.send_frames(method_frame(0, padded))
    connection.expect(Connection.Tune, Connection.Secure)


@scenario("0-9-1/connection.tune-ok.frame-max.minimum")
@broken_by(
    "wants larger frames", answers(Connection.TuneOk, CLOSE, when=lambda ok: ok.frame_max == FRAME_MIN_SIZE)
)
def frame_max_of_frame_min_size_can_be_negotiated(broker: Broker) -> None:
    """Tune-Ok with frame-max 4096, the smallest legal one, leads to Open-Ok and a usable channel."""
    connection = broker.tuned()
    connection.send(connection.tune_ok(frame_max=FRAME_MIN_SIZE))
    connection.send(Connection.Open(connection.endpoint.virtual_host))
    connection.expect(Connection.OpenOk)


@scenario("0-9-1/connection.tune-ok.channel-max.upper-limit", slow=True)
@broken_by("takes any channel-max", drops("connection.tune-ok: more than offered ends in silence"))
@broken_by("says Close before it closes", ends_with(Connection.Close(NOT_ALLOWED, "too many channels")))
def channel_max_above_the_proposal_ends_without_negotiation(broker: Broker) -> None:
    """One channel more than Tune proposed: the socket is closed, and no Connection.Close comes before."""
    refuses_more_than_proposed(broker, "channel_max")


@scenario("0-9-1/connection.tune-ok.frame-max.upper-limit", slow=True)
@broken_by("takes any frame-max", drops("connection.tune-ok: more than offered ends in silence"))
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
