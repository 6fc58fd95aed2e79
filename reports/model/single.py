"""A build as one run folder shows it, without a warehouse and without Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from conformance.evidence.kinds import EvidenceError
from conformance.gate.gate import Score, Standing
from reports.ingest.sealing import rows_sealed, sealed
from reports.model.findings import Build, Column, Finding
from reports.model.rows import OF_INTEROP, Rows, TableRow, evidence_files, rows_of
from spec.rules import Level


class RunFolder:
    """The rows of the run in a `folder`, as the run has made them, or else as its events become them.

    Raises EvidenceError, one sentence, if it is no evidence.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seal = sealed(folder)
        self._rows = None if self._seal else rows_in(folder)

    def column(self, name: str) -> Column:
        """Make the column of the build; its folder is called by `name`."""
        run, verdicts = self._told("runs"), self._told("verdicts")
        return column_of_rows(Rows(run[0], verdicts, []), name)

    def frames(self, rules: Collection[str]) -> Iterable[TableRow]:
        """Give the rows of frames that stand under one of the `rules`."""
        if self._seal:
            return rows_sealed(self._folder, "frames", rules)
        return [row for row in self._told("frames") if row["rule"] in rules]

    def _told(self, table: str) -> list[TableRow]:
        if self._rows is None:
            return rows_sealed(self._folder, table)
        return {"runs": [self._rows.run], "verdicts": self._rows.verdicts, "frames": self._rows.frames}[table]


def rows_in(folder: Path) -> Rows:
    """Read the rows of the run in `folder`. Raises EvidenceError, one sentence, if it is no evidence."""
    files = evidence_files(folder)
    if files[0].name in OF_INTEROP:
        told = "a run of clients and brokers; ingest it and compare --interop in the warehouse"
        raise EvidenceError(f"{folder}: {told}")
    return rows_of(str(folder), {path.name: path.read_bytes() for path in files})


def column_of(folder: Path) -> Column:
    """Read what the run in `folder` says of its build. Raises EvidenceError as `RunFolder` does."""
    return RunFolder(folder).column(str(folder))


def column_of_rows(rows: Rows, folder: str) -> Column:
    """Make the column of a build from the `rows` of one run."""
    started = rows.run["started"]
    found = [Finding.of(row, folder=folder, started=started) for row in rows.verdicts]
    return column(rows.run, {each.rule: each for each in found}, folder)


def column(run: TableRow, findings: dict[str, Finding], folder: str) -> Column:
    """Make the column of a build from a row of the runs and what was found in that run."""
    return Column(
        build=Build.of(run),
        folder=folder,
        standing=Standing(run["standing"]),
        scores=tuple(score_of(each) for each in run["scores"]),
        documents=tuple(run["documents"]),
        runs=1,
        partial=int(run["partial"]),
        findings=findings,
        **{name: run[name] for name in ("run", "started", "suite", "level", "profile", "sentence")},
    )


def score_of(told: TableRow) -> Score:
    """Read a score as a run's last event or a table tells it."""
    return Score(Level(told["level"]), told["judged"], told["against"], Standing(told["standing"]))
