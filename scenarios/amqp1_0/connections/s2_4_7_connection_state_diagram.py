"""2.4.7 Connection State Diagram: the arrows out of the states before OPENED."""

from harness.amqp1_0.broken.deviations import answers, drops, swaps, takes_any_header
from harness.amqp1_0.broken.faults import answers_all_the_same, does
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import Refusal, begun, goes_on, header, refused
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.peer.events import ConnectionState, EmptyFrame
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, empty_frame
from harness.amqp1_0.wire.performatives import Begin, Close, Open
from harness.peers.rows import always
from scenarios.amqp1_0.connections.s2_4_6_connection_states import BEGUN, first_of_segment
from scenarios.registry import broken_by, scenario

MISMATCHED = b"AMQP\x00\x01\x01\x00"
"""AMQP 0 1.1.0, which does not exist."""
HDR_EXCH = ConnectionState.HDR_EXCH
OBEDIENT = Open("faulty")


@scenario("1-0/2.4.7.mismatch-ends")
@broken_by("takes every header for its own", takes_any_header())
@broken_by("goes on after a header that differs", drops("HDR_RCVD: S:HDR!"))
def behind_headers_that_differ_nothing_is_written(container: Container) -> None:
    """AMQP 0 1.1.0 and an open in a single write: at most a header comes back, and no open."""
    container.connection()
    connection = container.secured()
    mark = len(connection.heard())
    connection.send(MISMATCHED, connection.the_open())
    came = connection.until_end()[mark:]
    frames = [each for each in came if not each.startswith("protocol header")]
    connection.judge("no frame behind the header", ", ".join(frames), not frames)


@scenario("1-0/2.4.7.only-open-is-first", slow=True)
@broken_by("serves who has not opened", answers_all_the_same(HDR_EXCH, Begin, OBEDIENT, BEGUN))
def a_begin_is_not_obeyed_before_the_open(container: Container) -> None:
    """A begin as the first frame: a close with an error comes behind the server's open."""
    container.connection().fence()
    container.negotiated().turns_down(the_begin(), *refused(Refusal.OPENING))


@scenario("1-0/2.4.7.only-open-is-first")
@broken_by("takes a close before the open", answers(Close, OBEDIENT, Close()))
@broken_by("closes what was never opened", does(HDR_EXCH, Close, always, says=(OBEDIENT, Close())))
def a_close_is_not_obeyed_before_the_open(container: Container) -> None:
    """A close as the first frame: a close with an error comes behind the server's open."""
    container.connection()
    container.negotiated().turns_down(Close(), *refused(Refusal.OPENING))


@scenario("1-0/2.4.7.only-open-is-first")
@broken_by("takes an empty frame for a close", does(HDR_EXCH, EmptyFrame, always, says=(OBEDIENT, Close())))
def an_empty_frame_is_not_obeyed_before_the_open(container: Container) -> None:
    """An empty frame as the first, and an open: it is refused, or has no meaning, which is recorded."""
    container.connection()
    connection = container.negotiated()
    connection.send(empty_frame(), connection.the_open())
    connection.refuses(
        *refused(Refusal.OPENING), goes_on().recorded("an empty frame has no meaning by section 2.4.5")
    )


@scenario("1-0/2.4.7.any-frame-after-open")
@broken_by("forgets what stands behind the open", swaps(cut=first_of_segment))
def a_begin_may_follow_the_open_at_once(container: Container) -> None:
    """Header, open and a begin in a single write: header, open and the begin that answers come back."""
    container.connection().fence()
    connection = container.secured()
    connection.send(PROTOCOL_HEADER, connection.the_open(), the_begin())
    connection.expect_each(header(), Open, begun(0))
