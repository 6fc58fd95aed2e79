"""2.8.16 Connection Error: the condition that fits octets which are no frame."""

from harness.amqp1_0.broken.deviations import changes, drops, ends_stream, ignores_garbage, rewrites
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import Refusal, closed, refused, stream_ended
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.wire.frames import RawFrame, empty_frame
from harness.amqp1_0.wire.performatives import AmqpError, Close, ConnectionError_
from scenarios.registry import broken_by, scenario

MALFORMED = "frame: refuses a header that cannot be"


@scenario("1-0/2.8.16.framing-error")
@broken_by("passes over it", drops(MALFORMED))
@broken_by("does not hear it", ignores_garbage())
@broken_by("gives another condition", changes(MALFORMED, answer=refuse(AmqpError.NOT_FOUND)))
@broken_by("gives no reason", rewrites(Close, error=None))
@broken_by("ends the stream without a close", ends_stream(Close))
def impossible_frame_header_is_a_framing_error(container: Container) -> None:
    """A frame header with a SIZE of 4, and one with a DOFF of 1, are answered by framing-error."""
    for header in (RawFrame(size=4), RawFrame(doff=1)):
        connection = container.connection()
        connection.send(empty_frame())
        connection.fence()
        connection.gives_up_on(header, *refused(Refusal.CONDITION, ConnectionError_.FRAMING_ERROR))


TOLD = "restart: connections are told"


@scenario("1-0/2.8.16.connection-forced", needs={"restart"}, slow=True, disruptive=True, alone=True)
@broken_by("gives another condition", changes(TOLD, answer=refuse(AmqpError.INTERNAL_ERROR)))
@broken_by("gives no reason", rewrites(Close, when=lambda said: said.error is not None, error=None))
def who_is_closed_by_a_restart_is_told_so(container: Container) -> None:
    """With a connection in use the server is restarted: if it closes, then by connection-forced.

    That the stream ends without a word is recorded.
    """
    connection = container.connection().fence()
    connection.beats()
    container.facility("restart")
    connection.expect(
        closed(ConnectionError_.CONNECTION_FORCED),
        closed().under("the condition is the server's choice: another may fit too"),
        stream_ended().recorded("it ends without a word"),
    )
