"""`bug RUN RULE`: a folder for a vendor, whose script tells the broken peer from one that is none."""

from __future__ import annotations

import re
import socket
import time
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from conformance.bug.folder import CAPTURE, REPORT, SCRIPT
from conformance.bug.handed import played
from conformance.bug.player import GONE, THERE, UNTOLD
from conformance.commands.bug import write_bugs
from conformance.commands.tests.test_replaying import COMMIT, SELECT, deviating, judged
from conformance.engine import controller
from conformance.engine.options import Options
from conformance.evidence.captured import read_capture
from conformance.evidence.kinds import EvidenceError
from conformance.gate.gate import Exit
from harness.amqp0_9_1.broken.deviations import Interposer, replaces
from harness.amqp0_9_1.wire.vocabulary import Tx
from harness.dialect import dialect
from harness.peers.serve import TcpPeer

FAULT = replaces(Tx.SelectOk, Tx.CommitOk())


def broken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    judged(folder, monkeypatch, FAULT)
    return folder


def told(run: Path, rule: str | None, output: Path) -> str:
    console = Console(file=(said := StringIO()), width=200)
    assert write_bugs(run, rule, output, console) == Exit.MET
    return said.getvalue()


def plays(file: Path, change: Interposer | None, *options: str) -> tuple[int, str]:
    with TcpPeer(dialect("0-9-1").proof.peer(change, None, time.monotonic)) as served:
        return played(file, "127.0.0.1", served.port, list(options))


def test_the_folder_has_all_that_shows_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = broken(tmp_path / "run", monkeypatch)
    assert "1 finding, 1 with a script" in told(run, SELECT, tmp_path / "bug")
    assert {each.name for each in (tmp_path / "bug").iterdir()} == {REPORT, CAPTURE, SCRIPT}
    assert plays(tmp_path / "bug" / SCRIPT, FAULT)[0] == THERE
    assert plays(tmp_path / "bug" / SCRIPT, None)[0] == GONE
    report = (tmp_path / "bug" / REPORT).read_text()
    assert SELECT in report
    assert "came       tx.commit-ok" in report


def test_a_script_that_cannot_log_in_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told(broken(tmp_path / "run", monkeypatch), SELECT, tmp_path / "bug")
    status, last = plays(tmp_path / "bug" / SCRIPT, None, "--user", "nobody", "--password", "wrong")
    assert (status, last.partition(":")[0]) == (UNTOLD, "it cannot be told")
    status, last = played(tmp_path / "bug" / SCRIPT, "127.0.0.1", 1, [])
    assert (status, last.startswith("it cannot be told: 127.0.0.1:1: ")) == (UNTOLD, True)


def test_a_broker_that_says_nothing_is_not_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told(broken(tmp_path / "run", monkeypatch), None, tmp_path / "bugs")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for each in sorted((tmp_path / "bugs").glob(f"*/{SCRIPT}")):
            assert played(each, "127.0.0.1", silent.getsockname()[1], [])[0] == UNTOLD


def test_all_findings_have_a_folder_each_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, output = broken(tmp_path / "run", monkeypatch), tmp_path / "bugs"
    said = told(run, None, output)
    named = {each.name for each in output.iterdir()}
    assert {each.replace("/", "_") for each in (COMMIT, SELECT)} <= named
    assert said.count(str(output)) == len(named)
    with pytest.raises(EvidenceError, match="is not empty"):
        told(run, None, output)


def test_no_credentials_and_no_foreign_markdown_are_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(broken(tmp_path / "run", monkeypatch), SELECT, tmp_path / "bug")
    for each in (tmp_path / "bug").iterdir():
        assert b"guest\0guest" not in each.read_bytes()
        assert b"\0guest\0guest".hex().encode() not in each.read_bytes().replace(b" ", b"")
    report = (tmp_path / "bug" / REPORT).read_text().splitlines()
    ours = [line for line in report if line and not line.startswith("    ")]
    assert all(re.fullmatch(r"(# |## |`|amqp-conformance |As )?[A-Za-z0-9`'.,;:/ -]*", line) for line in ours)


@pytest.mark.parametrize("rule", ["0-9-1/tx.select.state", None])
def test_where_nothing_is_found_nothing_is_written(
    rule: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deviating(monkeypatch, None)
    controller.judge_here(Options(selectors=(SELECT,), output=str(tmp_path / "run")))
    with pytest.raises(EvidenceError, match="has no finding"):
        told(tmp_path / "run", rule, tmp_path / "bug")
    assert not (tmp_path / "bug").exists()


def test_the_capture_has_that_exchange_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told(broken(tmp_path / "run", monkeypatch), SELECT, tmp_path / "bug")
    assert len(list(read_capture(tmp_path / "bug" / CAPTURE))) == 1
