"""2.1.2 Communication Endpoints: frames are cut out of a stream of octets."""

from __future__ import annotations

from harness.amqp1_0.container import Container
from harness.amqp1_0.deviations import swaps
from harness.amqp1_0.faults import by_segments
from harness.amqp1_0.frames import PROTOCOL_HEADER
from harness.amqp1_0.outcomes import begun, header
from harness.amqp1_0.performatives import Open
from harness.amqp1_0.session import the_begin
from scenarios.registry import broken_by, scenario


@scenario("1-0/2.1.2.byte-stream")
@broken_by("forgets the part of a frame that a segment ends in", swaps(cut=by_segments))
def segments_have_no_meaning(container: Container) -> None:
    """Header and open are answered alike in two writes, octet by octet, and in a single write.

    Both connections then serve: a begin is answered on either, on the first one octet by octet.
    """
    container.connection()
    slow = container.secured()
    slow.send(PROTOCOL_HEADER, slow.the_open(), by=1)
    slow.expect(header())
    slow.expect(Open)
    slow.send(the_begin(), by=1)
    slow.expect(begun(0))
    whole = container.secured()
    whole.send(PROTOCOL_HEADER, whole.the_open())
    whole.expect(header())
    whole.expect(Open)
    whole.goes_on()
