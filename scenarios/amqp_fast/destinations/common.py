"""What checks of handles have in common: a command of each kind, and what is legal where it is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.amqp_fast.client.channel import FastHandle, carrying
from harness.amqp_fast.client.outcomes import refused
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import Handle, MessageHead

HEAD = MessageHead().encode()
"""The header of a message without a body."""
REFUSED = refused(Handle.Close)
"""HANDLE CLOSE, preferred, or a close of what is around it."""
NOT_REFUSED = "the text does not say that this is refused"


@dataclass(frozen=True)
class Use:
    """A kind of command, how one is `made` by a handle about a queue, and what answers it in any case."""

    kind: type[Command]
    made: Callable[[FastHandle, str, int], Any]
    answer: type[Command] | None = None


SEND = Use(Handle.Send, lambda handle, queue, _: handle.carries(queue, b"one")[0])
CONSUME = Use(Handle.Consume, lambda handle, queue, _: handle.consuming(queue))
FLOW = Use(Handle.Flow, lambda handle, _, __: Handle.Flow(handle.id))
UNGET = Use(Handle.Unget, lambda handle, _, number: Handle.Unget(handle.id, 0, number))
QUERY = Use(Handle.Query, lambda handle, queue, _: Handle.Query(handle.id, 0, queue), Handle.Index)
BROWSE = Use(Handle.Browse, lambda handle, _, number: Handle.Browse(handle.id, 0, number), Handle.Notify)


def tagged(made: Any, tag: int) -> Any:
    """Give a command, or the frame of one with its fragment, with a confirm-tag."""
    if isinstance(made, Frame):
        return carrying(made.command().replace(confirm_tag=tag), made.fragment)
    return made.replace(confirm_tag=tag)


def prepared(server: Server, use: Use) -> tuple[FastHandle, str, int]:
    """Give a handle by which a command of this kind works, a queue, and the number of a message in it."""
    queue, handle = server.queue(*([] if use is CONSUME else [b"kept"])), server.handle()
    if use is UNGET:
        return handle, queue, handle.consume(queue).messages(1)[0].command.message_nbr
    return handle, queue, handle.listed(queue)[0] if use is BROWSE else 0


def done(handle: FastHandle, command: Any, use: Use) -> None:
    """Control: the command works. Raises ControlFailed."""
    handle.send(command if use.answer else tagged(command, handle.connection.tag()))
    handle.control(use.kind.full_name, use.answer or Handle.Reply)
