"""Turns as faults take them: they are put where no type says that they fit."""

from typing import Any, TypeAlias

from harness.amqp_fast.peer.turn import Turn

AnyTurn: TypeAlias = Turn[Any]
