"""`run --repeat N`: runs in other orders agree, and when they do not, it is said rule by rule."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.commands.verify import differences
from conformance.evidence.kinds import Judged
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.render.tests.samples import judged, results_of
from conformance.tests.commands import Command
from harness.dialect import dialect
from harness.peers.peer import PeerConnection, PeerServer
from harness.peers.serve import TcpPeer
from scenarios.registry import checks

BINDS = "0-9-1/queue.bind.exchange.exchange-existence"
FAILS = judged(Verdict.FAIL, "a", signature="one thing")


def told(*runs: list[Judged]) -> dict[str, tuple[str, ...]]:
    return {each.rule: each.findings for each in differences([results_of(*run) for run in runs])}


def test_equal_runs_do_not_differ() -> None:
    run = [FAILS, judged(Verdict.PASS, "b")]
    assert told(run, run[::-1], run) == {}


def test_each_run_is_told_with_verdict_and_signature() -> None:
    assert told([FAILS], [judged(Verdict.PASS, "a")], [FAILS]) == {
        "a": ("fail: one thing", "pass", "fail: one thing")
    }


def test_another_finding_differs_though_the_verdict_is_the_same() -> None:
    assert told([FAILS], [judged(Verdict.FAIL, "a", signature="another")]) == {
        "a": ("fail: one thing", "fail: another")
    }


def test_which_of_equal_outcomes_came_is_no_difference() -> None:
    assert told(*([judged(Verdict.INFO, "a", signature=signature)] for signature in "xy")) == {}


def test_a_part_that_alternates_behind_one_that_fails_is_found() -> None:
    first = [FAILS, judged(Verdict.PASS, "a", test="a[second]")]
    second = [FAILS, judged(Verdict.WARN, "a", test="a[second]", signature="late")]
    assert told(first, second) == {
        "a": ("fail: one thing; [second] pass", "fail: one thing; [second] warn: late")
    }


def test_a_rule_without_a_verdict_differs() -> None:
    assert told([FAILS], []) == {"a": ("fail: one thing", "no verdict")}


def order(run: Path) -> list[str]:
    return [line.event.test for line in read(run) if isinstance(line.event, Judged)]


def test_runs_agree_in_folders_of_their_own_and_other_orders(
    amqp_conformance: Command, tmp_path: Path
) -> None:
    done = amqp_conformance("run", "class:tx", "class:channel", "--verify", "3", "--output", tmp_path / "all")
    assert done.returncode == 0, done.stdout
    assert "rules came to the same in 3 runs" in done.stdout
    runs = sorted((tmp_path / "all").iterdir())
    assert [run.name for run in runs] == ["run-1", "run-2", "run-3"]
    assert [verify(run).state for run in runs] == [State.OK] * 3
    orders = [order(run) for run in runs]
    assert len({tuple(each) for each in orders}) == 3
    assert len({frozenset(each) for each in orders}) == 1


@pytest.mark.broker("rabbitmq")
def test_a_target_of_ours_is_started_afresh_for_each(amqp_conformance: Command, tmp_path: Path) -> None:
    way = ("run", BINDS, "--target", "process:rabbitmq", "--verify", "2", "--output", tmp_path / "all")
    assert amqp_conformance(*way, "--parallel", "0").returncode == 0
    logs = [(tmp_path / "all" / name / "broker.log").read_text() for name in ("run-1", "run-2")]
    assert [log.count("Starting RabbitMQ") for log in logs] == [1, 1]


class Alternating:
    """Right until the second run has its folder, wrong from then on."""

    def __init__(self, folder: Path) -> None:
        self._second = folder / "run-2"
        change = checks().deviations[BINDS][0].change
        self._right: PeerServer = dialect("0-9-1").proof.peer()
        self._wrong: PeerServer = dialect("0-9-1").proof.peer(change)

    def connect(self, now: float) -> PeerConnection:
        return (self._wrong if self._second.exists() else self._right).connect(now)

    def use(self, facility: str) -> dict[str, str]:
        return self._right.use(facility)

    def restart(self) -> None:
        self._right.restart()


@pytest.fixture
def alternating(tmp_path: Path) -> Iterator[str]:
    with TcpPeer(Alternating(tmp_path / "all")) as served:
        yield f"amqp://guest:guest@127.0.0.1:{served.port}"


def test_runs_that_differ_are_told_and_end_with_1(
    amqp_conformance: Command, alternating: str, tmp_path: Path
) -> None:
    way = ("run", BINDS, "0-9-1/channel.open.state", "--target", alternating, "--verify", "2")
    done = amqp_conformance(*way, "--parallel", "0", "--output", tmp_path / "all")
    assert done.returncode == 1, done.stdout
    said = " ".join(done.stdout.split())
    count, _, rest = said.partition("1 of 2 rules came to the same in 2 runs ")
    assert rest.startswith(f"{BINDS} differs: run-1 pass; run-2 fail: queue.bind-ok instead of")
    assert BINDS not in count
    assert "not restarted in between" in said


FLAKY = f"""[[flaky]]
rule = "{BINDS}"
verdicts = ["pass", "fail"]
sentence = "The server MUST refuse."
reason = "It changes its mind."
product = "AMQP conformance reference peer"
versions = ">=0.1"
"""


@pytest.mark.parametrize(("verdicts", "status"), [('"pass", "fail"', 0), ('"pass", "inconclusive"', 1)])
def test_what_the_baseline_calls_flaky_is_told_apart(
    amqp_conformance: Command, alternating: str, tmp_path: Path, verdicts: str, status: int
) -> None:
    (tmp_path / "baseline.toml").write_text(FLAKY.replace('"pass", "fail"', verdicts))
    way = ("run", BINDS, "--target", alternating, "--verify", "2", "--baseline", "baseline.toml")
    done = amqp_conformance(*way, "--parallel", "0", "--output", tmp_path / "all")
    assert done.returncode == status, done.stdout
    assert ("differs (flaky, as the baseline says)" in done.stdout) is (status == 0)


def test_a_target_that_is_not_there_ends_it_with_3(amqp_conformance: Command, tmp_path: Path) -> None:
    way = ("run", BINDS, "--target", "amqp://127.0.0.1:1", "--verify", "3", "--output", tmp_path / "all")
    done = amqp_conformance(*way)
    assert done.returncode == 3
    assert "cannot be reached" in done.stdout
    assert [run.name for run in (tmp_path / "all").iterdir()] == ["run-1"]


def test_runs_need_a_folder_of_their_own(amqp_conformance: Command, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "mine.txt").write_text("precious")
    done = amqp_conformance("run", BINDS, "--verify", "2", "--output", tmp_path / "all")
    assert done.returncode == 2
    assert [each.name for each in (tmp_path / "all").iterdir()] == ["mine.txt"]
