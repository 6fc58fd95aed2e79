"""What the committed lists say about the known targets, for the tests that run them."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

from conformance.evidence.folder import read_run
from conformance.evidence.results import rule_results
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline import Accepted, Unexpected, apply, number_of
from conformance.gate.baseline_file import load
from spec.applicability import promises
from spec.catalogue import catalogue
from spec.versions import holds, is_past

BASELINES = Path(__file__).parents[3] / "ci" / "baselines"
NO_EVIDENCE = (Verdict.ERROR, Verdict.NOT_RUN, Verdict.INCONCLUSIVE, Verdict.INAPPLICABLE)


def path_of(name: str) -> Path:
    return BASELINES / f"{name}.toml"


def rules_of(*protocols: str, version: str = "") -> set[str]:
    """Give all rules of these protocols, of whichever document, that are said of a product's `version`."""
    number = number_of(version)
    own = (rule for rule in catalogue().rules if rule.id.partition("/")[0] in protocols)
    return {rule.id for rule in own if holds(rule.versions, number)}


def promised_by(run: Path) -> set[str]:
    """Give the rules of optional documents that are promised by what the target of a run tells."""
    told = promises(read_run(run).banner)
    own = (rule for rule in catalogue().rules if rule.capability in told)
    return {rule.id for rule in own if not (rule.versions and is_past(rule.versions))}


def unexpected(run: Path, name: str) -> list[Unexpected | Accepted]:
    """Give what a run found beyond the baseline called `name`, errors aside."""
    results = rule_results(read(run))
    told = read_run(run)
    rules = {rule.id for rule in catalogue().rules}
    accepted = load(path_of(name))
    report = apply(results, accepted, told.product, told.version, told.role, date.today(), rules)
    found = [each for each in report.failures if each.verdict not in NO_EVIDENCE]
    return [*found, *report.passes, *report.unmatched, *report.stale]


def unevidenced(run: Path) -> dict[str, str]:
    """Give the rules a run could not evidence, with the verdict that says so."""
    return {each.rule: str(each.verdict) for each in rule_results(read(run)) if each.verdict in NO_EVIDENCE}


def admitted(target: str) -> dict[str, str]:
    """Give the rules a target is known not to evidence, with the verdict their reason begins with."""
    listed = tomllib.loads(Path(__file__).with_name("unevidenced.toml").read_text())[target]
    return {rule: reason.partition(":")[0] for rule, reason in listed.items()}
