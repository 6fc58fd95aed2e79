"""4.2.4: the numbers of classes and methods."""

from harness.amqp0_9_1.broken.deviations import mends, swallows
from harness.amqp0_9_1.broken.frame_faults import unknown
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed
from harness.amqp0_9_1.wire.frames import METHOD, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import COMMAND_INVALID, NOT_IMPLEMENTED, Channel, Tx
from scenarios.registry import broken_by, scenario

UNDEFINED = (1, 30, 70, 80, 85, 100, 110)
"""Classes that this version does not have and others, or products, did."""


@scenario("0-9-1/prose/4.2.4.extension-classes-apart", slow=True)
@broken_by("has a class 85", mends(unknown(85), lambda frame: method_frame(frame.channel, Tx.Select())))
@broken_by("has a class 30", mends(unknown(30), lambda it: method_frame(it.channel, Channel.Flow(True))))
@broken_by("passes it over", swallows(unknown(110)))
def no_class_below_f000_is_an_extension(broker: Broker) -> None:
    """Method 10 of classes that this version does not have ends the connection: as unknown, with 503 or 540.

    One octet of arguments is sent, which is enough for a method that has bits alone.
    """
    ended = (connection_closed() | closed_silently()).under("4.2.4: no reaction is named")
    # All connections first: a server that ends altogether is seen by its socket, not by a control that fails.
    channels = {class_index: broker.channel(new_connection=True) for class_index in UNDEFINED}
    for channel in channels.values():
        channel.fence()
    for class_index, channel in channels.items():
        payload = class_index.to_bytes(2) + (10).to_bytes(2) + b"\x00"
        channel.connection.send_frames(Frame(METHOD, channel.number, payload))
        channel.expect(connection_closed(COMMAND_INVALID, NOT_IMPLEMENTED), ended)
