"""How far runs are: in place on a terminal, a plain line each ten seconds elsewhere."""

import io

import pytest
from rich.console import Console

from conformance.render.board import board
from conformance.render.progress import OnBoard


def test_elsewhere_there_is_a_line_each_ten_seconds_and_at_the_end() -> None:
    written, now = io.StringIO(), [0.0]
    with board(["a\x1b", "b"], Console(file=written, width=20), lambda: now[0]) as shown:
        shown.begin("a\x1b", 300)
        shown.begin("b", 2)
        for _ in range(250):
            now[0] += 0.125
            shown.move("a\x1b", "pass", "x")
        shown.move("b", "fail", "x")
        shown.end("b", "not certified as server at level must, as many words say")
        shown.say("interrupted")
    assert written.getvalue().splitlines() == [
        r"a\x1b: 80 of 300 cases judged after 10 s",
        r"a\x1b: 160 of 300 cases judged after 20 s",
        r"a\x1b: 240 of 300 cases judged after 30 s",
        "b: 1 of 2 cases judged after 31 s",
        "b: not certified as server at level must, as many words say",
        "interrupted",
    ]


def test_what_takes_less_says_nothing() -> None:
    written = io.StringIO()
    with board(["a"], Console(file=written), lambda: 0.0) as shown:
        follower = OnBoard(shown, "a")
        follower.begin(1)
        follower.move("pass", "x")
        follower.end()
    assert written.getvalue() == ""


def test_on_a_terminal_there_is_a_bar_for_each() -> None:
    written = io.StringIO()
    with board(["a[red]", "b"], Console(file=written, force_terminal=True, width=120)) as shown:
        shown.begin("a[red]", 2)
        shown.move("a[red]", "fail", "0-9-1/x")
        shown.end("b", "could not start")
    last = written.getvalue().rpartition("a[red]")[2]
    assert "1/2" in last
    assert "0-9-1/x" in last
    assert "could not start" in last


def test_without_a_console_it_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with board(["a"]) as shown:
        shown.say("interrupted")
    assert capsys.readouterr() == ("", "interrupted\n")
