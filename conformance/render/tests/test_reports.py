"""All reports of a run tell the same, whatever came and whatever a peer said."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from allure_commons import model2
from lxml import etree

from conformance.evidence.kinds import AnyEvent, EvidenceError, Interrupted, Line, RunEnded, RunStarted
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit, Standing
from conformance.render import rendering
from conformance.render.alluredir import Followed
from conformance.render.rendering import render_beside, render_files
from conformance.render.report import Report, ended_event, report_of
from conformance.render.summary import GITHUB, Site, summary
from conformance.render.tests.reports import allure_results, page, told_by_all
from conformance.render.tests.samples import RULE, judged, lines_of, rule
from harness.wire.journal import Direction, Expected, Grade, Octets, Opened
from spec.rules import Level

RULES = [rule(f"x-1/{verdict}", section=f"section.{verdict}") for verdict in Verdict]
HOSTILE = [
    "<script>alert('owned')</script><img src=x onerror=alert(1)>",
    "`one` ``two`` ```three``` ~~~",
    "| a | b | \\| c |",
    "[x](javascript:alert(1)) ![y](http://127.0.0.1/z) <http://127.0.0.1> www.example.com",
    "a\nnot ok 1 - b\n  ...\n---\nBail out!\r\n1..0",
    "\x1b[31mred\x1b]0;title\x07 \x00 \x9b2J \u202egnirts \ud800",
    "works # TODO later # SKIP never \\# TODO",
    "\n\n## heading\n\n</pre></code></div></details>\n\n- item <!-- ",
    "]]></failure><!ENTITY x 'y'>&amp;&lt; \uffff",
    "@someone #1 !2 :smile: $x^2$ a@b.example {{ y }} ${z}",
    "key=value\\u0041 \\",
]


def started(rules: Sequence[Any] = RULES, **more: Any) -> RunStarted:
    ids = tuple(each.id for each in rules)
    return RunStarted(run="r1", suite="0.1.0", target="amqp://127.0.0.1:1", selected=ids, **more)


def finding(verdict: Verdict, says: str) -> list[AnyEvent]:
    """Give a test that came to `verdict` on a connection of its own, where the peer said `says`."""
    on, test = f"c-{verdict}", f"x-1/{verdict}"
    met = verdict in (Verdict.PASS, Verdict.INFO)
    grade = Grade.PREFERRED if met else Grade.UNMET
    return [
        Opened(0.0, on, "127.0.0.1:1", "x-1"),
        Octets(0.1, on, Direction.SENT, b"ask", "ask"),
        Octets(0.2, on, Direction.RECEIVED, b"told", says),
        Expected(0.2, on, ("legal", says), says, grade, "", 2, 0.1),
        judged(
            verdict, test, signature="" if met else says, detail=says, expected=("legal", says), actual=says,
            cause=says, reading=says, connection=on, frame=2,
        ),
    ]  # fmt: skip


def stream(says: str = "told") -> list[Line]:
    """Give a whole run with each of the nine verdicts."""
    lines = lines_of([started(product=says, version=says, banner={says: says})], None)
    for verdict in Verdict:
        lines += lines_of(finding(verdict, says), f"x-1/{verdict}")
    return [*lines, *lines_of([RunEnded({}, 1)], None)]


def written(lines: Sequence[Line], folder: Path, rules: Sequence[Any] = RULES) -> Report:
    report = report_of(lines, rules, "runs/1", 1_000_000.0)
    render_files(report, folder)
    return report


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lives", [True, False])
def test_what_is_written_beside_is_the_same_also_where_who_writes_it_dies(
    lives: bool, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = written(stream("told"), tmp_path / "here")
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    if not lives:
        monkeypatch.setattr(rendering, "_render_aside", lambda *_: os._exit(3))
    render_beside(report, tmp_path / "beside")()
    assert contents(tmp_path / "beside") == contents(tmp_path / "here")


def test_where_no_process_can_be_it_is_written_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room() -> int:
        raise OSError("no room")

    report = written(stream("told"), tmp_path / "here")
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "fork", no_room)
    render_beside(report, tmp_path / "beside")()
    assert contents(tmp_path / "beside") == contents(tmp_path / "here")


def test_what_keeps_it_from_being_written_beside_is_raised_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    report = written(stream("told"), tmp_path / "here")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileExistsError):
        render_beside(report, tmp_path / "file")()


@pytest.mark.parametrize("says", ["told", *HOSTILE])
def test_each_of_the_nine_verdicts_is_told_the_same_everywhere(tmp_path: Path, says: str) -> None:
    report = written(stream(says), tmp_path)
    wanted = {f"x-1/{verdict}": verdict for verdict in Verdict}
    for name, told in told_by_all(report, tmp_path):
        assert told == (wanted, "not certified"), name


@pytest.mark.parametrize(
    ("events", "standing"),
    [
        ([judged(Verdict.PASS, "x-1/pass"), RunEnded({}, 0)], Standing.CERTIFIED),
        ([judged(Verdict.WARN, "x-1/pass"), RunEnded({}, 0)], Standing.CERTIFIED),
        ([judged(Verdict.FAIL, "x-1/pass"), RunEnded({}, 1)], Standing.NOT_CERTIFIED),
        ([judged(Verdict.PASS, "x-1/pass"), Interrupted("a signal"), RunEnded({}, 1)], Standing.PARTIAL),
        ([judged(Verdict.FAIL, "x-1/pass"), Interrupted("it died"), RunEnded({}, 3)], Standing.PARTIAL),
        ([judged(Verdict.PASS, "x-1/pass")], Standing.PARTIAL),
        ([], Standing.PARTIAL),
    ],
)
def test_the_certification_is_told_the_same_everywhere(
    tmp_path: Path, events: list[AnyEvent], standing: Standing
) -> None:
    rules = [rule("x-1/pass")]
    report = written(lines_of([started(rules), *events], None), tmp_path, rules)
    assert report.standing is standing
    for name, (_, told) in told_by_all(report, tmp_path):
        assert told == standing, name


def test_a_run_about_some_rules_is_partial() -> None:
    lines = lines_of([started(RULES[:1]), judged(Verdict.PASS, RULES[0].id), RunEnded({}, 0)], None)
    assert report_of(lines, RULES, "runs/1", 0.0).standing is Standing.PARTIAL


def test_a_run_that_never_began_has_no_report() -> None:
    with pytest.raises(EvidenceError, match="nothing to report"):
        report_of([], RULES, "runs/1", 0.0)


def test_a_run_that_ended_as_none_does_has_no_report() -> None:
    with pytest.raises(EvidenceError, match="no run ends with the status 7"):
        report_of(lines_of([started(), RunEnded({}, 7)], None), RULES, "runs/1", 0.0)


def test_what_a_broken_run_did_not_reach_is_not_run(tmp_path: Path) -> None:
    report = written(lines_of([started(), judged(Verdict.PASS, "x-1/pass")], None), tmp_path)
    wanted = {f"x-1/{verdict}": Verdict.NOT_RUN for verdict in Verdict} | {"x-1/pass": Verdict.PASS}
    for name, told in told_by_all(report, tmp_path):
        assert told == (wanted, "partial"), name


def test_what_the_gate_said_of_its_baseline_is_kept() -> None:
    first = report_of(stream(), RULES, "runs/1", 0.0)
    decided = first.gate.__class__(
        certified=False, met=False, reasons=first.gate.reasons, unexpected=first.gate.reasons[:1],
        apart=(), judged=9, exit_status=Exit.NOT_MET, sentence="as it was said",
        flaky=first.gate.reasons[1:2],
    )  # fmt: skip
    lines = [*stream()[:-1], *lines_of([ended_event(first.results, decided)], None)]
    again = report_of(lines, RULES, "runs/1", 0.0).gate
    assert (again.sentence, again.unexpected) == ("as it was said", decided.unexpected)
    assert again.flaky == decided.flaky != ()
    assert "as it was said" in summary(report_of(lines, RULES, "runs/1", 0.0), GITHUB)


# -- what a peer says ----------------------------------------------------------------------------------

OURS = {
    "body", "h2", "h3", "p", "strong", "b", "div", "br", "blockquote", "details", "summary", "pre", "code",
    "table", "thead", "tbody", "tr", "th", "td", "ul", "li",
}  # fmt: skip


@pytest.mark.parametrize("name", ["summary.github.md", "summary.gitlab.md"])
@pytest.mark.parametrize("says", HOSTILE)
def test_markdown_shows_a_peers_words_letter_by_letter(tmp_path: Path, says: str, name: str) -> None:
    report = written(stream(f"MARK{says}MARK"), tmp_path)
    shown = page(tmp_path / name)
    assert {each.tag for each in shown.iter()} <= OURS
    plain = written(stream("MARK told MARK"), tmp_path / "plain")
    assert [each.tag for each in shown.iter()] == [
        each.tag for each in page(tmp_path / "plain" / name).iter()
    ]
    explained = report.results[0].signature or report.results[0].deciding.detail
    assert explained
    for element in shown.iter():
        own = [element.text, *(child.tail for child in element)]
        if any("MARK" in (text or "") for text in own):
            assert element.tag in ("code", "pre")
    assert plain.standing is report.standing


@pytest.mark.parametrize("says", HOSTILE)
def test_no_report_carries_control_characters_or_lines_of_a_peer(tmp_path: Path, says: str) -> None:
    written(stream(says), tmp_path)
    written(stream("told"), tmp_path / "plain")
    for path in (each for each in tmp_path.rglob("*") if each.is_file()):
        text = path.read_text("utf-8")
        assert not [c for c in text if c != "\n" and not c.isprintable()], path
    for name in ("report.tap", "badge.svg", "allure-results/environment.properties"):
        counts = [len((base / name).read_text().split("\n")) for base in (tmp_path, tmp_path / "plain")]
        assert counts[0] == counts[1], name


@pytest.mark.parametrize("says", HOSTILE)
def test_xml_reports_have_no_element_of_a_peer(tmp_path: Path, says: str) -> None:
    written(stream(says), tmp_path)
    written(stream("told"), tmp_path / "plain")
    for name in ("junit.xml", "badge.svg"):
        tags = [
            [each.tag for each in etree.parse(base / name).iter()] for base in (tmp_path, tmp_path / "plain")
        ]
        assert tags[0] == tags[1], name


@pytest.mark.parametrize("says", HOSTILE)
def test_perl_reads_the_tap_as_meant(tmp_path: Path, says: str) -> None:
    perl = shutil.which("perl")
    if perl is None or subprocess.run([perl, "-MTAP::Parser", "-e1"], capture_output=True).returncode:
        pytest.skip("no perl with TAP::Parser here")
    written(stream(says), tmp_path)
    script = (
        "my $p = TAP::Parser->new({tap => do {local (@ARGV, $/) = shift; <>}}); $p->run;"
        "print join ',', $p->version, $p->tests_planned, scalar($p->passed), scalar($p->failed),"
        " scalar($p->skipped), scalar($p->todo), scalar($p->parse_errors);"
    )
    # It knows no version above 13; points, directives and YAML are the same there.
    text = (tmp_path / "report.tap").read_text("utf-8").replace("TAP version 14", "TAP version 13", 1)
    (tmp_path / "report.tap").write_text(text, "utf-8")
    command = [perl, "-MTAP::Parser", "-e", script, str(tmp_path / "report.tap")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told == "13,9,7,2,4,0,0"


# -- each report ---------------------------------------------------------------------------------------


def test_allure_has_steps_the_exchange_and_labels(tmp_path: Path) -> None:
    rules = [rule("x-1/fail", level=Level.SHOULD), *RULES[:2]]
    written(stream(), tmp_path, rules)
    results = {str(each["name"]): each for each in allure_results(tmp_path / "allure-results")}
    failed: Any = results["x-1/fail"]
    assert failed["status"] == "failed"
    assert failed["statusDetails"]["message"] == "fail: told"
    assert [(step["name"], step["status"]) for step in failed["steps"]] == [
        ("expect legal | told: told (unmet)", "failed")
    ]
    labels = {each["name"]: each["value"] for each in failed["labels"]}
    assert (labels["rule"], labels["severity"]) == ("x-1/fail", "normal")
    assert (labels["parentSuite"], labels["suite"]) == ("x-1", "queue.declare")
    (attached,) = failed["attachments"]
    exchange = (tmp_path / "allure-results" / attached["source"]).read_text()
    assert "sent  ask" in exchange
    assert "came  told" in exchange
    assert failed["stop"] >= failed["start"] >= 1_000_000_000


def test_allure_tells_two_judgements_of_a_test_apart(tmp_path: Path) -> None:
    events: list[AnyEvent] = [
        started(RULES[:1]),
        judged(Verdict.PASS, RULES[0].id),
        judged(Verdict.FAIL, RULES[0].id),
    ]
    written(lines_of([*events, RunEnded({}, 1)], None), tmp_path)
    found = [str(each["status"]) for each in allure_results(tmp_path / "allure-results")]
    assert sorted(found) == ["failed", "passed"]


def test_a_summary_keeps_to_its_limit_and_counts_what_it_left_out() -> None:
    report = report_of(stream("told " * 200), RULES, "runs/1", 0.0)
    whole = summary(report, GITHUB)
    bare = len(summary(report, Site(GITHUB.opening, 0)).encode())
    for limit in range(bare + 200, len(whole.encode()), 97):
        short = summary(report, Site(GITHUB.opening, limit))
        assert len(short.encode()) <= limit
    short = summary(report, Site(GITHUB.opening, len(whole.encode()) - 1500))
    assert "more findings would make this too long" in short
    assert "<b>error</b>" in short  # the worst comes first
    assert "<b>warn</b>" not in short
    assert short.endswith("</table>\n</details>\n")


def test_a_finding_comes_with_its_sentence_and_its_replay(tmp_path: Path) -> None:
    written(stream(), tmp_path)
    text = page(tmp_path / "summary.github.md").text_content()
    assert "The server MUST refuse." in text
    assert "amqp-conformance replay runs/1 x-1/fail" in text


def test_what_was_not_run_is_listed_with_its_reason(tmp_path: Path) -> None:
    written(lines_of([started(), judged(Verdict.PASS, "x-1/pass")], None), tmp_path)
    rows = [
        [cell.text_content() for cell in row]
        for row in page(tmp_path / "summary.gitlab.md").xpath("//details//tr")
    ]
    assert ["x-1/fail", "must", "○ not-run", "the run ended before: it broke"] in rows
    assert ["x-1/pass", "must", "✓ pass", ""] in rows


def allure_command() -> str | None:
    """Find the command line of Allure, 2 or 3: named by ALLURE, on the path, or in node_modules."""
    places = [os.environ.get("ALLURE"), shutil.which("allure"), "node_modules/.bin/allure"]
    return next((place for place in places if place and Path(place).exists()), None)


def test_allure_renders_the_results(tmp_path: Path) -> None:
    command = allure_command()
    if command is None:  # a program of others, of which nothing here depends; the files are looked at above
        pytest.skip("no Allure command line here: npm install allure, or name it in ALLURE")
    written(stream(HOSTILE[0]), tmp_path)
    site = tmp_path / "site"
    done = [command, "generate", str(tmp_path / "allure-results"), "-o", str(site)]
    subprocess.run(done, check=True, capture_output=True, timeout=120)
    counts = {"failed": 1, "broken": 1, "skipped": 3, "passed": 3, "unknown": 1, "total": 9}
    if (site / "widgets" / "summary.json").exists():
        shown, case = _by_allure_2(site)
    else:
        shown, case = _by_allure_3(site)
    assert shown == counts
    assert case == ("critical", "text/plain", 1)


Case = tuple[str, str, int]
"""What Allure made of a test: its severity, the type of what is attached, its steps."""


def _by_allure_2(site: Path) -> tuple[dict[str, int], Case]:
    shown = json.loads((site / "widgets" / "summary.json").read_text("utf-8"))["statistic"]
    (case,) = _cases(site / "data" / "test-cases")
    stage, extra = case["testStage"], case["extra"]
    assert [each["name"] for each in extra["categories"]] == ["✗ fail"]  # 3 has them in its own settings
    return shown, (extra["severity"], stage["attachments"][0]["type"], len(stage["steps"]))


def _by_allure_3(site: Path) -> tuple[dict[str, int], Case]:
    shown = json.loads((site / "widgets" / "statistic.json").read_text("utf-8"))
    (case,) = _cases(site / "data" / "test-results")
    kinds = [each["link"]["contentType"] for each in case["attachments"]]
    steps = [each for each in case["steps"] if each["type"] == "step" and each["name"].startswith("expect")]
    return shown, (case["groupedLabels"]["severity"][0], kinds[0], len(steps))


def _cases(folder: Path) -> list[Any]:
    read = [json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")]
    return [each for each in read if each["name"] == "x-1/fail"]


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_but_a_pass_has_a_category_that_finds_its_tests(
    tmp_path: Path, verdict: Verdict
) -> None:
    """Allure calls a warning passed: only its category says that there was one."""
    written(stream(HOSTILE[0]), tmp_path)
    results = [json.loads(each.read_text()) for each in (tmp_path / "allure-results").glob("*-result.json")]
    (result,) = (each for each in results if each["name"] == f"x-1/{verdict}")
    named = [
        each["name"]
        for each in json.loads((tmp_path / "allure-results" / "categories.json").read_text())
        if result["status"] in each["matchedStatuses"]
        and re.fullmatch(each["messageRegex"], result["statusDetails"]["message"])
    ]
    assert named == ([] if verdict is Verdict.PASS else [f"{verdict.row.symbol} {verdict}"])


@pytest.mark.parametrize("verdict", Verdict)
def test_pytests_allure_results_follow_the_table_of_verdicts(verdict: Verdict) -> None:
    followed, result = Followed(), model2.TestResult(name="test_rule[x]", status="passed")
    followed.judged = judged(verdict, signature="\x1b[31m")
    followed.report_result(result)
    assert (result.name, result.status) == (RULE, verdict.row.allure)
    assert result.statusDetails.message == f"{verdict}: \\x1b[31m"
    untouched = model2.TestResult(name="broke before it was judged", status="broken")
    followed.report_result(untouched)
    assert untouched == model2.TestResult(name="broke before it was judged", status="broken")
