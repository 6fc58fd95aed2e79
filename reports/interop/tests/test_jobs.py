"""What Spark finds over runs: cells as the matrix of a run has them, their history, versions compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from conformance.evidence.kinds import EvidenceError
from conformance.interop.folder import read
from conformance.interop.known import Known
from conformance.interop.matrix import Cell as InMatrix
from conformance.interop.matrix import Matrix
from conformance.interop.outcomes import Outcome, Stage
from conformance.interop.tests import fakes
from conformance.interop.tests.test_page import leg
from conformance.interop.tests.test_session import SMALL, played, small
from reports.ingest.ingest import ingest
from reports.interop import jobs
from reports.interop.comparison import Comparison, Kind, Pairing, Side, comparisons, following, named
from reports.tests.interop import make_interop_run, write_interop_run
from reports.warehouse.warehouse import Warehouse

SAME, WIDENED, LOST, CHANGED = Outcome.SAME, Outcome.WIDENED, Outcome.LOST, Outcome.CHANGED
Cells = Callable[..., DataFrame]


@pytest.fixture
def cells(spark: SparkSession, tmp_path: Path) -> Cells:
    """Take runs into a warehouse and give their cells."""

    def taken(*runs: Path) -> DataFrame:
        warehouse = Warehouse(str(tmp_path / "w"))
        ingest(lambda: spark, runs, warehouse)
        snapshot = warehouse.snapshot()
        return jobs.cells(*(snapshot.table(spark, f"interop_{name}") for name in ("runs", "legs")))

    return taken


def compared(found: DataFrame, old: str, new: str) -> Comparison:
    pairing = named([Side(*row[:3]) for row in jobs.sides(found).collect()], old, new)
    rows = jobs.collected(jobs.summed(jobs.compared(found, [pairing])))
    return comparisons([pairing], rows)[0]


def of(comparison: Comparison, kind: Kind) -> Sequence[tuple[str, str]]:
    return [(each.other, each.case) for each in comparison.of(kind)]


def test_cells_are_those_of_the_matrix_of_each_run(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real clients that do it wrong, and legs made by hand for what these do not come to."""
    clients = {name: fakes.starts(getattr(fakes, name)) for name in ("right", "widens", "forgets", "dies")}
    wrong = played(small(*SMALL, "field.bin"), monkeypatch, (), **clients)
    by_hand = [
        leg("one", Stage.SEND),
        leg("two", Stage.SEND, Outcome.UNSUPPORTED, form=""),
        leg("", Stage.BROKER, Outcome.CLOSED),
        leg("one", Stage.RECEIVE, Outcome.UNTRIED),
        leg("two", Stage.RECEIVE, Outcome.UNTRIED),
        leg("three", Stage.RECEIVE, Outcome.UNTRIED),
        leg("one", Stage.PLAYED, Outcome.CONTRADICTED, other="two"),
        leg("two", Stage.PLAYED, Outcome.CHANGED, other="one"),
    ]
    runs = [
        write_interop_run(tmp_path / name, legs, number=number)
        for number, (name, legs) in enumerate((("wrong", wrong.legs), ("by-hand", by_hand)), 1)
    ]
    found = {(row.run, row.client, row.broker, row.case): row.outcome for row in cells(*runs).collect()}
    expected = {}
    for number, run in enumerate(runs, 1):
        matrix = Matrix(read(run))
        for broker, case in {(each.broker, each.case) for each in matrix.legs}:
            of_all = {name: matrix.cell(name, broker, case) for name in matrix.clients}
            of_all[""] = InMatrix(None, None, matrix.of_broker(broker, case), ())
            for name, cell in of_all.items():
                if cell.legs:
                    expected[f"interop-{number:016x}", name, broker, case] = str(cell.outcome)
    assert found == expected
    assert {"same", "widened", "changed", "crashed", "unsupported", "untried", "contradicted"} <= {
        *found.values()
    }


def test_two_versions_of_a_client_are_told_apart(cells: Cells, tmp_path: Path) -> None:
    minded = Known("one", "*", "lost.*", "*", "*", "nobody minds")
    before = {"kept": SAME, "lost.now": SAME, "better": CHANGED, "wider": SAME, "gone": SAME}
    after = {"kept": SAME, "lost.now": LOST, "better": SAME, "wider": WIDENED, "new": SAME}
    found = cells(
        make_interop_run(tmp_path / "1", client_version="1.9", sends=before),
        make_interop_run(tmp_path / "2", number=2, client_version="1.10", sends=after, known=[minded]),
        make_interop_run(tmp_path / "3", number=3, client="other", broker="there", sends=before),
    )
    told = compared(found, "one 1.9", "one 1.10")
    assert {kind: of(told, kind) for kind in Kind if of(told, kind)} == {
        Kind.REGRESSED: [("here", "lost.now")],
        Kind.OTHERWISE: [("here", "wider")],
        Kind.MENDED: [("here", "better")],
        Kind.NEW: [("here", "new")],
        Kind.GONE: [("here", "gone")],
    }
    assert told.same == 1
    (change,) = told.of(Kind.REGRESSED)
    assert change.new
    assert (change.new.known, change.new.legs, change.new.detail) == (True, ("send",), "it became another")
    assert told.sentence == "1 regressed, 1 otherwise, 1 mended, 1 new, 1 gone; unchanged: 1"
    pairs = following(Side(*row[:3]) for row in jobs.sides(found).collect())
    assert [(each.old.called, each.new.called) for each in pairs] == [("one 1.9", "one 1.10")]
    with pytest.raises(
        EvidenceError, match=r"'one 3' is no client and no broker of the warehouse; there are here 3.0, there"
    ):
        compared(found, "one 1.9", "one 3")
    with pytest.raises(EvidenceError, match="are a client and a broker, and cannot be compared"):
        compared(found, "one 1.9", "here 3.0")


def test_two_versions_of_a_broker_are_told_apart_wherever_they_ran(cells: Cells, tmp_path: Path) -> None:
    found = cells(
        make_interop_run(tmp_path / "1", broker="image:3", broker_version="3.0"),
        make_interop_run(
            tmp_path / "2", number=2, broker="image:4", broker_version="4.0", client_version="1.1",
            passes={"field.i8": LOST},
        ),
    )  # fmt: skip
    told = compared(found, "image:3 3.0", "image:4 4.0")
    assert of(told, Kind.REGRESSED) == [("", "field.i8"), ("one", "field.i8")]
    assert told.same == 2
    assert told.cautions == ("one was 1.0 with the old one, 1.1 with the new one",)


def test_versions_of_an_image_follow_one_another_whatever_their_tags() -> None:
    sides = [
        Side("broker", f"docker:place:5000/{name}", version)
        for name, version in (("rabbitmq:4.3", "4.3.6"), ("rabbitmq:3.10", "3.10.8"), ("other:1", "1"))
    ]
    sides += [Side("broker", "amqp://host:5672", "3"), Side("client", "docker:place:5000/rabbitmq", "2")]
    assert following(sides) == [Pairing(sides[1], sides[0])]


def test_what_runs_of_one_version_disagree_in_is_no_regression(cells: Cells, tmp_path: Path) -> None:
    lost = {"field.i8": LOST, "body.empty": SAME}
    found = cells(
        make_interop_run(tmp_path / "1", client_version="1"),
        make_interop_run(tmp_path / "2", number=2, client_version="2", gets=lost),
        make_interop_run(tmp_path / "3", number=3, client_version="1", gets=lost),
        make_interop_run(tmp_path / "4", number=4, client_version="1"),
    )
    told = compared(found, "one 1", "one 2")
    assert (of(told, Kind.FLAKY), of(told, Kind.REGRESSED)) == ([("here", "field.i8")], [])
    history = {(row.client, row.case): row for row in jobs.history(found).collect()}
    row = history["one", "field.i8"]
    assert [(point.client_version, point.outcome) for point in row.points] == [
        ("1", "same"), ("2", "lost"), ("1", "lost"), ("1", "same"),
    ]  # fmt: skip
    assert (row.runs, row.changes) == (4, 2)
    assert history["", "field.i8"].changes == 0
    counted = {
        (row.client, row.client_version, row.outcome): row.cases for row in jobs.standing(found).collect()
    }
    assert counted == {
        ("", "", "same"): 2, ("one", "1", "same"): 2, ("one", "2", "same"): 1, ("one", "2", "lost"): 1,
    }  # fmt: skip
