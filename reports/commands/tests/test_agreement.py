"""From a real broker to every report: all tell the same numbers, and a changed setting shows as itself."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml, Properties
from lxml import html

from conformance.evidence.folder import read_run
from conformance.evidence.verdicts import Verdict, fold
from conformance.gate.baseline_file import load
from conformance.gate.tests.baselines import path_of
from conformance.tests.commands import command as any_command
from conformance.tests.endurance import WHOLE, some
from harness.targets.process import ProcessTarget, process_target
from reports.compare.comparison import Kind, compare
from reports.model.single import column_of
from spec.catalogue import catalogue

pytestmark = [pytest.mark.broker("rabbitmq"), pytest.mark.endurance]
PROPERTIES = "0-9-1/connection.start.server-properties.required-fields"
BASELINE = Path(__file__).parents[3] / "ci" / "baselines" / "rabbitmq-3.10.toml"


@dataclass(frozen=True)
class Ran:
    """A command of ours that ran."""

    status: int
    output: str


def command(*arguments: str | Path) -> Ran:
    done = any_command(*arguments, env=os.environ | {"COLUMNS": "200"}, module="reports.commands.cli")
    return Ran(done.returncode, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def rabbitmq() -> Iterator[ProcessTarget]:
    with process_target("rabbitmq") as started:
        yield started


@pytest.fixture(scope="module")
def judged(
    rabbitmq: ProcessTarget, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Path, Ran]]:
    """Judge the running RabbitMQ, by `certify` or `run`; gives the folder and what was printed."""
    url = rabbitmq.endpoint().url(with_password=True)

    def judge(verb: str, name: str, *rules: str) -> tuple[Path, Ran]:
        folder = tmp_path_factory.mktemp(name) / "run"
        options = ("--disruptive", "--parallel", "8", "--level", "should", "--verbose")
        return folder, command(verb, *rules, "--target", url, *options, "--output", folder)

    return judge


@pytest.fixture(scope="module")
def certified(judged: Callable[..., tuple[Path, Ran]]) -> tuple[Path, Ran]:
    """Certify by some rules, among them all that RabbitMQ is known to miss; by all in `make endurance`."""
    every = [rule.id for rule in catalogue().rules]
    chosen = {PROPERTIES, *(each.rule for each in load(BASELINE).accepted), *some(every, 150)}
    return judged("certify", "certified", *([] if WHOLE else sorted(chosen)))


def from_matrix(folder: Path) -> dict[str, int]:
    (build,) = json.loads((folder / "site" / "matrix.json").read_text())["builds"]
    return {verdict: count for verdict, count in build["counts"].items() if count}


def from_csv(folder: Path) -> dict[str, int]:
    lines = (folder / "site" / "matrix.csv").read_text().splitlines()[1:]
    told = (line.rpartition(",")[2] for line in lines)
    verdicts = [verdict for verdict in told if verdict]  # a rule that was not selected has none
    return {verdict: verdicts.count(verdict) for verdict in set(verdicts)}


def from_page(folder: Path) -> dict[str, int]:
    page = html.parse(folder / "site" / "matrix.html")
    told = [cell.text for cell in page.xpath("//tr[@class='rule']/td[last()]")]
    return {str(each): told.count(each) for each in Verdict if each in told}


def properties(element: Any) -> dict[str, str]:
    return {each.name: each.value for each in element.child(Properties)}


def from_junit(folder: Path) -> dict[str, int]:
    found: dict[str, list[Verdict]] = {}
    for suite in JUnitXml.fromfile(str(folder / "junit.xml")):
        for case in suite:
            told = properties(case)
            found.setdefault(case.name, []).append(Verdict(told["verdict"]))
    folded = [str(fold(each)) for each in found.values()]
    return {verdict: folded.count(verdict) for verdict in set(folded)}


def from_terminal(output: str) -> dict[str, int]:
    """Add up the lines of counts: one of the rules about every target, one of each optional document."""
    counts: Counter[str] = Counter()
    for line in re.findall(r"^\d+ of \d+ rules(?: of \S+)?: (.*)$", output, re.MULTILINE):
        told = [each for each in line.split(", ") if not each.endswith(" not selected")]
        for count, _, verdict in map(str.split, told):
            counts[verdict] += int(count)
    return dict(counts)


def test_every_report_tells_the_same_numbers(certified: tuple[Path, Ran]) -> None:
    folder, ran = certified
    counts = from_terminal(ran.output)
    assert sum(counts.values()) > 100
    assert counts[Verdict.FAIL] > 0
    for told in (from_matrix, from_csv, from_page, from_junit):
        assert told(folder) == counts, told.__name__


def test_standing_and_scores_are_told_alike(certified: tuple[Path, Ran]) -> None:
    folder, ran = certified
    (build,) = json.loads((folder / "site" / "matrix.json").read_text())["builds"]
    column = column_of(folder)
    assert build["standing"] == str(column.standing)
    assert build["sentence"] in " ".join(ran.output.split())
    assert [(each["judged"], each["against"]) for each in build["scores"]] == [
        (each.judged, each.against) for each in column.scores
    ]
    page = html.parse(folder / "site" / "matrix.html").getroot().text_content()
    for score in column.scores:
        assert f"{score.judged - score.against} of {score.judged}" in page


def test_the_exit_status_is_that_of_the_gate(certified: tuple[Path, Ran]) -> None:
    folder, ran = certified
    assert ran.status == 1
    assert str(folder / "site" / "index.html") in ran.output.replace("\n", "")
    assert read_run(folder).product == "RabbitMQ"


def test_a_setting_that_differs_shows_as_exactly_that(
    rabbitmq: ProcessTarget, judged: Callable[..., tuple[Path, Ran]], certified: tuple[Path, Ran]
) -> None:
    told = '[{<<"host">>, longstr, <<"localhost">>}]'  # RabbitMQ does not name its host by itself
    setting = f"ok = application:set_env(rabbit, server_properties, {told})."
    rabbitmq._command((str(rabbitmq._directory() / "home" / "sbin" / "rabbitmqctl"), "eval", setting))
    before = column_of(certified[0])
    # All of 0-9-1: what a watch finds rests on the other rules that were played. With 1.0 this RabbitMQ ends
    # a connection as long after a fault as an answer is waited for: what is found there is chance.
    alternating = {each.rule for each in load(path_of("rabbitmq-3.10")).flaky}
    rules = {PROPERTIES, *(each for each in before.findings if each.startswith("0-9-1/"))} - alternating
    other, _ = judged("run", "other", *sorted(rules))

    found = compare(before, column_of(other))
    left_out = [each.rule for each in found.changes if each.kind is Kind.ONLY_OLD]
    assert set(left_out) == before.findings.keys() - rules
    changes = [(each.rule, each.kind) for each in found.changes if each.rule in rules]
    assert changes == [(PROPERTIES, Kind.NEWLY_PASSING)]
    assert command("compare", certified[0], other).status == 0

    back = command("compare", other, certified[0], "--format", "json")
    assert back.status == 1
    (change,) = [each for each in json.loads(back.output)["changes"] if each["rule"] in rules]
    assert (change["rule"], change["kind"]) == (PROPERTIES, str(Kind.NEWLY_MISSED))
