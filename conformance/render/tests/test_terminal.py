import io
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from conformance.evidence.explanation import FRAMES, as_text, explain
from conformance.evidence.kinds import AnyEvent, CappedOctets, Line
from conformance.evidence.printable import printable
from conformance.evidence.results import rule_results
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import gate
from conformance.render.terminal import explanation, gate_text, matrix, report
from conformance.render.tests.samples import RULE, exchange, judged, lines_of, results_of, rule
from harness.wire.journal import Direction, Octets, Opened
from spec.rules import Fault, Level, Party, Role

RULES = [
    rule(),
    rule("x-1/basic.get", section="basic.get", level=Level.SHOULD, binds=Party.SERVER),
    rule("x-1/basic.gone", section="basic.get", level=Level.MAY, binds=Party.APPLICATION),
    rule(
        "x-1/a-rule-with-a-name.that-is-longer.than-most-terminals-are.wide-and-has-no-space", section="long"
    ),
]
HOSTILE = "ok [red]x[/red] [link=http://x]y[/] \x1b[2J\x1b]0;title\x07 \u202e\r\n\x9b31m"


def annotate(protocol: str, octets: bytes) -> Iterable[tuple[int, int, str, Any]]:
    yield 0, 1, f"type of {protocol}", octets[0]
    yield 3, len(octets) - 3, "[bold]rest[/bold]\x1b", octets[3:]


def console(width: int = 80, encoding: str = "utf-8", **more: Any) -> Console:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return Console(file=file, width=width, **more)


def shown(on: Console) -> str:
    on.file.flush()
    return bytes(on.file.buffer.getvalue()).decode(on.file.encoding)  # type: ignore[attr-defined]


def reported(events: list[AnyEvent], **more: Any) -> str:
    lines = lines_of(events)
    results = rule_results(lines)
    on = console(**more)
    report(results, RULES, lines, gate(results, RULES, Level.MUST, Role.SERVER), on, annotate, "runs/1")
    return shown(on)


def explained(events: list[AnyEvent], width: int = 100) -> str:
    lines = lines_of(events)
    on = console(width)
    on.print(explanation(rule_results(lines)[0], RULES[0], lines, annotate, "runs/1"))
    return shown(on)


def folded(text: str) -> str:
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def test_matrix_has_sections_rules_and_totals() -> None:
    on = console()
    results = results_of(
        judged(Verdict.FAIL, signature="declare-ok for 405"),
        judged(Verdict.PASS, "x-1/basic.get"),
        judged(Verdict.NOT_RUN, "x-1/basic.gone", detail="no scenario"),
    )
    matrix(results, RULES, on)
    text = shown(on)
    *lines, totals = text.splitlines()
    rows = [line.split() for line in lines if line]
    assert rows == [
        ["x-1", "queue.declare"],
        [RULE, "must", "client→server", "✗", "fail"],
        ["declare-ok", "for", "405"],
        ["x-1", "basic.get"],
        ["x-1/basic.get", "should", "server", "✓", "pass"],
        ["x-1/basic.gone", "may", "app→server", "○", "not-run"],
        ["no", "scenario"],
    ]
    assert totals == "3 of 4 rules: 1 ✗ fail, 1 ○ not-run, 1 ✓ pass, 1 not selected"


def test_a_rule_is_counted_once_whether_or_not_its_document_counts_by_itself() -> None:
    on = console()
    added = [rule(f"rabbitmq/{name}", document="rabbitmq") for name in ("asked", "not-asked")]
    results = results_of(*(judged(Verdict.PASS, rule=each.id) for each in (RULES[0], *added)))
    matrix(results, [RULES[0], *added], on, frozenset({added[1].id}))
    *_, general, own = shown(on).splitlines()
    assert (general, own) == ("2 of 2 rules: 2 ✓ pass", "1 of 1 rules of rabbitmq: 1 ✓ pass")


def test_a_target_that_was_never_reached_is_told_once() -> None:
    lines = lines_of([judged(Verdict.NOT_RUN)])
    results, on = rule_results(lines), console()
    report(results, RULES, lines, gate(results, RULES, Level.MUST, Role.SERVER, lost="no engine answers"), on)
    assert RULE not in shown(on)
    assert "1 of 4 rules: 1 ○ not-run" in shown(on)
    assert "no engine answers" in shown(on)


def test_a_wide_terminal_has_the_finding_beside_its_rule() -> None:
    on = console(140)
    matrix(results_of(judged(Verdict.FAIL, signature="declare-ok for 405")), RULES, on)
    assert re.search(rf"{RULE} .* ✗ fail +declare-ok for 405", shown(on))


@pytest.mark.parametrize("width", [60, 80, 119, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_name_is_cut(width: int) -> None:
    long = judged(Verdict.FAIL, RULES[3].id, signature="s" * 300)
    text = reported([*exchange(HOSTILE), long], width=width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert RULES[3].id in re.sub(r"\s+(must .*)?", "", "".join(text.split("x-1  long")[1:])).replace("│", "")


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_can_be_shown_without_colour_and_in_ascii(verdict: Verdict) -> None:
    events: list[AnyEvent] = [judged(verdict, detail="why")]
    assert f" {verdict} " in reported(events, encoding="ascii")
    assert "\x1b" not in reported(events)
    assert "\x1b[" in reported(events, force_terminal=True, color_system="standard")
    assert "\x1b[3" not in reported(events, force_terminal=True, no_color=True)


def test_an_explanation_holds_all_that_is_needed() -> None:
    text = folded(explained(exchange()))
    for part in (
        f"rule {RULE}",
        "level must, binds the client, judged on the server",
        "sentence The server MUST refuse.",
        "place x-1, class queue / method declare (character 1234)",
        "on failure resource-locked",
        "legal 405 channel close | 405 connection close",
        "came queue.declare-ok channel=1",
        "when 0.5000 s into the run, after waiting 0.2500 s",
        "connection c1 to 127.0.0.1:5673",
        "1 0.1000 s sent queue.declare channel=1",
        "> 2 0.5000 s came queue.declare-ok channel=1",
        "0 01 type of x-1 = 1",
        '3 6f 6b 61 79 [bold]rest[/bold]\\x1b = "okay" (4 octets)',
        f"again: amqp-conformance replay runs/1 {RULE}",
    ):
        assert part in text, text


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.WARN, Verdict.PASS, Verdict.NOT_RUN])
def test_a_finding_names_what_the_same_fault_breaks_as_well(verdict: Verdict) -> None:
    broken = replace(RULES[0], faults=(Fault("does it", (RULE, RULES[1].id)),))
    lines = lines_of([judged(verdict, signature="s")])
    on = console(200)
    on.print(explanation(rule_results(lines)[0], broken, lines, annotate, "runs/1"))
    said = (
        f"one fault If it is that a peer does it, then with this rule it breaks {RULES[1].id}: "
        "one fault, not several."
    )
    assert (said in folded(shown(on))) is (verdict in (Verdict.FAIL, Verdict.WARN))


def test_only_the_last_frames_up_to_the_deciding_one_are_shown() -> None:
    events = exchange(frames=20)
    lines = lines_of(events)
    frames = explain(rule_results(lines)[0].deciding, RULES[0], lines, annotate).frames
    assert [frame.number for frame in frames] == list(range(21 - FRAMES, 21))
    assert [frame.number for frame in frames if frame.deciding] == [20]
    named = [frame.number for frame in frames if any(part.meaning for part in frame.parts)]
    assert named == [19, 20], "the deciding frame, and what we sent last"


def test_an_end_can_decide() -> None:
    *events, _, ended = exchange()
    decided = judged(Verdict.FAIL, connection="c1", frame=3)
    lines = lines_of([*events, ended, decided])
    last = explain(rule_results(lines)[0].deciding, RULES[0], lines).frames[-1]
    assert (last.deciding, last.says) == (True, "connection ended by the harness (fin)")


def test_the_deciding_connection_may_be_another_tests() -> None:
    elsewhere = lines_of(exchange()[:3], test="other")
    here = Line(1.0, "main", 9, None, judged(Verdict.FAIL, test="passive", connection="c1", frame=2))
    explained = explain(rule_results([here])[0].deciding, RULES[0], [*elsewhere, here])
    assert [frame.deciding for frame in explained.frames] == [False, True]


def test_of_two_connections_with_one_name_the_tests_own_is_shown() -> None:
    own = lines_of(exchange("own"))
    other = [
        Line(each.wall, "gw9", each.seq, "other", each.event) for each in lines_of(exchange("other")[:3])
    ]
    text = as_text(explain(rule_results(own)[0].deciding, RULES[0], [*other, *own]))
    assert "came  own" in text
    assert "came  other" not in text


def test_octets_the_evidence_does_not_hold_are_not_named() -> None:
    cut = CappedOctets(0.1, "c1", Direction.RECEIVED, b"\x01" * 100, "body", length=9000, sha256="")
    events: list[AnyEvent] = [Opened(0, "c1", "e", "p"), cut, judged(Verdict.FAIL, connection="c1", frame=1)]
    text = folded(explained(events))
    assert "type of" not in text
    assert "9000 octets in all" in text


def test_a_verdict_without_a_connection_is_explained_too() -> None:
    text = folded(explained([judged(Verdict.ERROR, cause="OSError: refused", detail="Set-up broke.")]))
    assert "cause OSError: refused" in text
    assert "replay runs/1" in text


@pytest.mark.parametrize("more", [{}, {"force_terminal": True, "color_system": "truecolor"}])
def test_what_a_peer_says_is_shown_and_not_obeyed(more: dict[str, Any]) -> None:
    events = exchange(HOSTILE)
    events[1] = Octets(0.1, HOSTILE, Direction.SENT, b"\x01\x00\x01x", HOSTILE)
    events.append(judged(Verdict.NOT_RUN, "x-1/basic.get", detail=HOSTILE, signature=HOSTILE))
    text = reported(events, width=300, **more)
    assert text.count(r"ok [red]x[/red] [link=http://x]y[/] \x1b[2J\x1b]0;title\x07 \u202e\r\n\x9b31m") >= 4
    left = re.sub(r"\x1b\[[0-9;]*m", "", text)  # rich's own colours
    assert not [character for character in left if character != "\n" and printable(character) != character]


def test_the_gate_is_told_in_plain_words() -> None:
    results = results_of(judged(Verdict.PASS))
    on = console()
    on.print(gate_text(gate(results, RULES, Level.MUST, Role.SERVER, selected=[RULE])))
    assert shown(on).strip() == "not a certification: 1 of the 4 rules that may apply to it were selected"


def test_printable_leaves_text_alone() -> None:
    assert printable(r"Grüße, 世界 \x1b é") == r"Grüße, 世界 \x1b é"
    assert printable("\x00\t\u2028\ud800\u200f") == r"\x00\t\u2028\ud800\u200f"
