"""`targets check` finds what a description promises and a broker does not keep; users' files are known."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from conformance.commands.target_check import Promise, State, promises
from conformance.evidence.folder import read_run
from conformance.tests.commands import Command
from conformance.tests.peers import RESTART, SCRIPT, description
from harness.amqp1_0.broken.deviations import withholds
from harness.amqp1_0.wire.performatives import Transfer
from harness.dialect import documents
from harness.peers.serve import TcpPeer
from harness.targets.embedded import EmbeddedTarget
from harness.targets.given import FILES, also, given
from harness.targets.named import known_targets, target
from harness.targets.target import Target, TargetError
from harness.targets.tests.answering import server

OPENS = "0-9-1/channel.open.state"


def states(goal: Target) -> dict[str, State]:
    return {each.what: each.state for each in promises(goal)}


def said(goal: Target, what: str) -> Promise:
    return next(each for each in promises(goal) if each.what == what)


def test_the_reference_peer_keeps_all_promises() -> None:
    found = states(EmbeddedTarget())
    assert set(found.values()) == {State.KEPT}
    assert found.keys() == {f"protocol {each}" for each in documents()} | EmbeddedTarget.facilities


class Giving(EmbeddedTarget):
    """Gives something else for a facility than it should, or can do nothing at all."""

    def __init__(self, facility: str, made: Mapping[str, str] | None) -> None:
        super().__init__()
        self._facility, self._made = facility, made

    def use(self, facility: str) -> Mapping[str, str]:
        return self._given() if facility == self._facility else super().use(facility)

    def used_by(self, document: str) -> Callable[[str], Mapping[str, str]]:
        honest = super().used_by(document)
        return lambda facility: self._given() if facility == self._facility else honest(facility)

    def _given(self) -> Mapping[str, str]:
        if self._made is None:
            raise TargetError("the tool is not installed.")
        return self._made


@pytest.mark.parametrize(
    ("facility", "made", "sentence"),
    [
        ("second-vhost", {"virtual_host": "/"}, "/, which is the first one"),
        ("second-vhost", {"virtual_host": "nowhere"}, "connection.open was answered by"),
        ("second-vhost", {}, "it returns no virtual_host"),
        ("restricted-user", {"user": "guest", "password": "guest"}, "was answered by connection.open-ok"),
        ("restricted-user", {"user": "ann", "password": "wrong"}, "connection.start-ok was answered by"),
        ("address", {}, "it returns no address"),
        ("idle-timeout", {"idle-time-out": "17"}, "17 ms was answered by an open that states 5000"),
        ("restart", None, "the tool is not installed."),
        ("memory-alarm", None, "the tool is not installed."),
        ("lift-memory-alarm", None, "the tool is not installed."),
    ],
)
def test_a_promise_that_is_not_kept_is_one_line(
    facility: str, made: Mapping[str, str] | None, sentence: str
) -> None:
    goal = Giving(facility, made)
    assert [what for what, state in states(goal).items() if state is State.BROKEN] == [facility]
    assert sentence in said(goal, facility).sentence


def test_an_address_that_keeps_no_message_is_not_kept_for_one() -> None:
    goal = EmbeddedTarget(withholds(Transfer))  # as one that hands it out to those who are there already
    assert [what for what, state in states(goal).items() if state is State.BROKEN] == ["address"]
    assert said(goal, "address").sentence == "credit for a message was answered by silence"


class Narrow(EmbeddedTarget):
    """Is described as speaking one protocol, though it speaks more."""

    protocols = frozenset({"0-9-1"})
    facilities = frozenset({"restart", "restrat", "memory-alarm"})

    def use(self, facility: str) -> Mapping[str, str]:
        return {} if facility == "restrat" else super().use(facility)


def test_what_is_not_described_is_found_too() -> None:
    found = states(Narrow())
    assert found == {
        "protocol 0-9-1": State.KEPT,
        "protocol 1-0": State.BROKEN,
        "protocol fast": State.BROKEN,
        "memory-alarm": State.BROKEN,  # nothing lifts it
        "restart": State.KEPT,
        "restrat": State.UNUSED,
    }
    assert "does not say so" in said(Narrow(), "protocol 1-0").sentence


# -- the command, on a user's own file ---------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(description())
    return path


def test_a_users_own_broker_is_checked_with_the_file_alone(
    amqp_conformance: Command, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"  # of our own: other tests start brokers meanwhile
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    for name in ("process:mine", "mine"):
        done = amqp_conformance("targets", "check", name, "--targets", mine)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][:3] == ["protocol", "0-9-1", "kept"]
    assert lines[1][:3] == ["protocol", "1-0", "kept"]
    assert ["restart", "kept"] in [line[:2] for line in lines]
    assert "process:mine: the description fits" in done.stdout
    assert list(temporary.glob("amqp-conformance-*")) == []


@pytest.mark.parametrize(
    ("text", "status", "sentence"),
    [
        (description(protocols='"0-9-1", "1-0"'), 1, "1 of 4 promises are broken"),
        (
            description(more='[facilities.second-vhost]\nsteps = [{ run = ["false"] }]\n'),
            1,
            "ended with status 1",
        ),
        (description(script="raise SystemExit('no room')"), 3, "before it was ready: no room"),
        (description(more=RESTART.replace("stop", "halt")), 2, "halt"),
        (description(script=SCRIPT.replace("0-9-1", "1-0")), 1, "protocol 0-9-1"),
        (description().replace("[process]", '[process]\napart = ["0-9-1/no-rule"]'), 2, "'0-9-1/no-rule'"),
    ],
    ids=["protocol", "facility", "start", "typo", "other protocol", "no such rule"],
)
def test_what_does_not_fit_decides_the_status(
    amqp_conformance: Command, mine: Path, text: str, status: int, sentence: str
) -> None:
    mine.write_text(text)
    done = amqp_conformance("targets", "check", "process:mine", "--targets", mine)
    assert done.returncode == status, done.stdout + done.stderr
    assert sentence in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def test_a_name_that_no_target_has_is_wrong_usage(amqp_conformance: Command) -> None:
    done = amqp_conformance("targets", "check", "process:nobody")
    assert done.returncode == 2
    assert "there is no target 'process:nobody'" in done.stderr


def test_nobody_there_is_status_3(amqp_conformance: Command) -> None:
    done = amqp_conformance("targets", "check", "amqp://guest:guest@127.0.0.1:1")
    assert done.returncode == 3


HTTP = (
    " answers HTTP, not AMQP: 'HTTP/1.0 400 Bad Request'; brokers listen at 5672 as a rule, with TLS at 5671"
)


def test_what_is_no_amqp_gets_the_sentence_that_a_run_would_give(
    amqp_conformance: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with TcpPeer(EmbeddedTarget().make("0-9-1")) as peer:
        url = ("--target", f"amqp://127.0.0.1:{peer.port}")
        assert amqp_conformance("run", OPENS, *url, "--parallel", "0", "--output", folder).returncode == 0
    with server(lambda _: b"HTTP/1.0 400 Bad Request\r\n\r\n") as place:
        for command in (("targets", "check"), ("clean", folder, "--target")):
            done = amqp_conformance(*command, f"amqp://{place}")
            assert (done.returncode, done.stderr) == (3, f"amqp-conformance: {place}{HTTP}\n")


def test_how_long_a_port_may_take_is_said_to_all_commands_that_reach_it(amqp_conformance: Command) -> None:
    with server(lambda _: b"") as place:
        done = amqp_conformance("targets", "check", f"amqp://{place}", "--first-answer", "0.2")
    assert done.returncode == 3
    assert f"{place} accepts connections and says nothing, in 0.2 s, to " in done.stderr


def test_a_run_and_its_workers_know_a_users_own_target(
    amqp_conformance: Command, mine: Path, tmp_path: Path
) -> None:
    way = ("run", OPENS, "--target", "process:mine", "--targets", mine, "--parallel", "2")
    done = amqp_conformance(*way, "--output", tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_run(tmp_path / "run").environment["target"]["product"] == "Mine"


def test_several_runs_know_it_too(amqp_conformance: Command, mine: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(description())
    way = ("run", OPENS, "--target", "process:mine", "--target", "process:other", "--parallel", "0")
    done = amqp_conformance(*way, "--targets", mine, "--targets", other, "--output", tmp_path / "all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["process-mine", "process-other"]


def test_the_list_shows_it(amqp_conformance: Command, mine: Path) -> None:
    assert "process:mine" in amqp_conformance("targets", "--targets", mine).stdout
    assert "process:mine" not in amqp_conformance("targets").stdout


@pytest.mark.parametrize(
    "broker",
    [
        pytest.param(name, marks=pytest.mark.broker(name))
        for name in ("rabbitmq", "garagemq", "broker-j", "proton", "artemis", "activemq")
    ],
)
def test_what_is_said_of_a_broker_is_kept(amqp_conformance: Command, broker: str) -> None:
    done = amqp_conformance("targets", "check", f"process:{broker}")
    assert done.returncode == 0, done.stdout


# -- the list of files -------------------------------------------------------------------------------------


def test_given_files_are_known_while_it_lasts(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILES, raising=False)
    with also([mine]):
        assert "process:mine" in [known.name for known in known_targets()]
        assert target("process:mine").protocols == frozenset({"0-9-1"})
        with also([mine]):  # the same file twice is one
            assert given().keys() == {"mine"}
    assert given() == {}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("rabbitmq.toml", b"", "there is another target called 'rabbitmq'"),
        ("my target.toml", b"", "may hold letters, digits"),
        ("mine.toml", b"\xff", "is not UTF-8"),
        ("mine.toml", None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_one_is_refused(
    tmp_path: Path, name: str, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with also([path]), pytest.raises(TargetError, match=sentence):
        known_targets()


def test_what_a_killed_run_left_is_removed(amqp_conformance: Command) -> None:
    orphan = Path(tempfile.mkdtemp(prefix="amqp-conformance-1-0-"))
    done = amqp_conformance("targets", "clean")
    assert done.returncode == 0
    assert f"removed: {orphan}" in done.stdout
    assert not orphan.exists()
    assert "nothing was left behind" in amqp_conformance("targets", "clean").stdout
