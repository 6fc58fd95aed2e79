"""What is in a warehouse as Polars reads it, without Spark and without what reads it for the reports."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars

from reports.model.columns import TABLES, published


def rows(warehouse: Path | str, table: str, **options: str) -> list[dict[str, object]]:
    """Give the rows of a table that count, by the SQL that is there for other readers."""
    context = polars.SQLContext(
        {
            name: polars.scan_delta(f"{warehouse}/{name}", storage_options=options or None)
            for name in TABLES
            if options or (Path(warehouse) / name).exists()
        }
    )
    if table not in context.tables():
        return []
    return context.execute(published(table), eager=True).to_dicts()


def lines(found: list[dict[str, object]]) -> list[str]:
    """Write rows so that those of two readers can be compared."""
    return sorted(json.dumps(row, sort_keys=True, default=bytes.hex) for row in found)


def digests(warehouse: Path | str, **options: str) -> dict[str, str]:
    """Give, for each table, the SHA-256 of its rows, sorted."""
    return {
        name: hashlib.sha256("\n".join(lines(rows(warehouse, name, **options))).encode()).hexdigest()
        for name in TABLES
    }
