"""The command line: what it starts, what it says, what it ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.evidence.kinds import EvidenceError
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.tests.commands import command as any_command
from reports.commands import certify, commands
from reports.commands.cli import main
from reports.commands.tests.on_spark import here as here
from reports.ingest.sealing import seal
from reports.site.folders import site_of
from reports.site.publishing import SiteError
from reports.site.rendering import render
from reports.site.tests.sites import contents, real_run
from reports.tests.samples import EMPTY, LOCKED, make_run

pytestmark = pytest.mark.usefixtures("brief")
BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "pyarrow", "pandas", "jinja2", "jdk", "py4j"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from reports.commands.cli import main
main()
"""


def plain(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Start the command line where the extra `[spark]` is not installed."""
    line = [sys.executable, "-c", BLOCKED, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


command = partial(any_command, module="reports.commands.cli")


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs, of which the older brings its rows."""
    old = make_run(tmp_path / "old", run="r1", version="1.0")
    seal(old, read(old))
    verdicts = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}
    return old, make_run(tmp_path / "new", run="r2", version="2.0", verdicts=verdicts)


def test_folders_are_compared_without_spark(two: tuple[Path, Path]) -> None:
    done = plain("compare", *two, "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    assert [each["rule"] for each in json.loads(done.stdout)["changes"]] == [LOCKED]
    assert plain("compare", two[0], two[0]).returncode == 0


def test_a_comparison_and_an_audit_are_pages_of_one_file(two: tuple[Path, Path]) -> None:
    claims = Path(__file__).parents[3] / "ci" / "claims" / "rabbitmq.toml"
    compared = CliRunner().invoke(main, ["compare", *map(str, two), "--format", "html"])
    assert compared.exit_code == 1
    audited = CliRunner().invoke(main, ["audit", "--claims", str(claims), *map(str, two), "--format", "html"])
    assert audited.exit_code == 0
    for done, told in ((compared, "1 regression; rules changed: 1"), (audited, "217 claims")):
        assert done.stdout.startswith("<!doctype html>")
        assert told in done.stdout


def test_folders_are_audited_without_spark(two: tuple[Path, Path]) -> None:
    claims = Path(__file__).parents[3] / "ci" / "claims" / "rabbitmq.toml"
    done = plain("audit", "--claims", claims, *two)
    assert (done.returncode, done.stderr) == (0, "")
    assert "217 claims" in done.stdout


def test_claims_that_differ_over_three_versions_are_marked_in_every_format(tmp_path: Path) -> None:
    by_rule = "0-9-1/connection.tune-ok.frame-max.minimum"
    by_prose = "0-9-1/prose/2.2.4.error-before-open-is-silent"
    builds = {"3.10.8": Verdict.PASS, "4.0.5": Verdict.PASS, "4.3.6": Verdict.FAIL}
    runs: list[str | Path] = []
    for version, verdict in builds.items():
        verdicts = {by_rule: verdict, by_prose: Verdict.PASS}
        folder = tmp_path / version
        runs.append(make_run(folder, run=version, product="RabbitMQ", version=version, verdicts=verdicts))
    audited = ["audit", "--claims", Path(__file__).parents[3] / "ci" / "claims" / "rabbitmq.toml", *runs]
    told = json.loads(plain(*audited, "--format", "json").stdout)
    status = {each["name"]: each["status"] for each in told["claims"]}
    dependent = {name for name, each in status.items() if each == "version-dependent"}
    assert dependent == {by_rule, "connection.tune-ok", "connection"}  # the rule, its method, its class
    assert status["2.2.4 close socket on pre-open error"] == "confirmed"  # a row of the prose
    (row,) = [each for each in told["claims"] if each["name"] == by_rule]
    assert [each["status"] for each in row["builds"]] == ["confirmed", "confirmed", "contradicted"]
    for form in ("table", "markdown"):
        shown = plain(*audited, "--format", form)
        assert shown.returncode == 0
        assert "3 version-dependent" in shown.stdout
    assert plain(*audited, "--strict").returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [("ingest", "RUN", "--warehouse", "W"), ("report", "--warehouse", "W", "--output", "O")],
    ids=lambda each: each[0],
)
def test_what_needs_spark_says_so_where_there_is_none(
    two: tuple[Path, Path], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    places = {"RUN": two[0], "W": tmp_path / "w", "O": tmp_path / "o"}
    done = plain(*(places.get(each, each) for each in arguments))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "amqp-conformance: PySpark is not installed" in done.stderr
    assert not places["W"].exists()


def test_a_site_from_two_runs_and_a_broken_one(
    two: tuple[Path, Path], here: Callable[..., Result], tmp_path: Path
) -> None:
    broken = make_run(tmp_path / "broken", run="r3")
    (broken / "events.jsonl").write_bytes(b"{}\n")
    ingested = here("ingest", *two, broken, "--warehouse", tmp_path / "w")
    assert ingested.exit_code == 1
    assert ingested.stderr == ""
    told = " ".join(ingested.stdout.split())
    assert "2 added" in told
    assert "quarantined: broken: broken/events.jsonl:1: unknown kind of event None" in told
    assert len(ingested.stdout.splitlines()) < 10  # nothing of Spark's own

    claims = Path(__file__).parents[3] / "ci" / "claims" / "rabbitmq.toml"
    site = ("--output", tmp_path / "site", "--claims", claims)
    reported = command("report", "--warehouse", tmp_path / "w", *site)
    assert (reported.returncode, reported.stderr) == (0, "")
    assert "217 claims" in (tmp_path / "site" / "audit.html").read_text("utf-8")
    matrix = json.loads((tmp_path / "site" / "matrix.json").read_text())
    assert [each["version"] for each in matrix["builds"]] == ["1.0", "2.0"]

    again = command("site", "--warehouse", tmp_path / "w", *site)
    assert (again.returncode, "nothing has changed" in again.stdout) == (0, True)

    builds = ("Peer 1.0", "Peer 2.0", "--warehouse", tmp_path / "w")
    compared = here("compare", *builds, "--format", "json")
    assert (compared.exit_code, compared.stderr) == (1, "")
    assert [each["rule"] for each in json.loads(compared.stdout)["changes"]] == [LOCKED]
    unknown = here("compare", "Peer 1.0", "Peer 9", "--warehouse", tmp_path / "w")
    assert unknown.exit_code == 2
    assert "'Peer 9' is no build of the warehouse; there are Peer 1.0 @ embedded" in unknown.stderr


def test_a_folder_that_is_no_site_is_not_replaced(
    two: tuple[Path, Path], here: Callable[..., Result], tmp_path: Path
) -> None:
    here("ingest", two[0], "--warehouse", tmp_path / "w")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    done = here("report", "--warehouse", tmp_path / "w", "--output", tmp_path / "mine")
    assert done.exit_code == 2
    assert "holds something else than a site of ours" in done.stderr
    assert (tmp_path / "mine" / "letter").read_text() == "dear"


def test_audit_wants_runs_or_a_warehouse(two: tuple[Path, Path], tmp_path: Path) -> None:
    done = command("audit", "--claims", tmp_path / "none.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "audit needs run folders, or --warehouse" in done.stderr


def test_the_folder_of_several_targets_stands_for_their_runs(tmp_path: Path) -> None:
    one, first, second, broken = (tmp_path / name for name in ("one", "three/a", "three/b", "broken"))
    for folder in (one, first, second, broken):
        folder.mkdir(parents=True)
    for folder in (one, first, second):
        (folder / "run.json").touch()
    (one / "site").mkdir()
    given = [one, tmp_path / "three", broken]
    assert list(commands.all_of(given)) == [one, first, second, broken]


def test_a_folder_that_is_no_run_is_one_sentence(two: tuple[Path, Path], tmp_path: Path) -> None:
    done = command("compare", two[0], tmp_path / "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "not a run folder" in done.stderr


def test_the_site_of_runs_needs_neither_spark_nor_java(tmp_path: Path) -> None:
    program = BLOCKED.replace('"jinja2", ', "")
    line = [sys.executable, "-c", program, "certify", "0-9-1/tx.commit.transacted", "--output", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert f"page: {tmp_path / 'report.html'}\nsite: {tmp_path / 'site' / 'index.html'}\n" in done.stdout
    assert "transacted" in (tmp_path / "site" / "matrix.json").read_text()


def test_the_site_of_runs_is_that_of_a_warehouse_with_them(
    two: tuple[Path, Path], here: Callable[..., Result], tmp_path: Path
) -> None:
    runs = [*two, real_run(tmp_path / "real", "0-9-1/queue.bind*", "0-9-1/connection.open*")]
    folders, warehouse = tmp_path / "folders", tmp_path / "warehouse"
    render(folders, site_of(runs))
    here("ingest", *runs, "--warehouse", tmp_path / "w")
    here("report", "--warehouse", tmp_path / "w", "--output", warehouse)
    assert contents(folders) == contents(warehouse)
    assert len(contents(folders)) > 100


@pytest.mark.parametrize("trouble", [EvidenceError, ModuleNotFoundError, SiteError])
def test_a_site_that_cannot_be_written_costs_no_verdict(
    trouble: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise trouble("there is no room")

    monkeypatch.setattr(certify, "_write", broken)
    arguments = ["certify", "0-9-1/tx.commit.transacted", "--output", str(tmp_path / "run")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0
    assert "no site: there is no room" in " ".join(done.output.split())
