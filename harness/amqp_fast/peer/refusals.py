"""How errors are told: by closing the part of the dialogue they are in, or what is around it (2.2.10)."""

from __future__ import annotations

from collections.abc import Callable

from harness.amqp_fast.peer.entities import Channel, Handle
from harness.amqp_fast.peer.events import ChannelState, ConnectionState, HandleState
from harness.amqp_fast.peer.traffic import give_back, release, release_handle
from harness.amqp_fast.peer.turn import AnyTurn
from harness.amqp_fast.wire.vocabulary import Channel as ChannelSaid
from harness.amqp_fast.wire.vocabulary import Connection as ConnectionSaid
from harness.amqp_fast.wire.vocabulary import Handle as HandleSaid

Effect = Callable[[AnyTurn], None]
HANDLE, CHANNEL, CONNECTION = "handle", "channel", "connection"
_LEVELS = (HANDLE, CHANNEL, CONNECTION)

# The document gives five of them, and leaves the others to AMQ RFC 011: these are its, as published.
CLIENT_ACTIVE, SERVICE_TYPE, VIRTUAL_PATH, ACCESS, NOT_FOUND = 320, 401, 402, 403, 404
FRAMING, SYNTAX, NOT_VALID_NOW, CHANNEL_NOT_READY, HANDLE_NOT_READY = 501, 502, 503, 504, 505
RESOURCES, FORBIDDEN, INTERNAL = 506, 507, 541


def refuses(code: int, text: str, level: str = HANDLE) -> Effect:
    """Make an effect that closes the part an error is in, with a reply code; more by policy."""

    def effect(turn: AnyTurn) -> None:
        widest = turn.policy.error_level
        wide = level if widest == "narrowest" else max(level, widest, key=_LEVELS.index)
        # A handle that was never opened is on no channel that could be named.
        wide = CONNECTION if wide == CHANNEL and turn.channel.id == 0 else wide
        _CLOSES[wide](turn, code, text.encode() if turn.policy.reply_text == "words" else b"")

    return effect


def _close_handle(turn: AnyTurn, code: int, text: bytes) -> None:
    handle = turn.handle
    close_handle(turn, handle)
    handle.state = HandleState.CLOSING
    turn.connection.handles[handle.id] = handle
    handle.channel.handles[handle.id] = handle
    turn.connection.say(HandleSaid.Close(handle.id, code, text))


def _close_channel(turn: AnyTurn, code: int, text: bytes) -> None:
    channel = turn.channel
    handles = dict(channel.handles)
    close_channel(turn, channel)
    channel.state = ChannelState.CLOSING
    turn.connection.channels[channel.id] = channel
    # What comes for its handles is answered as what comes for itself, until it is closed.
    channel.handles.update(handles)
    turn.connection.handles.update(handles)
    turn.connection.say(ChannelSaid.Close(channel.id, code, text))


def _close_connection(turn: AnyTurn, code: int, text: bytes) -> None:
    close_connection(turn)
    turn.connection.state = ConnectionState.CLOSING
    turn.connection.say(ConnectionSaid.Close(code, text))


_CLOSES: dict[str, Callable[[AnyTurn, int, bytes], None]] = {
    HANDLE: _close_handle,
    CHANNEL: _close_channel,
    CONNECTION: _close_connection,
}


def close_handle(turn: AnyTurn, handle: Handle) -> None:
    """Free what a handle holds; what it delivered can still be acknowledged on its channel."""
    connection = turn.connection
    release_handle(turn.peer, connection.host, handle)
    if handle.channel.assembling is handle:
        handle.channel.assembling = handle.channel.assembly = None
    if connection.handles.get(handle.id) is handle:
        del connection.handles[handle.id]
        handle.channel.handles.pop(handle.id, None)


def close_channel(turn: AnyTurn, channel: Channel) -> None:
    """Roll back the transaction of a channel, give back what was not acknowledged, close its handles."""
    channel.sent.clear()
    for handle in list(channel.handles.values()):
        close_handle(turn, handle)
    give_back(channel.unacknowledged)
    channel.unacknowledged.clear()
    channel.waits_for = None
    if turn.connection.channels.get(channel.id) is channel:
        del turn.connection.channels[channel.id]


def close_connection(turn: AnyTurn) -> None:
    """Close all channels, and remove the dynamic queues of the connection (74)."""
    connection = turn.connection
    for channel in list(connection.channels.values()):
        close_channel(turn, channel)
    if connection.host is not None:
        release(turn.peer, connection.host, connection.number)
    if turn.peer.active.get(connection.client_name) is connection:
        del turn.peer.active[connection.client_name]
