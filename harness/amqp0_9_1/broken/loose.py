"""Turns and rows as faults take them: they are put where no type says that they fit."""

from collections.abc import Callable
from typing import Any, TypeAlias

from harness.amqp0_9_1.peer import turn
from harness.peers import rows

Turn: TypeAlias = turn.Turn[Any, Any, Any]
Row: TypeAlias = rows.AnyRow
Condition = Callable[[Turn], bool]
Effect = Callable[[Turn], None]
Answer = Callable[[Turn], turn.Reply]
