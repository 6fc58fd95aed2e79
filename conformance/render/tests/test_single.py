"""The page of one run: whole in one file, with nothing of anybody else's in it."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from conformance.evidence.kinds import Judged, Line, TargetRestarted
from conformance.evidence.verdicts import Verdict
from conformance.render.html import single
from conformance.render.html.bars import bars
from conformance.render.html.single import page
from conformance.render.report import report_of
from conformance.render.tests.samples import exchange, judged, lines_of, rule
from conformance.render.tests.test_reports import HOSTILE, RULES, started, stream
from conformance.tests.commands import Command, environment
from spec.rules import Level, Rule

WITHOUT = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "pyarrow", "pandas", "py4j"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from conformance.commands.cli import main
main()
"""
"""The command line where nothing of Spark is installed."""


def shown(says: str = "told") -> Any:
    return page_of(stream(says))


def page_of(lines: Sequence[Line], rules: Sequence[Rule] = RULES) -> Any:
    text = page(report_of(lines, rules, "runs/1", 1_000_000.0))
    return html.fromstring(text.split("\n", 1)[1])


def shape(tree: Any) -> list[tuple[str, ...]]:
    """List the elements with the names of their attributes: what no text may change."""
    return [(str(each.tag), *sorted(map(str, each.attrib))) for each in tree.iter("*") if each.tag != "wbr"]


def test_the_file_asks_nothing_of_any_other() -> None:
    tree = shown()
    assert not tree.xpath("//@src | //link | //script | //*[@style] | //@href[not(starts-with(., '#'))]")
    assert set(tree.xpath("//@href")) <= {f"#{each}" for each in tree.xpath("//@id")}
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    (css,) = tree.xpath("//style/text()")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert "url(" not in css
    assert "@import" not in css


@pytest.mark.parametrize("says", HOSTILE)
def test_nothing_a_peer_said_becomes_markup(says: str) -> None:
    assert shape(shown(says)) == shape(shown())


def test_a_finding_shows_legal_and_came_beside_each_other_and_what_decided() -> None:
    (finding,) = shown().xpath("//details[@id='x-1/fail']")
    legal, came = finding.xpath(".//div[@class='versus']/div")
    assert [each.text_content() for each in legal.xpath("./p")] == ["legal", "told"]
    assert came.xpath("string(./p)") == "told"
    frames = finding.xpath(".//ol[@class='exchange']/li[not(@class='ends')]")
    assert [each.get("class") for each in frames] == ["sent", "came deciding"]
    assert "decides" in frames[1].text_content()


def test_the_head_of_a_finding_says_what_was_tried_as_the_terminal_does() -> None:
    (finding,) = shown("b'kept'").xpath("//details[@id='x-1/fail']")
    report = report_of(stream("b'kept'"), RULES, "runs/1", 1_000_000.0)
    (result,) = (each for each in report.results if each.rule == "x-1/fail")
    assert finding.xpath("string(./summary/small)") == report.finding(result)
    assert '"kept" (4 octets)' in finding.text_content()


def test_findings_alike_stand_together_and_the_first_shows_its_exchange() -> None:
    rules = [rule(f"x-1/{name}") for name in "abc"]
    seen = exchange("told")
    found = [
        replace(each, rule=rule.id, test=rule.id)
        for rule in rules
        for each in seen
        if isinstance(each, Judged)
    ]
    events = [started(rules), *(each for each in seen if not isinstance(each, Judged)), *found]
    tree = page_of(lines_of(events, None), rules)
    (group,) = tree.xpath("//section[@aria-labelledby='against']/details")
    assert group.get("class") == "alike"
    assert group.xpath("string(./summary)").split() == ["fail", "told", "for", "405", "3", "rules"]
    inside = group.xpath("./details[@class='finding']")
    assert [(each.get("id"), each.get("open") is not None) for each in inside] == [
        ("x-1/a", True),
        ("x-1/b", False),
        ("x-1/c", False),
    ]


def test_the_page_names_the_deaths_and_leads_to_its_parts() -> None:
    died = lines_of([TargetRestarted("after x-1/fail nobody answers")], "x-1/fail")
    tree = page_of([*stream(), *died])
    said = tree.xpath("string(//div[starts-with(@class, 'result')])")
    assert "died once and was restarted" in said
    assert "1 × nobody answers, during x-1/fail" in said
    assert tree.xpath("//nav/a/@href") == ["#against", "#missed", "#everything", "#run"]


def test_where_a_control_failed_no_expectation_is_shown_as_what_decided() -> None:
    """The last expectation was met: shown as legal and came, it would say that all was well."""
    why = "x.y was answered by silence"
    event = judged(
        Verdict.ERROR,
        "x-1/error",
        signature="silence to the control x.y",
        detail=why,
        expected=("told",),
        actual="told",
        connection="c1",
        frame=2,
    )
    seen = [each for each in exchange("told") if not isinstance(each, Judged)]
    tree = page_of(lines_of([started(), *seen, event], None))
    (finding,) = tree.xpath("//details[@id='x-1/error']")
    (box,) = finding.xpath(".//div[@class='versus']/div")
    assert [each.text_content() for each in box] == ["Decided by", why]
    assert len(finding.xpath(".//ol/li[not(@class='ends')]")) == 3
    assert not finding.xpath(".//*[contains(@class, 'deciding')]")


def test_documents_stand_in_the_order_of_the_catalogue() -> None:
    rules = [
        rule("z-1/a", document="z-1", level=Level.MAY),
        rule("z-1/b", document="z-1"),
        rule("a-1/c", document="a-1"),
    ]
    found = bars(rules, dict.fromkeys(("z-1/a", "z-1/b", "a-1/c"), Verdict.FAIL))
    assert [(each.document, [bar.level for bar in each.levels]) for each in found] == [
        ("z-1", [Level.MUST, Level.MAY]),
        ("a-1", [Level.MUST]),
    ]
    assert [(bar.judged, bar.against) for each in found for bar in each.levels] == [(1, 1)] * 3


def test_exchanges_are_drawn_up_to_a_number_and_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single, "SHOWN", 2)
    findings = shown().xpath("//details[@class='finding']")
    assert len(findings) == 5  # error, fail, inconclusive, not-run and warn
    assert len([each for each in findings if each.xpath(".//ol")]) == 3  # two against it, one missed


def test_a_page_needs_nothing_of_spark(amqp_conformance: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    amqp_conformance("run", "0-9-1/channel.open.state", "--output", run, "--parallel", "0")
    line = [sys.executable, "-c", WITHOUT, "render", str(run), "--format", "html"]
    done = subprocess.run(line, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == (run / "report.html").read_text("utf-8")
