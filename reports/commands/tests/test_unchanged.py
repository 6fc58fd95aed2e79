"""What a site is made of is told apart by all that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.evidence.stream import read
from reports.commands import unchanged
from reports.commands.unchanged import state_of
from reports.ingest.ingest import ingest
from reports.ingest.sealing import seal
from reports.tests.samples import make_run
from reports.warehouse.asked import Asked
from reports.warehouse.warehouse import Warehouse


def _taken(warehouse: Path, run: Path) -> Warehouse:
    seal(run, read(run))
    found = Warehouse(str(warehouse))
    ingest(lambda: pytest.fail("Spark is not needed"), [run], found)
    return found


def test_whatever_changes_changes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = _taken(tmp_path / "w", make_run(tmp_path / "one", run="r1"))
    other = _taken(tmp_path / "other", make_run(tmp_path / "again", run="r1"))
    claims = tmp_path / "claims.toml"
    claims.write_text("one")

    def state(of: Warehouse = warehouse, asked: Asked = Asked(), beside: Path | None = claims) -> str:  # noqa: B008
        return state_of(of.snapshot(), asked, (None, beside))

    assert state() == state()
    states = [
        state(),
        state(other),
        state(asked=Asked(builds=1)),
        state(beside=None),
        state(beside=Path("@a")),
    ]
    claims.write_text("two")
    states.append(state())
    _taken(tmp_path / "w", make_run(tmp_path / "two", run="r2"))
    states.append(state())
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "page.html.j2").write_text("a template")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(unchanged, "PACKAGES", (*unchanged.PACKAGES, "suite"))
    states.append(state())
    assert len(set(states)) == len(states) == 8
