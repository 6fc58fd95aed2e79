"""Certified or not, met or not, and the exit status that says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum

from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline import BaselineReport
from spec.applicability import optional
from spec.rules import Level, Role, Rule


class Exit(IntEnum):
    """The exit status of a run."""

    MET = 0
    NOT_MET = 1
    """Unexpected verdicts, or not certified."""
    NOTHING = 2
    """Wrong usage, or nothing was selected."""
    UNREACHABLE = 3
    """The target could not be reached or died."""
    INTERRUPTED = 130
    """Somebody pressed Ctrl-C."""


GRAVEST = (Exit.INTERRUPTED, Exit.UNREACHABLE, Exit.NOT_MET, Exit.NOTHING, Exit.MET)


def gravest(statuses: Iterable[Exit]) -> Exit:
    """Give what several runs come to together: the gravest of their statuses, NOTHING when there is none."""
    found = set(statuses) or {Exit.NOTHING}
    return next(each for each in GRAVEST if each in found)


class Standing(StrEnum):
    """What a run says of its target as a whole; each report shows one of these words."""

    CERTIFIED = "certified"
    NOT_CERTIFIED = "not certified"
    PARTIAL = "partial"
    """The run was cut short, or was about some of the rules only: it can certify nothing."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a gate is not met, or why a run certifies nothing: the rule (if it is one), and a sentence."""

    rule: str | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence if self.rule is None else f"{self.rule}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Gate:
    """What a run comes to.

    `certified` is about the whole catalogue at the level, `met` about what was asked: certification,
    no blocking verdict among the selected rules, or (with a baseline) no unexpected verdict. `reasons`
    say why not certified, `unexpected` what a baseline does not cover. `apart` are the rules this kind
    of run cannot judge, `judged` counts those it was about, `sentence` sums up in plain words. `flaky` are
    the findings on rules that a baseline lists as alternating. `notes` are sentences on the baselines that
    were not applied. `documents` are gates of their own, by document, about what only some products promise;
    the rules `aside` count there, and not in this one.
    """

    certified: bool
    met: bool
    reasons: tuple[Reason, ...]
    unexpected: tuple[Reason, ...]
    apart: tuple[Rule, ...]
    judged: int
    exit_status: Exit
    sentence: str
    flaky: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    documents: Mapping[str, Gate] = field(default_factory=dict)
    aside: frozenset[str] = frozenset()

    @property
    def standing(self) -> Standing:
        """Certified, not certified, or neither because the run is only a part."""
        if self.certified:
            return Standing.CERTIFIED
        partial = any(reason.rule is None for reason in self.reasons) or not self.judged
        return Standing.PARTIAL if partial else Standing.NOT_CERTIFIED

    def asides(self) -> list[str]:
        """Say of each document about what only some products promise what it comes to."""
        return [f"{document}: {own.sentence}" for document, own in self.documents.items()]


@dataclass(frozen=True, slots=True)
class Score:
    """How a run stands at one level: of `judged` rules at or above it, `against` block certification."""

    level: Level
    judged: int
    against: int
    standing: Standing


def scores(
    results: Sequence[RuleResult],
    rules: Sequence[Rule],
    role: Role,
    selected: Collection[str] | None = None,
    lost: str | None = None,
    cut: str | None = None,
) -> tuple[Score, ...]:
    """Give the score at every level, strongest first; the arguments are those of `gate`."""
    gates = [
        (each, gate(results, rules, each, role, selected=selected, lost=lost, cut=cut)) for each in Level
    ]
    return tuple(Score(level, at.judged, _against(at.reasons), at.standing) for level, at in gates)


def _against(reasons: Iterable[Reason]) -> int:
    return sum(reason.rule is not None for reason in reasons)


def gate(
    results: Iterable[RuleResult],
    rules: Sequence[Rule],
    level: Level,
    role: Role,
    selected: Collection[str] | None = None,
    baseline: BaselineReport | None = None,
    lost: str | None = None,
    cut: str | None = None,
    unread: str = "",
    fail_on: str = Verdict.FAIL,
) -> Gate:
    """Judge `results` at `level` for a target in the `role`, those of optional documents each by itself.

    `rules` is the whole catalogue the certification is about, `selected` the identities that were asked
    for (None: all), `baseline` what the accepted verdicts cover, `lost` why the target could not be
    reached or when it died, `cut` why the run ended before its end (an interrupt, the total budget). With
    `unread`, the sentence that nobody has read this version yet, findings are reported and do not gate.

    With `fail_on` "warn" the gate is not met either where a rule that was asked for, of any level, came to
    warn: a missed SHOULD among them. That changes no certificate, which means the same for everybody.
    """
    told = tuple(results)
    decided = _gate(told, rules, _general(rules), level, role, selected, baseline, lost, cut, unread, fail_on)
    documents = {}
    for document in dict.fromkeys(rule.document for rule in rules if rule.document in optional()):
        own = [rule for rule in rules if rule.document == document]
        ids = {rule.id for rule in own}
        asked = ids if selected is None else ids.intersection(selected)
        if asked:
            of_it = [result for result in told if result.rule in ids]
            found = _gate(of_it, own, own, level, role, asked, None, lost, cut, "", fail_on)
            documents[document] = replace(found, sentence=_alone(own) + found.sentence)
    return replace(decided, documents=documents)


def _alone(rules: Iterable[Rule]) -> str:
    """Name the capabilities that a document's `rules` are about, where it is promised by these alone."""
    promised = dict.fromkeys(rule.capability for rule in rules)
    return "" if "" in promised else f"of {', '.join(promised)} alone: "


def _general(rules: Iterable[Rule]) -> list[Rule]:
    return [rule for rule in rules if rule.document not in optional()]


def _gate(
    results: Iterable[RuleResult],
    rules: Sequence[Rule],
    counted: Sequence[Rule],
    level: Level,
    role: Role,
    selected: Collection[str] | None,
    baseline: BaselineReport | None,
    lost: str | None,
    cut: str | None,
    unread: str,
    fail_on: str,
) -> Gate:
    """Give the gate of the rules that are `counted`; where only some were selected, of all selected."""
    by_rule = {result.rule: result for result in results}
    concerned = [rule for rule in counted if level.covers(rule.level)]
    narrowed = selected is not None and any(r.id not in selected for r in _scope(concerned, by_rule, role))
    if narrowed:  # what was asked for by name counts at any level
        concerned = [rule for rule in rules if rule.id in (selected or ())]
    aside = {rule.id for rule in rules} - {rule.id for rule in (*counted, *concerned)}
    scope = _scope(concerned, by_rule, role)
    blocking = [*_blocking(scope, by_rule), *_strangers(rules, by_rule)]
    missed = _missed(rules if narrowed else counted, by_rule, role) if fail_on == Verdict.WARN else []
    against = [*blocking, *missed]
    unexpected = against if baseline is None else _unexpected(against, baseline, aside)
    asked = len(selected or ())
    narrow = f"not a certification: {asked} of the {len(rules)} rules that may apply to it were selected"
    partial = [Reason(None, narrow)] if narrowed else []
    ended = [Reason(None, why) for why in (lost, cut) if why is not None]
    unexpected = ended if unread else [*ended, *unexpected]
    reasons = (*ended, *partial, *blocking)
    certified = bool(scope) and not reasons
    idle = not any(rule.id in by_rule and by_rule[rule.id].verdict is not Verdict.NOT_RUN for rule in scope)
    exit_status = _exit(lost, scope, unexpected)
    apart = tuple(rule for rule in concerned if is_apart(rule, by_rule.get(rule.id), role))
    unasked = sum(not rule.beyond(role) for rule in apart)
    return Gate(
        certified=certified,
        met=exit_status is Exit.MET,
        reasons=reasons,
        unexpected=() if baseline is None else tuple(unexpected),
        apart=apart,
        judged=len(scope),
        exit_status=exit_status,
        sentence="; ".join(
            filter(
                None,
                (
                    *_sentences(certified, idle, level, role, reasons, unexpected, scope, unasked, baseline),
                    _on_warn(missed) if fail_on == Verdict.WARN and not idle else "",
                    unread,
                ),
            )
        ),
        flaky=_flaky(by_rule, baseline),
        aside=frozenset(aside),
    )


def _scope(rules: Iterable[Rule], results: Mapping[str, RuleResult], role: Role) -> list[Rule]:
    return [rule for rule in rules if rule.concerns(role) and not is_apart(rule, results.get(rule.id), role)]


def is_apart(rule: Rule, result: RuleResult | None, role: Role) -> bool:
    """Say whether this kind of run cannot judge `rule`, and no test says more.

    Either the catalogue says so, or no test judges clients by it yet.
    """
    if result is None:
        return bool(rule.beyond(role))
    unasked = role is Role.CLIENT and [each.test for each in result.tests] == [rule.id]
    return result.verdict in (Verdict.UNTESTABLE, Verdict.NOT_RUN) and (unasked or bool(rule.beyond(role)))


def _blocking(scope: Iterable[Rule], results: Mapping[str, RuleResult]) -> list[Reason]:
    reasons = []
    for rule in scope:
        result = results.get(rule.id)
        if result is None:
            reasons.append(Reason(rule.id, "not-run: no verdict at all"))
        elif result.verdict is Verdict.UNTESTABLE:
            reasons.append(Reason(rule.id, "called untestable by its test, but not by the catalogue"))
        elif result.verdict.blocks:
            finding = result.signature or result.deciding.detail
            reasons.append(
                Reason(rule.id, f"{result.verdict}: {finding}" if finding else str(result.verdict))
            )
    return reasons


def _missed(rules: Iterable[Rule], results: Mapping[str, RuleResult], role: Role) -> list[Reason]:
    """Give the rules, of any level, that came to warn."""
    found = [results[rule.id] for rule in rules if rule.id in results and rule.concerns(role)]
    return [
        Reason(each.rule, f"{each.verdict}: {each.signature or each.deciding.detail}")
        for each in found
        if each.verdict is Verdict.WARN
    ]


def _on_warn(missed: Sequence[Reason]) -> str:
    count = len(missed)
    found = f"{count} {'rule' if count == 1 else 'rules'} came to one" if count else "there is none"
    return f"the gate fails on warnings, too: {found}"


def _strangers(rules: Iterable[Rule], results: Mapping[str, RuleResult]) -> list[Reason]:
    known = {rule.id for rule in rules}
    return [Reason(rule, "judged, but in no document") for rule in results if rule not in known]


def _unexpected(blocking: Iterable[Reason], baseline: BaselineReport, aside: Collection[str]) -> list[Reason]:
    known = {*baseline.excused, *baseline.flaky}
    left = [reason for reason in blocking if reason.rule not in known]
    findings = [Reason(each.rule, each.sentence) for each in (*baseline.passes, *baseline.unmatched)]
    stale = [Reason(each.rule, f"the accepted verdict expired on {each.expires}") for each in baseline.stale]
    return [each for each in left + findings + stale if each.rule not in aside]


def _flaky(results: Mapping[str, RuleResult], baseline: BaselineReport | None) -> tuple[Reason, ...]:
    entries = baseline.flaky if baseline else {}
    return tuple(
        Reason(
            rule, f"{results[rule].verdict} this time, known to alternate between {', '.join(each.verdicts)}"
        )
        for rule, each in entries.items()
    )


def _exit(lost: str | None, scope: Sequence[Rule], unexpected: Sequence[Reason]) -> Exit:
    if lost is not None:
        return Exit.UNREACHABLE
    if not scope:
        return Exit.NOTHING
    return Exit.NOT_MET if unexpected else Exit.MET


def _sentences(
    certified: bool,
    idle: bool,
    level: Level,
    role: Role,
    reasons: Iterable[Reason],
    unexpected: Sequence[Reason],
    scope: Sequence[Rule],
    unasked: int,
    baseline: BaselineReport | None,
) -> Iterable[str]:
    general = [reason.sentence for reason in reasons if reason.rule is None]
    blocked = _against(reasons)
    if certified:
        yield f"certified as {role} at level {level}: all {len(scope)} rules" + (
            f" that are asked of it; {unasked} more have no check of a {role} yet" if unasked else ""
        )
    elif not scope:
        yield "nothing that this run can judge was selected"
    elif idle:
        yield "nothing was judged"
    elif not general:
        yield f"not certified as {role} at level {level}"
    yield from general
    if blocked and not idle:
        yield f"{blocked} of {len(scope)} rules stand against it"
    if baseline is not None and scope:
        count = len(unexpected)
        yield (
            f"{count} unexpected against the baseline" if count else "nothing unexpected against the baseline"
        )
        if baseline.flaky:
            yield f"{len(baseline.flaky)} flaky, reported apart"
