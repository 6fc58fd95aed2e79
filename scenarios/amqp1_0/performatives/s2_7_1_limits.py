"""2.7.1 Open: what it states of frame sizes, channel numbers and the idle time-out."""

from collections.abc import Callable
from itertools import pairwise

from harness.amqp1_0.broken.deviations import (
    Fault,
    changes,
    drops,
    ends_stream,
    forwards,
    ignores_frames,
    is_empty,
    is_larger,
    on_channels,
    reframes,
    rejects_frames,
    rewrites,
    takes_frames,
    withholds_frames,
)
from harness.amqp1_0.broken.faults import does, end_stream, places, together
from harness.amqp1_0.broken.loose import Turn
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    Observation,
    Received,
    Refusal,
    answered,
    begun,
    closed,
    goes_on,
    refused,
    session_ended,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import performative_of, performatives
from harness.amqp1_0.peer.events import ConnectionState, Entered, TrafficDue
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, FRAME_HEADER, MIN_MAX_FRAME_SIZE, Frame, amqp_frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, ConnectionError_, End, Error, Open
from harness.peers.events import Waited
from harness.peers.rows import always
from harness.play.expect import Outcome
from harness.play.link import Closed, Silence
from harness.wire.journal import Direction
from scenarios.amqp1_0.performatives.s2_7_1_open import shuts_out, takes
from scenarios.registry import broken_by, scenario

FRAMING_ERROR = ConnectionError_.FRAMING_ERROR
FILLER = "conformance:filler"
LEAST = 256
"""Characters from which on a string, and every list and map around it, is written in its wide form."""
MOST = 16 << 20
"""Octets of a frame that a peer can be made to refuse with decent effort."""
OURS = {"max_frame_size": 65536, "channel_max": 255}
"""Limits in our open: some servers have none of their own and state those of their partner."""
HALF_A_BODY = Frame(AMQP, 0, b"\0")
ANYHOW = answered(Close) | stream_ended() | goes_on() | silence()
"""Whatever the server makes of a bad frame, if only nothing more is heard of it: judged elsewhere."""
TALKATIVE = Error(AmqpError.INTERNAL_ERROR, "x" * MIN_MAX_FRAME_SIZE)


# -- frames --------------------------------------------------------------------------------------------


def filled(performative: Composite, octets: int) -> Composite:
    """Give a performative with a property so long that its frame has this size in octets, 512 or more."""
    least = performative.replace(properties={FILLER: "x" * LEAST})
    lacking = octets - len(amqp_frame(0, least).encode())
    return performative.replace(properties={FILLER: "x" * (LEAST + lacking)})


def largest_frame(connection: AmqpConnection) -> int:
    """Give octets of the largest AMQP frame the server has sent."""
    came = (each.unit for each in connection.link.transcript if each.direction is Direction.RECEIVED)
    frames = [unit for unit in came if isinstance(unit, Frame) and unit.type == AMQP]
    return max((FRAME_HEADER + len(each.extended) + len(each.body) for each in frames), default=0)


@scenario("1-0/2.7.1.frame-size-respected")
@broken_by("has much to say of itself", rewrites(Open, properties={FILLER: "x" * MIN_MAX_FRAME_SIZE}))
@broken_by("has much to say of a session", rewrites(Begin, properties={FILLER: "x" * MIN_MAX_FRAME_SIZE}))
@broken_by("has much to say of an error", rewrites(Close, error=TALKATIVE))
def no_frame_is_larger_than_we_accept(container: Container) -> None:
    """We accept 512 octets: open, session, and whatever follows a bad frame, keep within them."""
    container.connection().fence()
    narrow = container.negotiated()
    narrow.tries(narrow.the_open(max_frame_size=MIN_MAX_FRAME_SIZE), Open)
    if isinstance(narrow.goes_on(closed()), Begin):
        narrow.gives_up_on(HALF_A_BODY, ANYHOW)
    narrow.judge(
        "frames of at most 512 octets", "a larger frame", largest_frame(narrow) <= MIN_MAX_FRAME_SIZE
    )


OVERSIZED = "frame: refuses one larger than we accept"


@scenario("1-0/2.7.1.oversized-frame-closes")
@broken_by("passes over it", drops(OVERSIZED))
@broken_by("gives another condition", changes(OVERSIZED, answer=refuse(AmqpError.NOT_ALLOWED)))
@broken_by("ends the stream without a close", ends_stream(Close))
@broken_by("gives no reason", rewrites(Close, error=None))
def frame_larger_than_accepted_closes(container: Container) -> None:
    """A begin in the largest frame that the server accepts works; one octet more closes the connection."""
    connection = container.connection(**OURS)
    limit = connection.partner.max_frame_size
    if limit > MOST:
        container.inapplicable("the server states no max-frame-size, or one of more than 16 MiB")
    connection.ask(filled(the_begin(), limit), Begin)
    connection.ask(End(), End)
    connection.gives_up_on(filled(the_begin(), limit + 1), *refused(Refusal.DEMANDED, FRAMING_ERROR))


def is_large(kind: type[Composite]) -> Callable[[Frame], bool]:
    """Say whether a frame of 512 octets holds this performative."""
    return lambda frame: is_larger(MIN_MAX_FRAME_SIZE - 1)(frame) and isinstance(performative_of(frame), kind)


@scenario("1-0/2.7.1.min-max-frame-size-accepted")
@broken_by("takes no large open", rejects_frames(is_large(Open), FRAMING_ERROR))
@broken_by("takes no large begin", rejects_frames(is_large(Begin), FRAMING_ERROR))
@broken_by("takes 512 for a limit to stay below", ignores_frames(is_larger(MIN_MAX_FRAME_SIZE - 1)))
def frames_of_512_octets_are_accepted(container: Container) -> None:
    """An open of 512 octets, the first frame of all, is answered by an open, a begin of 512 by a begin."""
    container.connection().fence()
    full = container.negotiated()
    full.tries(filled(full.the_open(), MIN_MAX_FRAME_SIZE), Open)
    full.tries(filled(the_begin(), MIN_MAX_FRAME_SIZE), begun(0))


# -- channels ------------------------------------------------------------------------------------------

SCARCE = "a server may be short of resources for the session"
OUT_OF_RANGE = "frame: refuses a channel above ours"
ENDED = Outcome(
    "end without error",
    lambda seen: (
        isinstance(seen, Received) and isinstance(seen.performative, End) and not seen.performative.error
    ),
)


@scenario("1-0/2.7.1.highest-channel-usable")
@broken_by("takes it for a count", rejects_frames(on_channels(255), FRAMING_ERROR))
@broken_by("does not hear it", ignores_frames(on_channels(255)))
@broken_by("names another channel", rewrites(Begin, when=lambda it: it.remote_channel, remote_channel=0))
@broken_by("is short of resources", rejects_frames(on_channels(255), AmqpError.RESOURCE_LIMIT_EXCEEDED))
@broken_by(
    "ends the session at once",
    rewrites(End, skip=1, error=Error(AmqpError.RESOURCE_LIMIT_EXCEEDED, "too many channels")),
)
def session_begins_on_the_highest_channel(container: Container) -> None:
    """On the channel that the server's channel-max names a session begins and ends, as on channel 0."""
    connection = container.connection()
    connection.begin(0).end()
    highest = connection.partner.channel_max
    scarce = AmqpError.RESOURCE_LIMIT_EXCEEDED
    connection.send(the_begin(), channel=highest)
    if isinstance(connection.expect(begun(highest), closed(scarce).under(SCARCE)), Begin):
        connection.tries(End(), ENDED, session_ended(scarce).under(SCARCE), channel=highest)


@scenario("1-0/2.7.1.channel-max-respected")
@broken_by("answers on channel 1", reframes(Begin, channel=1))
@broken_by("ends on channel 1", reframes(End, channel=1))
@broken_by("has its own numbers for sessions", places(Begin, 1))
def nothing_comes_on_a_channel_above_ours(container: Container) -> None:
    """We state a channel-max of 0: the begin that answers ours, and everything after it, is on channel 0."""
    narrow = container.negotiated()
    narrow.open(channel_max=0)
    narrow.tries(the_begin(), begun(0, on=0))
    narrow.tries(End(), End)
    channels = {channel for _, channel, _ in performatives(narrow.link.transcript)}
    narrow.judge("frames on channel 0", "a frame on another channel", channels == {0})


@scenario("1-0/2.7.1.channel-max-respected")
@broken_by("answers on the number it hears", reframes(Begin, when=lambda it: it.remote_channel, channel=1))
def a_begin_on_a_higher_channel_is_answered_on_ours(container: Container) -> None:
    """We state a channel-max of 0 and begin on channel 1, which the server allows: the begin comes on 0."""
    narrow = container.negotiated()
    narrow.open(channel_max=0, max_frame_size=MIN_MAX_FRAME_SIZE)
    if not narrow.partner.channel_max:
        container.inapplicable("the server allows channel 0 only")
    narrow.send(the_begin(), channel=1)
    narrow.expect(
        begun(1, on=0), (answered(Close) | stream_ended() | silence()).recorded("1 is above what both allow")
    )


@scenario("1-0/2.7.1.channel-out-of-range-closes")
@broken_by("passes over it", drops(OUT_OF_RANGE))
@broken_by("gives another condition", changes(OUT_OF_RANGE, answer=refuse(AmqpError.NOT_ALLOWED)))
@broken_by("ends the stream without a close", ends_stream(Close))
@broken_by("takes it for channel 0", takes_frames(on_channels(256), channel=0))
def channel_above_the_highest_closes(container: Container) -> None:
    """A begin on the highest channel the server allows is answered; one channel above closes."""
    connection = container.connection(**OURS)
    highest = connection.partner.channel_max
    if highest == 0xFFFF:
        container.inapplicable("the server allows every channel")
    connection.begin(highest).end()
    connection.gives_up_on(the_begin(), *refused(Refusal.DEMANDED, FRAMING_ERROR), channel=highest + 1)


# -- the idle time-out ---------------------------------------------------------------------------------

STATED = 1.0
"""Seconds of the idle-time-out we state."""
WATCHED = 3.0
ROOM = "by 2.4.5 the value stated is half of the threshold that is acted on"


def no_gap(limit: float) -> Outcome:
    """Judge that the server was never silent for longer than this, in seconds."""
    said = f"no gap above {limit:g} s between frames"
    return Outcome(said, lambda seen: isinstance(seen, Silence) and seen.waited <= limit)


def longest_silence(connection: AmqpConnection) -> Observation:
    """Give the longest time in seconds without a frame of the server, or what ended the connection."""
    link = connection.link
    began = link.now()
    heard = connection.listen(WATCHED)
    closes = [said for _, _, said in performatives(heard) if isinstance(said, Close)]
    if closes:
        return Received(0, closes[0])
    if link.ended is not None:
        return Closed(link.ended)
    times = (began, *(each.at for each in heard), link.now())
    return Silence(max(later - earlier for earlier, later in pairwise(times)))


def wants(seconds: float) -> Callable[[Open], bool]:
    return lambda opening: opening.carried("idle_time_out") == 1000 * seconds


@scenario("1-0/2.7.1.idle-time-out-honoured", slow=True)
@broken_by("sends nothing in time", drops("idle-time-out: an empty frame is sent in time"))
@broken_by("lets its empty frames disappear", withholds_frames(is_empty))
@broken_by("ends the stream without a close", does(ConnectionState.OPENED, TrafficDue, always, end_stream))
@broken_by("is much too late", forwards(Open, when=wants(STATED), idle_time_out=8000))
def frames_come_within_the_idle_time_out(container: Container) -> None:
    """We state 1000 ms: for three seconds no gap between frames of the server is longer."""
    container.connection().fence()
    demanding = container.negotiated()
    demanding.tries(demanding.the_open(idle_time_out=int(1000 * STATED)), Open)
    demanding.beats()
    began = demanding.link.now()
    legal = [
        no_gap(STATED),
        no_gap(2 * STATED).under(ROOM),
        closed().recorded("1-0/2.4.5.idle-unsupported-closes"),
    ]
    demanding.link.hold(longest_silence(demanding), legal, began)


def wants_none(turn: Turn) -> bool:
    partner = turn.connection.partner
    return partner is not None and partner.carried("idle_time_out") == 0


def closes_late(seconds: float) -> Fault:
    """Close, so many seconds after the opens, a connection whose client states an idle-time-out of zero."""
    idle = Close(Error(AmqpError.RESOURCE_LIMIT_EXCEEDED, "idle"))
    return together(
        does(ConnectionState.OPENED, Entered, wants_none, lambda turn: turn.connection.wait(seconds)),
        does(ConnectionState.OPENED, Waited, wants_none, says=(idle,)),
    )


@scenario("1-0/2.7.1.idle-time-out-zero", slow=True)
@broken_by("cannot be that quick", shuts_out(wants(0)))
@broken_by("takes it for a millisecond", forwards(Open, when=wants(0), idle_time_out=1))
@broken_by("closes a second later", closes_late(1.0))
@broken_by("closes some seconds later", closes_late(2.5))
def idle_time_out_of_zero_is_none(container: Container) -> None:
    """An open with an idle-time-out of 0 is answered by an open alone, and the connection goes on.

    So it does three seconds later, in which no more is sent than the server itself wants.
    """
    container.connection().fence()
    patient = takes(container, idle_time_out=0)
    patient.beats()
    patient.listen(WATCHED)
    patient.goes_on()
