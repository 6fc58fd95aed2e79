import subprocess
import sys
from pathlib import Path

import pytest

from conformance.evidence.verdicts import TABLE, Element, PytestOutcome, Verdict, fold, is_worse, markdown


def test_table_has_one_row_for_each_verdict() -> None:
    assert sorted(row.verdict for row in TABLE) == sorted(Verdict)


def test_all_that_blocks_ranks_above_all_that_does_not() -> None:
    blocks = [row.blocks for row in TABLE]
    assert blocks == sorted(blocks, reverse=True)


def test_exactly_these_four_block() -> None:
    blocking = {verdict for verdict in Verdict if verdict.blocks}
    assert blocking == {Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_RUN}


def test_no_blocking_verdict_is_shown_as_passed() -> None:
    assert not [row.verdict for row in TABLE if row.blocks and row.pytest is PytestOutcome.PASSED]
    assert not [row.verdict for row in TABLE if row.blocks and row.junit is Element.NONE]
    assert not [row.verdict for row in TABLE if row.blocks and row.allure == "passed"]


@pytest.mark.parametrize("other", [Verdict.PASS, Verdict.INFO, Verdict.INAPPLICABLE, Verdict.WARN])
def test_what_was_not_run_does_not_hide_behind_another_part(other: Verdict) -> None:
    assert fold([other, Verdict.NOT_RUN, other]) is Verdict.NOT_RUN
    assert is_worse(Verdict.NOT_RUN, other)
    assert not is_worse(other, Verdict.NOT_RUN)
    assert not is_worse(other, other)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([Verdict.PASS, Verdict.FAIL, Verdict.ERROR], Verdict.ERROR),
        ([Verdict.INCONCLUSIVE, Verdict.FAIL], Verdict.FAIL),
        ([Verdict.NOT_RUN, Verdict.INCONCLUSIVE], Verdict.INCONCLUSIVE),
        ([Verdict.PASS, Verdict.WARN, Verdict.INFO], Verdict.WARN),
        ([Verdict.UNTESTABLE, Verdict.INAPPLICABLE, Verdict.PASS], Verdict.PASS),
        ([], Verdict.NOT_RUN),
    ],
)
def test_fold(parts: list[Verdict], whole: Verdict) -> None:
    assert fold(parts) is whole
    assert fold(reversed(parts)) is whole


def test_symbols_tell_verdicts_apart() -> None:
    assert len({row.symbol for row in TABLE}) == len(TABLE)


def test_module_prints_the_table() -> None:
    command = [sys.executable, "-m", "conformance.evidence.verdicts"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == markdown() + "\n"
    assert printed.count("\n") == len(TABLE) + 2


def test_the_readme_quotes_the_table() -> None:
    assert markdown() in (Path(__file__).parents[3] / "conformance" / "README.md").read_text(encoding="utf-8")


def test_tap_says_as_much_as_pytest() -> None:
    assert {(row.pytest, row.tap) for row in TABLE} == {
        (PytestOutcome.PASSED, "ok"),
        (PytestOutcome.FAILED, "not ok"),
        (PytestOutcome.SKIPPED, "ok # SKIP"),
    }
