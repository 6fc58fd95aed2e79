"""When what a server of AMQP/Fast says goes out: late, in pieces, not at all."""

from typing import Any

from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import FrameReader
from harness.peers.interposer import Condition
from harness.peers.timing import Protocol, Words


def _meets(unit: Any, at: type[Command], when: Condition) -> bool:
    command = command_of(unit)
    return isinstance(command, at) and when(command)


TIMING: Words[type[Command]] = Words(Protocol(FrameReader, _meets))
"""The words for when: `TIMING.delays(Handle.Reply, 5.0)`, `TIMING.falls_silent(Connection.Tune)`."""
