"""Table mutants and agreeable fakes: what no scenario's author had in mind must be noticed as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from conformance.detection import Bench, in_memory, judge_rule
from conformance.events import Judged
from conformance.verdicts import Verdict, fold
from harness.dialect import Mutant, dialect
from spec.rules import Rule


@dataclass(frozen=True, slots=True)
class Mutated:
    """A mutant and the rule whose check noticed it first (None: it survived), with what that came to."""

    mutant: Mutant
    noticed: str | None
    seen: Judged | None


def mutate(document: str, bench: Bench) -> Iterator[Mutated]:
    """Judge every mutant of a document's reference peer by the rules that use the mutated row.

    `bench` must be prepared. A mutant is noticed when some rule's verdict gets worse, set-up errors aside:
    those only count when nothing better notices it.
    """
    protocol = dialect(document)
    for mutant in protocol.mutants():
        using = [
            rule
            for rule in bench.rules.values()
            if rule.document == document and protocol.touches(mutant.change, bench.footprints[rule.id])
        ]
        yield _first_to_notice(mutant, using, bench)


def _first_to_notice(mutant: Mutant, rules: Iterable[Rule], bench: Bench) -> Mutated:
    by_error: Mutated | None = None
    for rule in rules:
        clean, seen = bench.clean[rule.id], judge_rule(rule, in_memory(mutant.change))
        if seen.verdict is clean.verdict or fold([seen.verdict, clean.verdict]) is not seen.verdict:
            continue
        if seen.verdict is not Verdict.ERROR:
            return Mutated(mutant, rule.id, seen)
        by_error = by_error or Mutated(mutant, rule.id, seen)
    return by_error or Mutated(mutant, None, None)


def passes_on_fakes(document: str, rules: Iterable[Rule]) -> Iterator[tuple[str, str]]:
    """The fakes of a document's protocol, each with the rules that pass on it."""
    chosen = list(rules)
    for name, change in dialect(document).fakes().items():
        for rule in chosen:
            if judge_rule(rule, in_memory(change)).verdict is Verdict.PASS:
                yield name, rule.id
