"""JUnit XML, for the machines that read it: a suite per section, a case per test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from lxml import etree

from conformance.explanation import as_text, explain
from conformance.kinds import Judged, Line
from conformance.printable import printable
from conformance.results import RuleResult
from conformance.verdicts import Element
from spec.rules import Rule

_COUNTED = {Element.FAILURE: "failures", Element.ERROR: "errors", Element.SKIPPED: "skipped"}


def write_junit(lines: Sequence[Line], rules: Iterable[Rule], path: Path, run: str = "RUN") -> None:
    """Write the verdicts in `lines` to `path` as JUnit XML.

    `rules` is the catalogue the verdicts are about, `run` the run's folder as a user would type it.
    """
    catalogue = {rule.id: rule for rule in rules}
    judged = [line.event for line in lines if isinstance(line.event, Judged)]
    suites: dict[str, list[Judged]] = {}
    for each in judged:
        suites.setdefault(_section(catalogue.get(each.rule)), []).append(each)
    root = etree.Element("testsuites", {"name": "amqp-conformance"} | _totals(judged))
    for section, tests in suites.items():
        suite = etree.SubElement(root, "testsuite", {"name": section} | _totals(tests))
        for each in tests:
            _add_case(suite, each, catalogue.get(each.rule), lines, run)
    etree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True, pretty_print=True)


def _section(rule: Rule | None) -> str:
    return "in no document" if rule is None else printable(f"{rule.document} {rule.section}")


def _totals(tests: Sequence[Judged]) -> dict[str, str]:
    elements = [test.verdict.row.junit for test in tests]
    counts = {name: str(elements.count(element)) for element, name in _COUNTED.items()}
    return {"tests": str(len(tests)), **counts, "time": f"{sum(test.duration for test in tests):.4f}"}


def _add_case(
    suite: etree._Element, test: Judged, rule: Rule | None, lines: Sequence[Line], run: str
) -> None:
    case = etree.SubElement(
        suite,
        "testcase",
        classname=printable(test.test),
        name=printable(test.rule),
        time=f"{test.duration:.4f}",
    )
    properties = etree.SubElement(case, "properties")
    for name, value in _properties(test, rule):
        etree.SubElement(properties, "property", name=name, value=printable(value))
    kind = test.verdict.row.junit
    if kind is Element.NONE:
        return
    message = test.signature or test.detail or test.verdict.row.meaning
    element = etree.SubElement(case, str(kind), message=printable(message))
    if kind is not Element.SKIPPED:
        element.set("type", str(test.verdict))
        element.text = _text(test, rule, lines, run)


def _properties(test: Judged, rule: Rule | None) -> Iterable[tuple[str, str]]:
    yield "verdict", test.verdict
    yield "level", test.level if rule is None else rule.level
    if rule is not None:
        yield "binds", rule.binds
        yield "judged", rule.judged
    if test.reading:
        yield "reading", test.reading


def _text(test: Judged, rule: Rule | None, lines: Sequence[Line], run: str) -> str:
    if rule is None:
        return printable(test.detail or test.actual)
    alone = RuleResult(test.rule, test.verdict, (test,), test, "")
    return as_text(explain(alone, rule, lines, run=run))
