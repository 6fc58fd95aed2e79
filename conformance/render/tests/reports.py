"""Reads every report back, each by a reader of its format, for tests that compare them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import junitparser
from lxml import etree, html
from markdown_it import MarkdownIt
from rich.console import Console

from conformance.evidence.verdicts import Verdict, fold
from conformance.render import terminal
from conformance.render.report import Report

Told = tuple[dict[str, Verdict], str]
"""What a report tells: the verdict of every rule, and the certification."""


def from_terminal(report: Report) -> str:
    console = Console(file=io.StringIO(), width=118, force_terminal=False, color_system=None)
    rules = tuple(report.rules.values())
    terminal.report(report.results, rules, report.lines, report.gate, console, None, report.name)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def told_by_terminal(text: str, sentence: str) -> Told:
    rows = re.findall(
        r"^ ?(\S+) +(?:must|should|may) +\S+ +\S (" + "|".join(Verdict) + r") *$", text, re.MULTILINE
    )
    # The gate is the last thing said; a standing has no word of its own on a terminal, its sentence has.
    assert "".join(sentence.split()) in "".join(text.split())
    return {rule: Verdict(verdict) for rule, verdict in rows}, sentence


def told_by_junit(path: Path) -> Told:
    parsed = junitparser.JUnitXml.fromfile(str(path))
    verdicts: dict[str, list[Verdict]] = {}
    standings = set()
    for suite in parsed:
        standings.add(_properties(suite)["certification"])
        for case in suite:
            verdict = Verdict(_properties(case)["verdict"])
            found = [type(each).__name__.lower() for each in case.result] or ["none"]
            assert found == [verdict.row.junit]
            verdicts.setdefault(case.name, []).append(verdict)
    (standing,) = standings
    return {rule: fold(each) for rule, each in verdicts.items()}, standing


def _properties(element: Any) -> dict[str, str]:
    return {each.name: each.value for each in element.child(junitparser.Properties)}


def told_by_allure(folder: Path) -> Told:
    verdicts: dict[str, list[Verdict]] = {}
    for result in allure_results(folder):
        labels = {each["name"]: each["value"] for each in result["labels"]}
        verdict = Verdict(labels["verdict"])
        assert result["status"] == verdict.row.allure
        verdicts.setdefault(labels["rule"], []).append(verdict)
    lines = (folder / "environment.properties").read_text(encoding="ascii").splitlines()
    facts = dict(line.split("=", 1) for line in lines)
    return {rule: fold(each) for rule, each in verdicts.items()}, facts["certification"]


def allure_results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*-result.json"))]


def page(path: Path) -> html.HtmlElement:
    """Read a summary as a site shows it."""
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(path.read_text("utf-8"))
    return html.fromstring(f"<body>{rendered}</body>")


def told_by_markdown(path: Path) -> Told:
    shown = page(path)
    (every,) = [each for each in shown.iter("details") if each.findtext("summary") == "every rule"]
    rows = [[cell.text_content() for cell in row] for row in every.iter("tr")][1:]
    totals = {row[0].text_content(): int(row[1].text_content()) for row in shown.xpath("./table/tbody/tr")}
    verdicts = {rule: Verdict(told.split()[-1]) for rule, _, told, _ in rows}
    counted = {told.split()[-1]: count for told, count in totals.items()}
    assert counted.pop("all") == len(verdicts)
    assert counted == {str(each): list(verdicts.values()).count(each) for each in {*verdicts.values()}}
    return verdicts, shown.find(".//strong").text_content()


def told_by_html(path: Path) -> Told:
    shown: Any = html.fromstring(path.read_text("utf-8").split("\n", 1)[1])
    rows = shown.xpath("//section[@aria-labelledby='everything']//tbody/tr")
    verdicts = {row[0].text_content(): Verdict(row[2].text_content()) for row in rows}
    drawn = shown.xpath("//section[@aria-labelledby='divided']//*[@class='divided']/li")
    counts: dict[str, int] = {}
    for word, count in (each.text_content().split() for each in drawn):
        counts[word] = counts.get(word, 0) + int(count)
    assert counts == {str(each): list(verdicts.values()).count(each) for each in {*verdicts.values()}}
    return verdicts, shown.xpath("//div[starts-with(@class, 'result')]/p")[0].text_content()


POINT = re.compile(r"(ok|not ok) (\d+) - ((?:[^#\\]|\\.)*?)( # SKIP (?:[^#\\]|\\.)*)?")


def told_by_tap(path: Path) -> Told:
    version, plan, *lines = path.read_text("utf-8").split("\n")
    assert version == "TAP version 14"
    verdicts: dict[str, Verdict] = {}
    name, word = "", ""
    facts: dict[str, str] = {}
    for line in lines:
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            facts[key] = value
        elif point := POINT.fullmatch(line):
            assert int(point[2]) == len(verdicts) + 1
            word = point[1] + (" # SKIP" if point[4] else "")
            name = re.sub(r"\\(.)", r"\1", point[3])
        elif line.startswith("  verdict: "):
            verdicts[name] = Verdict(json.loads(line.partition(": ")[2]))
            assert word == verdicts[name].row.tap
        else:
            assert not line or line.startswith("  ")
    assert plan == f"1..{len(verdicts)}"
    return verdicts, facts["certification"]


def told_by_badge(path: Path) -> str:
    texts = etree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")
    return str([each.text for each in texts][1]).rpartition(":")[0]


def told_by_all(report: Report, folder: Path) -> Iterable[tuple[str, Told]]:
    """Give what each report of `folder` tells; the badge tells no verdicts, so it is given the report's."""
    verdicts = {result.rule: result.verdict for result in report.results}
    told, sentence = told_by_terminal(from_terminal(report), report.summary()["sentence"])
    assert sentence.startswith("certified") == (report.standing == "certified")
    yield "terminal", (told, str(report.standing))
    yield "junit", told_by_junit(folder / "junit.xml")
    yield "allure", told_by_allure(folder / "allure-results")
    yield "github", told_by_markdown(folder / "summary.github.md")
    yield "gitlab", told_by_markdown(folder / "summary.gitlab.md")
    yield "html", told_by_html(folder / "report.html")
    yield "tap", told_by_tap(folder / "report.tap")
    yield "badge", (verdicts, told_by_badge(folder / "badge.svg"))
