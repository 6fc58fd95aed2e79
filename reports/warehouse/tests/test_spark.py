"""Spark starts quietly, and what keeps it from starting is one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.warehouse.spark import BRIEF, NoSpark, session


def without_java(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)


def with_an_old_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(path, "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(path))


def java(home: Path, version: str) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch(mode=0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')


@pytest.mark.parametrize("given", [without_java, with_an_old_one])
def test_without_java_one_sentence_says_so(
    given: Callable[[Path, pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(tmp_path, monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "nowhere"))
    with pytest.raises(NoSpark, match="no Java 17 or later was found"), session():
        pass


LOST = """
import os, signal
from reports.warehouse.spark import NoSpark, session
for master in ("local[1]", "nonsense"):
    try:
        with session(master, memory="600m") as spark:
            os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
            spark.range(1).count()
    except NoSpark as told:
        print(told)
"""


def test_a_spark_that_does_not_start_or_ends_too_early_is_told_and_another_can_follow(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST],
        env=os.environ | {"JAVA_TOOL_OPTIONS": BRIEF},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    ended, failed = done.stdout.splitlines()
    assert ended.startswith("Spark ended before its work was done: ")
    assert failed.startswith("Spark did not start: Master must either be yarn or start with spark")
    assert list(tmp_path.iterdir()) == []
