"""The rows of a handle: opening, flow, closing (3.5.2, 3.5.5, 3.5.15)."""

from __future__ import annotations

from harness.amqp_fast.peer.entities import Handle as Opened
from harness.amqp_fast.peer.events import ChannelState, HandleState
from harness.amqp_fast.peer.refusals import (
    CHANNEL,
    CHANNEL_NOT_READY,
    CONNECTION,
    HANDLE_NOT_READY,
    NOT_VALID_NOW,
    RESOURCES,
    SYNTAX,
    close_handle,
    refuses,
)
from harness.amqp_fast.peer.tables.connection import words
from harness.amqp_fast.peer.turn import AnyTurn, Confirmable, Reply, Row, Turn
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import OK, Handle

CLOSED, OPEN, CLOSING = HandleState.CLOSED, HandleState.OPEN, HandleState.CLOSING


def confirmed(turn: Turn[Confirmable]) -> Reply:
    """Confirm a command, where that is asked for (3.5.14)."""
    tag = turn.event.confirm_tag
    return (Handle.Reply(turn.handle.id, tag, OK, words(turn)),) if tag else ()


def is_zero(turn: Turn[Handle.Open]) -> bool:
    """The handle has no number (1830)."""
    return turn.event.handle_id == 0


def has_no_channel(turn: AnyTurn) -> bool:
    """The channel it would be on is not open."""
    return turn.channel.state is not ChannelState.OPEN


def are_too_many(turn: AnyTurn) -> bool:
    """The client has as many handles as it may (1029)."""
    return len(turn.connection.handles) >= turn.connection.limits.handles > 0


def open_(turn: Turn[Handle.Open]) -> None:
    """Open the handle on its channel."""
    turn.handle = Opened(turn.channel, turn.event)
    turn.connection.handles[turn.handle.id] = turn.handle
    turn.channel.handles[turn.handle.id] = turn.handle


def flow(turn: Turn[Handle.Flow]) -> None:
    """Stop or restart messages (3.5.5)."""
    turn.handle.paused = turn.event.flow_pause


def close(turn: AnyTurn) -> None:
    """Close the handle: its consumers end."""
    close_handle(turn, turn.handle)


def closed(turn: AnyTurn) -> Reply:
    """Say close."""
    return (Handle.Close(turn.handle.id, OK, words(turn)),)


def is_answered(turn: Turn[Handle.Close]) -> bool:
    """What is not open is closed all the same (2331)."""
    return turn.policy.closing_nothing == "answered"


def is_ignored(turn: Turn[Handle.Close]) -> bool:
    """There is nothing to close (2316)."""
    return turn.policy.closing_nothing == "ignored"


def insists(turn: AnyTurn) -> bool:
    """Whoever says something behind our close is told so again."""
    return turn.policy.handle_insists == "closes again"


def closed_again(turn: AnyTurn) -> Reply:
    """Say close as for an error."""
    return (Handle.Close(turn.handle.id, NOT_VALID_NOW, words(turn)),)


_OPENING: Row[Handle.Open] = Row("handle open", CLOSED, Handle.Open)

ROWS = (
    _OPENING("of number zero is refused", is_zero, (refuses(SYNTAX, "no number", CONNECTION),)),
    _OPENING(
        "without a channel is refused",
        has_no_channel,
        (refuses(CHANNEL_NOT_READY, "it is not open", CHANNEL),),
    ),
    _OPENING("of too many is refused", are_too_many, (refuses(RESOURCES, "too many handles"),)),
    _OPENING("is accepted", effects=(open_,), answer=confirmed),
    Row("handle open: again is refused", OPEN, Handle.Open, effects=(refuses(NOT_VALID_NOW, "it is open"),)),
    Row("handle flow: is obeyed", OPEN, Handle.Flow, effects=(flow,), answer=confirmed),
    Row("handle close: is answered", OPEN, Handle.Close, effects=(close,), answer=closed),
    Row("handle closing: ends with close", CLOSING, Handle.Close, effects=(close,)),
    Row("handle closing: insists", CLOSING, Command, insists, answer=closed_again),
    Row("handle close: of nothing is answered", CLOSED, Handle.Close, is_answered, answer=closed),
    Row("handle close: of nothing is ignored", CLOSED, Handle.Close, is_ignored),
    Row("handle: is not open", CLOSED, Command, effects=(refuses(HANDLE_NOT_READY, "it is not open"),)),
)
"""Behind our close, what comes for the handle is discarded (2326), or answered by another close."""
