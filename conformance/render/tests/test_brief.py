"""A run ends with what matters, on one screen: the same rows that several targets are compared by."""

import io
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from conformance.evidence.kinds import AnyEvent, Interrupted, Judged, Line, RunStarted, TargetRestarted
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit, Reason
from conformance.render.brief import brief
from conformance.render.report import Report, report_of
from conformance.render.rows import show_rows
from conformance.render.standing import deaths, standing
from conformance.render.tests.samples import judged, rule
from conformance.several.side_by_side import notable, side_by_side
from conformance.several.sides import Side
from spec.rules import Level, Rule

MUSTS = [rule(f"x-1/grammar/a.number-{number}.truncated") for number in range(30)]
SHOULDS = [rule(f"x-1/should-{number}", level=Level.SHOULD) for number in range(3)]
RULES = [*MUSTS, *SHOULDS]
DIED = "after {0} 127.0.0.1:{1} cannot be reached: Connection refused"


def reported(
    events: Iterable[AnyEvent | Line], rules: Iterable[Rule] = RULES, arguments: tuple[str, ...] = ()
) -> Report:
    ids = tuple(each.id for each in rules)
    begun = RunStarted(
        run="r",
        suite="s",
        target="process:mine",
        product="mine",
        version="1",
        selected=ids,
        arguments=arguments,
    )
    lines = [
        event if isinstance(event, Line) else Line(number / 100, "main", number, None, event)
        for number, event in enumerate([begun, *events], 1)
    ]
    return report_of(lines, rules, "runs/one", 0.0)


def dying(test: str, port: int = 5000) -> Line:
    return Line(1.0, "main", 100, test, TargetRestarted(DIED.format(test, port)))


def bad() -> list[Judged]:
    """Give a run on which every MUST is broken in a way of its own, and one SHOULD is missed."""
    broken = [
        judged(Verdict.FAIL, each.id, signature=f"answer {n} instead of none") for n, each in enumerate(MUSTS)
    ]
    missed = [judged(Verdict.WARN, SHOULDS[0].id, level=Level.SHOULD)]
    return [*broken, *missed, *(judged(Verdict.PASS, each.id, level=Level.SHOULD) for each in SHOULDS[1:])]


def told(report: Report, *, terminal: bool = False, width: int = 100, height: int = 40) -> str:
    written = io.StringIO()
    brief(report, Console(file=written, force_terminal=terminal, width=width, height=height, no_color=True))
    return Text.from_ansi(written.getvalue()).plain


def test_a_bad_run_fits_one_screen_and_says_how_often_why_and_during_what_it_died() -> None:
    report = reported([*bad(), *(dying(each.id, port) for port, each in enumerate(MUSTS[:18]))])
    shown = told(report, terminal=True)
    lines = shown.splitlines()
    assert len(lines) <= 38
    assert max(map(len, lines)) <= 100
    assert "died 18 times and was restarted" in shown
    assert "18 × cannot be reached: Connection refused, during x-1/grammar/*.truncated (18)" in shown
    assert "must      30 of 30 against it" in shown
    assert "should    0 of 3 against it, 1 missed" in shown
    assert "amqp-conformance render runs/one --format terminal" in shown


def test_a_low_terminal_gets_fewer_findings_and_their_count() -> None:
    shown = told(reported(bad()), terminal=True, height=10)
    assert shown.count("✗ fail") == 4
    assert "and 26 more" in shown


def test_equal_findings_are_one_line_on_a_terminal_and_one_each_elsewhere() -> None:
    same = [judged(Verdict.ERROR, each.id, signature="silence to the control") for each in MUSTS]
    assert f"⚡ error  {MUSTS[0].id} and 29 more  must  silence" in told(reported(same), terminal=True)
    lines = told(reported(same), width=40).splitlines()
    assert [each for each in lines if each.startswith("⚡")] == [
        f"⚡ error  {each.id}  must  silence to the control" for each in MUSTS
    ]


def test_elsewhere_nothing_is_wrapped_padded_or_cut() -> None:
    lines = told(reported(bad()), width=20).splitlines()
    assert f"✗ fail  {MUSTS[7].id}  must  answer 7 instead of none" in lines
    assert "target: process:mine" in lines
    assert not [line for line in lines if line != line.strip()]


def test_what_is_new_against_the_baseline_comes_first_even_where_it_is_less_bad() -> None:
    report = reported(bad(), arguments=("--baseline", "old.toml"))
    reasons = (Reason(SHOULDS[0].id, "warn, accepted as fail"), Reason("x-1/gone", "accepted, and no rule"))
    report = replace(report, gate=replace(report.gate, unexpected=reasons))
    shown = told(report).splitlines()
    assert shown[:2] == [
        "new  x-1/gone  accepted, and no rule",
        f"new  ! warn  {SHOULDS[0].id}  should  warn, accepted as fail",
    ]
    assert "new: 2 against the baseline" in shown
    assert "new: nothing against the baseline" in told(reported([], arguments=("--baseline=old.toml",)))
    assert "new:" not in told(reported([]))


def test_a_signature_of_one_word_gives_way_to_the_sentence() -> None:
    only = judged(Verdict.FAIL, MUSTS[0].id, signature="violated", detail="2 of 30 occasions broke it")
    shown = told(reported([only]))
    assert "2 of 30 occasions broke it" in shown
    assert "violated" not in shown


def test_what_was_asked_for_is_no_death_and_the_rest_of_the_reasons_is_counted() -> None:
    asked = Line(1.0, "main", 99, None, TargetRestarted())
    whys = [f"after x p:q no longer serves: {number}" for number in range(5)]
    report = reported([asked, *(Line(1.0, "main", 99, "x", TargetRestarted(why)) for why in whys)])
    said = {row.label: row.says for row in standing("t", report, Exit.MET)}
    assert said["deaths"] == "died 5 times and was restarted; restarted once for rules that ask for it"
    assert deaths(report)[-1] == "2 × for other reasons"
    only = reported([asked])
    assert deaths(only) == []
    assert "restarts: restarted once for rules that ask for it" in told(only)


def test_why_it_was_cut_short_is_said_once() -> None:
    cut = Interrupted("the budget is used up")
    assert told(reported([cut, cut])).count("the budget is used up") == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_several_are_compared_by_the_same_rows(terminal: bool) -> None:
    reports = [reported([*bad(), dying(MUSTS[0].id)]), reported([])]
    sides = [Side(f"t{n}", Path(f"r{n}"), Exit.NOT_MET, each) for n, each in enumerate(reports, 1)]
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, width=160, no_color=True)
    side_by_side([*sides, Side("t3", Path("r3"), Exit.UNREACHABLE, None, "it broke")], console)
    shown = " ".join(Text.from_ansi(written.getvalue()).plain.split())
    for side in sides:
        for row in standing(side.name, side.report, side.status):
            assert row.says in shown
    assert "t3: it broke" in shown
    assert "1 × cannot be reached: Connection refused, during x-1/grammar/a.number-0.truncated" in shown
    assert shown.count("amqp-conformance render runs/one --format terminal") == 2


def test_a_peers_words_stay_text() -> None:
    hostile = judged(Verdict.FAIL, MUSTS[0].id, signature="came [red]\x1b[2J\x07 of it")
    for terminal in (True, False):
        written = io.StringIO()
        brief(reported([hostile]), Console(file=written, force_terminal=terminal, width=100))
        assert "\x1b[2J" not in written.getvalue()
        assert r"[red]\x1b[2J\x07" in written.getvalue()


def test_rows_are_columns_on_a_terminal_and_plain_elsewhere_the_first_cell_whole() -> None:
    table = [("a/long-identity", "must", "some words"), ("b", "", "x")]
    written = io.StringIO()
    show_rows(table, Console(file=written), ("rule", "level", "says"))
    assert written.getvalue() == "a/long-identity  must  some words\nb  x\n"
    written = io.StringIO()
    show_rows(
        table, Console(file=written, force_terminal=True, width=20, no_color=True), ("rule", "level", "says")
    )
    lines = Text.from_ansi(written.getvalue()).plain.splitlines()
    assert lines[1] == "a/long-identity  mu…"
    assert max(map(len, lines)) <= 20


def test_what_one_side_did_not_judge_is_no_list_of_differences() -> None:
    judging, idle = reported([judged(Verdict.PASS, each.id) for each in RULES]), reported([])
    assert notable([judging, idle]) == []
    assert notable([judging, reported([judged(Verdict.INFO, MUSTS[0].id), *judging_rest()])]) == [MUSTS[0].id]


def judging_rest() -> list[Judged]:
    return [judged(Verdict.PASS, each.id) for each in RULES[1:]]
