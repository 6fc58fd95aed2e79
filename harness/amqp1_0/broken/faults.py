"""Faults of the 1.0 peer beyond one row dropped or changed: more words, wrong strategies, wrong effects.

The plain words (`drops`, `changes`, `inserts`, `swaps`) stand in `deviations`, beside the interposers.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from harness.amqp1_0.broken.deviations import Fault, changes, drops
from harness.amqp1_0.broken.loose import Condition, Effect, Row, Turn
from harness.amqp1_0.peer import strategies
from harness.amqp1_0.peer.entities import Said
from harness.amqp1_0.peer.events import (
    ConnectionState,
    Entered,
    Saying,
    SendingClose,
    SendingFrame,
    TrafficDue,
    Unacceptable,
)
from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.peer.refusals import our_open
from harness.amqp1_0.peer.states import write
from harness.amqp1_0.peer.states_of_sessions import say
from harness.amqp1_0.peer.tables.connection import wait_for_close
from harness.amqp1_0.peer.tables.resuming import resumed
from harness.amqp1_0.peer.turn import Reply, Tables
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import FRAME_HEADER, Frame, FrameReader, Unit, empty_frame
from harness.amqp1_0.wire.performatives import Attach, Close
from harness.peers.rows import State, always

together = Fault.together


# -- words on rows -------------------------------------------------------------------------------------


def does(
    state: State | tuple[State, ...],
    event: type | tuple[type, ...],
    when: Condition = always,
    *effects: Effect,
    says: tuple[Said, ...] = (),
    to: State | None = None,
) -> Fault:
    """Does this before anything else its tables have for the event; nothing at all if no more is given."""
    answer = saying(*says) if says else None

    def change(tables: Tables) -> Tables:
        count = sum(row.name.startswith("fault") for row in tables)
        row = Row(f"fault {count}", state, event, when, effects, answer, to)
        return replace(tables, rows=(row, *tables.rows))

    return Fault(change)


def replies(row: str, *said: Said) -> Fault:
    """Says something else where this row answers; nothing if nothing is given."""
    return changes(row, answer=saying(*said))


def saying(*said: Said) -> Callable[[Turn], Reply]:
    """Make an answer that is always the same."""

    def answer(_: Turn) -> Reply:
        return said

    return answer


def permits(state: State, event: type[Any] = SendingFrame) -> Fault:
    """Lets it send, in this state, what the document has nobody send there."""
    return does(state, event, always, say if issubclass(event, Saying) else write)


def answers_all_the_same(
    state: State, event: type, *said: Said, of: type[Any] = SendingFrame, to: State | None = None
) -> Fault:
    """Answers an event in a state in which nobody sends anything: what is said counts as `of` this kind."""
    return together(permits(state, of), does(state, event, always, says=said, to=to))


ANSWERS_OUR_CLOSE_AGAIN = answers_all_the_same(
    ConnectionState.DISCARDING, Close, Close(), of=SendingClose, to=ConnectionState.END
)


# -- words on what is written --------------------------------------------------------------------------


def says(kind: type[Composite], when: Callable[[Any], bool] = always, **values: Any) -> Fault:
    """Sends other values in fields of a performative; a value may be a function of the old one."""

    def change(tables: Tables) -> Tables:
        clean = tables.strategies.spell

        def spell(performative: Composite, policy: Policy) -> bytes:
            if isinstance(performative, kind) and when(performative):
                given = {n: v(getattr(performative, n)) if callable(v) else v for n, v in values.items()}
                performative = performative.replace(**given)
            return clean(performative, policy)

        return tables.swapping(spell=spell)

    return Fault(change)


def spells(kind: type[Composite], body: Callable[[Composite], bytes]) -> Fault:
    """Writes other octets for a performative."""

    def change(tables: Tables) -> Tables:
        clean = tables.strategies.spell

        def spell(performative: Composite, policy: Policy) -> bytes:
            return body(performative) if isinstance(performative, kind) else clean(performative, policy)

        return tables.swapping(spell=spell)

    return Fault(change)


def places(kind: type[Any], channel: int) -> Fault:
    """Writes a performative, or an empty frame (`Frame`), on this channel."""

    def change(tables: Tables) -> Tables:
        clean = tables.strategies.place

        def place(said: object, number: int) -> int:
            return channel if isinstance(said, kind) else clean(said, number)

        return tables.swapping(place=place)

    return Fault(change)


# -- strategies that are wrong -------------------------------------------------------------------------


def by_segments(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Forgets the part of a frame that a segment ends in."""
    reader.pending.clear()
    yield from strategies.cut(reader, octets)
    reader.pending.clear()


def whole_frames_of_segment(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Forgets the part of a frame behind a whole one in the same segment."""
    whole = list(strategies.cut(reader, octets))
    yield from whole
    if whole:
        reader.pending.clear()


def body_behind_header(raw: bytes, _: Frame) -> bytes:
    """Reads the body right behind the frame header, wherever DOFF points."""
    return raw[FRAME_HEADER:]


def extended_first(_: bytes, frame: Frame) -> bytes:
    return frame.extended or frame.body


def swapped_channel(frame: Frame) -> int:
    """Reads the channel with its octets in the wrong order."""
    return int.from_bytes(frame.channel.to_bytes(2), "little")


# -- effects and answers that are wrong ----------------------------------------------------------------


def obey_frame(turn: Turn) -> None:
    """Takes a frame of another type for one of the layer."""
    turn.connection.meet_frame(turn.event.frame)


def writing(octets: bytes, behind: bool = True) -> Effect:
    """Writes these octets behind what is to be written, or in its place."""

    def effect(turn: Turn) -> None:
        if behind:
            write(turn)
        turn.connection.put(octets)

    return effect


def open_again(turn: Turn) -> None:
    (said,) = our_open(turn)
    turn.connection.put(Frame(0, 0, said.encode()).encode())


def take_open(turn: Turn) -> None:
    """Takes an open that is not valid for one that is, in all but its limits."""
    turn.connection.go(ConnectionState.OPEN_RCVD)


def end_stream(turn: Turn) -> None:
    turn.connection.go(ConnectionState.END)


def stop_reading(turn: Turn) -> None:
    """Reads no more: what the client writes behind the end of the stream meets a reset."""
    turn.connection.reads_on = False


def reset(turn: Turn) -> None:
    turn.connection.end_stream("rst")
    turn.connection.go(ConnectionState.END)


def resumed_as_asked(turn: Turn) -> Reply:
    """Says of its terminus what the client has said, and goes on with its own."""
    said, *others = resumed(turn)
    assert isinstance(said, Attach)
    return (said.replace(source=turn.event.source, target=turn.event.target), *others)


# -- faults of more than one row -----------------------------------------------------------------------

ENDS_WITHOUT_CLOSE = does(ConnectionState.OPENED, Unacceptable, always, end_stream)
"""Ends the stream where it has to close with an error."""

NEVER_GIVES_UP = drops("close: waiting for the client's is over")
"""Waits for the client's close without end."""

TALKS_BEHIND_ITS_CLOSE = together(
    permits(ConnectionState.DISCARDING),
    does(ConnectionState.DISCARDING, Entered, always, wait_for_close, says=(empty_frame(),)),
)
"""Sends an empty frame behind a close with an error."""

KEEPS_A_CLOSED_CONNECTION_ALIVE = together(
    permits(ConnectionState.DISCARDING),
    does(ConnectionState.DISCARDING, TrafficDue, always, says=(empty_frame(),)),
)
"""Sends empty frames in time, also behind its close."""

KEEPS_ALIVE_WHAT_BOTH_HAVE_CLOSED = together(
    does(ConnectionState.OPENED, Close, always, says=(Close(),)),
    permits(ConnectionState.CLOSE_SENT),
    does(ConnectionState.CLOSE_SENT, TrafficDue, always, says=(empty_frame(),)),
)
"""Sends empty frames in time, also behind the close that answers the client's."""

EMPTY_FRAME_BEFORE_OPEN = together(
    permits(ConnectionState.HDR_EXCH),
    does(ConnectionState.HDR_EXCH, Entered, always, says=(empty_frame(),)),
)
"""Sends an empty frame as the first frame."""
