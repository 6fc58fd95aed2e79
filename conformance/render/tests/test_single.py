"""The page of one run: whole in one file, with nothing of anybody else's in it."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from conformance.evidence.verdicts import Verdict
from conformance.render.html import single
from conformance.render.html.bars import bars
from conformance.render.html.single import page
from conformance.render.report import report_of
from conformance.render.tests.samples import rule
from conformance.render.tests.test_reports import HOSTILE, RULES, stream
from conformance.tests.commands import Command, environment
from spec.rules import Level

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
    text = page(report_of(stream(says), RULES, "runs/1", 1_000_000.0))
    return html.fromstring(text.split("\n", 1)[1])


def shape(tree: Any) -> list[tuple[str, ...]]:
    """List the elements with the names of their attributes: what no text may change."""
    return [(str(each.tag), *sorted(map(str, each.attrib))) for each in tree.iter("*") if each.tag != "wbr"]


def test_the_file_asks_nothing_of_any_other() -> None:
    tree = shown()
    assert not tree.xpath("//@src | //@href | //link | //script | //*[@style]")
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
