"""2.4.1 Opening A Connection: opens, and the limits that hold before and after them."""

from collections.abc import Iterable, Iterator

from harness.amqp1_0.broken.deviations import (
    drops,
    of_client,
    on_channels,
    precedes,
    reframes,
    replaces,
    rewrites,
    takes_frames,
    withholds,
)
from harness.amqp1_0.broken.faults import EMPTY_FRAME_BEFORE_OPEN, does, places, together
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import Refusal, refused
from harness.amqp1_0.client.transcript import OF_AMQP, Framed, Passage, performative_of
from harness.amqp1_0.peer.events import ConnectionState, Entered
from harness.amqp1_0.wire.frames import AMQP, FRAME_HEADER, MIN_MAX_FRAME_SIZE, Frame, empty_frame
from harness.amqp1_0.wire.performatives import Begin, Close, Open
from harness.play.expect import Inconclusive
from harness.play.watching import Enough, Found, Gaps, State, came, went
from harness.wire.journal import Direction
from harness.wire.units import Garbage
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

LARGE = Open("x" * MIN_MAX_FRAME_SIZE)
"""An open that does not fit into the smallest frame there is."""


def size(frame: Frame) -> int:
    return FRAME_HEADER + len(frame.extended) + len(frame.body)


def is_open(frame: object) -> bool:
    return isinstance(performative_of(frame), Open)


# -- the exchange --------------------------------------------------------------------------------------


@scenario("1-0/2.4.1.open-answered")
@broken_by("keeps its open to itself", withholds(Open))
@broken_by("waits for more than an open", drops("open: is answered"))
def an_open_is_answered_by_an_open(container: Container) -> None:
    """Once headers have been exchanged, an open brings the server's, without waiting for anything else."""
    connection = container.negotiated()
    connection.tries(connection.the_open(), Open)


@scenario("1-0/2.4.1.frame-size-before-open")
@broken_by("sends a large open in answer", rewrites(Open, container_id=LARGE.container_id))
@broken_by("sends a large open first", does(ConnectionState.HDR_EXCH, Entered, says=(LARGE,)))
def the_servers_open_fits_into_the_smallest_frame(container: Container) -> None:
    """The server's open has at most 512 octets, whether it comes by itself or answers ours that says 512."""
    connection = container.negotiated()
    connection.listen(container.context.patience.quiet)
    connection.tries(connection.the_open(max_frame_size=MIN_MAX_FRAME_SIZE, channel_max=0), Open)
    opens = [size(each) for each in connection.link.received() if isinstance(each, Frame) and is_open(each)]
    if not opens:
        raise Inconclusive("the open came in a frame that is none of AMQP")
    connection.judge("an open of at most 512 octets", "a larger open", opens[0] <= MIN_MAX_FRAME_SIZE)
    connection.fence()


class Opened(State):
    """Our open, once it has been sent."""

    def __init__(self) -> None:
        self.by: Open | None = None


@watch(
    "1-0/2.4.1.channel-before-open",
    during="1-0/2.4.1.open-on-other-channel-refused",
    looks_at=came(OF_AMQP) + went(Open),
    start=Opened,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("opens on channel 1", of_client(reframes(Open, channel=1)), Role.CLIENT)
@broken_by("opens on channel 1", reframes(Open, channel=1))
@broken_by("uses channel 1 before it opens", together(EMPTY_FRAME_BEFORE_OPEN, places(Frame, 1)))
def channel_zero_alone_is_used_before_the_opens(opened: Opened, each: Framed) -> Found:
    """What the server sends before our open was sent, and its open itself, is on channel 0."""
    if each.direction is Direction.SENT:
        opened.by = each.said
    elif opened.by is None or isinstance(each.said, Open):
        return not each.unit.channel or f"channel {each.unit.channel} at {each.at:.4f} s"
    return None


@watch(
    "1-0/2.4.1.open-first",
    during="1-0/2.4.7.only-open-is-first",
    looks_at=came(Frame, Garbage),
    start=State,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("sends an empty frame before its open", of_client(precedes(Open, empty_frame())), Role.CLIENT)
@broken_by("sends an empty frame before its open", precedes(Open, empty_frame()))
@broken_by("refuses without an open", replaces(Open, Close()))
@broken_by("closes before it opens", precedes(Open, Close()))
@broken_by("sends an empty frame as soon as it may open", EMPTY_FRAME_BEFORE_OPEN)
def the_servers_first_frame_is_an_open(_: State, each: Passage) -> Found | Enough:
    """The first AMQP frame of the server on a connection is an open.

    Where something came before it that is no frame of a layer, that may have been the open.
    """
    unit = each.unit
    if isinstance(unit, Frame) and unit.type == AMQP:
        return Enough(isinstance(each.said, Open) or f"another frame than an open at {each.at:.4f} s")
    may_be_one = not isinstance(unit, Frame) or is_open(Frame(AMQP, unit.channel, unit.body))
    return Enough(None) if may_be_one else None


@watch(
    "1-0/2.4.1.open-on-channel-zero",
    during="1-0/2.4.1.open-on-other-channel-refused",
    looks_at=came(Open),
    of_clients=TALK,
)
@broken_by("opens on the channel it likes", of_client(reframes(Open, channel=7)), Role.CLIENT)
@broken_by("opens on the channel it likes", reframes(Open, channel=7))
@broken_by("opens on channel 1", places(Open, 1))
def every_open_is_on_channel_zero(each: Framed) -> Found:
    """Every open that the server sends is on channel 0."""
    return not each.unit.channel or f"an open on channel {each.unit.channel} at {each.at:.4f} s"


@scenario("1-0/2.4.1.open-on-other-channel-refused")
@broken_by("takes it on any channel", drops("open: refuses another channel than 0"))
@broken_by("does not look at the channel", takes_frames(on_channels(1), channel=0))
def an_open_on_another_channel_is_refused(container: Container) -> None:
    """An open on channel 0 is answered by an open alone, the same on channel 1 by a close with an error."""
    container.connection().fence()
    connection = container.negotiated()
    connection.turns_down(connection.the_open(), *refused(Refusal.OPENING), channel=1)


# -- limits --------------------------------------------------------------------------------------------


@watch(
    "1-0/2.4.1.within-limits",
    during="1-0/2.7.1.channel-max-respected",
    looks_at=came(OF_AMQP) + went(Open),
    start=Opened,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by(
    "uses a channel that the server does not have", of_client(reframes(Begin, channel=0xFFFF)), Role.CLIENT
)
@broken_by("sends more octets than we take", rewrites(Open, container_id=LARGE.container_id))
@broken_by("uses a channel that we do not have", reframes(Begin, channel=1))
def the_server_keeps_within_our_limits(opened: Opened, each: Framed) -> Iterable[Found] | None:
    """Behind our open no frame of the server is larger, or on a higher channel, than our open states."""
    if each.direction is Direction.SENT:
        opened.by = each.said if opened.by is None else opened.by
    elif opened.by is not None:
        return _within(opened.by, each.at, each.unit)
    return None


def _within(limits: Open, at: float, frame: Frame) -> Iterator[Found]:
    largest, highest = limits.carried("max_frame_size"), limits.carried("channel_max")
    if isinstance(largest, int):
        # Who states less than every peer has to take is judged by what every peer takes.
        fits = size(frame) <= max(largest, MIN_MAX_FRAME_SIZE)
        yield fits or f"a frame of {size(frame)} octets, our limit is {largest}, at {at:.4f} s"
    if isinstance(highest, int):
        fits = frame.channel <= highest
        yield fits or f"channel {frame.channel}, our limit is {highest}, at {at:.4f} s"
