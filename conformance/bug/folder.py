"""The folder of a finding: a report for a tracker, its exchange alone, and the script that plays it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from conformance.bug.exchange import Exchange, endpoint_of, lines_of
from conformance.bug.handed import Handed, handed
from conformance.bug.markdown import markdown
from conformance.causes.diagnosis import RED
from conformance.evidence.capture import write_capture
from conformance.evidence.kinds import EvidenceError, Judged, Line
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult
from conformance.render.report import Report
from spec.rules import Role

REPORT, CAPTURE, SCRIPT = "report.md", "exchange.pcapng", "reproduce.py"
AT_ONCE = 8
"""Scripts that are proved at once; most of the time they wait."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one finding: where it was written, and whether there is a script."""

    judged: Judged
    folder: Path
    handed: Handed


def findings_of(report: Report, rule: str | None) -> list[tuple[RuleResult, Judged]]:
    """Give the tests that found what a broker has to answer for, of one rule or of all.

    Raises EvidenceError where there is none, and for a run of a client.
    """
    if report.started.role is not Role.SERVER:
        raise EvidenceError(f"{report.name} is of a client, and a script plays one")
    found = [
        (result, each)
        for result in report.results
        if rule in (None, result.rule)
        for each in result.tests
        if each.verdict in RED and each.connection is not None and result.rule in report.rules
    ]
    if not found:
        raise EvidenceError(f"{report.name} has no finding{f' on {rule}' if rule else ''} that frames show")
    return found


def write_all(
    report: Report, rule: str | None, output: Path, tells: Callable[[int, int], None] = lambda *_: None
) -> list[Written]:
    """Write a folder for each finding; `tells` hears how many of how many are written."""
    found = findings_of(report, rule)
    alone = len(found) == 1 and rule is not None
    folders = [output] if alone else [output / name for name in _names(each.rule for _, each in found)]
    of_test, of_connection = _by_test(report.lines)
    endpoint = endpoint_of(report.lines)

    def write(number: int) -> Written:
        judged = found[number][1]
        # What everybody's connections show may be found on a connection of another test.
        tests = dict.fromkeys((judged.test, of_connection.get(judged.connection or "")))
        lines = [line for test in tests for line in of_test.get(test, ())]
        return _write(report, judged, lines_of(lines, judged), endpoint, folders[number])

    done: list[Written] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for each in pool.map(write, range(len(found))):
            done.append(each)
            tells(len(done), len(found))
    return done


def _names(rules: Iterable[str]) -> list[str]:
    """Name folders after rules; of several of one rule each has a number."""
    counts: Counter[str] = Counter()
    named = []
    for each in rules:
        counts[each] += 1
        named.append(each.replace("/", "_") + ("" if counts[each] == 1 else f"-{counts[each]}"))
    return named


def _by_test(lines: Sequence[Line]) -> tuple[Mapping[str | None, list[Line]], Mapping[str, str | None]]:
    of_test: defaultdict[str | None, list[Line]] = defaultdict(list)
    of_connection: dict[str, str | None] = {}
    for line in lines:
        of_test[line.test].append(line)
        connection = getattr(line.event, "connection", None)
        if connection and not isinstance(line.event, Judged):
            of_connection.setdefault(connection, line.test)
    return of_test, of_connection


def _write(report: Report, judged: Judged, lines: Sequence[Line], endpoint: str, folder: Path) -> Written:
    started, rule = report.started, report.rules[judged.rule]
    about = printable(f"{judged.rule} on {started.product} {started.version}: {judged.signature}")
    made = handed(Exchange(lines, judged, started.run, endpoint), about, rule.document, SCRIPT)
    folder.mkdir(parents=True, exist_ok=True)
    write_capture(lines, folder / CAPTURE, report.began, started.role)
    if made.text:
        (folder / SCRIPT).write_text(made.text, encoding="utf-8")
    (folder / REPORT).write_text(markdown(report, judged, made, SCRIPT, CAPTURE), encoding="utf-8")
    return Written(judged, folder, made)
