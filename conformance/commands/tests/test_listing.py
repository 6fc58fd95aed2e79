"""`run --list`: seen on the reference peer, and nothing of the target is touched."""

import socket
from collections import Counter
from pathlib import Path

import pytest

from conformance.commands.listing import declared_by, listing
from conformance.engine.cases import Case, cases
from conformance.evidence.results import SPARED, spared
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.render.tests.samples import judged, results_of
from conformance.tests.commands import Command
from harness.amqp0_9_1.client.broker import REMOVE
from harness.dialect import dialect
from harness.peers.serve import TcpPeer
from harness.play.context import RESTART
from harness.targets.embedded import EmbeddedTarget
from harness.targets.target import UrlTarget
from harness.wire.journal import Declared, Noted
from scenarios.registry import Scenario, checks
from spec.catalogue import catalogue
from spec.rules import Role
from spec.selection import select

BINDS = "0-9-1/queue.bind.exchange.exchange-existence"
DURABLE = "0-9-1/queue.declare.durable.persistence"
ALARM = "0-9-1/basic.02"
PASSIVE = "0-9-1/domain.delivery-tag.non-zero"
URL = UrlTarget("amqp://guest:guest@127.0.0.1:1")


def found(*selectors: str) -> list[Case]:
    return cases(select(catalogue().rules, selectors, catalogue().aliases), checks(), Role.SERVER)


def with_check(**of_it: object) -> Case:
    """Give a case whose check declares two queues and an exchange."""

    def play(broker):  # type: ignore[no-untyped-def]
        for kind in ("queue", "queue", "exchange"):
            broker.name(kind)

    values = {"needs": frozenset(), "slow": False, "disruptive": False, "alone": False, "play": play} | of_it
    rule = catalogue()[BINDS]
    return Case(rule, Scenario(rule.id, "made_up", **values))  # type: ignore[arg-type]


def test_what_is_declared_is_seen_and_not_written_down() -> None:
    (entry,) = listing([with_check()], URL)
    assert entry.declares == {"queue": 2, "exchange": 1}
    assert (entry.needs, entry.runs, entry.why) == ((), True, "")


def test_it_is_what_a_run_declares(amqp_conformance: Command, tmp_path: Path) -> None:
    amqp_conformance("run", "class:queue", "--output", tmp_path / "run")
    seen: dict[str, Counter[str]] = {}
    for line in read(tmp_path / "run"):
        if isinstance(line.event, Declared) and line.test:
            seen.setdefault(line.test, Counter())[line.event.kind] += 1
    # Passive rules declare nothing of their own where other tests give them an occasion.
    assert {test: kinds for test, kinds in declared_by(found("class:queue")).items() if kinds} == seen
    assert len(seen) > 20


def test_a_disruptive_test_says_so_and_needs_to_be_allowed_on_a_shared_target() -> None:
    case = with_check(disruptive=True)
    (entry,) = listing([case], URL)
    assert (entry.needs, entry.runs) == (("disruptive",), False)
    assert "--disruptive allows it" in entry.why
    assert listing([case], URL, disruptive=True)[0].runs
    assert listing([case], EmbeddedTarget())[0].runs


def test_facilities_and_a_restart_are_needs() -> None:
    def play(broker):  # type: ignore[no-untyped-def]
        broker.name("queue")
        yield RESTART
        broker.name("exchange")

    case = with_check(play=play, needs=frozenset({"second-vhost"}))
    (entry,) = listing([case], URL)
    assert entry.needs == ("second-vhost", "restart")
    assert entry.declares == {"queue": 1, "exchange": 1}
    assert entry.why == "the target has no facility restart, second-vhost"
    assert listing([case], EmbeddedTarget())[0].runs


def test_a_passive_rule_alone_declares_for_its_occasion() -> None:
    (alone,) = listing(found(PASSIVE), URL)
    assert sum(alone.declares.values()) > 0
    beside = {each.test.partition("[")[0]: each for each in listing(found(PASSIVE, "0-9-1/basic.10"), URL)}
    assert beside[PASSIVE].declares == {}


def test_a_rule_without_a_check_is_listed_with_the_reason() -> None:
    (entry,) = listing(found("0-9-1/tx.not-immediate"), URL)
    assert (entry.runs, dict(entry.declares)) == (False, {})
    assert entry.why.startswith("untestable: ")


def test_every_facility_that_is_used_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    use = EmbeddedTarget.use

    def kept(self: EmbeddedTarget, name: str) -> object:
        used.append(name)
        return use(self, name)

    monkeypatch.setattr(EmbeddedTarget, "use", kept)
    everything = found()
    entries = listing(everything, URL)
    needs = {need for entry in entries for need in entry.needs}
    assert set(used)
    assert set(used) <= needs
    # In memory nothing is cleaned up: what is declared must be of a kind that can be.
    assert {kind for each in entries if each.test.startswith("0-9-1/") for kind in each.declares} == set(
        REMOVE
    )


def test_the_target_is_not_touched_and_no_folder_made(amqp_conformance: Command, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"amqp://guest:guest@127.0.0.1:{listener.getsockname()[1]}"
        done = amqp_conformance("run", "--list", "--target", address, BINDS, DURABLE, ALARM)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert done.returncode == 0, done.stderr
    assert "declares: " in done.stdout
    assert "not judged: the target has no facility restart" in done.stdout
    assert "1 of 4 tests would be judged" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", [(), ("--disruptive",)])
def test_a_run_says_at_its_end_what_it_left_out(
    amqp_conformance: Command, tmp_path: Path, more: tuple[str, ...]
) -> None:
    with TcpPeer(dialect("0-9-1").proof.peer()) as served:
        address = f"amqp://127.0.0.1:{served.port}"
        way = ("run", ALARM, BINDS, "--target", address, "--parallel", "0", "--output", tmp_path / "run")
        done = amqp_conformance(*way, *more)
    said = " ".join(done.stdout.split())
    noted = [line.event.text for line in read(tmp_path / "run") if isinstance(line.event, Noted)]
    left = (
        "1 disruptive test was left out, because others may use the target (--disruptive allows it): "
        f"{ALARM} (the target has no facility lift-memory-alarm, memory-alarm)"
    )
    assert (left in said, left in noted) == (not more, not more)
    # Even where it is allowed, this one needs what a URL does not give.
    assert "the target has no facility" in said


def test_only_what_was_left_out_for_others_is_told() -> None:
    alone = judged(Verdict.NOT_RUN, "x-1/a", signature=SPARED, detail=SPARED)
    lacking = judged(Verdict.NOT_RUN, "x-1/b", signature="the target has no facility restart")
    assert spared(results_of(alone, lacking, judged(Verdict.PASS, "x-1/c"))).endswith("allows it): x-1/a")
    assert spared(results_of(lacking)) == ""


def test_off_a_terminal_nothing_is_wrapped_or_padded(amqp_conformance: Command) -> None:
    long = "0-9-1/connection.tune-ok.channel-max.upper-limit"
    lines = amqp_conformance("run", "--list", long, ALARM).stdout.splitlines()
    assert f"{long}[channel_max_above_the_proposal_ends_without_negotiation]" in lines
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_process_target_is_not_started(amqp_conformance: Command) -> None:
    done = amqp_conformance("run", "--list", "--target", "process:rabbitmq", DURABLE)
    assert "needs: restart" in done.stdout
    assert "2 of 2 tests would be judged on process:rabbitmq" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"), [(["no.such"], "No rule matches"), (["--target", "x"], "known are")]
)
def test_wrong_usage_is_status_2(amqp_conformance: Command, arguments: list[str], sentence: str) -> None:
    done = amqp_conformance("run", "--list", *arguments)
    assert (done.returncode, sentence in done.stderr) == (2, True)
