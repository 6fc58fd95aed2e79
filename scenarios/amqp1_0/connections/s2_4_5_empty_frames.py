"""2.4.5 Idle Timeout Of A Connection: empty frames, where they may come and what they do not mean."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from typing import Final

from harness.amqp1_0.broken.deviations import (
    changes,
    follows,
    is_empty,
    moves_frames,
    of_client,
    offers_header,
    on_channels,
    precedes,
    rejects_frames,
)
from harness.amqp1_0.broken.faults import (
    EMPTY_FRAME_BEFORE_OPEN,
    KEEPS_A_CLOSED_CONNECTION_ALIVE,
    KEEPS_ALIVE_WHAT_BOTH_HAVE_CLOSED,
    TALKS_BEHIND_ITS_CLOSE,
    does,
    places,
    replies,
    together,
)
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import EMPTY, OF_AMQP, Framed, Passage
from harness.amqp1_0.peer.events import ConnectionState, EmptyFrame
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, Frame, empty_frame
from harness.amqp1_0.wire.performatives import Close, ConnectionError_, End, Error, Open
from harness.play.watching import Enough, Found, Gaps, State, came, went
from harness.wire.journal import Direction
from harness.wire.units import Header
from scenarios.amqp1_0.connections.s2_4_3_closing_a_connection import BehindClose
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

MEANS_NOTHING = "empty frame: means nothing"
FRAMING_ERROR = ConnectionError_.FRAMING_ERROR


# -- empty frames of ours ------------------------------------------------------------------------------


def is_empty_elsewhere(frame: Frame) -> bool:
    return is_empty(frame) and on_channels(1)(frame)


@scenario("1-0/2.4.5.empty-frames-handled")
@broken_by("refuses empty frames", rejects_frames(is_empty, FRAMING_ERROR))
@broken_by("refuses them on other channels than 0", rejects_frames(is_empty_elsewhere, FRAMING_ERROR))
@broken_by("takes them for an error", changes(MEANS_NOTHING, answer=refuse(FRAMING_ERROR)))
@broken_by("ends at an empty frame", changes(MEANS_NOTHING, next=ConnectionState.END))
@broken_by(
    "refuses them where there is no session",
    does(
        ConnectionState.OPENED,
        EmptyFrame,
        lambda turn: turn.channel not in turn.connection.sessions,
        says=(Close(Error(FRAMING_ERROR, "no session")),),
    ),
)
def empty_frames_are_borne_on_every_channel(container: Container) -> None:
    """Empty frames on channel 0, on that of a session and on one without leave everything as it was."""
    connection = container.connection()
    connection.begin().end()
    session = connection.begin()
    highest = connection.partner.channel_max
    session.send(*map(empty_frame, (0, session.channel, highest)), End())
    session.expect(End)
    connection.send(empty_frame(), Close())
    connection.expect(Close)


@scenario("1-0/2.4.5.empty-frames-mean-nothing")
@broken_by("takes an empty frame for a close", replies(MEANS_NOTHING, Close()))
@broken_by("begins a session for an empty frame", replies(MEANS_NOTHING, the_begin()))
@broken_by("refuses empty frames", rejects_frames(is_empty, FRAMING_ERROR))
def empty_frames_change_nothing(container: Container) -> None:
    """Open, begin, end and close are answered by the same frames with empty frames between as without."""
    plain, other = container.negotiated(), container.negotiated()
    usual = life(plain, lambda kind: plain.control(kind.type_name, kind))
    seen = life(other, other.expect, empty_frame())
    other.judge("the same frames as without", ", ".join(seen), seen == usual)


def life(
    connection: AmqpConnection, answer: Callable[[type[Composite]], object], *between: Frame
) -> list[str]:
    """Open, begin a session, end it, close, waiting for each answer; gives what came, in its order."""
    connection.send(connection.the_open())
    answer(Open)
    for said in (the_begin(), End(), Close()):
        connection.send(*between, said)
        answer(type(said))
    return connection.heard()


# -- empty frames of the server ------------------------------------------------------------------------


@watch(
    "1-0/2.4.5.empty-frames-on-channel-zero",
    during="1-0/2.4.5.idle-timeouts-independent",
    looks_at=came(EMPTY, on=OF_AMQP),
    of_clients="1-0/2.7.1.idle-time-out-honoured",
)
@broken_by("sends them on channel 1", of_client(moves_frames(is_empty, channel=1)), Role.CLIENT)
@broken_by("sends them on channel 1", moves_frames(is_empty, channel=1))
@broken_by("writes them on the highest channel", places(Frame, 0xFFFF))
def empty_frames_come_on_channel_zero(each: Framed) -> Found:
    """Every empty frame of the server has come on channel 0."""
    channel = each.unit.channel
    return not channel or f"an empty frame on channel {channel} at {each.at:.4f} s"


AT_ONCE: Final = offers_header(
    PROTOCOL_HEADER + empty_frame(1).encode(), when=lambda sent: sent == Header(PROTOCOL_HEADER)
)


@watch(
    "1-0/2.4.5.empty-frames-before-open-on-channel-zero",
    during="1-0/2.4.3.close-answered",
    looks_at=came(EMPTY, on=OF_AMQP) + went(Open),
    needs=went(Open),
    whole=True,
    gap=Gaps.STOPS,
    never="the server sends no empty frame before it has our open",
    of_clients=TALK,
    never_of_clients="the client sends no empty frame before it has the server's open",
)
@broken_by("sends one on channel 1 behind its header", of_client(AT_ONCE), Role.CLIENT)
@broken_by("sends one on channel 1 behind its header", AT_ONCE)
@broken_by("begins with one on channel 7", together(EMPTY_FRAME_BEFORE_OPEN, places(Frame, 7)))
def no_other_channel_before_our_open(seen: list[Framed]) -> Iterator[Found]:
    """Every empty frame that came before our open was sent is on channel 0."""
    for each in takewhile(lambda each: each.direction is Direction.RECEIVED, seen):
        channel = each.unit.channel
        yield not channel or f"an empty frame on channel {channel} before our open at {each.at:.4f} s"


class Early(State):
    """How many empty frames came before the server's open."""

    def __init__(self) -> None:
        self.frames = 0


@watch(
    "1-0/2.4.5.no-empty-frame-before-open",
    during="1-0/2.4.3.close-answered",
    looks_at=came(Open) + came(EMPTY, on=OF_AMQP),
    needs=came(Open),
    start=Early,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("sends one before its open", of_client(precedes(Open, empty_frame())), Role.CLIENT)
@broken_by("begins with an empty frame", EMPTY_FRAME_BEFORE_OPEN)
@broken_by("sends one before its open", precedes(Open, empty_frame()))
def no_empty_frame_before_the_servers_open(early: Early, each: Passage) -> Found | Enough:
    """What the server sent before its open: no empty frame."""
    if isinstance(each.said, Open):
        return Enough(not early.frames or f"{early.frames} empty frames before the server's open")
    early.frames += 1
    return None


@watch(
    "1-0/2.4.5.no-empty-frame-after-close",
    during="1-0/2.4.3.close-is-last",
    looks_at=came(Close) + came(EMPTY, on=OF_AMQP),
    needs=came(Close),
    start=partial(BehindClose, "{} empty frames behind the server's close"),
    gap=Gaps.TOLD,
    of_clients=TALK,
)
@broken_by("sends one behind its close", of_client(follows(Close, empty_frame())), Role.CLIENT)
@broken_by("sends one behind its close", follows(Close, empty_frame()))
@broken_by("sends one behind a close with an error", TALKS_BEHIND_ITS_CLOSE)
@broken_by("keeps a closed connection alive", KEEPS_A_CLOSED_CONNECTION_ALIVE)
@broken_by("keeps alive what both have closed", KEEPS_ALIVE_WHAT_BOTH_HAVE_CLOSED)
def no_empty_frame_behind_the_servers_close(close: BehindClose, each: Passage) -> Found:
    """What the server sent behind its close: no empty frame."""
    close.look(each, each.said is None)
    return None
