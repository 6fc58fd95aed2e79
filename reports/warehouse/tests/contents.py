"""What is in a warehouse, read without Spark and without the code that reads it for the reports."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as parquet

from reports.model.columns import TABLES


def digests(warehouse: Path) -> dict[str, str]:
    """Give, for each table, the SHA-256 of its rows, sorted."""
    newest = max((warehouse / "manifests").glob("*.json"))
    batches = json.loads(newest.read_bytes())["batches"]
    found = {}
    for name, schema in TABLES.items():
        files = [
            warehouse / batch[name]["folder"] / file
            for batch in batches
            if name in batch
            for file in batch[name]["files"]
        ]
        rows = [row for file in files for row in parquet.read_table(file, columns=schema.names).to_pylist()]
        lines = sorted(json.dumps(row, sort_keys=True, default=bytes.hex) for row in rows)
        found[name] = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return found
