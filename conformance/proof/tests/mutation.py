"""Table mutants and agreeable fakes: what no scenario's author had in mind must be noticed as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict, is_worse
from conformance.proof.detection import Bench, in_memory, judge_rule
from harness.dialect import dialect
from harness.peers.deviation import Mutant
from spec.applicability import judged_with
from spec.rules import Rule


@dataclass(frozen=True, slots=True)
class Mutated:
    """A mutant and the rule whose check noticed it first (None: it survived), with what that came to."""

    mutant: Mutant[object]
    noticed: str | None
    seen: Judged | None


def mutate(document: str, bench: Bench) -> Iterator[Mutated]:
    """Judge every mutant of a document's reference peer by the rules that use the mutated row, and see it.

    `bench` must be prepared. A mutant is noticed when some rule's verdict gets worse, set-up errors aside:
    those only count when nothing better notices it.
    """
    spoken = dialect(document)
    for mutant in spoken.proof.mutants():
        using = [
            rule
            for rule in bench.rules.values()
            if judged_with(rule.document) == document
            and spoken.proof.touches(mutant.change, bench.footprints[rule.id])
            and bench.tells_apart(rule, mutant.change)
        ]
        yield _first_to_notice(mutant, using, bench)


def _first_to_notice(mutant: Mutant[object], rules: Iterable[Rule], bench: Bench) -> Mutated:
    by_error: Mutated | None = None
    for rule in rules:
        clean, seen = bench.clean[rule.id], judge_rule(rule, in_memory(mutant.change))
        if not is_worse(seen.verdict, clean.verdict):
            continue
        if seen.verdict is not Verdict.ERROR:
            return Mutated(mutant, rule.id, seen)
        by_error = by_error or Mutated(mutant, rule.id, seen)
    return by_error or Mutated(mutant, None, None)


def passes_on_fakes(document: str, rules: Iterable[Rule]) -> Iterator[tuple[str, str]]:
    """Give the fakes of a document's protocol, each with the rules that pass on it."""
    chosen = list(rules)
    for name, change in dialect(document).proof.fakes.items():
        for rule in chosen:
            if judge_rule(rule, in_memory(change)).verdict is Verdict.PASS:
                yield name, rule.id
