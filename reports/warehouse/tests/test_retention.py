"""What went over the wire long ago may go; what it came to stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

from click.testing import Result
from pyspark.sql import SparkSession

from conformance.evidence.stream import read
from reports.commands.commands import render_site
from reports.commands.tests.on_spark import here as here
from reports.ingest.ingest import ingest
from reports.ingest.reconciling import Decision
from reports.ingest.sealing import seal
from reports.tests.samples import make_run
from reports.warehouse.cleaning import forget_frames
from reports.warehouse.tests.contents import rows
from reports.warehouse.warehouse import Warehouse


def sealed_run(folder: Path, started: str) -> Path:
    make_run(folder, run=folder.name, version=folder.name, started=started)
    seal(folder, read(folder))
    return folder


def runs_in(warehouse: Path, table: str) -> set[object]:
    return {row["run"] for row in rows(warehouse, table)}


def test_exchanges_of_months_that_are_over_go_and_verdicts_stay(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "warehouse"
    folders = [
        sealed_run(tmp_path / "old", "2026-01-31T23:59:59+00:00"),
        sealed_run(tmp_path / "new", "2026-02-01T00:00:00+00:00"),
    ]
    warehouse = Warehouse(str(place))
    ingest(lambda: spark, folders, warehouse)
    before = len(rows(place, "frames"))
    assert forget_frames(warehouse, date(2026, 1, 31)) == 0
    assert forget_frames(warehouse, date(2026, 2, 1)) == before / 2
    assert forget_frames(warehouse, date(2026, 2, 28)) == 0
    assert [runs_in(place, table) for table in ("frames", "verdicts")] == [{"new"}, {"old", "new"}]
    again = ingest(lambda: spark, folders, warehouse)
    assert [each.outcome for each in again.taken] == [Decision.KNOWN] * 2
    assert runs_in(place, "frames") == {"new"}
    render_site(spark, warehouse.snapshot(), tmp_path / "site")
    assert len(list((tmp_path / "site" / "targets").glob("*.html"))) == 2


def test_ingest_is_told_how_long_they_stay(here: Callable[..., Result], tmp_path: Path) -> None:
    old = sealed_run(tmp_path / "old", "2020-01-31T12:00:00+00:00")
    new = sealed_run(tmp_path / "new", datetime.now(UTC).isoformat())
    done = here("ingest", old, new, "--warehouse", tmp_path / "w", "--frames-for", "30")
    assert done.exit_code == 0, done.output
    assert "rows of exchanges from before 20" in " ".join(done.output.split())
    assert runs_in(tmp_path / "w", "frames") == {"new"}
    assert runs_in(tmp_path / "w", "verdicts") == {"old", "new"}
