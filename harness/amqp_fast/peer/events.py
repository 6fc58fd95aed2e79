"""States of a connection and its parts, and what can happen beside the commands that are expected."""

from __future__ import annotations

from dataclasses import dataclass

from harness.amqp_fast.wire.commands import Command
from harness.peers.events import Event
from harness.peers.rows import State


class ConnectionState(State):
    """How far a connection is (2.2.8.1)."""

    START = "nothing has been said"
    CHALLENGED = "a response is due"
    TUNED = "options may come, and open is due"
    OPEN = "it is open"
    CLOSING = "we have said close"
    ANSWERED = "we have answered a close"
    ENDING = "it ends in a moment"
    END = "it is over"


class ChannelState(State):
    """What a channel is."""

    CLOSED = "it is not open"
    OPEN = "it is open"
    CLOSING = "we have said close"


class HandleState(State):
    """What a handle is."""

    CLOSED = "it is not open"
    OPEN = "it is open"
    CLOSING = "we have said close"


@dataclass(frozen=True, slots=True)
class Malformed(Event):
    """Octets that are no frame; nothing behind them can be read."""

    why: str


@dataclass(frozen=True, slots=True)
class Undecodable(Event):
    """A frame whose command is none, or has other fields than its command."""

    code: int
    why: str


@dataclass(frozen=True, slots=True)
class NeverExpected(Event):
    """A command that only a server sends."""

    command: Command


@dataclass(frozen=True, slots=True)
class Early(Event):
    """A command of a channel or handle before the connection is open, or of a channel where none is."""

    command: Command


class PingDue(Event):
    """The client asked to hear something about now."""


class NothingHeard(Event):
    """The client, which has sent heartbeats, sends none any more."""
