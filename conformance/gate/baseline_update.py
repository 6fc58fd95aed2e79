"""`baseline update`: bring a baseline up to date with a run, leaving to a person what only a person can say.

New findings are added, those alike in one entry, with the rule's own sentence to be checked and an empty
reason, so that a gate refuses the file until somebody has argued for each. Entries go only when the run has
reached their rule and shown that they no longer fit.
Comments, order and everything about other products stay as they are.
"""

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import tomlkit
from rich.console import Console
from rich.text import Text
from tomlkit.items import AoT, Comment, Table, Whitespace

from conformance.evidence.explanation import explain
from conformance.evidence.kinds import EvidenceError, Judged, Line, RunStarted
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, rule_results
from conformance.evidence.stream import State, verified
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline import Accepted, Baseline, apply, number_of
from conformance.gate.baseline_file import PERSONAL, BaselineError, load
from conformance.gate.gate import Exit, gate
from conformance.gate.shipped import MARK
from spec.catalogue import catalogue
from spec.rules import Role, Rule

PLAIN = "as the sentence stands"
"""The reading of a finding for which the catalogue names none."""
TO_CHECK = "the rule's own: is it what decides?"
"""What stands behind a sentence that nobody has written."""
BLANK = re.compile(rf"\s*({'|'.join(PERSONAL)})\s*=\s*(\"\"|'')\s*(#.*)?")
HEAD = re.compile(r"\s*\[\[\s*(\w+)\s*\]\]")
NO_FRAME = "none: no frame decided"
EXCERPT = 200
"""Characters of the deciding frame that an entry keeps."""
ACCEPTABLE = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.WARN)
UNDECIDED = (Verdict.ERROR, Verdict.NOT_RUN, Verdict.INCONCLUSIVE, Verdict.UNTESTABLE)
"""A test that came to one of these has not reached what an entry is about."""


@dataclass(frozen=True, slots=True)
class Update:
    """What an update does to the file at `path`: its text `before` and `after`, and what was left out.

    `added` and `removed` name rule and finding. `refused` are findings no baseline can accept, such as
    errors; `expired` the entries that fit but whose day is past: only a person can prolong them.
    """

    path: Path
    before: str
    after: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    refused: tuple[str, ...]
    expired: tuple[str, ...]

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty when there is none."""
        sides = (self.before.splitlines(keepends=True), self.after.splitlines(keepends=True))
        return "".join(difflib.unified_diff(*sides, str(self.path), f"{self.path} (updated)"))

    def blank(self) -> list[str]:
        """Give the places in the new text that only a person can fill in, each as file, line and entry."""
        tables, seen, kind = tomllib.loads(self.after), Counter[str](), ""
        found = []
        for number, line in enumerate(self.after.splitlines(), 1):
            if head := HEAD.match(line):
                kind = head[1]
                seen[kind] += 1
            elif kind and (empty := BLANK.fullmatch(line)):
                found.append(f"{self.path}:{number}: {empty[1]} of {_called(tables[kind][seen[kind] - 1])}")
        return found

    def write(self) -> None:
        """Put the new text in place of the old one at once. Raises OSError."""
        unfinished = self.path.with_name(f"{self.path.name}.unfinished")
        unfinished.write_text(self.after, encoding="utf-8")
        unfinished.replace(self.path)


def update(run_dir: Path, path: Path, rules: Sequence[Rule]) -> Update:
    """Give what the run in `run_dir` changes in the baseline at `path`, which need not exist yet.

    `rules` is the whole catalogue. Raises BaselineError for a baseline that cannot be read and for a target
    without a version, EvidenceError for a run that was changed after it ended.
    """
    lines = _evidence(run_dir)
    started = _started(run_dir, lines)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    old = load(path, unfinished=True) if path.exists() else Baseline(path, ())
    results = rule_results(lines)
    about = (started.product, started.version, started.role)
    report = apply(results, old, *about, date.today(), {rule.id for rule in rules}, started.fail_on)
    decided = gate(
        results,
        rules,
        started.level,
        started.role,
        selected=set(started.selected) or None,
        baseline=report,
        fail_on=started.fail_on,
    )
    by_id = {rule.id: rule for rule in rules}
    against = (*decided.reasons, *decided.unexpected)
    asked = {reason.rule for reason in against} & by_id.keys() - report.flaky.keys()
    valid = [each for each in old.excuses if each.concerns(*about)]
    fresh, refused = _new((each for each in results if each.rule in asked), valid, started.fail_on)
    gone = [each for each in valid if not each.cause and _no_longer_applies(each, results)]
    tables = [
        _table([by_id[test.rule] for test in alike], alike[0], lines, started) for alike in _alike(fresh)
    ]
    after = _changed(path, before, gone, tables)
    return Update(
        path=path,
        before=before,
        after=after,
        added=tuple(f"{test.rule}: {test.verdict}: {test.signature}" for test in fresh),
        removed=tuple(f"{each.rule}: {each.verdict}: {each.signature}" for each in gone),
        refused=refused,
        expired=tuple(f"{each.rule}: expired on {each.expires}" for each in report.stale if each not in gone),
    )


def _called(table: dict[str, Any]) -> str:
    rules = list(table.get("rules", [table.get("rule", "an entry without a rule")]))
    return f"{rules[0]} and {len(rules) - 1} more" if len(rules) > 1 else str(rules[0])


def _evidence(run_dir: Path) -> tuple[Line, ...]:
    found, lines = verified(run_dir)
    if found.state is State.TAMPERED or not lines:
        raise EvidenceError(f"{run_dir} cannot be relied on: {found.sentence}")
    return lines


def _started(run_dir: Path, lines: Iterable[Line]) -> RunStarted:
    started = next((line.event for line in lines if isinstance(line.event, RunStarted)), None)
    if started is None:
        raise EvidenceError(f"{run_dir}: the event that says what was judged is missing")
    if not started.product or not number_of(started.version):
        raise BaselineError(
            f"{run_dir}: the target gave no product and version with a number, so no entry can be about it"
        )
    return started


def _new(
    results: Iterable[RuleResult], entries: Sequence[Accepted], fail_on: str
) -> tuple[list[Judged], tuple[str, ...]]:
    """Give the failing tests that no entry fits, one for each finding, and those that cannot be accepted."""
    found: dict[tuple[str, Verdict, str], Judged] = {}
    refused = []
    for test in (test for result in results for test in result.tests if test.verdict.fails(fail_on)):
        if any(entry.fits(test) for entry in entries):
            continue
        if test.verdict in ACCEPTABLE and test.signature:
            found.setdefault((test.rule, test.verdict, test.signature), test)
        else:
            refused.append(f"{test.rule}: {test.verdict}: {test.signature or test.detail}")
    return list(found.values()), tuple(dict.fromkeys(refused))


def _no_longer_applies(entry: Accepted, results: Iterable[RuleResult]) -> bool:
    """Say whether the run reached every test of the entry's rule and none of them is its finding."""
    result = next((each for each in results if each.rule == entry.rule), None)
    if result is None or any(entry.fits(test) for test in result.tests):
        return False
    return all(test.verdict not in UNDECIDED for test in result.tests)


def _alike(tests: Iterable[Judged]) -> list[list[Judged]]:
    """Put together, each at its first place, what one entry can argue for: one finding, read in one way."""
    found: dict[tuple[Verdict, str, str], list[Judged]] = {}
    for test in tests:
        found.setdefault((test.verdict, test.signature, test.reading), []).append(test)
    return list(found.values())


def _table(rules: Sequence[Rule], test: Judged, lines: Sequence[Line], started: RunStarted) -> Table:
    """Make the entry for `rules` that share a finding; `test` is that of the first."""
    table = tomlkit.table()
    for rule in rules if len(rules) > 1 else ():
        table.add(tomlkit.comment(f"{rule.id}: {rule.text}"))
    sentence = tomlkit.string(" … ".join(dict.fromkeys(rule.text for rule in rules)))
    for name, value in {
        **_about(rules),
        "verdict": str(test.verdict),
        "signature": test.signature,
        "sentence": sentence.comment(TO_CHECK) if sentence else sentence,
        "reading": test.reading or PLAIN,
        "frame": _frame(rules[0], test, lines),
        "reason": "",
        "product": started.product,
        "versions": _series(started.version),
        **({} if started.role is Role.SERVER else {"role": str(started.role)}),
    }.items():
        table.add(name, value)
    return table


def _about(rules: Sequence[Rule]) -> dict[str, Any]:
    if len(rules) == 1:
        return {"rule": rules[0].id}
    listed = tomlkit.array()
    listed.extend(rule.id for rule in rules)
    return {"rules": listed.multiline(True)}


def _frame(rule: Rule, test: Judged, lines: Sequence[Line]) -> str:
    says = [frame.says for frame in explain(test, rule, lines).frames if frame.deciding]
    return says[-1][:EXCERPT] if says else NO_FRAME


def _series(version: str) -> str:
    first, *others = [int(each) for each in number_of(version).split(".")]
    return f">={first}.{others[0]},<{first}.{others[0] + 1}" if others else f">={first},<{first + 1}"


# -- the file --------------------------------------------------------------------------------------------


def _changed(path: Path, before: str, gone: Sequence[Accepted], tables: Sequence[Table]) -> str:
    if not gone and not tables:
        return before
    text = before if before.endswith("\n") or not before else f"{before}\n"
    document = tomlkit.parse(text)  # it has been loaded, so it is TOML
    if document.as_string() != text:  # tables that do not stand together would be moved
        raise BaselineError(f"{path}: all [[accepted]] tables must stand together to be updated")
    if "accepted" not in document:
        if text:
            document.add(tomlkit.nl())
        document.append("accepted", tomlkit.aot())
    entries = document.item("accepted")
    if not isinstance(entries, AoT):
        raise BaselineError(f"{path}: accepted must be written as [[accepted]] tables to be updated")
    lost: dict[int, set[str]] = {}
    for each in gone:
        lost.setdefault(each.entry, set()).add(each.rule)
    wanted = _plain(document)
    left = (_without(table, lost.get(entry, set())) for entry, table in enumerate(wanted["accepted"], 1))
    wanted["accepted"] = [table for table in left if table] + [_plain(table) for table in tables]
    for table in tables:
        _append(document, entries, table)
    for entry in sorted(lost, reverse=True):
        if _without(_plain(entries[entry - 1]), lost[entry]):
            _thin(entries[entry - 1], lost[entry])
        else:
            _drop(document, entries, entry - 1)
    if not len(entries):
        del document.body[_place(document, entries)]
    after = document.as_string()
    if {"accepted": [], **tomllib.loads(after)} != wanted:
        raise BaselineError(f"{path}: cannot be updated without changing more than it should")
    return after


def _without(table: dict[str, Any], lost: Collection[str]) -> dict[str, Any]:
    if "rules" not in table:
        return {} if lost else table
    rules = table["rules"]
    kept = [rule for rule in rules if rule not in lost]
    left = {rule: rules[rule] for rule in kept} if isinstance(rules, dict) else kept
    return table | {"rules": left} if left else {}


def _thin(table: Table, lost: Collection[str]) -> None:
    rules: Any = table["rules"]
    for rule in lost:
        rules.remove(rule)  # the name of it in a list, and its key in a table


def _plain(container: Any) -> dict[str, Any]:
    unwrapped: dict[str, Any] = container.unwrap()
    return unwrapped


def _append(document: tomlkit.TOMLDocument, entries: AoT, table: Table) -> None:
    """Put an entry behind the last one; a comment above what follows the entries stays there."""
    below: list[Any] = []
    if len(entries):
        body = _end(entries[-1])
        if document.body[-1][1] is not entries:
            start = _comments(body, len(body))
            below, body[start:] = body[start:], []
        if not isinstance(body[-1][1], Whitespace):
            body.append((None, tomlkit.nl()))
    entries.append(table)
    entries[-1].trivia.indent = ""  # an empty line stands between already
    if below:
        entries[-1].value.body.extend([(None, tomlkit.nl()), *below])


def _drop(document: tomlkit.TOMLDocument, entries: AoT, place: int) -> None:
    body = _end(entries[place])
    end = max(at for at, (key, _) in enumerate(body, 1) if key is not None)
    between = body[end:]
    above = _end(entries[place - 1]) if place else document.body
    at = len(above) if place else _place(document, entries)
    start = _comments(above, at) or at  # what the file begins with is about the file
    if between and isinstance(between[0][1], Whitespace) and (not start or _blank(above[start - 1])):
        between = between[1:]
    above[start:at] = between
    del entries[place]


def _end(entry: Table) -> Any:
    """Give the lines that an entry ends in: its own, or those of its table of rules if that stands last."""
    body = entry.value.body
    while body and isinstance(body[-1][1], Table):
        body = body[-1][1].value.body
    return body


def _place(document: tomlkit.TOMLDocument, entries: AoT) -> int:
    return next(place for place, (_, item) in enumerate(document.body) if item is entries)


def _comments(body: Sequence[tuple[Any, Any]], end: int) -> int:
    while end and isinstance(body[end - 1][1], Comment):
        end -= 1
    return end


def _blank(entry: tuple[Any, Any]) -> bool:
    return isinstance(entry[1], Whitespace)


def update_baseline(run_dir: Path, path: Path, dry_run: bool, console: Console) -> int:
    """Change the file, or print the diff; say what a person has to do. Gives Exit.MET.

    Raises BaselineError for what cannot be changed.
    """
    if str(path).startswith(MARK):
        raise BaselineError(f"{path} comes with the suite and stays as it is; name a file of your own")
    change = update(run_dir, path, catalogue().rules)
    if dry_run:
        for line in change.diff.splitlines():
            console.print(Text(printable(line)), soft_wrap=True)
    elif change.diff:
        change.write()
    for what, entries in (
        ("added", change.added),
        ("removed", change.removed),
        ("cannot be accepted", change.refused),
        ("expired, and left to you", change.expired),
    ):
        for entry in entries:
            console.print(Text(f"{what}: {printable(entry)}"), soft_wrap=True)
    console.print(Text(_sum(change, dry_run)), soft_wrap=True)
    blank = [] if dry_run else change.blank()
    if blank:
        console.print(Text(f"{len(blank)} still blank, until they are filled in a gate refuses the file:"))
    for each in blank:
        console.print(Text(printable(each)), soft_wrap=True)
    return int(Exit.MET)


def _sum(change: Update, dry_run: bool) -> str:
    if not change.diff:
        return f"{change.path} is up to date"
    would = "would be " if dry_run else ""
    return f"{change.path}: {len(change.added)} {would}added, {len(change.removed)} {would}removed"
