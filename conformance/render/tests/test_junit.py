from pathlib import Path

import pytest
from lxml import etree

from conformance.evidence.kinds import AnyEvent
from conformance.evidence.verdicts import Verdict
from conformance.render.junit import junit_xml
from conformance.render.tests.samples import RULE, exchange, judged, lines_of, rule
from spec.rules import Level

RULES = [rule(), rule("x-1/basic.get", section="basic.get", level=Level.SHOULD)]


def written(path: Path, events: list[AnyEvent]) -> etree._Element:
    (path / "junit.xml").write_text(junit_xml(lines_of(events), RULES, run="runs/1"), encoding="utf-8")
    return etree.parse(path / "junit.xml").getroot()


def values(element: etree._Element, path: str) -> list[str]:
    found = element.xpath(path)
    assert isinstance(found, list)
    return [str(each) for each in found]


def test_a_suite_per_section_and_a_case_per_test(tmp_path: Path) -> None:
    events: list[AnyEvent] = [
        judged(Verdict.PASS, test=f"{RULE}[a]", duration=0.25),
        judged(Verdict.WARN, "x-1/basic.get"),
        judged(Verdict.INFO, test=f"{RULE}[b]", duration=0.5),
        judged(Verdict.PASS, "x-1/gone"),
    ]
    root = written(tmp_path, events)
    assert values(root, "testsuite/@name") == ["x-1 queue.declare", "x-1 basic.get", "in no document"]
    assert values(root, "testsuite[1]/testcase/@name") == [RULE, RULE]
    assert values(root, "testsuite[1]/testcase/@classname") == [f"{RULE}[a]", f"{RULE}[b]"]
    assert values(root, "testsuite[1]/@time") == ["0.7500"]
    assert values(root, "testsuite[2]//property[@name='level']/@value") == ["should"]
    assert values(root, "testsuite[2]//property[@name='verdict']/@value") == ["warn"]
    assert not values(root, "//testcase/failure | //testcase/error | //testcase/skipped")


@pytest.mark.parametrize(
    ("verdict", "element", "count"),
    [
        (Verdict.FAIL, "failure", "failures"),
        (Verdict.ERROR, "error", "errors"),
        (Verdict.NOT_RUN, "skipped", "skipped"),
        (Verdict.INCONCLUSIVE, "skipped", "skipped"),
        (Verdict.INAPPLICABLE, "skipped", "skipped"),
        (Verdict.UNTESTABLE, "skipped", "skipped"),
    ],
)
def test_each_verdict_has_its_element(tmp_path: Path, verdict: Verdict, element: str, count: str) -> None:
    root = written(tmp_path, [judged(verdict, detail="the reason"), judged(Verdict.PASS)])
    assert values(root, f"//testcase[1]/{element}/@message") == ["the reason"]
    for place in ("@", "testsuite/@"):
        numbers = {name: values(root, place + name) for name in ("tests", "failures", "errors", "skipped")}
        assert numbers == {"tests": ["2"], "failures": ["0"], "errors": ["0"], "skipped": ["0"]} | {
            count: ["1"]
        }


def test_a_failure_is_explained(tmp_path: Path) -> None:
    root = written(tmp_path, exchange())
    assert values(root, "//failure/@message") == ["queue.declare-ok channel=1 for 405"]
    (text,) = values(root, "//failure/text()")
    for part in (
        "sentence: The server MUST refuse.",
        "legal: 405 channel close | 405 connection close",
        "sent  queue.declare channel=1",
        "came  queue.declare-ok channel=1",
        "01 00 01 6f 6b 61 79",
        f"amqp-conformance replay runs/1 {RULE}",
    ):
        assert part in text


def test_what_a_peer_says_cannot_break_the_file(tmp_path: Path) -> None:
    hostile = "]]><failure/>&\x00\x1b[31m\ud800\uffff\n"
    root = written(tmp_path, [*exchange(hostile), judged(Verdict.NOT_RUN, detail=hostile)])
    shown = r"]]><failure/>&\x00\x1b[31m\ud800\uffff\n"
    assert values(root, "//failure/@message") == [f"{shown} for 405"]
    assert f"came: {shown}\n" in values(root, "//failure/text()")[0]
    assert values(root, "//skipped/@message") == [shown]
