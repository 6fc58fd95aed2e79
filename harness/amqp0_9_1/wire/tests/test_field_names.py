"""Which names of fields are legal (4.2.5.5), for who judges and who is judged alike."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.wire.field_names import LONGEST, begins_well, goes_on_well, is_legal, names


@pytest.mark.parametrize(
    "name", ["a", "A1_$#", "$a", "#1", "ümlaut", "x-match", "x-more-of-it", "x-", "x", "a" * LONGEST]
)
def test_legal_names(name: str) -> None:
    assert is_legal(name)


@pytest.mark.parametrize(
    ("name", "begins", "goes_on"),
    [
        ("", False, True),
        ("1a", False, True),
        ("_a", False, True),
        ("-a", False, True),
        (".", False, True),
        ("a.b", True, False),
        ("a-b", True, False),
        ("y-match", True, False),
        ("x-ma.tch", True, False),
        ("X-match", True, False),
        ("a b", True, False),
        ("a\n", True, False),
        ("a" * (LONGEST + 1), True, False),
        ("1.b", False, False),
    ],
)
def test_what_is_wrong_with_a_name_is_told_once(name: str, begins: bool, goes_on: bool) -> None:
    assert (begins_well(name), goes_on_well(name), is_legal(name)) == (begins, goes_on, False)


def test_names_are_found_at_any_depth() -> None:
    table = {"a": {"b": [{"c": 1}, [{"d": 2}]]}, "e": "f"}
    assert list(names(table)) == ["a", "e", "b", "c", "d"]
    assert list(names(5)) == []
