"""2.1.2 Communication Endpoints: frames are cut out of a stream of octets; sessions live side by side."""

from harness.amqp1_0.broken.deviations import answers, rejects, swaps
from harness.amqp1_0.broken.faults import by_segments, whole_frames_of_segment
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import begun, header
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, amqp_frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, End, Error, Open
from scenarios.registry import broken_by, scenario


@scenario("1-0/2.1.2.byte-stream")
@broken_by("forgets the part of a frame that a segment ends in", swaps(cut=by_segments))
@broken_by("forgets the part of a frame behind a whole one", swaps(cut=whole_frames_of_segment))
def segments_have_no_meaning(container: Container) -> None:
    """Header and open are answered alike in two writes, octet by octet, and in a single write.

    The connections then serve: a begin is answered, on the first one octet by octet, on another one when half
    of it came in one write with the open.
    """
    container.connection()
    slow = container.secured()
    slow.send(PROTOCOL_HEADER, slow.the_open(), by=1)
    slow.expect_each(header(), Open)
    slow.send(the_begin(), by=1)
    slow.expect(begun(0))
    whole = container.secured()
    whole.send(PROTOCOL_HEADER, whole.the_open())
    whole.expect_each(header(), Open)
    whole.goes_on()
    torn, begin = container.secured(), amqp_frame(0, the_begin()).encode()
    torn.send(PROTOCOL_HEADER, torn.the_open(), begin[:10])
    torn.expect_each(header(), Open)
    torn.tries(begin[10:], begun(0))


@scenario("1-0/2.1.2.sessions-independent")
@broken_by("has room for one session", rejects(Begin, AmqpError.RESOURCE_LIMIT_EXCEEDED, skip=2))
@broken_by("ends the second in error", answers(End, End(Error(AmqpError.ILLEGAL_STATE)), skip=2))
def sessions_live_side_by_side(container: Container) -> None:
    """Of two sessions the second is ended in good order behind the end of the first."""
    connection = container.alive().fence()
    if len(connection.channels(2)) < 2:
        container.inapplicable("the target allows one channel only")
    first = connection.begin()
    with connection.works("a second session"):
        second = connection.begin()
    first.end()
    second.ends_well()
