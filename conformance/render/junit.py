"""JUnit XML, for the machines that read it: a suite per section, a case per test."""

from collections.abc import Iterable, Mapping, Sequence

from lxml import etree

from conformance.evidence.explanation import as_text, connections, explain
from conformance.evidence.kinds import Judged, Line
from conformance.evidence.printable import printable
from conformance.evidence.verdicts import Element
from conformance.render.report import Report
from spec.rules import Rule

_COUNTED = {Element.FAILURE: "failures", Element.ERROR: "errors", Element.SKIPPED: "skipped"}


def junit(report: Report) -> str:
    return junit_xml(report.lines, report.rules.values(), report.name, report.summary())


def junit_xml(
    lines: Sequence[Line], rules: Iterable[Rule], run: str = "RUN", about: Mapping[str, str] | None = None
) -> str:
    """Give the verdicts in `lines` as JUnit XML; `about` becomes properties of every suite."""
    catalogue = {rule.id: rule for rule in rules}
    judged = [line.event for line in lines if isinstance(line.event, Judged)]
    suites: dict[str, list[Judged]] = {}
    for each in judged:
        suites.setdefault(_section(catalogue.get(each.rule)), []).append(each)
    seen = connections(lines)
    root = etree.Element("testsuites", {"name": "amqp-conformance"} | _totals(judged))
    for section, tests in suites.items():
        suite = etree.SubElement(root, "testsuite", {"name": section} | _totals(tests))
        _add_properties(suite, (about or {}).items())
        for each in tests:
            _add_case(suite, each, catalogue.get(each.rule), seen.get(each.connection or "", []), run)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True).decode()


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
    _add_properties(case, _properties(test, rule))
    kind = test.verdict.row.junit
    if kind is Element.NONE:
        return
    message = test.signature or test.detail or test.verdict.row.meaning
    element = etree.SubElement(case, str(kind), message=printable(message))
    if kind is not Element.SKIPPED:
        element.set("type", str(test.verdict))
        element.text = _text(test, rule, lines, run)


def _add_properties(element: etree._Element, named: Iterable[tuple[str, str]]) -> None:
    properties = etree.SubElement(element, "properties")
    for name, value in named:
        etree.SubElement(properties, "property", name=name, value=printable(value))


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
    return as_text(explain(test, rule, lines, run=run))
