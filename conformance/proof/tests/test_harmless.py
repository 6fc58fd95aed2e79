"""Differences that matter to nobody change no verdict, and what we send keeps the rules we judge by."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.keeping import Memory
from conformance.evidence.kinds import Judged
from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import Bench, judge_rule
from conformance.proof.tests.together import Together
from conformance.proof.undisturbed import differences, main
from harness.amqp0_9_1.wire.frames import FrameReader as FrameReader0_9_1
from harness.amqp1_0.wire.frames import FrameReader as FrameReader1_0
from harness.dialect import dialect, documents
from harness.dialect import of as of_protocol
from harness.peers.peer import PeerServer
from harness.targets.embedded import EmbeddedTarget, ServedTarget
from harness.targets.through import EmbeddedThrough, ThroughTarget
from harness.wire.journal import Direction, Octets
from harness.wire.reader import Reader
from harness.wire.transcript import Piece, Transcript
from scenarios.registry import checks, watching
from spec.applicability import judged_with, protocol
from spec.catalogue import catalogue
from spec.rules import Role, Rule

PACKAGES = {"0-9-1": "scenarios.amqp0_9_1", "1-0": "scenarios.amqp1_0", "fast": "scenarios.amqp_fast"}
RULES = [rule for rule in catalogue().rules if checks().of(rule.id, Role.SERVER)]
each_protocol = pytest.mark.parametrize("document", documents())
TOO_MUCH = {"0-9-1/prose/3.1.1.body-unmodified", "0-9-1/prose/4.3.traffic-balanced"}
"""Megabytes, which a slow way does not carry within the budget of a scenario."""
MUCH = {"0-9-1/channel.flow.bidirectional"}
"""Megabytes, which takes a while octet by octet."""


class Stacked(EmbeddedTarget):
    """Reference peers with several interposers before them, one before the other."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self._names = frozenset(names)

    def make(self, document: str) -> PeerServer:
        server, harmless = dialect(document).proof.peer(), dialect(document).proof.harmless
        for name in sorted(harmless.keys() & self._names):
            server = harmless[name].before(server)
        return server


@pytest.fixture(scope="module")
def bench() -> Bench:
    prepared = Bench()
    list(prepared.prepare(RULES))
    return prepared


def told(judged: Judged) -> tuple[Verdict, str]:
    return judged.verdict, judged.signature


def changed(bench: Bench, rules: Iterable[Rule], *names: str) -> list[str]:
    """Give the rules whose verdict differs behind all of these at once."""
    return [
        f"{rule.id}: {told(seen)} where {told(bench.clean[rule.id])} is right"
        for rule in rules
        if told(seen := judge_rule(rule, Stacked(names))) != told(bench.clean[rule.id])
    ]


def of(document: str) -> list[Rule]:
    return [rule for rule in RULES if judged_with(rule.document) == document]


IDLE = {"1-0": {"no-trailing-nulls"}}
"""Differences that our own peer has already: they show before real brokers alone."""


@each_protocol
def test_each_difference_shows_in_some_exchange(document: str, bench: Bench) -> None:
    spoken = dialect(document)
    idle = {
        name
        for name, change in spoken.proof.harmless.items()
        if not any(spoken.proof.touches(change, bench.footprints[rule.id]) for rule in of(document))
    }
    assert idle == IDLE.get(document, set())


@each_protocol
def test_what_a_server_may_say_otherwise_changes_no_verdict(document: str, bench: Bench) -> None:
    names = [name for name in dialect(document).proof.harmless if not name.endswith("-sent")]
    assert changed(bench, of(document), *names) == []


@each_protocol
def test_what_we_may_say_otherwise_changes_no_verdict(document: str, bench: Bench) -> None:
    names = [name for name in dialect(document).proof.harmless if name.endswith("-sent")]
    assert names
    assert changed(bench, of(document), *names) == []


@pytest.mark.parametrize("way", ["slow", "delay"])
def test_slow_ways_change_no_verdict(way: str, bench: Bench) -> None:
    for rule in RULES:
        seen, right = judge_rule(rule, EmbeddedThrough(way)), bench.clean[rule.id]
        if rule.id in TOO_MUCH and way == "slow":
            assert seen.verdict is Verdict.INCONCLUSIVE, rule.id
            assert seen.signature == "StillComing"
        else:
            assert told(seen) == told(right), rule.id


@each_protocol
def test_what_we_say_at_once_changes_no_verdict(document: str, bench: Bench) -> None:
    """What is answered and what comes by itself have an order only where we wait for one of them."""
    rules = [each for each in RULES if protocol(each.document) == document]
    told_at_once = {rule.id: told(judge_rule(rule, Together())) for rule in rules}
    assert {rule: each for rule, each in told_at_once.items() if each != told(bench.clean[rule])} == {}


def test_octets_one_by_one_change_no_verdict(bench: Bench) -> None:
    for rule in RULES[::9]:
        if rule.id not in TOO_MUCH | MUCH:
            assert told(judge_rule(rule, EmbeddedThrough("octets"))) == told(bench.clean[rule.id])


def test_a_real_slow_way_changes_no_verdict(bench: Bench) -> None:
    for identity in ("0-9-1/basic.ack.multiple.exists", "1-0/2.4.3.close-answered"):
        rule = catalogue()[identity]
        seen = judge_rule(rule, ThroughTarget("slow", ServedTarget()))
        assert told(seen) == told(bench.clean[identity])


# -- what we send --------------------------------------------------------------------------------------

READERS: dict[str, type[Reader[Any]]] = {"0-9-1": FrameReader0_9_1, "1-0": FrameReader1_0}
OTHER = {Direction.SENT: Direction.RECEIVED, Direction.RECEIVED: Direction.SENT}
ABOUT_SERVERS = {
    "1-0/2.4.3.close-carries-reason": "we leave in good order, for which there is no reason to give",
    "1-0/2.2.header-layout": "we may send on before the server's header has come (2.4.2)",
    "fast/2.2.4.type-known": "we begin with an initiation, which is no command",
    "fast/3.2.5.tune-after-authentication": "our CONNECTION TUNE follows that of the server, not a response",
    "fast/3.3.7.server-closes-known-channels": "we close what is not open to see what the server says",
}
"""Rules for either peer whose checks look at what only a server does."""


def exchanged(document: str, evidence: Memory) -> Iterator[tuple[str, Transcript]]:
    """Give each connection of an exchange, as the other end sees it, with the scenario it belongs to."""
    found: dict[tuple[str, str], list[Piece]] = defaultdict(list)
    for line in evidence.lines:
        if isinstance(event := line.event, Octets):
            scenario = str(line.test).partition("[")[2].rstrip("]")
            found[scenario, event.connection].append((event.at, OTHER[event.direction], event.octets))
    for (scenario, _), pieces in found.items():
        yield scenario, of_protocol(document, "client.transcript").transcript_of(pieces)


def trespasses(document: str) -> dict[str, set[str]]:
    """Give by rule the scenarios that break it when they are played, by what they send."""
    known = catalogue()
    bound = {
        rule for rule in watching(document).rules if known[rule].binds == "peer" and rule not in ABOUT_SERVERS
    }
    assert bound
    found: dict[str, set[str]] = defaultdict(set)
    for rule in of(document):
        evidence = Memory()
        judge_rule(rule, EmbeddedTarget(), evidence)
        for scenario, transcript in exchanged(document, evidence):
            for identity, tally in watching(document).look(transcript):
                if identity in bound and tally.broken:
                    found[identity].add(scenario)
    return found


@each_protocol
def test_what_we_send_breaks_our_rules_only_where_that_is_the_point(document: str) -> None:
    (folder,) = import_module(PACKAGES[document]).__path__
    groups = tomllib.loads((Path(folder) / "trespasses.toml").read_text())["trespass"]
    assert all(group["because"].strip() for group in groups)
    expected = {
        rule: set(group["scenarios"]) for group in groups for rule in group.get("rules", [group.get("rule")])
    }
    assert trespasses(document) == expected


# -- the command that plays whole runs -----------------------------------------------------------------


def test_differences_are_named_and_only_what_is_inconclusive_is_excused() -> None:
    before, after = (
        {name: result(name, verdict) for name, verdict in verdicts.items()}
        for verdicts in (
            {"a": Verdict.PASS, "b": Verdict.PASS, "c": Verdict.PASS, "d": Verdict.PASS},
            {"a": Verdict.PASS, "b": Verdict.INCONCLUSIVE, "c": Verdict.WARN},
        )
    )
    assert list(differences(before, after)) == [
        (True, "b: pass → inconclusive signature"),
        (False, "c: pass → warn signature"),
        (False, "d: pass → not-run"),
    ]


def result(name: str, verdict: Verdict) -> RuleResult:
    test = Judged(test=name, rule=name, verdict=verdict, signature="signature")
    return RuleResult((test,), test, "main")


def test_whole_runs_are_compared_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["embedded", "delay", "more-locales", "--rules=1-0/2.4.1*", "--rules=0-9-1/queue.bind.*"]) == 0
    )
    said = capsys.readouterr().out
    assert [line.strip().partition(" of ")[0] for line in said.splitlines()] == [
        "delay: 0",
        "more-locales: 0",
    ]


def test_a_run_that_broke_off_is_no_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["amqp://127.0.0.1:1", "--rules=1-0/2.4.1*"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("! ")
    assert "cannot be reached" in said
