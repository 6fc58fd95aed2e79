"""Faults of a whole server, by what it does wrong everywhere: no rule is theirs, and many show them.

A deviation breaks one rule in one place, so that the check of that rule is proved. What is wrong with a real
server is mostly wrong wherever it closes: the fault dictionary knows these too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from harness.amqp0_9_1.broken.deviations import Fault
from harness.amqp0_9_1.peer.events import ConnectionState
from harness.amqp0_9_1.peer.life import end_connection
from harness.amqp0_9_1.peer.refusals import close_in_silence
from harness.amqp0_9_1.peer.turn import AnyTurn, Reply, Tables
from harness.amqp0_9_1.wire.vocabulary import INTERNAL_ERROR, Channel, Connection
from harness.peers.rows import AnyRow

Said = Callable[[AnyTurn], Reply]


def _everywhere(otherwise: Callable[[AnyTurn, Reply], Reply]) -> Fault:
    """Make a fault that says something else in place of whatever a row answers."""

    def answering(answer: Said) -> Said:
        return lambda turn: otherwise(turn, answer(turn))

    def change(tables: Tables) -> Tables:
        rows: list[AnyRow] = [
            replace(row, answer=answering(row.answer)) if row.answer is not None else row for row in tables
        ]
        return replace(tables, rows=tuple(rows))

    return Fault(change)


def _ends(turn: AnyTurn, said: Reply) -> Reply:
    if not isinstance(said, Connection.Close):
        return said
    close_in_silence(turn)
    return None


def _closes_all(turn: AnyTurn, said: Reply) -> Reply:
    if not isinstance(said, Channel.Close):
        return said
    end_connection(turn)
    turn.connection.state = ConnectionState.CLOSING
    return Connection.Close(said.reply_code, said.reply_text, said.class_id, said.method_id)


def _has_one_code(_: AnyTurn, said: Reply) -> Reply:
    if isinstance(said, Channel.Close | Connection.Close):
        return said.replace(reply_code=INTERNAL_ERROR)
    return said


BROAD: Mapping[str, Fault] = MappingProxyType(
    {
        "ends the socket in place of its Close": _everywhere(_ends),
        "closes the connection in place of the channel": _everywhere(_closes_all),
        "closes by internal-error, whatever it is": _everywhere(_has_one_code),
    }
)
"""By what it does."""
