"""Ranges of versions."""

import pytest

from spec.versions import holds, is_past, versions


@pytest.mark.parametrize(
    ("text", "number", "held"),
    [
        (">=4.0", "4.0", True),
        (">=4.0", "3.13.7", False),
        ("<4.3", "4.2.9", True),
        ("<4.3", "4.3.0", False),
        (">=3.12,<4", "3.13.1", True),
        (">=3.12,<4", "4.0.0", False),
        ("", "0.1", True),
    ],
)
def test_a_version_is_in_a_range_or_not(text: str, number: str, held: bool) -> None:
    assert holds(text, number) is held


@pytest.mark.parametrize("text", ["<4.3", "<=4.2.1", "==4.2.*", "~=4.1", ">=3.8,<4"])
def test_what_ends_is_past(text: str) -> None:
    assert is_past(text)


@pytest.mark.parametrize("text", [">=4.0", ">3", "!=4.1.0", ""])
def test_what_has_no_end_is_not(text: str) -> None:
    assert not is_past(text)


@pytest.mark.parametrize("text", ["4.0", "since 4", ">= four"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        versions(text)
