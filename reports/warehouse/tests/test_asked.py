"""Of a warehouse only what is asked for is read, and what is not there is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from pyspark.sql import SparkSession

from conformance.evidence.kinds import EvidenceError
from reports.commands.tests.on_spark import here as here
from reports.ingest.ingest import ingest
from reports.tests.samples import make_run
from reports.warehouse import compaction
from reports.warehouse.asked import Asked
from reports.warehouse.warehouse import Warehouse


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of two products, of which one was reached in two ways on three days."""
    place = tmp_path_factory.mktemp("asked")
    told = {
        "old": ("RabbitMQ", "3.10", "process:rabbitmq", "2025-12-31T23:59:59+00:00"),
        "new": ("RabbitMQ", "4.0", "process:rabbitmq", "2026-11-19T12:00:00+00:00"),
        "far": ("RabbitMQ", "4.0", "amqp://far", "2026-11-20T00:00:00+00:00"),
        "other": ("Artemis", "2.31", "process:artemis", "2026-11-20T12:00:00+00:00"),
    }
    runs = [
        make_run(place / run, run=run, product=product, version=version, target=target, started=started)
        for run, (product, version, target, started) in told.items()
    ]
    ingest(lambda: spark, runs, Warehouse(str(place / "kept")))
    return place / "kept"


@pytest.mark.parametrize(
    ("asked", "runs"),
    [
        (Asked(), {"old", "new", "far", "other"}),
        (Asked(products=("rabbitmq",)), {"old", "new", "far"}),
        (Asked(products=("RabbitMQ", "Artemis"), since="2026-11-20"), {"far", "other"}),
        (Asked(targets=("process:rabbitmq",)), {"old", "new"}),
        (Asked(targets=("process:rabbitmq",), builds=1), {"new"}),
        (Asked(per_target=1), {"new", "far", "other"}),
        (Asked(per_target=1, builds=2), {"far", "other"}),
        (Asked(targets=("process:rabbitmq",), per_target=2), {"old", "new"}),
        (Asked(products=("Artemis",), since="2026-11-21"), set()),
    ],
)
def test_runs_and_verdicts_are_those_that_are_asked_for(
    spark: SparkSession, kept: Path, asked: Asked, runs: set[str]
) -> None:
    heads, counted, whole = asked.rows(spark, Warehouse(str(kept)).snapshot())
    found = (heads, counted, whole(None))
    assert [{row.run for row in table.select("run").distinct().collect()} for table in found] == [runs] * 3


def test_of_a_run_that_was_replaced_only_what_took_its_place_is_counted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both stand in one file, so that no file is left out."""
    monkeypatch.setattr(compaction, "FAN", 2)
    warehouse = Warehouse(str(tmp_path / "w"))
    for name, partial in (("cut", True), ("whole", False)):
        ingest(lambda: spark, [make_run(tmp_path / name, run="r", partial=partial)], warehouse)
    snapshot = warehouse.snapshot()
    assert len(snapshot.files("verdicts")) == 1
    _, counted, whole = Asked().rows(spark, snapshot)
    same = ("run", "rule", "verdict")
    assert sorted(counted.select(*same).collect()) == sorted(whole(None).select(*same).collect())
    assert snapshot.rows("verdicts") > counted.count() > 0


def test_files_of_other_months_are_not_read(spark: SparkSession, kept: Path) -> None:
    _, _, whole = Asked(since="2026-11-19").rows(spark, Warehouse(str(kept)).snapshot())
    verdicts = whole(None)
    assert {
        name for file in verdicts.inputFiles() for name in file.split("/") if name.startswith("month=")
    } == {"month=2026-11"}


def test_files_of_a_month_with_other_runs_alone_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = Warehouse(str(tmp_path / "w"))
    for run in ("first", "second", "third"):
        ingest(lambda: spark, [make_run(tmp_path / run, run=run)], warehouse)
    snapshot = warehouse.snapshot()
    found = snapshot.table(spark, "frames", of={"first", "third"})
    assert {row.run for row in found.select("run").collect()} == {"first", "third"}
    assert (len(found.inputFiles()), len(snapshot.files("frames"))) == (2, 3)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (Asked(products=("Rabbit",)), "no run of the product 'Rabbit'; there are Artemis; RabbitMQ"),
        (
            Asked(targets=("amqp://near",)),
            "no run of the target 'amqp://near'; there are amqp://far; process:",
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    spark: SparkSession, kept: Path, asked: Asked, sentence: str
) -> None:
    with pytest.raises(EvidenceError) as failure:
        asked.rows(spark, Warehouse(str(kept)).snapshot())
    assert sentence in str(failure.value)


def test_commands_take_it(here: Callable[..., Result], kept: Path, tmp_path: Path) -> None:
    wrong = here("site", "--warehouse", kept, "--output", tmp_path / "site", "--product", "Nobody")
    assert (wrong.exit_code, wrong.output) == (
        2,
        "amqp-conformance: the warehouse has no run of the product 'Nobody'; there are Artemis; RabbitMQ\n",
    )
    day = here("audit", "--claims", "@rabbitmq", "--warehouse", kept, "--since", "soon")
    assert day.exit_code == 2
    assert "'soon' does not match the format '%Y-%m-%d'" in day.output
    done = here("audit", "--claims", "@rabbitmq", "--warehouse", kept, "--since", "2026-11-20")
    assert done.exit_code == 0
    assert "4.0" in done.output
    assert "3.10 @" not in done.output
