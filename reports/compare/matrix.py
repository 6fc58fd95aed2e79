"""The compliance matrix: every rule of the documents judged against every build, once for page, JSON and CSV.

`matrix.json` is one object: `schema` (1), `documents` (prefix, title, revision, sha256), `builds` (what a
column says of its build, with `counts` of rules by verdict) and `rules` in the catalogue's order, those of
no document last. Each rule has `verdicts`, one per build in the order of `builds`: an object, or null when
no run of that build was about the rule. `detection` is null when the deviations were not run here.

`matrix.csv` has one line per rule and one field per build, with the verdict (` flaky` behind it when runs
of the same build differed), empty where no run was about the rule. A heading that a spreadsheet would take
for a formula, as a product can call itself anything, begins with an apostrophe.
"""

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conformance.evidence.printable import printable
from conformance.evidence.verdicts import TABLE
from reports.model.findings import Column, Finding, roles_of
from scenarios.registry import Checks
from spec.catalogue import Catalogue, Document
from spec.rules import Role, Rule

SCHEMA = 1
"""The version of matrix.json."""


class DetectionError(ValueError):
    """A file of detection results cannot be read; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What became of one deviation of a rule in a `role`: whether its own check killed it, and how."""

    deviation: str
    killed: bool
    verdict: str
    role: Role = Role.SERVER


Detection = Mapping[str, tuple[Proof, ...]]
"""The proofs of each rule that `amqp-conformance detect` judged."""


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule: its `finding` on each build (None: no run was about it), its checks and deviations.

    Counted are those of the roles in which the builds were judged.

    `rule` is None for an identity that was judged but stands in no document of this suite. `proofs` is
    None when its deviations were not run here.
    """

    identity: str
    rule: Rule | None
    checks: int
    deviations: int
    proofs: tuple[Proof, ...] | None
    findings: tuple[Finding | None, ...]

    @property
    def killed(self) -> int:
        return sum(proof.killed for proof in self.proofs or ())


@dataclass(frozen=True, slots=True)
class Section:
    """Rules of one section; `heading` is empty where it would only repeat the group's."""

    heading: str
    rows: tuple[RuleRow, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The sections of one class, domain or chapter."""

    heading: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """One document, or (with None) what no document has."""

    document: Document | None
    groups: tuple[Group, ...]

    @property
    def rows(self) -> Iterator[RuleRow]:
        return (row for group in self.groups for section in group.sections for row in section.rows)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rules by document, class and section, against builds."""

    columns: tuple[Column, ...]
    chapters: tuple[Chapter, ...]

    @property
    def rows(self) -> Iterator[RuleRow]:
        return (row for chapter in self.chapters for row in chapter.rows)


def read_detection(path: Path) -> Detection:
    """Read what `amqp-conformance detect --output` wrote. Raises DetectionError."""
    try:
        entries = json.loads(path.read_bytes())
        found: dict[str, list[Proof]] = {}
        for entry in entries:
            rule, says, killed, verdict = (entry[key] for key in ("rule", "deviation", "killed", "verdict"))
            if not (
                isinstance(killed, bool) and all(isinstance(each, str) for each in (rule, says, verdict))
            ):
                raise ValueError("an entry has a value of another type")
            found.setdefault(rule, []).append(Proof(says, killed, verdict, Role(entry["role"])))
    except OSError as failure:
        raise DetectionError(f"{path}: cannot be read ({failure.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError) as failure:
        raise DetectionError(f"{path}: not the results of a detection ({failure})") from None
    return {rule: tuple(proofs) for rule, proofs in found.items()}


def matrix(
    catalogue: Catalogue, checks: Checks, columns: Sequence[Column], detection: Detection | None = None
) -> Matrix:
    """Make the matrix of `columns`, in the order given.

    A document that no run was about, as no target spoke its protocol, has no chapter.
    """

    def row(identity: str) -> RuleRow:
        return RuleRow(
            identity=identity,
            rule=catalogue.by_identity.get(identity),
            checks=len(checks.of(identity, *roles)),
            deviations=len(checks.deviations_of(identity, *roles)),
            proofs=_proofs(detection, identity, roles),
            findings=tuple(column.findings.get(identity) for column in columns),
        )

    roles = roles_of(columns)
    judged = {identity for column in columns for identity in column.findings}
    rules = {document: _rules_of(document, catalogue) for document in catalogue.documents}
    chapters = [
        Chapter(document, _groups(own, row))
        for document, own in rules.items()
        if not columns or any(rule.id in judged for rule in own)
    ]
    strangers = sorted(judged - catalogue.by_identity.keys())
    if strangers:
        chapters.append(Chapter(None, (Group("", (Section("", tuple(map(row, strangers))),)),)))
    return Matrix(tuple(columns), tuple(chapters))


def _proofs(detection: Detection | None, identity: str, roles: Collection[Role]) -> tuple[Proof, ...] | None:
    proofs = (detection or {}).get(identity, ())
    return tuple(proof for proof in proofs if proof.role in roles) or None


def _rules_of(document: Document, catalogue: Catalogue) -> list[Rule]:
    return [rule for rule in catalogue.rules if rule.document == document.prefix]


def _groups(rules: Iterable[Rule], row: Any) -> tuple[Group, ...]:
    """Group the rules by the outermost element around them, then by section, each in document order."""
    found: dict[str, dict[str, list[RuleRow]]] = {}
    for rule in rules:
        kind, name = rule.place.path[0] if rule.place.path else ("", rule.section)
        heading = "" if rule.section in (name, f"{kind}.{name}") else rule.section
        found.setdefault(f"{kind} {name}".strip(), {}).setdefault(heading, []).append(row(rule.id))
    return tuple(
        Group(heading, tuple(Section(each, tuple(rows)) for each, rows in sections.items()))
        for heading, sections in found.items()
    )


def as_json(matrix: Matrix) -> Iterator[str]:
    """Give the text of matrix.json in pieces, one rule per line; pure ASCII whatever a peer has said."""
    documents = [chapter.document for chapter in matrix.chapters if chapter.document is not None]
    head = {
        "schema": SCHEMA,
        "documents": [
            {key: getattr(each, key) for key in ("prefix", "title", "revision", "sha256")}
            for each in documents
        ],
        "builds": [_build(column) for column in matrix.columns],
    }
    yield json.dumps(head, indent=1).removesuffix("\n}") + ',\n "rules": ['
    separator = "\n"
    for row in matrix.rows:
        yield separator + "  " + json.dumps(_told(row))
        separator = ",\n"
    yield "\n ]\n}\n"


def _build(column: Column) -> dict[str, object]:
    counts = {str(each.verdict): column.count(each.verdict) for each in TABLE}
    return {
        **asdict(column.build),
        **{name: getattr(column, name) for name in _ABOUT},
        "scores": [asdict(score) for score in column.scores],
        "counts": counts,
    }


def _told(row: RuleRow) -> dict[str, object]:
    rule = row.rule
    about = {name: getattr(rule, name, None) for name in ("document", "section", *_JUDGING)}
    detection = None if row.proofs is None else {"killed": row.killed, "of": len(row.proofs)}
    return {
        "rule": row.identity,
        **about,
        "checks": row.checks,
        "deviations": row.deviations,
        "detection": detection,
        "verdicts": [_verdict(finding) for finding in row.findings],
    }


_ABOUT = ("run", "folder", "started", "suite", "level", "profile", "standing", "sentence", "runs", "partial")
_JUDGING = ("level", "binds", "judged", "testability")


def _verdict(finding: Finding | None) -> dict[str, object] | None:
    if finding is None:
        return None
    return {name: getattr(finding, name) for name in ("verdict", "signature", "reading", "flaky", "runs")}


def as_csv(matrix: Matrix) -> str:
    """Give the text of matrix.csv (RFC 4180, UTF-8)."""
    text = io.StringIO()
    table = csv.writer(text)
    builds = [_harmless(f"{each.build.name} [{each.build.target}]") for each in matrix.columns]
    table.writerow(["rule", "document", "section", *_JUDGING, "checks", "deviations", "killed", *builds])
    for row in matrix.rows:
        about = [getattr(row.rule, name, "") for name in ("document", "section", *_JUDGING)]
        killed = "" if row.proofs is None else row.killed
        cells = [_cell(finding) for finding in row.findings]
        table.writerow([_harmless(row.identity), *about, row.checks, row.deviations, killed, *cells])
    return text.getvalue()


def _cell(finding: Finding | None) -> str:
    if finding is None:
        return ""
    return f"{finding.verdict} flaky" if finding.flaky else str(finding.verdict)


def _harmless(text: str) -> str:
    """Put `text` on one line, so that no spreadsheet takes it for a formula."""
    told = printable(text)
    return f"'{told}" if told.startswith(("=", "+", "-", "@")) else told
