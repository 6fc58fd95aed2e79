"""Every rule has a check or a reason, every check can fail, and none fails what is legal."""

from __future__ import annotations

import json
import os
import random
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.kinds import Line
from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import (
    Bench,
    Fate,
    deviations,
    in_memory,
    judge_rule,
    judge_rules,
    missing_deviations,
)
from conformance.proof.tests.mutation import mutate, passes_on_fakes
from conformance.tests.commands import command, environment
from conformance.tests.endurance import WHOLE, some
from harness.amqp0_9_1.broken.deviations import Fault as Fault0_9_1
from harness.amqp0_9_1.broken.deviations import spoils
from harness.amqp0_9_1.broken.frame_faults import START, with_properties
from harness.amqp1_0.broken.deviations import Fault as Fault1_0
from harness.amqp_fast.broken.deviations import Fault as FaultFast
from harness.dialect import dialect
from harness.peers.deviation import Deviation
from harness.targets.embedded import EmbeddedTarget
from harness.wire.journal import Breached
from scenarios.registry import checks
from spec.applicability import judged_with
from spec.catalogue import catalogue
from spec.rules import Role

pytestmark = pytest.mark.minutes
THOROUGH = 0.05
"""Share of the rules that a change cannot touch, by what they use, that are tried all the same."""
RULES = catalogue().rules
CHECKED = [rule for rule in RULES if checks().of(rule.id, Role.SERVER)]


@dataclass(frozen=True)
class Facts:
    """What is so of one protocol: its documents with their numbers of rules, the package of their checks, and
    what the tests have to know.

    `state` is what the identity of a rule about state contains, `faults` the class of changes of the tables,
    `unset` a rule whose set-up a peer that breaks spoils, `without` the rules that are not run on a variant.
    """

    rules: dict[str, int]
    package: str
    state: tuple[str, ...]
    faults: type[Any]
    unset: str
    without: dict[str, frozenset[str]]


SILENT = frozenset(
    f"1-0/2.4.5.{name}"
    for name in (
        "idle-closes-gracefully",
        "idle-measured-from-last-frame",
        "idle-socket-closed",
        "idle-value-half-of-threshold",
        "flow-as-traffic",
    )
)
"""What is asked of a server that acts on silence, and soon."""

DOCUMENTS = {
    "0-9-1": Facts(
        rules={"0-9-1": 115, "0-9-1/prose": 174, "0-9-1/grammar": 457},
        package="scenarios.amqp0_9_1",
        state=(
            "durab", "persist", "exclusive", "auto-delete", "if-unused", "if-empty", "prefetch",
            "redelivered", "recover", "reject", "tx.", "basic.01", "basic.06", "basic.08", "basic.10",
            "purge.02", "default-binding",
        ),
        faults=Fault0_9_1,
        unset="0-9-1/queue.bind.unique",
        without={},
    ),
    "rabbitmq": Facts(
        rules={"rabbitmq": 358},
        package="scenarios.rabbitmq",
        state=("basic.nack.", "ttl.", "maxlength.", "priority.", "policies.", "e2e.", "consumer-cancel."),
        faults=Fault0_9_1,
        unset="rabbitmq/basic.nack.of-got",
        without={},
    ),
    "1-0": Facts(
        rules={"1-0": 323, "1-0/grammar": 256},
        package="scenarios.amqp1_0",
        state=("2.4.3.", "2.4.4.", "2.4.6.", "2.4.7."),
        faults=Fault1_0,
        unset="1-0/2.4.3.close-answered",
        without={"idle_time_out = 0": SILENT, "idle_time_out = 60000": SILENT},
    ),
    "fast": Facts(
        rules={"fast": 718},
        package="scenarios.amqp_fast",
        state=("3.3.4.commit-", "3.3.5.", "prefetch-", "exclusive-", "subscription-ends", "held-until"),
        faults=FaultFast,
        unset="fast/3.5.2.not-already-open",
        without={},
    ),
}  # fmt: skip

each_document = pytest.mark.parametrize("document", DOCUMENTS)


def checked(document: str) -> list[Any]:
    return [rule for rule in CHECKED if judged_with(rule.document) == document]


def argued(document: str, name: str, table: str) -> list[dict[str, Any]]:
    """Give the groups of a file beside the scenarios; each says why."""
    (folder,) = import_module(DOCUMENTS[document].package).__path__
    groups: list[dict[str, Any]] = tomllib.loads((Path(folder) / name).read_text())[table]
    assert all(group["because"].strip() for group in groups)
    return groups


@pytest.fixture(scope="module")
def bench() -> Bench:
    prepared = Bench()
    list(prepared.prepare(RULES))
    return prepared


@dataclass(frozen=True)
class Detection:
    """What `detect` has said and written, once for all tests."""

    status: int
    said: str
    found: list[dict[str, Any]]


@pytest.fixture(scope="module")
def detection(tmp_path_factory: pytest.TempPathFactory) -> Detection:
    folder = tmp_path_factory.mktemp("detect")
    written = folder / "found.json"
    done = command("detect", "--output", written, cwd=folder, env=environment(), timeout=2400)
    return Detection(done.returncode, done.stdout, json.loads(written.read_text()))


# -- checks and reasons --------------------------------------------------------------------------------


@each_document
def test_every_rule_has_a_check_or_a_reason(document: str) -> None:
    rules = [rule for rule in RULES if judged_with(rule.document) == document]
    without = [rule for rule in rules if not checks().of(rule.id, Role.SERVER)]
    assert [rule.id for rule in without if not rule.beyond(Role.SERVER) or not rule.reason] == []
    assert Counter(rule.document for rule in rules) == DOCUMENTS[document].rules


def test_every_check_belongs_to_a_rule() -> None:
    known = checks()
    assert {*known.scenarios, *known.watches, *known.deviations} <= {rule.id for rule in RULES}


# -- what is legal -------------------------------------------------------------------------------------


def test_the_reference_peer_is_clean(bench: Bench) -> None:
    fine = {Verdict.PASS, Verdict.INFO, Verdict.INAPPLICABLE}
    assert {rule: judged.verdict for rule, judged in bench.clean.items() if judged.verdict not in fine} == {}


VARIANTS = [
    pytest.param(document, name, policy, id=f"{document}-{name}")
    for document in DOCUMENTS
    for name, policy in dialect(document).proof.policies.items()
]


def breaches(lines: Sequence[Line]) -> list[Breached]:
    """Find what was read all the same although it broke a rule, whichever was being judged."""
    return [line.event for line in lines if isinstance(line.event, Breached)]


@pytest.mark.parametrize(("document", "name", "policy"), VARIANTS)
def test_no_scenario_fails_on_a_legal_variant(document: str, name: str, policy: object, bench: Bench) -> None:
    legal = {Verdict.PASS, Verdict.INFO, Verdict.WARN, Verdict.INAPPLICABLE}
    touches, rules = dialect(document).proof.touches, checked(document)
    reads = [rule for rule in rules if touches(policy, bench.footprints[rule.id])]
    met = [rule for rule in reads if bench.tells_apart(rule, policy=policy)]
    beside = list[Line]()
    judged = dict(judge_rules(met, lambda _: EmbeddedTarget(None, policy), beside))
    assert breaches(beside) == []
    without = DOCUMENTS[document].without.get(name, frozenset())
    assert {rule for rule, each in judged.items() if each.verdict is Verdict.NOT_RUN} == without
    assert [each for rule, each in judged.items() if rule not in without and each.verdict not in legal] == []
    # Where the peer did not look at its choice, the exchange is the same with any; a sample must show it.
    others = [rule for rule in rules if rule.id not in judged]
    some = random.Random(name).sample(others, round(len(others) * THOROUGH))
    for identity, seen in judge_rules(some, lambda _: EmbeddedTarget(None, policy)):
        assert seen.verdict is bench.clean[identity].verdict, seen


def test_what_is_read_all_the_same_is_seen_whichever_rule_is_judged() -> None:
    change = spoils(START, with_properties(b"\x00\x00\x00\x04\x01aZ\x01"))
    beside = list[Line]()
    rule = catalogue()["0-9-1/queue.bind.unique"]
    ((_, judged),) = judge_rules([rule], lambda _: EmbeddedTarget(change), beside)
    assert judged.verdict is Verdict.PASS
    assert {each.rule for each in breaches(beside)} == {"0-9-1/prose/4.2.1.table-types-understood"}


def test_every_exception_is_about_a_variant() -> None:
    for document, facts in DOCUMENTS.items():
        assert facts.without.keys() <= dialect(document).proof.policies.keys()


# -- what is not ---------------------------------------------------------------------------------------


def test_every_rule_with_a_check_has_a_deviation() -> None:
    assert missing_deviations(RULES) == []


@each_document
def test_rules_about_state_have_a_fault_in_the_tables(document: str) -> None:
    facts = DOCUMENTS[document]
    own = [rule.id for rule in checked(document) if rule.document == document]
    concerned = [identity for identity in own if any(word in identity for word in facts.state)]
    assert len(concerned) > 5
    broken = {
        rule
        for rule, changes in checks().deviations.items()
        if any(isinstance(each.change, facts.faults) for each in changes)
    }
    assert [rule for rule in concerned if rule not in broken] == []


def test_every_deviation_is_killed_by_its_own_check(detection: Detection) -> None:
    wanted = [(each.rule, each.says) for each in deviations(RULES)]
    assert [(each["rule"], each["deviation"]) for each in detection.found] == wanted
    assert len(wanted) > 1400
    assert [each for each in detection.found if each["fate"] != Fate.KILLED] == []


def test_the_command_is_green_and_finds_no_check_too_wide(detection: Detection) -> None:
    assert detection.status == 0, detection.said[-2000:]
    assert "too wide" not in detection.said


@pytest.mark.endurance
def test_what_a_deviation_cannot_touch_does_not_change(bench: Bench) -> None:
    thorough, processes = replace(bench, control=THOROUGH), (os.cpu_count() or 1) if WHOLE else 1
    found = thorough.detect_all(some(deviations(RULES), 60), others=True, processes=processes)
    assert [(each.deviation.says, each.too_wide) for each in found if each.too_wide] == []


def test_what_its_own_check_misses_is_looked_for_everywhere(bench: Bench) -> None:
    (unheard, *_) = checks().deviations["0-9-1/prose/3.1.8.explicit-acknowledgement"]
    found = bench.detect(Deviation("0-9-1/connection.start.protocol-name", "breaks another", unheard.change))
    assert found.fate is Fate.ELSEWHERE
    assert unheard.rule in found.elsewhere


@each_document
def test_only_what_is_argued_passes_on_a_fake(document: str) -> None:
    expected = [
        (fake, rule)
        for group in argued(document, "fakes.toml", "passes")
        for rule in group["rules"]
        for fake in group["fakes"]
    ]
    assert len(expected) == len(set(expected))
    assert set(passes_on_fakes(document, checked(document))) == set(expected)


@each_document
def test_only_what_is_argued_survives_mutation(document: str, bench: Bench) -> None:
    expected = [
        name for group in argued(document, "survivors.toml", "survivors") for name in group["mutants"]
    ]
    assert len(expected) == len(set(expected))
    survived = {each.mutant.name for each in mutate(document, bench) if each.noticed is None}
    assert survived - set(expected) == set()
    assert set(expected) - survived == set()


@each_document
def test_a_peer_that_breaks_is_no_proof(document: str) -> None:
    # The fate of a deviation that only crashes the set-up must not read as killed.
    def broken(_: object) -> object:
        raise ZeroDivisionError

    facts = DOCUMENTS[document]
    assert judge_rule(catalogue()[facts.unset], in_memory(facts.faults(broken))).verdict is Verdict.ERROR
