"""What is judged again is still strange where it comes again, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from conformance.tests.again import FEW, Strange, ends_well, still
from conformance.tests.commands import Command

RULE = "0-9-1/grammar/basic.get.answers"


def always(run: Path) -> Mapping[str, str]:
    return {RULE: f"odd in {run.name}"}


def once(run: Path) -> Mapping[str, str]:
    return always(run) if run.name == "run" else {}


def never(_: Path) -> Mapping[str, str]:
    return {}


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
        still(tmp_path / "run", lambda _: dict.fromkeys(map(str, range(FEW + 1)), "odd"))


@pytest.mark.parametrize(
    ("status", "strange", "well"), [(0, once, True), (1, always, True), (1, never, False), (3, always, False)]
)
def test_a_gate_may_miss_what_is_judged_again_and_nothing_else(
    status: int, strange: Strange, well: bool, tmp_path: Path
) -> None:
    ended = CompletedProcess[str]([], status, "", "")
    with nullcontext() if well else pytest.raises(AssertionError):
        ends_well(ended, tmp_path / "run", strange)
