"""Agreeable fakes: peers that know no rule at all. A check that passes on one of them proves little.

One agrees to everything, one refuses everything, one echoes, one is silent.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from harness.amqp_fast.client.channel import reply_of
from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import FrameReader, Initiation, Unit, frame
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from harness.peers.fakes import Answering, Replacement, replacements

CHALLENGE = Connection.Challenge(1, "PLAIN")
TUNE = Connection.Tune({"FRAME_MAX": 4096})
INTERNAL = 541
SPECIAL: Mapping[type[Command], Callable[[Any], Command]] = {
    Connection.Response: lambda _: TUNE,
    Connection.Ping: lambda _: Connection.Ping(),
    Connection.Close: lambda _: Connection.Close(OK),
    Channel.Close: lambda close: Channel.Close(close.channel_id, OK),
    Handle.Close: lambda close: Handle.Close(close.handle_id, OK),
    Handle.Query: lambda query: Handle.Index(query.handle_id),
    Handle.Prepare: lambda prepare: Handle.Ready(prepare.handle_id),
}


def agree(command: Any) -> Command | None:
    """Give the answer of success, whatever was asked."""
    if type(command) in SPECIAL:
        return SPECIAL[type(command)](command)
    if not getattr(command, "confirm_tag", 0):
        return None
    if isinstance(command, Connection.Open):
        return Connection.Reply(command.confirm_tag, OK)
    if isinstance(command, Handle.Open):
        return Handle.Reply(command.handle_id, command.confirm_tag, OK)
    kind = reply_of(command)
    return kind(getattr(command, command.names[0]), command.confirm_tag, OK)


def refuse(command: Any) -> Command | None:
    """Give a close of the part it is about once the connection is open, whatever was asked."""
    group = command.spec.class_name
    opens = isinstance(command, Channel.Open | Handle.Open | Channel.Close | Handle.Close)
    if group == "connection" or opens:
        return agree(command)
    if group == "channel":
        return Channel.Close(command.channel_id, INTERNAL)
    return Handle.Close(command.handle_id, INTERNAL)


def answered(react: Callable[[Any], Command | None], unit: Unit) -> bytes | None:
    """Give what a fake answers to its client."""
    if isinstance(unit, Initiation):
        return frame(CHALLENGE).encode()
    command = command_of(unit)
    answer = react(command) if command is not None else None
    return frame(answer).encode() if answer is not None else None


def _fake(react: Callable[[Any], Command | None]) -> Answering:
    return Answering(
        FrameReader(initiated=False),
        partial(answered, react),
        lambda unit: isinstance(command_of(unit), Connection.Close),
    )


FAKES: Mapping[str, Replacement] = replacements(partial(_fake, agree), partial(_fake, refuse))
