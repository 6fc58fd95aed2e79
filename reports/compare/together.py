"""The matrix of targets that were judged at once, from their run folders, without a warehouse."""

from collections.abc import Sequence
from pathlib import Path

from reports.compare.matrix import as_csv, as_json, matrix
from reports.model.single import column_of
from scenarios.registry import checks
from spec.catalogue import catalogue


def write_matrix(folders: Sequence[Path], place: Path) -> list[Path]:
    """Write matrix.json and matrix.csv of the runs in `folders`, in this order, into `place`; gives both.

    Raises EvidenceError for a folder that is no evidence.
    """
    table = matrix(catalogue(), checks(), [column_of(folder) for folder in folders])
    files = [place / "matrix.json", place / "matrix.csv"]
    files[0].write_text("".join(as_json(table)), encoding="ascii")
    files[1].write_text(as_csv(table), encoding="utf-8", newline="")
    return files
