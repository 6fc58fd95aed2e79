"""What somebody meets who runs the suite by pytest itself: the explanation of a failure, and no warning."""

from __future__ import annotations

import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from lxml import etree

from conformance import suite
from conformance.evidence.explanation import as_text
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from conformance.render.rendering import load
from conformance.suite.by_name import pytest_load_initial_conftests
from conformance.tests.commands import environment
from harness.dialect import dialect
from harness.peers.serve import TcpPeer
from scenarios.registry import checks

SUITE = Path(suite.__file__).parent
BROKEN = "0-9-1/queue.bind.exchange.default-exchange"
PASSIVE = "0-9-1/prose/4.2.3.frame-end-is-ce"


def by_pytest(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(SUITE),
        *map(str, arguments),
    ]
    return subprocess.run(
        [*command, "-W", "error", f"--rootdir={folder}", "-c", "/dev/null", f"--output={folder / 'run'}"],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_parts_of_all_workers_are_counted_as_one(tmp_path: Path) -> None:
    done = by_pytest(tmp_path, "--rules", "class:tx", "--target", "embedded", "-n", "2")
    told = [int(each) for each in re.findall(r"\[ *(\d+)%\]", done.stdout)]
    assert told[-1] == 100, done.stdout
    assert told == sorted(told)


@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_a_failure_is_explained_as_every_report_does_and_nothing_warns(
    tmp_path: Path, processes: tuple[str, ...]
) -> None:
    change = checks().deviations[BROKEN][0].change
    with TcpPeer(dialect("0-9-1").proof.peer(change)) as peer:
        done = by_pytest(
            tmp_path, "--rules", BROKEN, "--rules", PASSIVE, "--junitxml", tmp_path / "j.xml",
            "--target", f"amqp://guest:guest@127.0.0.1:{peer.port}", *processes,
        )  # fmt: skip
    assert done.returncode == Exit.NOT_MET, done.stdout + done.stderr
    report = load(tmp_path / "run")
    [judged] = [each.deciding for each in report.results if each.verdict is Verdict.FAIL]
    explained = report.explained(judged)
    assert judged.rule == BROKEN
    assert explained is not None
    text = as_text(explained)
    assert f"fail: {judged.signature}\n\n{text}\n" in done.stdout
    assert f"amqp-conformance replay {tmp_path / 'run'} {BROKEN}" in text
    assert any(frame.deciding for frame in explained.frames)
    assert f"{report.gate.sentence}; the run is in {tmp_path / 'run'}" in done.stdout
    [failure] = etree.parse(tmp_path / "j.xml").findall(".//failure")
    assert text in str(failure.text)
    for unwanted in ("Traceback", "warning", ".py:"):
        assert unwanted not in done.stdout.partition("short test summary")[0].lower() + done.stderr


@pytest.mark.parametrize(
    ("named", "sought"),
    [
        ("conformance.suite", str(SUITE)),
        ("conformance.suite::test_rules.py", str(SUITE)),
        ("conformance.suite.test_rules::test_rule[0-9-1/basic.01]", str(SUITE)),
        ("conformance.suites", "conformance.suites"),
        ("tests", "tests"),
    ],
)
@pytest.mark.parametrize("by_name", [True, False])
def test_only_the_name_of_the_suite_stands_for_its_folder(named: str, sought: str, by_name: bool) -> None:
    known = Namespace(pyargs=by_name, file_or_dir=[named])
    pytest_load_initial_conftests(cast("pytest.Config", SimpleNamespace(known_args_namespace=known)))
    assert known.file_or_dir == [sought if by_name else named]
