"""The rows of a channel: opening, acknowledging, transactions, closing (3.3)."""

from __future__ import annotations

from harness.amqp_fast.peer.entities import Channel as Opened
from harness.amqp_fast.peer.events import ChannelState
from harness.amqp_fast.peer.refusals import (
    CHANNEL,
    CHANNEL_NOT_READY,
    CONNECTION,
    NOT_VALID_NOW,
    RESOURCES,
    SYNTAX,
    close_channel,
    refuses,
)
from harness.amqp_fast.peer.tables.connection import words
from harness.amqp_fast.peer.traffic import acknowledge_for_now, give_back, route, settle
from harness.amqp_fast.peer.turn import AnyTurn, Confirmable, Reply, Row, Turn
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import NOT_IMPLEMENTED, OK, Channel, Handle

_CLOSED, _OPEN, _CLOSING = ChannelState.CLOSED, ChannelState.OPEN, ChannelState.CLOSING


def confirmed(turn: Turn[Confirmable]) -> Reply:
    """Confirm a command, where that is asked for (3.3.8)."""
    tag = turn.event.confirm_tag
    return (Channel.Reply(turn.channel.id, tag, OK, words(turn)),) if tag else ()


# -- opening -----------------------------------------------------------------------------------------


def is_zero(turn: Turn[Channel.Open]) -> bool:
    """The channel has no number (1324)."""
    return turn.event.channel_id == 0


def are_too_many(turn: Turn[Channel.Open]) -> bool:
    """The client has as many channels as it may (1026)."""
    return len(turn.connection.channels) >= turn.connection.limits.channels > 0


def has_unknown_options(turn: Turn[Channel.Open]) -> bool:
    """It asks for what nobody has defined (1335)."""
    return bool(turn.event.options) and turn.policy.unknown_options == "refuses"


def goes_another_way(turn: Turn[Channel.Open]) -> bool:
    """It speaks of a way out of band that nobody has agreed on (1339)."""
    return bool(turn.event.out_of_band) and turn.policy.unknown_way == "refuses"


def wants_both(turn: Turn[Channel.Open]) -> bool:
    """It would be transacted and restartable."""
    both = turn.event.transacted and turn.event.restartable
    return both and turn.policy.both_modes == "refuses"


def open_(turn: Turn[Channel.Open]) -> None:
    """Open the channel."""
    event = turn.event
    turn.channel = Opened(
        turn.connection,
        event.channel_id,
        event.transacted,
        event.restartable,
        turn.policy.first_number,
    )
    turn.connection.channels[event.channel_id] = turn.channel


# -- acknowledging and transactions --------------------------------------------------------------------


def acknowledge(turn: Turn[Channel.Ack]) -> None:
    """Take all messages up to a number as processed: at once, or when that is committed (3.3.3)."""
    channel = turn.channel
    covered = turn.peer.tables.strategies.covered(channel.unacknowledged, turn.event.message_nbr)
    if channel.transacted:
        acknowledge_for_now(covered)
    else:
        settle(turn.peer, channel, covered)


def acknowledged(turn: Turn[Channel.Ack]) -> Reply:
    """Confirm as channel commands are, or as the list of commands has it (1591)."""
    tag, handles = turn.event.confirm_tag, turn.channel.handles
    if turn.policy.ack_reply == "handle" and tag and handles:
        return (Handle.Reply(next(iter(handles)), tag, OK, words(turn)),)
    return confirmed(turn)


def is_transacted(turn: AnyTurn) -> bool:
    """The channel has transactions (1461)."""
    return turn.channel.transacted


def commit(turn: AnyTurn) -> None:
    """Hand on what was sent, and take as processed what was acknowledged (1464)."""
    channel, connection = turn.channel, turn.connection
    all_ = turn.policy.commit_confirms == "all"
    settle(turn.peer, channel, [each for each in channel.unacknowledged if all_ or each.acknowledged])
    assert connection.host is not None
    for service, name, message in channel.sent:
        route(turn.peer, connection.host, service, name, message)
    channel.sent.clear()


def roll_back(turn: AnyTurn) -> None:
    """Forget what was sent, and give back what was received (1499)."""
    channel = turn.channel
    channel.sent.clear()
    all_ = turn.policy.rollback_returns == "all"
    returned = [each for each in channel.unacknowledged if all_ or each.acknowledged]
    channel.unacknowledged = [each for each in channel.unacknowledged if each not in returned]
    give_back(returned)


# -- closing -----------------------------------------------------------------------------------------


def close(turn: AnyTurn) -> None:
    """Roll back, close all handles, and the channel (3.3.7)."""
    close_channel(turn, turn.channel)


def closed(turn: AnyTurn) -> Reply:
    """Say close."""
    return (Channel.Close(turn.channel.id, OK, words(turn)),)


def insist(turn: AnyTurn) -> Reply:
    """Say close again (1546)."""
    return closed(turn) if turn.policy.insists == "closes again" else ()


_OPENING: Row[Channel.Open] = Row("channel open", _CLOSED, Channel.Open)
_COMMIT: Row[Channel.Commit] = Row("channel commit", _OPEN, Channel.Commit)
_ROLLBACK: Row[Channel.Rollback] = Row("channel rollback", _OPEN, Channel.Rollback)

ROWS = (
    _OPENING("of number zero is refused", is_zero, (refuses(SYNTAX, "no number", CONNECTION),)),
    _OPENING("of too many is refused", are_too_many, (refuses(RESOURCES, "too many channels", CHANNEL),)),
    _OPENING(
        "with options is refused", has_unknown_options, (refuses(NOT_IMPLEMENTED, "no options", CHANNEL),)
    ),
    _OPENING("out of band is refused", goes_another_way, (refuses(NOT_IMPLEMENTED, "no such way", CHANNEL),)),
    _OPENING("for both is refused", wants_both, (refuses(NOT_IMPLEMENTED, "one or the other", CHANNEL),)),
    _OPENING("is accepted", effects=(open_,), answer=confirmed),
    Row(
        "channel open: again is refused",
        _OPEN,
        Channel.Open,
        effects=(refuses(NOT_VALID_NOW, "it is open", CHANNEL),),
    ),
    Row("channel ack: is taken", _OPEN, Channel.Ack, effects=(acknowledge,), answer=acknowledged),
    _COMMIT("is done", is_transacted, (commit,), confirmed),
    _COMMIT("is refused", effects=(refuses(NOT_VALID_NOW, "no transaction", CHANNEL),)),
    _ROLLBACK("is done", is_transacted, (roll_back,), confirmed),
    _ROLLBACK("is refused", effects=(refuses(NOT_VALID_NOW, "no transaction", CHANNEL),)),
    Row("channel close: is answered", _OPEN, Channel.Close, effects=(close,), answer=closed),
    Row(
        "channel: is not open",
        _CLOSED,
        (Channel.Ack, Channel.Commit, Channel.Rollback, Channel.Close),
        effects=(refuses(CHANNEL_NOT_READY, "it is not open", CHANNEL),),
    ),
    Row("channel closing: ends with close", _CLOSING, Channel.Close, effects=(close,)),
    Row("channel closing: insists", _CLOSING, Command, answer=insist),
)
