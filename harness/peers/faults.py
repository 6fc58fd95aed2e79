"""Faults of a reference peer: changes of its state tables, by words that any protocol's tables understand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from harness.peers.rows import AnyRow, AnyTables

Faulty = TypeVar("Faulty", bound=AnyTables)


@dataclass(frozen=True)
class Fault(Generic[Faulty]):
    """A change of the reference peer's state tables; each protocol has its own class, for its own tables."""

    change: Callable[[Faulty], Faulty]

    @classmethod
    def drops(cls, *rows: str) -> Self:
        """Make one that lacks these rows of the state tables: a later row is taken, or nothing happens."""

        def change(tables: Faulty) -> Faulty:
            for row in rows:
                tables = tables.without(row)
            return tables

        return cls(change)

    @classmethod
    def changes(cls, row: str, *effects: Callable[..., None], **columns: Any) -> Self:
        """Make one with other `effects`, if any, or columns in a row: condition, effects, answer, next."""
        columns |= {"effects": effects} if effects else {}
        return cls(lambda tables: tables.replacing(row, **columns))

    @classmethod
    def inserts(cls, before: str, row: AnyRow) -> Self:
        """Make one with a row more, in front of the row named `before`."""
        return cls(lambda tables: tables.inserting(before, row))

    @classmethod
    def swaps(cls, **strategies: Any) -> Self:
        """Make one that follows other strategies (see the peer's `Strategies`)."""
        return cls(lambda tables: tables.swapping(**strategies))

    @classmethod
    def together(cls, *faults: Fault[Faulty]) -> Self:
        """Join several faults into one."""

        def change(tables: Faulty) -> Faulty:
            for fault in faults:
                tables = fault.change(tables)
            return tables

        return cls(change)
