"""2.4.2 Pipelined Open: frames that do not wait for the partner's header and open."""

from collections.abc import Iterator
from itertools import islice

from harness.amqp1_0.broken.deviations import ignores, rejects, swaps
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import begun, header
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, FrameReader, Unit
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, Open
from scenarios.registry import broken_by, scenario


def first_of_segment(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Loses what comes in one segment behind a frame."""
    return islice(reader.feed(octets), 1)


@scenario("1-0/2.4.2.pipelined-frames-accepted")
@broken_by("loses what comes behind the open", swaps(cut=first_of_segment))
@broken_by("drops a begin that does not wait", ignores(Begin))
@broken_by("refuses a begin that does not wait", rejects(Begin, AmqpError.ILLEGAL_STATE))
def frames_need_not_wait_for_the_partners(container: Container) -> None:
    """Header, open and begin in a single write are answered by header, open and begin."""
    container.connection().ask(Close(), Close)
    piped = container.secured()
    piped.send(PROTOCOL_HEADER, piped.the_open(), the_begin())
    piped.expect_each(header(), Open, begun(0))


@scenario("1-0/2.4.2.pipelining-indistinguishable")
@broken_by("loses what comes behind the open", swaps(cut=first_of_segment))
def pipelined_frames_are_answered_like_others(container: Container) -> None:
    """Header, open and close step by step, and in a single write, bring the same frames in the same order."""
    step, piped = container.connection(), container.secured()
    step.ask(Close(), Close)
    piped.send(PROTOCOL_HEADER, piped.the_open(), Close())
    together, apart = piped.until_closed(), step.until_closed()
    piped.judge("the same frames as step by step", "other frames", together == apart)
