"""What every report of a run is made from: the stream of events, read once and folded the same for all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from conformance.engine.cases import cases
from conformance.evidence.explanation import Annotate, Explanation, connections, explain
from conformance.evidence.kinds import EvidenceError, Interrupted, Judged, Line, RunEnded, RunStarted
from conformance.evidence.octets import readable
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, rule_results
from conformance.evidence.tried import clause
from conformance.evidence.verdicts import TABLE, Verdict
from conformance.gate.gate import Exit, Gate, Reason, Score, Standing, gate
from scenarios.registry import checks
from spec.rules import Rule

Render = Callable[["Report"], str]
"""A report that is one text."""


@dataclass(frozen=True, slots=True)
class Report:
    """A run as all reports show it.

    `name` is the run's folder as a user would type it, `began` when it started (seconds since the epoch),
    `rules` the catalogue by identity, `lines` the stream. `results` has every rule of the run, those it
    did not come to as not-run, in the catalogue's order.
    """

    name: str
    began: float
    started: RunStarted
    rules: dict[str, Rule]
    lines: tuple[Line, ...]
    results: tuple[RuleResult, ...]
    gate: Gate
    annotate: Annotate | None
    connections: dict[str, list[Line]]

    @property
    def standing(self) -> Standing:
        """Certified, not certified, or neither because the run is only a part."""
        return self.gate.standing

    @property
    def subject(self) -> str:
        """The target in one printable line: its name, and what it calls itself."""
        return printable(" ".join(filter(None, (self._itself, f"({self.started.target})"))))

    @property
    def _itself(self) -> str:
        return " ".join(filter(None, (self.started.product, self.started.version)))

    def summary(self) -> dict[str, str]:
        """Give what a report says in its head, as printable words."""
        return {
            "certification": str(self.standing),
            "level": str(self.started.level),
            "sentence": printable(self.gate.sentence),
            "target": self.subject,
            "run": self.name,
        }

    def ranked(self) -> list[RuleResult]:
        """Give the results, worst verdict first, otherwise in the catalogue's order."""
        order = [row.verdict for row in TABLE]
        return sorted(self.results, key=lambda result: order.index(result.verdict))

    def count(self, verdict: Verdict) -> int:
        """Say how many of the rules that are about every target came to `verdict`."""
        return sum(result.verdict is verdict for result in self.counted)

    @property
    def counted(self) -> list[RuleResult]:
        """The results that count; those of a document with a gate of its own do so there."""
        return [result for result in self.results if result.rule not in self.gate.aside]

    def finding(self, result: RuleResult) -> str:
        """Say in one line what was found, and what was being tried."""
        lines = self.connections.get(result.deciding.connection or "", [])
        return printable(clause(result.deciding, lines) or readable(result.finding))

    def explained(self, judged: Judged) -> Explanation | None:
        """Give the finding of one test laid out; None for a rule that no document has."""
        rule = self.rules.get(judged.rule)
        if rule is None:
            return None
        exchange = self.connections.get(judged.connection or "", [])
        return explain(judged, rule, exchange, self.annotate, self.name)


def report_of(
    lines: Sequence[Line],
    rules: Iterable[Rule],
    run: str,
    began: float,
    annotate: Annotate | None = None,
    decided: Gate | None = None,
) -> Report:
    """Fold the stream of a run, finished or not, into what its reports show.

    `rules` is the catalogue, `run` the folder as a user would type it, `began` in seconds since the epoch;
    `annotate` names the fields of octets, `decided` is what the gate has said already. Raises EvidenceError
    when the run never said what it is about.
    """
    started = next((line.event for line in lines if isinstance(line.event, RunStarted)), None)
    if started is None:
        raise EvidenceError(f"{run}: the run broke before it began; there is nothing to report")
    judged = {each["prefix"] for each in started.documents if "prefix" in each}
    about = (rule for rule in rules if rule.id not in started.others)
    catalogue = {rule.id: rule for rule in about if not judged or rule.document in judged}
    ended = next((line.event for line in lines if isinstance(line.event, RunEnded)), None)
    if ended is not None and ended.exit_status not in list(Exit):
        raise EvidenceError(f"{run}: no run ends with the status {ended.exit_status}")
    whole = (*lines, *([] if ended else _unreached(started, catalogue, lines)))
    place = {rule: number for number, rule in enumerate(catalogue)}
    results = tuple(sorted(rule_results(whole), key=lambda result: place.get(result.rule, len(place))))
    decided = decided or _gate(results, catalogue, started, ended, lines)
    seen = connections(lines)
    return Report(printable(run), began, started, catalogue, whole, results, decided, annotate, seen)


def _unreached(started: RunStarted, catalogue: dict[str, Rule], lines: Sequence[Line]) -> Iterable[Line]:
    """Give what a run that never came to its end would have said of the tests it did not reach."""
    judged = {line.event.test for line in lines if isinstance(line.event, Judged)}
    selected = [catalogue[rule] for rule in started.selected if rule in catalogue]
    last = lines[-1]
    for case in cases(selected, checks(), started.role):
        if case.id not in judged:
            event = case.not_run("the run ended before: it broke")
            yield Line(last.wall, last.worker, last.seq, case.id, event)


def _gate(
    results: Sequence[RuleResult],
    catalogue: dict[str, Rule],
    started: RunStarted,
    ended: RunEnded | None,
    lines: Iterable[Line],
) -> Gate:
    """Give the gate anew, with what the run itself said of its baseline."""
    why = next((line.event.reason for line in lines if isinstance(line.event, Interrupted)), None)
    if ended is None:
        why = why or "the run never came to its end"
    lost = ended is not None and ended.exit_status == Exit.UNREACHABLE
    decided = gate(
        results,
        tuple(catalogue.values()),
        started.level,
        started.role,
        selected=set(started.selected),
        lost=why if lost else None,
        cut=None if lost else why,
        fail_on=started.fail_on,
    )
    if ended is None or not ended.sentence:
        return decided
    return replace(
        decided,
        sentence=ended.sentence,
        unexpected=_reasons(ended.unexpected),
        flaky=_reasons(ended.flaky),
        exit_status=Exit(ended.exit_status),
        met=ended.exit_status == Exit.MET,
    )


def ended_event(results: Iterable[RuleResult], decided: Gate, reached: Iterable[Score] = ()) -> RunEnded:
    """Give the last event of a run: its counts, its scores at every level, and what the baseline told it."""
    found = tuple(results)
    return RunEnded(
        _counts(result for result in found if result.rule not in decided.aside),
        int(decided.exit_status),
        decided.sentence,
        tuple(asdict(reason) for reason in decided.unexpected),
        tuple(asdict(reason) for reason in decided.flaky),
        str(decided.standing),
        tuple(asdict(score) for score in reached),
        tuple(
            {
                "document": document,
                "verdicts": _counts(result for result in found if result.rule.startswith(f"{document}/")),
                "standing": str(own.standing),
                "sentence": own.sentence,
            }
            for document, own in decided.documents.items()
        ),
    )


def _counts(results: Iterable[RuleResult]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.verdict] = counts.get(result.verdict, 0) + 1
    return counts


def _reasons(kept: Iterable[Mapping[str, Any]]) -> tuple[Reason, ...]:
    return tuple(Reason(each.get("rule"), str(each.get("sentence"))) for each in kept)
