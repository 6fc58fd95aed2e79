import itertools
import json
from collections.abc import Iterable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console
from rich.text import Text

from conformance.evidence.printable import printable
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Score, Standing
from reports.compare.comparison import GRID, Change, Comparison, Kind, compare
from reports.compare.comparison_text import as_json, as_markdown, show
from reports.model.findings import Build, Column, Finding
from spec.rules import Level

RULE = "x-1/queue.purge"
HOSTILE = "\x1b[31m<script>alert(1)</script>[bold]x|`**\u202e\n\n# head"
pairs = list(itertools.product(Verdict, Verdict))
verdicts = st.sampled_from(Verdict)


def column(findings: Iterable[Finding] = (), **changes: Any) -> Column:
    values: dict[str, Any] = {
        "build": Build("Peer", "1.0", "embedded"),
        "run": "r1",
        "folder": "runs/r1",
        "started": "2026-11-20T12:00:00.000000Z",
        "suite": "0.1.0",
        "level": "should",
        "profile": "document",
        "standing": Standing.NOT_CERTIFIED,
        "sentence": "not certified",
        "scores": (Score(Level.MUST, 10, 2, Standing.NOT_CERTIFIED),),
        "documents": ({"prefix": "x-1", "sha256": "00"},),
        "runs": 1,
        "partial": 0,
        "findings": {each.rule: each for each in findings},
    }
    return Column(**(values | changes))


def finding(verdict: Verdict = Verdict.PASS, **changes: Any) -> Finding:
    return replace(Finding(test="", rule=RULE, verdict=verdict, seen=(verdict,)), **changes)


def changed(old: Finding, new: Finding) -> Change | None:
    changes = compare(column([old]), column([new])).changes
    return changes[0] if changes else None


def test_every_pair_of_verdicts_is_in_the_grid() -> None:
    assert sorted(GRID) == sorted(pairs)
    assert len(pairs) == 81


@pytest.mark.parametrize(("old", "new"), pairs)
def test_a_regression_is_a_rise_of_severity_and_nothing_else(old: Verdict, new: Verdict) -> None:
    change = changed(finding(old), finding(new))
    assert (change is not None) == (old is not new)
    assert bool(change and change.regression) == (new.severity > old.severity)


@pytest.mark.parametrize(("old", "new"), pairs)
def test_the_word_fits_the_verdicts(old: Verdict, new: Verdict) -> None:
    kind = GRID[old, new]
    rise = new.severity - old.severity
    assert (kind is Kind.NEWLY_FAILING) == (rise > 0 and new is Verdict.FAIL)
    unjudged = (Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.NOT_RUN)
    assert (kind is Kind.NEWLY_OPEN) == (rise > 0 and new in unjudged)
    assert (kind is Kind.NEWLY_MISSED) == (rise > 0 and new is Verdict.WARN)
    assert (kind is Kind.NEWLY_PASSING) == (rise < 0 and new in (Verdict.PASS, Verdict.INFO))
    assert (kind is Kind.LESS_SEVERE) == (rise < 0 and new not in (Verdict.PASS, Verdict.INFO))
    assert (kind in (Kind.CHANGED_FINDING, Kind.CHANGED_READING)) == (rise == 0)
    assert (kind is Kind.CHANGED_READING) == ({old, new} <= {Verdict.PASS, Verdict.INFO})


def test_regressions_come_first() -> None:
    told = [kind.regression for kind in Kind]
    assert told == sorted(told, reverse=True)


@given(
    st.dictionaries(st.sampled_from("abcdef"), verdicts), st.dictionaries(st.sampled_from("abcdef"), verdicts)
)
def test_each_rule_is_said_once_and_there_and_back_never_both_regress(
    before: dict[str, Verdict], after: dict[str, Verdict]
) -> None:
    old = column(finding(verdict, rule=rule) for rule, verdict in before.items())
    new = column(finding(verdict, rule=rule) for rule, verdict in after.items())
    there, back = compare(old, new), compare(new, old)
    named = [change.rule for change in there.changes]
    assert len(named) == len(set(named))
    assert len(named) + there.same == len({*before, *after})
    assert not {each.rule for each in there.regressions} & {each.rule for each in back.regressions}
    assert compare(old, old).changes == ()
    assert there.exit_status == int(any(after[r].severity > before[r].severity for r in {*before} & {*after}))


@given(st.sets(verdicts, min_size=1), st.sets(verdicts, min_size=1))
def test_alternation_alone_is_no_regression(before: set[Verdict], after: set[Verdict]) -> None:
    """Whatever each side happened to give last, only what overlaps in nothing is a change of the build."""
    old, new = (
        finding(next(each for each in Verdict if each in seen), seen=tuple(v for v in Verdict if v in seen))
        for seen in (before, after)
    )
    change = changed(old, new)
    flaky = old.flaky or new.flaky
    if change is None:
        assert not flaky or old == new
    elif flaky:
        assert change.flaky
        rises = min(v.severity for v in after) > max(v.severity for v in before)
        assert change.regression == rises


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ((Verdict.PASS,), (Verdict.FAIL, Verdict.PASS), Kind.NEWLY_FLAKY),
        ((Verdict.FAIL, Verdict.PASS), (Verdict.FAIL, Verdict.PASS), Kind.STILL_FLAKY),
        ((Verdict.FAIL, Verdict.PASS), (Verdict.FAIL,), Kind.NO_LONGER_FLAKY),
        ((Verdict.WARN, Verdict.PASS), (Verdict.FAIL,), Kind.NEWLY_FAILING),
        ((Verdict.FAIL, Verdict.WARN), (Verdict.PASS,), Kind.NEWLY_PASSING),
    ],
)
def test_flaky_rules_are_told_apart(
    before: tuple[Verdict, ...], after: tuple[Verdict, ...], kind: Kind
) -> None:
    change = changed(finding(before[0], seen=before), finding(after[0], seen=after))
    assert change is not None
    assert (change.kind, change.flaky) == (kind, True)


@pytest.mark.parametrize("flaky", [False, True])
def test_a_rule_on_one_side_only_is_no_regression(flaky: bool) -> None:
    alone = finding(Verdict.FAIL, seen=(Verdict.FAIL, Verdict.PASS) if flaky else (Verdict.FAIL,))
    gone, come = compare(column([alone]), column()), compare(column(), column([alone]))
    assert [each.kind for each in gone.changes] == [Kind.ONLY_OLD]
    assert [each.kind for each in come.changes] == [Kind.ONLY_NEW]
    assert gone.exit_status == come.exit_status == 0
    assert come.changes[0].flaky is flaky


def test_the_same_verdict_for_another_reason_is_a_changed_finding() -> None:
    change = changed(finding(Verdict.FAIL, signature="404"), finding(Verdict.FAIL, signature="504"))
    assert change is not None
    assert (change.kind, change.regression) == (Kind.CHANGED_FINDING, False)


def test_a_reset_instead_of_an_end_is_no_change() -> None:
    signatures = [f"stream ended ({how}) instead of close" for how in ("fin", "rst")]
    assert changed(*(finding(Verdict.WARN, signature=each) for each in signatures)) is None
    other = finding(Verdict.WARN, signature="silence instead of close")
    assert changed(finding(Verdict.WARN, signature=signatures[0]), other) is not None


def test_another_reading_is_a_changed_reading() -> None:
    change = changed(finding(Verdict.WARN, reading="one"), finding(Verdict.WARN, reading="other"))
    assert change is not None
    assert change.kind is Kind.CHANGED_READING


def test_what_makes_the_sides_less_comparable_is_said() -> None:
    same = column()
    assert compare(same, same).cautions == ()
    other = column(suite="0.2.0", profile="vendor", level="must", partial=1, documents=())
    told = "\n".join(compare(same, other).cautions)
    for words in ("suites: 0.1.0 and 0.2.0", "levels", "profiles", "documents", "the new one rests on"):
        assert words in told


def whole() -> Comparison:
    old = column(
        [
            finding(),
            finding(Verdict.FAIL, rule="x-1/b", signature="404"),
            finding(rule="x-1/gone"),
            finding(Verdict.INFO, rule="x-1/read", reading="one"),
        ]
    )
    new = column(
        [
            finding(Verdict.FAIL, signature=HOSTILE, level=HOSTILE),
            finding(rule="x-1/b"),
            finding(Verdict.ERROR, rule=HOSTILE),
            finding(Verdict.INFO, rule="x-1/read", reading=HOSTILE),
        ],
        build=Build(HOSTILE, "2.0", HOSTILE),
        suite=HOSTILE,
    )
    return compare(old, new)


def on_terminal(comparison: Comparison, width: int = 120, terminal: bool = False) -> str:
    console = Console(file=StringIO(), width=width, force_terminal=terminal, no_color=True)
    show(comparison, console)
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 120, 300])
def test_terminal_says_it_all_in_printable_characters(width: int) -> None:
    told = on_terminal(whole(), width)
    assert "1 regression; rules changed: 5, unchanged: 0" in told
    assert all(each.isprintable() for each in told.replace("\n", ""))
    assert "must 2 of 10" in told
    assert "not certified" in told
    assert r"\x1b[31m<script>" in told
    assert [line for line in told.splitlines() if line.startswith(RULE)] == [
        f"{RULE}  newly failing  {printable(HOSTILE)}  ✓ pass  ✗ fail: {printable(HOSTILE)}"
    ]


def test_counts_come_first_and_what_one_side_did_not_select_is_one_line() -> None:
    old = column([finding(rule=f"x-1/rule-{number}") for number in range(300)])
    told = on_terminal(compare(old, column([finding(rule="x-1/rule-0"), finding(rule="x-1/more")])))
    lines = told.splitlines()
    assert lines[0] == "no regression; rules changed: 300, unchanged: 1"
    assert lines[1] == "only in old  299  the new one says nothing of it"
    assert lines[2] == "only in new  1  the old one says nothing of it"
    assert "x-1/" not in told


def test_on_a_terminal_a_change_is_one_line_of_its_width() -> None:
    told = Text.from_ansi(on_terminal(whole(), 100, terminal=True)).plain.splitlines()
    rows = [line for line in told if line.startswith(("rule", RULE, "x-1/"))]
    assert len(rows) == 4
    assert max(map(len, rows)) <= 100


def test_terminal_of_equal_sides_is_short() -> None:
    told = on_terminal(compare(column([finding()]), column([finding()])))
    assert "no regression; rules changed: 0, unchanged: 1" in told
    assert "newly" not in told


def test_json_says_the_same_in_ascii() -> None:
    text = as_json(whole())
    assert text.isascii()
    told = json.loads(text)
    assert told["regressions"] == 1
    assert sum(told["counts"].values()) == len(told["changes"]) == 5
    first = told["changes"][0]
    assert (first["rule"], first["kind"], first["regression"]) == (RULE, "newly failing", True)
    assert first["new"]["signature"] == HOSTILE
    assert told["new"]["scores"][0] == {
        "level": "must", "judged": 10, "against": 2, "standing": "not certified",
    }  # fmt: skip


def test_markdown_lets_nothing_of_a_peer_become_markup() -> None:
    text = as_markdown(whole())
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<script>" not in text
    assert html.count("<h2>") == 1
    assert "<h1>" not in html
    assert "<strong>1 regression" in html
    assert html.count("<strong>") == 1
    assert all(each.isprintable() for each in text.replace("\n", ""))
    for kind in Kind:
        assert (f"### {kind} " in text) == bool(whole().of(kind))


def test_the_same_comparison_renders_to_the_same_octets() -> None:
    old, new = column([finding(rule="b"), finding(rule="a")]), column([finding(Verdict.FAIL, rule="a")])
    turned = replace(old, findings=dict(reversed(list(old.findings.items()))))
    for render in (as_json, as_markdown, on_terminal):
        assert render(compare(old, new)) == render(compare(turned, new))
