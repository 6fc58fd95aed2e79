"""Targets that were judged at once end in one matrix, and with `certify` in one site."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.evidence.kinds import EvidenceError
from conformance.tests.commands import command
from reports.commands import certify
from reports.commands.cli import main
from reports.compare.together import write_matrix
from reports.site.publishing import SiteError
from reports.tests.samples import make_run

pytestmark = pytest.mark.usefixtures("brief")
RULE = "0-9-1/tx.commit.transacted"
TARGETS = ("--target", "embedded", "--target", "embedded:tcp", "--parallel", "0")


def ours(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def matrix_in(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "matrix.json").read_text())
    return found


def test_a_run_of_several_writes_one_matrix_in_the_order_of_the_targets(tmp_path: Path) -> None:
    done = ours("run", RULE, "--target", "embedded:tcp", "--target", "embedded", "--output", tmp_path / "all")
    assert done.exit_code == 0, done.output
    found = matrix_in(tmp_path / "all")
    assert [each["target"] for each in found["builds"]] == ["embedded:tcp", "embedded"]
    (judged,) = [each for each in found["rules"] if each["rule"] == RULE]
    assert [each["verdict"] for each in judged["verdicts"]] == ["pass", "pass"]
    with (tmp_path / "all" / "matrix.csv").open(newline="") as file:
        heading = next(csv.reader(file))
    assert [each.partition(" [")[2] for each in heading[-2:]] == ["embedded:tcp]", "embedded]"]
    assert f"matrix: {tmp_path / 'all' / 'matrix.json'}" in done.output.replace("\n", "")


def test_certify_of_several_ends_in_one_site(tmp_path: Path) -> None:
    # In a process of its own: one process holds one Spark, and here other tests may.
    done = command("certify", RULE, *TARGETS, "--output", tmp_path / "all", module="reports.commands.cli")
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "all" / "site"
    assert {each["target"] for each in matrix_in(site)["builds"]} == {"embedded", "embedded:tcp"}
    assert (site / "index.html").exists()
    assert matrix_in(tmp_path / "all")["rules"][0].keys() == matrix_in(site)["rules"][0].keys()


def test_without_a_site_the_verdicts_and_the_matrix_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise SiteError("there is no room")

    monkeypatch.setattr(certify, "_write", broken)
    done = ours("certify", RULE, *TARGETS, "--output", tmp_path / "all")
    assert done.exit_code == 0
    assert "no site: there is no room; then amqp-conformance ingest" in " ".join(done.output.split())
    assert len(matrix_in(tmp_path / "all")["builds"]) == 2


def test_certify_judges_clients_beside_servers(tmp_path: Path) -> None:
    rule = "0-9-1/prose/2.3.7.close-answered"
    done = ours("certify", rule, "--target", "embedded", "--client", "own", "--output", tmp_path / "all")
    assert done.exit_code == 0
    targets = [each["target"] for each in matrix_in(tmp_path / "all" / "site")["builds"]]
    assert targets == ["embedded", "client:own"]


@pytest.mark.parametrize("more", [("--verify", "2"), ("--list",)])
def test_certify_judges_once(more: tuple[str, ...]) -> None:
    assert ours("certify", RULE, *TARGETS, *more).exit_code == 2


def test_a_run_that_was_cut_short_has_its_column(tmp_path: Path) -> None:
    whole, torn = make_run(tmp_path / "whole"), make_run(tmp_path / "torn", run="r2", target="process:b")
    stream = torn / "events.jsonl"
    lines = stream.read_bytes().splitlines(keepends=True)
    stream.write_bytes(b"".join(lines[:-1]))
    write_matrix([whole, torn], tmp_path)
    assert [each["partial"] for each in matrix_in(tmp_path)["builds"]] == [0, 1]


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="not a run folder"):
        write_matrix([tmp_path], tmp_path)
