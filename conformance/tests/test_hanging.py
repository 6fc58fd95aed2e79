"""What the tests themselves are told of a command that hangs."""

import os
import subprocess
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest

from conformance.tests import commands

HANGING = """
import threading

def main():
    print("begun", flush=True)
    waiting_for_ever()

def waiting_for_ever():
    with open("here", "w"):
        threading.Event().wait()
"""


def test_one_that_hangs_is_killed_and_where_it_stood_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    monkeypatch.syspath_prepend(tmp_path)
    os.mkfifo(tmp_path / "here")
    waits = iter([True])

    def until_it_is_there(*arguments: Any) -> object:
        if next(waits, False):  # the command's whole time is over when it hangs
            with (tmp_path / "here").open("rb"):
                return []
        return wait(*arguments)

    monkeypatch.setattr(commands, "wait", until_it_is_there)
    with pytest.raises(subprocess.TimeoutExpired) as told:
        commands.command("run", module="hanging", cwd=tmp_path)
    (note,) = told.value.__notes__
    assert note.startswith(r"It said 'begun\n', and stood here:")
    assert "in waiting_for_ever" in note
