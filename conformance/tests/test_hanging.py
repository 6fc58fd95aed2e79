"""What the tests themselves are told of a command that hangs."""

import subprocess
from pathlib import Path

import pytest

from conformance.tests.commands import command

HANGING = """
import threading

def main():
    print("begun", flush=True)
    waiting_for_ever()

def waiting_for_ever():
    threading.Event().wait()
"""


def test_one_that_hangs_is_killed_and_where_it_stood_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(subprocess.TimeoutExpired) as told:
        command("run", module="hanging", timeout=8)
    (note,) = told.value.__notes__
    assert note.startswith(r"It said 'begun\n', and stood here:")
    assert "in waiting_for_ever" in note
