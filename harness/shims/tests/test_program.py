"""A shim as a program: what keeps the contract is told on, and what does not is ended and said so."""

from __future__ import annotations

import os
import sys
from io import StringIO
from json import loads
from pathlib import Path
from typing import Any

import pytest

from harness.shims.contract import Kind, Refused, ShimLost, body
from harness.shims.program import Program
from harness.shims.serving import Commands, serve

LINE = "import sys, json, time\nfor line in sys.stdin:\n    told = json.loads(line)\n    "
ANSWERS = "print(json.dumps({'id': told['id'], 'ok': {'heard': told['do']}}), flush=True)"


def program(tmp_path: Path, answer: str, within: float = 5.0) -> Program:
    """Run a shim that does this for each line."""
    with (tmp_path / "log").open("wb") as log:
        return Program([sys.executable, "-c", LINE + answer], within, log)


def test_what_it_is_told_is_answered(tmp_path: Path) -> None:
    shim = program(tmp_path, ANSWERS)
    assert [shim.do(each) for each in ("hello", "open")] == [{"heard": "hello"}, {"heard": "open"}]
    shim.end()
    with pytest.raises(ShimLost, match="the shim has been ended"):
        shim.do("hello")


def test_why_it_did_not_do_it_is_raised(tmp_path: Path) -> None:
    told = "{'kind': 'closed', 'native': 'Oops', 'text': 'gone', 'level': 'channel', 'code': 404}"
    shim = program(tmp_path, f"print(json.dumps({{'id': told['id'], 'error': {told}}}), flush=True)")
    with pytest.raises(Refused) as refused:
        shim.do("open")
    shim.end()
    why = refused.value
    assert (why.kind, why.native, why.text, why.level, why.code) == (
        Kind.CLOSED, "Oops", "gone", "channel", 404,
    )  # fmt: skip
    assert why.told == "closed channel 404 Oops"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("time.sleep(60)", "the shim hangs: no answer to open"),
        ("print(json.dumps({'event': 'blocked'}), flush=True)", "the shim answered open with"),
        (
            "print(json.dumps({'id': 1, 'error': {'kind': 'sad'}}), flush=True)",
            "answered open with the error",
        ),
        ("sys.exit(7)", r"the shim ended amid open \(status 7\)"),
        ("print('well', flush=True)", "the shim wrote what is no answer: b'well'"),
        ("print('[]', flush=True)", "the shim wrote what is no answer"),
        ("print(json.dumps({'id': 0, 'ok': {}}), flush=True)", "the shim answered open with"),
        ("print(json.dumps({'id': told['id']}), flush=True)", "the shim answered open with"),
    ],
)
def test_one_that_does_not_keep_the_contract_is_ended(tmp_path: Path, answer: str, sentence: str) -> None:
    shim = program(tmp_path, answer, within=0.1)
    with pytest.raises(ShimLost, match=sentence):
        shim.do("open")
    with pytest.raises(ShimLost, match="the shim has been ended"):
        shim.do("hello")


def test_hello_may_take_as_long_as_starting_it_does(tmp_path: Path) -> None:
    half = (
        -1.0
    )  # any command but hello has 1.5 times that and 2 s, which is half a second; the shim needs two
    shim = program(tmp_path, f"time.sleep(2); {ANSWERS}", within=half)
    assert shim.do("hello") == {"heard": "hello"}
    with pytest.raises(ShimLost, match="no answer to open"):
        shim.do("open")


def test_a_command_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with (
        (tmp_path / "log").open("wb") as log,
        pytest.raises(ShimLost, match="could not be run: No such file"),
    ):
        Program([str(tmp_path / "nothing")], 1.0, log)


class Halving(Commands):
    """A shim that can do one thing, and falls over at zero."""

    commands = ("halve",)

    def halve(self, of: int) -> dict[str, Any]:
        return {"half": 100 / of}


def test_lines_are_served(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        '{"id": 1, "do": "halve", "within": 5, "of": 4}',
        '{"id": 2, "do": "frobnicate"}',
        '{"id": 3, "do": "halve", "of": 0}',
    ]
    out = StringIO()
    serve(Halving(), lines, out)
    answers = [loads(each) for each in out.getvalue().splitlines()]
    assert [each["id"] for each in answers] == [1, 2, 3]
    assert answers[0]["ok"] == {"half": 25.0}
    assert [each["error"]["kind"] for each in answers[1:]] == [Kind.UNKNOWN, Kind.INTERNAL]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_body_is_a_text_or_filled() -> None:
    assert body("ä") == b"\xc3\xa4"
    filled = body({"fill": 300})
    assert (len(filled), filled[250], filled[251], filled[299]) == (300, 250, 0, 48)


def test_an_answer_too_deep_to_read_is_no_fault_of_the_library(tmp_path: Path) -> None:
    deep = "print('{\"id\": %d, \"ok\": %s}' % (told['id'], 9999 * '[' + 9999 * ']'), flush=True)"
    shim = program(tmp_path, deep, within=0.1)
    for _ in range(2):
        with pytest.raises(Refused, match="too deep") as refused:
            shim.do("get")
        assert refused.value.kind is Kind.INTERNAL
    shim.end()


def test_waiting_may_take_as_long_as_it_is_told(tmp_path: Path) -> None:
    shim = program(tmp_path, f"time.sleep(2.5)\n    {ANSWERS}", within=0.1)
    assert shim.do("wait", **{"for": 3.0}) == {"heard": "wait"}
    shim.end()


def test_one_that_hangs_is_asked_where_before_it_is_ended(tmp_path: Path) -> None:
    says = "import signal, os\n    signal.signal(signal.SIGQUIT, lambda *_: os.write(2, b'here'))"
    dumps = f"{says}\n    time.sleep(60)"
    shim = program(tmp_path, dumps, within=0.1)
    with pytest.raises(ShimLost):
        shim.do("open")
    assert (tmp_path / "log").read_bytes() == b"here"


def test_memory_is_limited(tmp_path: Path) -> None:
    shim = program(tmp_path, f"room = bytearray(5 << 30)\n    {ANSWERS}")
    with pytest.raises(ShimLost, match="the shim ended amid open"):
        shim.do("open")


def test_it_gets_the_environment_that_is_said(tmp_path: Path) -> None:
    answers = "import os\n    print(json.dumps({'id': told['id'], 'ok': dict(os.environ)}), flush=True)"
    with (tmp_path / "log").open("wb") as log:
        shim = Program([sys.executable, "-c", LINE + answers], 5.0, log, {"ONE": "1"})
    assert {"ONE": "1"}.items() <= shim.do("hello").items()
    assert "HOME" not in shim.do("hello")
    shim.end()


def test_one_that_is_halted_gets_no_time(tmp_path: Path) -> None:
    shim = program(tmp_path, ANSWERS)
    shim.do("hello")
    stat = Path(f"/proc/{shim._process.pid}/stat")
    with shim.halted():
        while stat.read_text().rpartition(")")[2].split()[0] != "T":
            os.sched_yield()
    assert shim.do("open") == {"heard": "open"}
    shim.end()
