"""`replay RUN` without a rule: all that stands against a target, judged again, and what came of it."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from conformance.commands.replay import closing, replay_findings
from conformance.engine import controller
from conformance.engine.options import Options
from conformance.evidence.kinds import EvidenceError
from conformance.gate.gate import Exit
from harness.amqp0_9_1.broken.deviations import withholds
from harness.amqp0_9_1.wire.vocabulary import Tx
from harness.targets.embedded import EmbeddedTarget

RULES = ("0-9-1/grammar/tx.commit.trailing", "0-9-1/grammar/tx.select.answers")
COMMIT, SELECT = RULES


def judged(folder: Path, monkeypatch: pytest.MonkeyPatch, change: object) -> None:
    """Make a run of the rules on a peer with a change in it."""
    deviating(monkeypatch, change)
    controller.judge_here(Options(selectors=RULES, output=str(folder)))


def deviating(monkeypatch: pytest.MonkeyPatch, change: object) -> None:
    monkeypatch.setattr(controller, "target", lambda *_: EmbeddedTarget(change))


def replayed(run: Path) -> tuple[int, list[str]]:
    """Replay a run; give the status and the lines told."""
    console = Console(file=(told := StringIO()), width=80)
    status = replay_findings(run, "embedded", console, Options())
    return status, [line for line in told.getvalue().splitlines() if line]


def test_findings_come_again_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(run := tmp_path / "run", monkeypatch, withholds(Tx.CommitOk))
    status, lines = replayed(run)
    assert status == Exit.MET
    assert len(lines) == 2
    assert lines[0].startswith(f"came again  {COMMIT}: ")
    assert lines[-1] == "the one finding came again"
    deviating(monkeypatch, None)
    status, lines = replayed(run)
    assert status == Exit.NOT_MET
    assert lines[0].startswith(f"differs     {COMMIT}: ")
    assert lines[0].endswith("; now pass")
    assert lines[-1] == f"0 of 1 finding came again, 1 did not: {COMMIT}"


def test_a_run_without_a_finding_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(run := tmp_path / "run", monkeypatch, None)
    status, lines = replayed(run)
    assert status == Exit.MET
    assert "has no finding that stands against its target: nothing to replay" in " ".join(lines)


def test_of_a_run_that_judged_nothing_nothing_is_replayed(tmp_path: Path) -> None:
    controller.judge_here(Options(target="amqp://127.0.0.1:1", selectors=RULES, output=str(tmp_path / "run")))
    with pytest.raises(EvidenceError, match=r"nothing was judged in .*: nothing to replay"):
        replayed(tmp_path / "run")


def test_the_closing_sentence_counts() -> None:
    assert closing(5, ["a", "b"]) == "3 of 5 findings came again, 2 did not: a, b"
    assert closing(5, []) == "all 5 findings came again"
