"""What is judged again is still strange where it comes again, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance.tests.again import still
from conformance.tests.commands import Command

RULE = "0-9-1/grammar/basic.get.answers"


def always(run: Path) -> Mapping[str, str]:
    return {RULE: f"odd in {run.name}"}


def once(run: Path) -> Mapping[str, str]:
    return always(run) if run.name == "run" else {}


def test_what_comes_again_is_told_and_what_does_not_is_nobodys(
    amqp_conformance: Command, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    amqp_conformance("run", RULE, "--target", "embedded", "--output", run)
    with pytest.warns(UserWarning, match="embedded was judged again"):
        assert still(run, always) == {RULE: "odd in run-again"}
    run.with_name("run-again").rename(tmp_path / "kept")
    with pytest.warns(UserWarning, match="embedded was judged again"):
        assert still(run, once) == {}


def test_what_is_too_much_is_no_chance(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        still(tmp_path / "run", always, few=0)
