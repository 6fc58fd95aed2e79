"""connection.tune: the server proposes limits."""

from harness.amqp0_9_1.broken.deviations import answers, ignores, rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, OVERHEAD, method_frame
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, Connection
from scenarios.registry import broken_by, scenario

CLOSE = Connection.Close(FRAME_ERROR, "not such a frame")


def is_padded(start_ok: Connection.StartOk) -> bool:
    return "padding" in start_ok.client_properties


@scenario("0-9-1/connection.tune.frame-max.minimum")
@broken_by("takes no large frame before Tune", answers(Connection.StartOk, CLOSE, when=is_padded))
@broken_by("stays silent", ignores(Connection.StartOk, when=is_padded))
@broken_by("proposes frames that are too small", rewrites(Connection.Tune, frame_max=FRAME_MIN_SIZE - 1))
def start_ok_of_frame_min_size_is_accepted(broker: Broker) -> None:
    """Start-Ok is answered by Secure or Tune, and so is one padded to exactly frame-min-size octets.

    The frame-max in Tune is no less, or zero for no limit.
    """
    proposed = broker.tuned().tune.frame_max
    enough = proposed == 0 or proposed >= FRAME_MIN_SIZE
    broker.judge("a frame-max of at least frame-min-size", f"a frame-max of {proposed}", enough)
    connection = broker.started()
    room = FRAME_MIN_SIZE - OVERHEAD - len(connection.start_ok(client_properties={"padding": ""}).encode())
    padded = connection.start_ok(client_properties={"padding": "." * room})
    connection.send_frames(method_frame(0, padded))
    connection.expect(Connection.Tune, Connection.Secure)
