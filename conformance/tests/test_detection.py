"""Every rule has a check or a reason, every check can fail, and none fails what is legal."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import scenarios.amqp0_9_1
from conformance.cases import OUT_OF_REACH
from conformance.detection import Bench, Fate, deviations, in_memory, judge_rule, missing_deviations
from conformance.mutation import mutate, passes_on_fakes
from conformance.tests.conftest import Command
from conformance.verdicts import Verdict
from harness.amqp0_9_1.deviations import Fault
from harness.dialect import dialect
from harness.embedded import EmbeddedTarget
from scenarios.registry import checks
from spec.catalogue import catalogue

RULES = catalogue().rules
CHECKED = [rule for rule in RULES if checks().of(rule.id)]
STATE = (
    "durab", "persist", "exclusive", "auto-delete", "if-unused", "if-empty", "prefetch", "redelivered",
    "recover", "reject", "tx.", "basic.01", "basic.06", "basic.08", "basic.10", "purge.02", "default-binding",
)  # fmt: skip
"""What the identity of a rule about state contains."""

ON_FAKES = {
    ("agrees to everything", "0-9-1/connection.start.locales.required-support"),
    ("refuses everything", "0-9-1/connection.start.locales.required-support"),
    ("agrees to everything", "0-9-1/connection.tune.frame-max.minimum"),
    ("refuses everything", "0-9-1/connection.tune.frame-max.minimum"),
}
"""Rules that pass on a fake, rightly: both fakes do offer en_US in Start and do read a large Start-Ok.

The fact is what the rule asks for, so its own observation is the control.
"""


@pytest.fixture(scope="module")
def bench() -> Bench:
    prepared = Bench()
    list(prepared.prepare(RULES))
    return prepared


def test_every_rule_has_a_check_or_a_reason() -> None:
    without = [rule for rule in RULES if not checks().of(rule.id)]
    assert [rule.id for rule in without if rule.testability not in OUT_OF_REACH or not rule.reason] == []
    assert len(RULES) == 115


def test_every_check_belongs_to_a_rule() -> None:
    known = checks()
    assert {*known.scenarios, *known.watches, *known.deviations} <= {rule.id for rule in RULES}


def test_the_reference_peer_is_clean(bench: Bench) -> None:
    fine = {Verdict.PASS, Verdict.INFO, Verdict.INAPPLICABLE}
    assert {rule: judged.verdict for rule, judged in bench.clean.items() if judged.verdict not in fine} == {}


def test_every_rule_with_a_check_has_a_deviation() -> None:
    assert missing_deviations(RULES) == []


def test_rules_about_state_have_a_fault_in_the_tables() -> None:
    concerned = [rule.id for rule in CHECKED if any(word in rule.id for word in STATE)]
    assert len(concerned) > 20
    faults = {
        rule
        for rule, broken in checks().deviations.items()
        if any(isinstance(b.change, Fault) for b in broken)
    }
    assert [rule for rule in concerned if rule not in faults] == []


def test_every_deviation_is_killed_by_its_own_check(bench: Bench) -> None:
    found = [bench.detect(deviation, others=False) for deviation in deviations(RULES)]
    assert len(found) > 300
    alive = [
        f"{each.rule.id}: {each.deviation.says}: {each.seen}"
        for each in found
        if each.fate is not Fate.KILLED
    ]
    assert alive == []


VARIANTS = list(dialect("0-9-1").policies().items())


@pytest.mark.parametrize(("name", "policy"), VARIANTS, ids=[name for name, _ in VARIANTS])
def test_no_scenario_fails_on_a_legal_variant(name: str, policy: object) -> None:
    legal = {Verdict.PASS, Verdict.INFO, Verdict.WARN, Verdict.INAPPLICABLE}
    judged = [judge_rule(rule, EmbeddedTarget(None, policy)) for rule in CHECKED]
    assert [each for each in judged if each.verdict not in legal] == []


def test_only_what_is_argued_passes_on_a_fake() -> None:
    assert set(passes_on_fakes("0-9-1", CHECKED)) == ON_FAKES


def test_only_what_is_argued_survives_mutation(bench: Bench) -> None:
    path = Path(scenarios.amqp0_9_1.__path__[0]) / "survivors.toml"
    groups = tomllib.loads(path.read_text())["survivors"]
    argued = [name for group in groups for name in group["mutants"]]
    assert len(argued) == len(set(argued))
    assert all(group["because"].strip() for group in groups)
    survived = {each.mutant.name for each in mutate("0-9-1", bench) if each.noticed is None}
    assert survived - set(argued) == set()
    assert set(argued) - survived == set()


def test_a_peer_that_breaks_is_no_proof() -> None:
    # The fate of a deviation that only crashes the set-up must not read as killed.
    rule = catalogue()["0-9-1/queue.bind.unique"]

    def broken(_: object) -> object:
        raise ZeroDivisionError

    judged = judge_rule(rule, in_memory(Fault(broken)))  # type: ignore[arg-type]
    assert judged.verdict is Verdict.ERROR


def test_the_command_is_green_and_finds_no_check_too_wide(amqp_conformance: Command) -> None:
    done = amqp_conformance("detect")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "too wide" not in done.stdout
