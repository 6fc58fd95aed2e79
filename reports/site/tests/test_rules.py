"""Pages of rules that several processes make are those that one makes, and no process is left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reports.site import rules
from reports.site.publishing import SiteError
from reports.site.rendering import render
from reports.site.tests.sites import contents, two_builds

KILLED = """
import os, signal, sys
from multiprocessing import active_children
from pathlib import Path
from reports.site import rules
from spec.catalogue import Catalogue

def work():
    yield [], {}
    print(*(each.pid for each in active_children()), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    list(rules._together(rules.Shared(Path(), {}, Catalogue((), (), {}), (), ()), work(), 2))
"""
PATIENCE = 60.0
"""Seconds at most until a process has noticed that it is alone."""


class Deadly:
    """Ends the process that gets it."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


def test_side_by_side_they_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = two_builds(tmp_path / "runs")
    sites = {}
    for name, many in (("alone", 1_000_000), ("together", 0)):
        monkeypatch.setattr(rules, "MANY", many)
        monkeypatch.setattr(os, "cpu_count", lambda: 3)
        files = render(tmp_path / name, data)
        sites[name] = contents(tmp_path / name)
        assert {path.relative_to(tmp_path / name).as_posix() for path in files} <= sites[name].keys()
        assert len(files) == len(set(files)) > 100
    assert sites["alone"] == sites["together"]


def test_one_that_dies_is_told_and_leaves_no_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = two_builds(tmp_path / "runs")
    monkeypatch.setattr(rules, "MANY", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(rules, "_given", lambda *_: Deadly())
    monkeypatch.setattr(rules.Pages, "write", lambda *_: [])
    with pytest.raises(SiteError, match=r"^a process that wrote pages of the site has died$"):
        render(tmp_path / "site", data)
    assert not (tmp_path / "site").exists()


def test_none_outlives_the_first(tmp_path: Path) -> None:
    program = tmp_path / "killed.py"
    program.write_text(KILLED)
    # What they say goes where the first one's goes: that ends when the last of them has ended.
    line = [sys.executable, str(program)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split()
