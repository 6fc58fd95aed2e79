"""Rows and tables of the 0-9-1 peer (see harness.peers.rows): what their columns are here.

Where no row is, nothing happens, but the last rows of connection and channel refuse every method that is
left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from harness.amqp0_9_1.peer.strategies import Strategies
from harness.amqp0_9_1.peer.turn import Reply, Turn
from harness.peers import rows
from harness.peers.rows import always

__all__ = ["Answer", "Condition", "Effect", "Row", "Tables", "always"]

Condition = Callable[[Turn], bool]
Effect = Callable[[Turn], None]
Answer = Callable[[Turn], Reply]
Row: TypeAlias = rows.Row[Turn, Reply]
"""An event is a method class or one of peer.events."""


@dataclass(frozen=True)
class Tables(rows.Tables[Turn, Reply, Strategies]):
    """All rows in the order they are tried, and the strategies they refer to."""

    strategies: Strategies = field(default_factory=Strategies)

    def routing(self, **types: Any) -> Tables:
        """The tables with other routing for some exchange types (`direct=...`)."""
        changed: Mapping[str, Any] = {**self.strategies.routing, **types}
        return self.swapping(routing=changed)
