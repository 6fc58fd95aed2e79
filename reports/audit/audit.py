"""A vendor's implementation conformance statement held against what was measured.

Each claim is joined to rules of the catalogue and judged on every build of the product that is in its range
of versions, by `reports.audit.audit_table`. Statuses that agree over the builds are the claim's; where they
do not, it is version-dependent, and each build says its own. A build on which nothing settles the claim has
no say where another one has.

The command that audits ends with 0: an audit is a report. Asked to be strict it ends with 1 when a claim is
contradicted or overstated on some build (`Status.against`), for use as a gate.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from conformance.evidence.verdicts import TABLE, Verdict
from harness.wire.journal import Grade
from reports.audit.audit_table import BAD, BOASTS, GOOD, MEASURED, STATUS_OF, Measured, Status
from reports.audit.claims import ADMISSIONS, Claim, Claims, Meaning, Subject
from reports.audit.claims_join import Joined, join
from reports.model.findings import Build, Column, Finding, columns_in_order
from spec.rules import GIST, Level, Party, Role, Rule


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one rule came to on one build.

    `text` is the sentence of the document, `why` says why it settles nothing (`measured` is then open). Of
    the entries in which the vendor admits a shortfall here, `admitted` are the numbers of those that are as
    specific or more, for which it does not count, and `hedged` those of the more general ones.
    """

    rule: str
    text: str
    measured: Measured
    finding: Finding | None
    why: str = ""
    admitted: tuple[int, ...] = ()
    hedged: tuple[int, ...] = ()

    @property
    def says(self) -> str:
        """The verdict in one sentence, with the reading that makes a tolerated outcome legal."""
        if self.finding is None or self.measured is Measured.OPEN:
            return f"{self.rule}: {self.why}"
        told = f"{self.rule}: {self.finding.verdict} at level {self.finding.level}"
        if self.measured is Measured.ABSENT:
            return f"{told}: {self.finding.detail or self.finding.signature}"
        told += f": {self.finding.signature}" if self.finding.signature else ""
        if self.by_reading:
            under = f": {self.finding.reading}" if self.finding.reading else ""
            told += f" ({self.by_reading}{under})"
        return told

    @property
    def by_reading(self) -> str:
        """What an outcome is that only a reading makes legal; empty for one that needs none."""
        if self.measured is Measured.TOLERATED:
            return str(self.measured)
        recorded = self.measured is Measured.KEPT and self.finding and self.finding.verdict is Verdict.INFO
        return "legal either way, and recorded" if recorded else ""

    @property
    def replay(self) -> str:
        """The command that plays this rule again."""
        folder = self.finding.folder if self.finding else ""
        return shlex.join(["amqp-conformance", "replay", folder or "RUN", self.rule])


@dataclass(frozen=True, slots=True)
class OnBuild:
    """What became of a claim on one build, the sentence that says why, and all it rests on."""

    build: Build
    status: Status
    measured: Measured
    sentence: str
    evidence: tuple[Measurement, ...]

    @property
    def against(self) -> tuple[Measurement, ...]:
        """What speaks against the claim, if anything does."""
        if not self.status.against:
            return ()
        return tuple(each for each in self.evidence if each.measured in BAD and not each.admitted)


@dataclass(frozen=True, slots=True)
class Audited:
    """What became of a claim over all builds; `rules` are the identities it was joined to."""

    claim: Claim
    status: Status
    sentence: str
    rules: tuple[str, ...]
    builds: tuple[OnBuild, ...]

    @property
    def against(self) -> bool:
        return any(each.status.against for each in self.builds)

    @property
    def plain(self) -> bool:
        """True where the status says all: builds came to the same, no reading decided, nothing is noted."""
        by_reading = any(e.by_reading for each in self.builds for e in each.evidence)
        return not by_reading and not self.claim.note and len({each.sentence for each in self.builds}) == 1


@dataclass(frozen=True, slots=True)
class Audit:
    """A whole audit; `results` in the order of the claims.

    `builds` were measured, `left_out` says of the other ones why they were not, `unclaimed` are the rules
    of the documents in question of which no entry says anything.
    """

    claims: Claims
    builds: tuple[Build, ...]
    left_out: tuple[str, ...]
    results: tuple[Audited, ...]
    unclaimed: tuple[str, ...]

    def of(self, status: Status) -> tuple[Audited, ...]:
        """Give the results of one status, in the order of the claims."""
        return tuple(each for each in self.results if each.status is status)

    @property
    def sentence(self) -> str:
        counts = Counter(each.status for each in self.results)
        told = [f"{counts[each]} {each}" for each in Status if counts[each]]
        sentence = f"{len(self.results)} claims: {', '.join(told) or 'none'}"
        resting = {each.rule for result in self.results for build in result.builds for each in build.against}
        return (
            f"{sentence}; what speaks against claims rests on {len(resting)} rules" if resting else sentence
        )

    def exit_status(self, strict: bool) -> int:
        """Give what the command ends with: 1 when `strict` and a claim has something against it, else 0."""
        return int(strict and any(each.against for each in self.results))


def audit(
    claims: Claims, columns: Sequence[Column], rules: Sequence[Rule], aliases: Mapping[str, str] | None = None
) -> Audit:
    """Hold every one of `claims` against `columns`.

    `rules` is the catalogue, `aliases` lead from retired identities to living ones. Columns of other
    products, and of versions that no claim is about, are left out; several of one build are its runs.
    """
    ordered = columns_in_order(_by_build(columns))
    ours = [each for each in ordered if _is_of(each.build, claims)]
    measured = [each for each in ours if any(c.concerns(each.build.version) for c in claims.claims)]
    joined = {claim.number: join(claim, rules, aliases or {}) for claim in claims.claims}
    admissions = _admissions(claims.claims, joined)
    documents = {claim.document for claim in claims.claims}
    covered = {rule.id for each in joined.values() for rule in each.rules}
    return Audit(
        claims,
        tuple(each.build for each in measured),
        tuple(_why_left_out(each, claims, each in ours) for each in ordered if each not in measured),
        tuple(_audited(claim, joined[claim.number], measured, admissions) for claim in claims.claims),
        tuple(rule.id for rule in rules if rule.document in documents and rule.id not in covered),
    )


def _by_build(columns: Iterable[Column]) -> Iterable[Column]:
    """Make one column of each build: the newest run speaks, and verdicts that differ make a rule flaky."""
    runs: dict[Build, list[Column]] = {}
    for column in sorted(columns, key=lambda each: (each.started, each.run), reverse=True):
        runs.setdefault(column.build, []).append(column)
    for of_one in runs.values():
        told: dict[str, list[Finding]] = {}
        for column in of_one:
            for finding in column.findings.values():
                if not (column.partial == column.runs and finding.verdict is Verdict.NOT_RUN):
                    told.setdefault(finding.rule, []).append(finding)
        yield replace(of_one[0], findings={rule: _newest(found) for rule, found in told.items()})


def _newest(found: Sequence[Finding]) -> Finding:
    seen = {verdict for each in found for verdict in (*each.seen, each.verdict)}
    return replace(found[0], seen=tuple(row.verdict for row in TABLE if row.verdict in seen))


def called(build: Build) -> str:
    """Name a build and how it was reached: one version may be measured in several configurations."""
    return f"{build.name} @ {build.target}"


def _is_of(build: Build, claims: Claims) -> bool:
    return build.product.casefold() == claims.product.casefold() and build.role is Role.SERVER


def _why_left_out(column: Column, claims: Claims, same: bool) -> str:
    why = "a version that no entry is about" if same else f"another product than {claims.product}"
    if column.build.role is not Role.SERVER:
        why = "no server"
    return f"{called(column.build)}: {why}"


_Admissions = Mapping[str, Sequence[Claim]]


def _admissions(claims: Iterable[Claim], joined: Mapping[int, Joined]) -> _Admissions:
    """Find, by rule, the claims in which the vendor says that something is missing there."""
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.meaning in ADMISSIONS:
            for rule in joined[claim.number].rules:
                found.setdefault(rule.id, []).append(claim)
    return found


def _audited(claim: Claim, joined: Joined, columns: Iterable[Column], admissions: _Admissions) -> Audited:
    def unverified(why: str) -> Audited:
        return Audited(claim, Status.NOT_VERIFIED, why + _noted(claim), identities, ())

    identities = tuple(rule.id for rule in joined.rules)
    if joined.why:
        return unverified(joined.why)
    concerned = [each for each in columns if claim.concerns(each.build.version)]
    builds = tuple(_on_build(claim, joined.rules, column, admissions) for column in concerned)
    if not builds:
        return unverified("no build that it is about was measured")
    settled = [each for each in builds if each.status is not Status.NOT_VERIFIED] or list(builds)
    statuses = {each.status for each in settled}
    status = statuses.pop() if len(statuses) == 1 else Status.VERSION_DEPENDENT
    told = [each for each in builds if each in settled or any(e.finding for e in each.evidence)]
    return Audited(claim, status, _over_builds(told, status) + _noted(claim), identities, builds)


def _noted(claim: Claim) -> str:
    return f"; note: {claim.note}" if claim.note else ""


def _over_builds(builds: Iterable[OnBuild], status: Status) -> str:
    """Say what the claim came to, with the builds that came to it; one that differs says its own status."""
    told: dict[str, list[str]] = {}
    for each in builds:
        head = "" if each.status is status else f"{each.status}: "
        told.setdefault(head + each.sentence, []).append(called(each.build))
    return "; ".join(f"{sentence} [{', '.join(names)}]" for sentence, names in told.items())


def _on_build(claim: Claim, rules: Sequence[Rule], column: Column, admissions: _Admissions) -> OnBuild:
    evidence = tuple(_evidence(claim, rule, column, admissions) for rule in rules)
    single = claim.subject is Subject.RULE or (claim.subject is Subject.PROSE and len(rules) == 1)
    measured = _of_rule(evidence[0]) if single else _together(evidence)
    status = STATUS_OF[measured, claim.meaning]
    sentence = _of_one(claim, evidence[0]) if single else _of_many(claim, measured, evidence)
    if status is Status.NOT_VERIFIED and measured is not Measured.OPEN:
        sentence += f"; {_FREE if claim.meaning is Meaning.UNUSED else _UNSETTLED[measured]}"
    return OnBuild(column.build, status, measured, sentence, evidence)


_FREE = "the rule is about what is owed to whoever uses the freedom, not about whether it is used"
_UNSETTLED = {
    Measured.ABSENT: "without an occasion it is neither kept nor broken",
    Measured.SO_FAR: "what is missing need not be among them",
    Measured.QUALIFIED: "the statement takes back part of it itself",
}
"""Why something that was measured settles nothing, where it settles nothing."""


def _evidence(claim: Claim, rule: Rule, column: Column, admissions: _Admissions) -> Measurement:
    finding = column.findings.get(rule.id)
    if why := _why_open(rule, finding):
        return Measurement(rule.id, rule.text, Measured.OPEN, finding, why)
    assert finding is not None  # else it is open
    measured = MEASURED[finding.verdict]
    if measured is Measured.MISSED and finding.grade not in ("", Grade.UNMET):
        measured = Measured.TOLERATED
    admitted: tuple[int, ...] = ()
    hedged: tuple[int, ...] = ()
    if measured in BAD and claim.meaning in BOASTS:
        said = [each for each in admissions.get(rule.id, ()) if each.concerns(column.build.version)]
        own = _breadth(claim)
        admitted = tuple(each.number for each in said if _breadth(each) <= own)
        hedged = tuple(each.number for each in said if _breadth(each) > own)
    return Measurement(rule.id, rule.text, measured, finding, admitted=admitted, hedged=hedged)


def _breadth(claim: Claim) -> int:
    return list(Subject).index(claim.subject)


def _why_open(rule: Rule, finding: Finding | None) -> str:
    """Say why what was measured of `rule` settles nothing; empty when it settles something."""
    if not rule.concerns(Role.SERVER):
        return f"the duty of a client or an application, and a broker was measured: {rule.reason}"
    if finding is None:
        return "not judged on this build"
    if finding.flaky:
        return f"the verdict alternates on this build: {', '.join(finding.seen)}"
    if MEASURED[finding.verdict] is Measured.OPEN:
        why = finding.detail or finding.signature or finding.verdict.row.meaning
        return f"{finding.verdict}: {why}"
    if finding.verdict is Verdict.INFO and finding.level == Level.MAY:
        seen = finding.detail or finding.actual or finding.signature
        return f"{_whose(rule)}, and either way is legal; seen: {seen}"
    return ""


def _whose(rule: Rule) -> str:
    """Say whom a sentence leaves free: one that binds the client leaves the server free in its answer."""
    if rule.binds in (Party.CLIENT, Party.APPLICATION):
        return f"the sentence binds the {rule.binds}, what the server makes of it is left free"
    return "the document leaves it free"


def _of_rule(evidence: Measurement) -> Measured:
    return Measured.QUALIFIED if evidence.admitted else evidence.measured


def _together(evidence: Sequence[Measurement]) -> Measured:
    """Sum up the rules of a method or class; shortfalls that the vendor admits only qualify the sum."""
    found = {each.measured for each in evidence if not each.admitted} - {Measured.OPEN}
    if found & BAD and found & GOOD:
        return Measured.PARTLY
    if found & BAD:
        return Measured.BROKEN if Measured.BROKEN in found else Measured.MISSED
    if any(each.admitted for each in evidence):
        return Measured.QUALIFIED
    if found & GOOD:
        return Measured.SO_FAR
    return Measured.LACKING if found else Measured.OPEN


def _of_one(claim: Claim, evidence: Measurement) -> str:
    told = f"{_claimed(claim)}; {evidence.says}"
    finding = evidence.finding
    if finding and evidence.measured in BAD:
        told += f"; the rule: {shorten(evidence.text, GIST, placeholder=' …')}"
        if claim.level and finding.level.upper() not in claim.level:
            told += f" (the vendor states {claim.level})"
    return f"{told}{_elsewhere(evidence)}"


def _elsewhere(evidence: Measurement) -> str:
    told = ""
    for words, numbers in (("admitted in", evidence.admitted), ("in general admitted in", evidence.hedged)):
        if numbers:
            told += f" ({words} entr{'y' if len(numbers) == 1 else 'ies'} {', '.join(map(str, numbers))})"
    return told


def _of_many(claim: Claim, measured: Measured, evidence: Sequence[Measurement]) -> str:
    """Tell the claim, how many rules came to what, and each shortfall."""
    counts = Counter(each.measured for each in evidence)
    told = ", ".join(f"{counts[each]} {each}" for each in Measured if counts[each])
    parts = [_claimed(claim), f"{measured}: of {len(evidence)} rule{'s' * (len(evidence) > 1)} {told}"]
    worth = BAD | _WORTH_TELLING.get(measured, set())
    named = [each for each in evidence if each.by_reading or each.measured in worth]
    return "; ".join([*parts, *(each.says + _elsewhere(each) for each in named)])


_WORTH_TELLING = {Measured.OPEN: {Measured.OPEN}, Measured.LACKING: {Measured.ABSENT}}
"""Which rules a sentence names besides those that are not kept, by what they came to together."""


def _claimed(claim: Claim) -> str:
    words = ", ".join(claim.words)
    return f"claimed {words}" if words == claim.meaning else f"claimed {words} ({claim.meaning})"
