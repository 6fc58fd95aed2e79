"""Several targets at once: processes and folders apart, one table, one status; none outlives the parent."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.evidence.folder import read_run
from conformance.evidence.kinds import Interrupted, RunEnded
from conformance.evidence.stream import State, read, verify
from conformance.gate.gate import Exit, gravest
from conformance.tests.commands import Command, command, command_line, environment
from conformance.tests.peers import description
from harness.dialect import dialect
from harness.peers.serve import TcpPeer
from scenarios.registry import checks
from spec.applicability import optional
from spec.catalogue import catalogue

ALL = sum(rule.document not in optional() for rule in catalogue().rules)
BINDS = "0-9-1/queue.bind.exchange.exchange-existence"
OPENS = "0-9-1/channel.open.state"


@pytest.fixture
def deviating() -> Iterator[str]:
    """A peer that breaks one rule."""
    change = checks().deviations[BINDS][0].change
    with TcpPeer(dialect("0-9-1").proof.peer(change)) as served:
        yield f"amqp://guest:guest@127.0.0.1:{served.port}"


def words(text: str) -> str:
    return " ".join(text.split())


def targets(*names: str) -> list[str]:
    return ["--parallel", "0", *(word for name in names for word in ("--target", name))]


def test_each_has_a_process_a_folder_and_a_line_in_one_table(
    amqp_conformance: Command, tmp_path: Path
) -> None:
    place = tmp_path / "all"
    done = amqp_conformance("run", "class:tx", *targets("embedded", "embedded:tcp"), "--output", place)
    assert done.returncode == 0, done.stdout
    assert sorted(path.name for path in place.iterdir()) == ["embedded", "embedded-tcp"]
    assert [verify(path).state for path in place.iterdir()] == [State.OK] * 2
    assert read_run(place / "embedded-tcp").target == "embedded:tcp"
    assert f"0 of {ALL} rules differ or block a target" in done.stdout
    ends = [line for line in done.stderr.splitlines() if "cases judged after" not in line]
    whole = len(catalogue().rules)
    sentence = f"not a certification: 24 of the {whole} rules that may apply to it were selected"
    assert ends.pop(0) == f"24 of {whole} rules selected"
    assert sorted(ends) == [f"embedded: {sentence}", f"embedded:tcp: {sentence}"]
    assert "cases judged" not in done.stdout


def test_a_rule_on_which_they_differ_is_shown_and_the_gate_of_all_is_missed(
    amqp_conformance: Command, deviating: str, tmp_path: Path
) -> None:
    way = ("run", BINDS, OPENS, *targets("embedded", deviating), "--output", tmp_path / "all")
    done = amqp_conformance(*way)
    assert done.returncode == 1
    count, _, table = done.stdout.partition("rules whose verdicts differ, or of which one blocks a target\n")
    assert table.splitlines()[0] == f"{BINDS}  must  ✓ pass  ✗ fail"
    assert OPENS not in table
    assert f"1 of {ALL} rules differ or block a target" in count
    assert count.count("\nmust: 0 of 1 against it\n") == 1
    assert count.count("\nmust: 1 of 1 against it\n") == 1
    assert "guest:guest" not in done.stdout + done.stderr


def test_the_password_of_a_url_is_in_no_command_line(deviating: str, tmp_path: Path) -> None:
    line = command_line("run", "0-9-1/*", *targets("embedded", deviating), "--output", tmp_path / "all")
    with started(line) as parent:
        children = until_judging(parent, tmp_path / "all", 0) - {parent.pid}
        lines = [(Path("/proc") / str(pid) / "cmdline").read_bytes() for pid in children]
        parent.send_signal(signal.SIGINT)
        parent.communicate(timeout=60)
    assert len(lines) >= 2
    assert [each for each in lines if b"guest" in each] == []


def test_one_that_cannot_be_reached_ends_all_with_3_and_leaves_a_run(
    amqp_conformance: Command, tmp_path: Path
) -> None:
    nobody = "amqp://guest:guest@127.0.0.1:1"
    done = amqp_conformance("run", OPENS, *targets("embedded", nobody), "--output", tmp_path / "all")
    assert done.returncode == 3
    assert verify(tmp_path / "all" / "embedded").state is State.OK
    assert verify(tmp_path / "all" / "amqp-guest-127.0.0.1-1").state is State.PARTIAL
    assert "could not be judged" in words(done.stdout)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--target", "embedded"], "embedded is named twice"),
        (["--target", "nonsense"], "known are"),
        (["--target", "embedded:tcp", "--verify", "2"], "for one target"),
        (["--target", "embedded:tcp", "--list"], "for one target"),
        (["--target", "embedded:tcp", "--baseline", "none.toml"], "none.toml: cannot be read"),
        (["--target", "embedded:tcp", "--tls-insecure"], "--tls-insecure means nothing"),
        (["--target", "embedded:tcp", "no.such.rule"], "No rule matches"),
    ],
)
def test_wrong_usage_is_told_before_anything_starts(
    amqp_conformance: Command, tmp_path: Path, more: list[str], sentence: str
) -> None:
    done = amqp_conformance("run", "--target", "embedded", "--output", tmp_path / "all", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert not (tmp_path / "all").exists()


def test_a_folder_that_is_not_empty_is_refused(amqp_conformance: Command, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "letter").write_text("dear")
    done = amqp_conformance("run", *targets("embedded", "embedded:tcp"), "--output", tmp_path / "all")
    assert done.returncode == 2
    assert "is not empty" in done.stderr


def test_a_baseline_counts_for_the_target_it_is_about(
    amqp_conformance: Command, deviating: str, tmp_path: Path
) -> None:
    (tmp_path / "old.toml").write_text(
        '[[read]]\nproduct = "AMQP conformance reference peer"\nversions = ">=99"\n'
    )
    way = ("run", BINDS, *targets("embedded", deviating), "--baseline", "old.toml")
    done = amqp_conformance(*way, "--output", tmp_path / "all")
    assert done.returncode == 0, done.stdout
    assert "nobody has read AMQP conformance reference peer 0.1.0 yet" in done.stdout
    assert done.stdout.count("old.toml is not applied to") == 2
    ended = [
        line.event
        for run in (tmp_path / "all").iterdir()
        for line in read(run)
        if isinstance(line.event, RunEnded)
    ]
    assert [each.exit_status for each in ended] == [0, 0]


# -- ends ------------------------------------------------------------------------------------------------


def started(line: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def family(pid: int) -> set[int]:
    """Give a process and all that it has started, directly or not."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {pid}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def until(look: Callable[[], set[int]], reached: Callable[[set[int]], bool]) -> set[int]:
    deadline = time.monotonic() + 60
    while not reached(found := look()):
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


def until_judging(parent: subprocess.Popen[bytes], place: Path, count: int, runs: int = 2) -> set[int]:
    """Wait until so many runs have judged so many cases; give the processes there are then."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and parent.poll() is None:
        said = [path.read_bytes().count(b'{"event":"judged"') for path in place.glob("*/events-*")]
        if len([each for each in said if each >= count]) >= runs:
            return family(parent.pid)
        time.sleep(0.01)
    raise AssertionError("the runs ended before they were to be interrupted")


def until_gone(pids: set[int]) -> None:
    until(lambda: {pid for pid in pids if (Path("/proc") / str(pid)).exists()}, lambda alive: not alive)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_parent_ends_all_and_each_leaves_a_readable_run(
    tmp_path: Path, number: signal.Signals
) -> None:
    place = tmp_path / "all"
    line = command_line("run", "0-9-1/*", *targets("embedded", "embedded:tcp"), "--output", place)
    with started(line) as parent:
        pids = until_judging(parent, place, 1)
        parent.send_signal(number)
        said, _ = parent.communicate(timeout=60)
    until_gone(pids - {parent.pid})
    assert [verify(run).state for run in place.iterdir()] == [State.PARTIAL] * 2
    if number is signal.SIGINT:
        assert parent.returncode == Exit.INTERRUPTED, said.decode()
        assert b"interrupted: waiting for what the runs leave behind" in said
        assert said.count(b"run: ") >= 2
    for run in place.iterdir():
        done = command("render", run, "--format", "tap", env=environment())
        assert done.returncode == 0, done.stderr


def test_ctrl_c_while_a_target_starts_leaves_a_readable_run_too(tmp_path: Path) -> None:
    """One is there and is being judged, the other never listens."""
    silent, place = tmp_path / "silent.toml", tmp_path / "all"
    silent.write_text(description(script="import signal; signal.pause()"))
    line = command_line("run", "0-9-1/*", *targets("embedded", "process:silent"), "--targets", silent)
    with started([*line, "--output", str(place)]) as parent:
        until_judging(parent, place, 1, runs=1)
        pids = until(lambda: family(parent.pid), lambda found: len(found) > 4)  # the broker and its guard
        parent.send_signal(signal.SIGINT)
        said, _ = parent.communicate(timeout=60)
    until_gone(pids)
    assert parent.returncode == Exit.INTERRUPTED
    sentence = "process:silent: nothing was judged; interrupted while the target was starting"
    assert sentence in words(said.decode())
    assert [verify(run).state for run in place.iterdir()] == [State.PARTIAL] * 2
    events = [line.event for line in read(place / "process-silent", "interrupted")]
    assert events == [Interrupted("interrupted while the target was starting")]


def test_a_child_that_breaks_is_said_with_its_last_word(tmp_path: Path) -> None:
    """What is no part of a run's own account stands in the log of its process."""
    program = (
        "import conformance.several.parent as several, sys\n"
        "several.start_words = lambda: [sys.executable, '-c', 'raise SystemExit(\"no room\")']\n"
        "from conformance.commands.cli import main\nmain()\n"
    )
    line = [sys.executable, "-c", program, "run", *targets("embedded", "embedded:tcp")]
    done = subprocess.run(
        line, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "embedded: its run broke: no room" in done.stdout


# -- parts -----------------------------------------------------------------------------------------------


def test_the_status_of_all_is_the_gravest() -> None:
    assert gravest([Exit.MET, Exit.MET]) is Exit.MET
    assert gravest([Exit.MET, Exit.NOTHING]) is Exit.NOTHING
    assert gravest([Exit.NOTHING, Exit.NOT_MET, Exit.MET]) is Exit.NOT_MET
    assert gravest([Exit.NOT_MET, Exit.UNREACHABLE]) is Exit.UNREACHABLE
    assert gravest([]) is Exit.NOTHING


def test_the_environment_of_a_child_holds_the_packages_of_its_parent(tmp_path: Path) -> None:
    """A folder that is called like one of ours, where the user stands, is not taken for it."""
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").write_text("raise SystemExit('not this one')")
    root = Path(__file__).parents[3]
    program = (
        f"import sys; sys.path.insert(0, {str(root)!r})\nfrom conformance.commands.cli import main\nmain()\n"
    )
    kept = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    line = [sys.executable, "-P", "-c", program, "run", OPENS, *targets("embedded", "embedded:tcp")]
    done = subprocess.run(
        line, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conformance", "runs"]
