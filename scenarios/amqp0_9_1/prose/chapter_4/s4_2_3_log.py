"""4.2.3: what is logged of frames that are none."""

from harness.amqp0_9_1.broken.deviations import swaps
from harness.amqp0_9_1.broken.log_faults import all_but, all_ends_alike, nothing_but_the_start
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.wire.frames import METHOD, RawFrame
from scenarios.registry import broken_by, scenario

BAD_END = "frame: refuses a bad end"


@scenario("0-9-1/prose/4.2.3.framing-error-logged", needs=["log"], alone=True)
@broken_by("logs nothing of connections", swaps(logged=nothing_but_the_start))
@broken_by("logs other errors only", swaps(logged=all_but(BAD_END)))
@broken_by("logs that a connection has ended, and not why", swaps(logged=all_ends_alike))
def bad_frame_end_is_logged(broker: Broker) -> None:
    """Of a frame that ends with CD more is logged than of a connection that is closed or lost."""
    log = broker.log()
    with log.usual():
        broker.lookout().close()
        broker.lookout().drop()
    channel = broker.channel(new_connection=True).fence()
    channel.connection.send_frames(RawFrame(METHOD, channel.number, FENCE.encode(), end=b"\xcd"))
    log.gains("a frame without its frame-end")
