"""What is read for some runs: the files that may hold them, and in each group the runs that may be there."""

from typing import Any

import pytest

from reports.warehouse.parts import NAMED, Part, parts


def file(least: int | None, largest: int | None) -> dict[str, Any]:
    ends = (least, largest)
    return dict(
        zip(("min.load", "max.load"), (None if end is None else f"{end:06}" for end in ends), strict=True)
    )


def runs(*numbers: int) -> dict[str, str]:
    return {f"{number:06}": f"run {number}" for number in numbers}


A, B, C = file(0, 99), file(100, 199), file(200, 299)


@pytest.mark.parametrize(
    ("files", "asked", "found"),
    [
        ([], runs(1), []),
        ([A, B, C], {}, []),
        ([A, B, C], runs(300), []),
        ([C, B, A], runs(250, 0), [Part((A, C), ("run 0", "run 250"))]),
        ([A, B, C], runs(99, 100), [Part((A, B), ("run 100", "run 99"))]),
        ([A, file(50, 150)], runs(60, 140), [Part((A, file(50, 150)), ("run 140", "run 60"))]),
        ([A, file(None, None)], runs(7), [Part((A,), ("run 7",)), Part((file(None, None),))]),
    ],
)
def test_files_that_may_hold_a_run_are_read_for_it(
    files: list[dict[str, Any]], asked: dict[str, str], found: list[Part]
) -> None:
    assert list(parts(files, asked)) == found


def test_no_more_runs_are_named_than_may_be() -> None:
    files = [file(100 * each, 100 * each + 99) for each in range(10)]
    asked = runs(*range(0, 1000, 2))  # fifty in each file
    found = list(parts(files, asked))
    assert [len(part.files) for part in found] == [NAMED // 50] * 2 + [2]
    assert [len(part.runs) for part in found] == [NAMED, NAMED, 100]


def test_of_a_file_with_too_many_all_is_looked_through() -> None:
    wide, other = file(0, NAMED), file(300, 399)
    found = list(parts([wide, other], runs(*range(NAMED + 1), 350)))
    assert found == [Part((other,), ("run 350",)), Part((wide,))]
