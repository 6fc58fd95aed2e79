"""Typed values compared: what is the same, what only has another type, what is another value."""

from typing import Any
from zlib import crc32

import pytest

from conformance.interop.comparing import compare, compare_messages, described
from conformance.interop.outcomes import Finding, Outcome, worst

SAME, WIDENED, CHANGED = Outcome.SAME, Outcome.WIDENED, Outcome.CHANGED
HALF32, HALF64, TENTH64, MINUS_ZERO = "3f000000", "3fe0000000000000", "3fb999999999999a", "8000000000000000"


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ({"i8": "-5"}, {"i8": "-5"}, SAME),
        ({"i8": "-5"}, {"i32": "-5"}, WIDENED),
        ({"i8": "-5"}, {"u64": "18446744073709551611"}, CHANGED),
        ({"i8": "5"}, {"int": "5"}, SAME),
        (5, {"i16": "5"}, SAME),
        ({"f32": HALF32}, {"f64": HALF64}, WIDENED),
        ({"f64": TENTH64}, {"f32": "3dcccccd"}, CHANGED),
        ({"f64": MINUS_ZERO}, {"i8": "0"}, CHANGED),
        ({"f64": "4008000000000000"}, {"i8": "3"}, WIDENED),
        ({"f64": "7ff8000000000000"}, {"f64": "7ff8000000000000"}, SAME),
        ({"f64": "7ff0000000000000"}, {"f64": "fff0000000000000"}, CHANGED),
        ({"dec": [3, "1500"]}, {"dec": [1, "15"]}, WIDENED),
        ({"dec": [2, "31415"]}, {"dec": [1, "31415"]}, CHANGED),
        ({"time": "7"}, {"u64": "7"}, WIDENED),
        ("text", {"bin": "74657874"}, WIDENED),
        ("text", {"sym": "text"}, WIDENED),
        ("text", "Text", CHANGED),
        (True, {"i8": "1"}, CHANGED),
        (None, False, CHANGED),
        (None, None, SAME),
        ({"list": [{"i8": "1"}]}, {"list": [{"i32": "1"}]}, WIDENED),
        ({"list": [1, 2]}, {"list": [2, 1]}, CHANGED),
        ({"list": []}, {"map": []}, CHANGED),
        ({"array": ["i32", ["1"]]}, {"list": [{"i32": "1"}]}, WIDENED),
        ({"array": ["i32", ["1"]]}, {"array": ["i32", ["2"]]}, CHANGED),
        ({"map": [["a", 1], ["b", 2]]}, {"map": [["b", 2], ["a", 1]]}, SAME),
        ({"map": [["a", 1]]}, {"map": []}, CHANGED),
        ({"map": []}, {"map": [["a", 1]]}, CHANGED),
        ({"desc": [{"sym": "a"}, 1]}, {"desc": [{"sym": "b"}, 1]}, CHANGED),
    ],
)
def test_two_values(before: Any, after: Any, outcome: Outcome) -> None:
    assert compare(before, after).outcome is outcome


@pytest.mark.parametrize(
    ("before", "after"), [({"i8": "-5"}, {"i64": "-5"}), ({"time": "7"}, {"int": "7"}), ("a", {"bin": "61"})]
)
def test_what_is_told_need_not_say_its_type(before: Any, after: Any) -> None:
    assert compare(before, after).outcome is WIDENED
    assert compare(before, after, loose=True).outcome is SAME


def test_the_place_of_a_difference_is_told() -> None:
    before, after = {"map": [["a", {"list": [1, "x"]}]]}, {"map": [["a", {"list": [1, "y"]}]]}
    assert compare(before, after, "headers") == Finding(CHANGED, "headers.a[1]: text x became text y")


def message(**sections: Any) -> dict[str, Any]:
    return described({"body": "m", **sections})


def test_what_is_added_counts_only_where_a_case_is_about_it() -> None:
    before, after = message(), message(properties={"priority": 0})
    assert compare_messages(before, after, exact=False).outcome is SAME
    assert compare_messages(before, after, exact=True).outcome is CHANGED
    assert compare_messages(after, before, exact=False) == Finding(CHANGED, "properties.priority is gone")


def test_an_empty_table_is_no_more_than_none_unless_a_case_is_about_it() -> None:
    before, after = message(properties={"headers": {"map": []}}), message()
    assert compare_messages(before, after, exact=False).outcome is SAME
    assert compare_messages(before, after, exact=True).outcome is CHANGED


def test_bodies_are_compared_by_all_their_octets() -> None:
    one, other = message(), described({"body": "n"})
    assert compare_messages(one, other, exact=False).outcome is CHANGED
    assert described({"body": {"fill": 252}}) == {"size": 252, "crc32": crc32(bytes(range(251)) + b"\0")}


def test_what_a_header_of_1_0_means_by_default_is_no_change() -> None:
    before = message(header={"durable": False, "priority": {"u8": "4"}})
    assert compare_messages(before, message(), exact=False).outcome is SAME
    before = message(header={"durable": True})
    assert compare_messages(before, message(), exact=False).outcome is CHANGED


def test_a_header_that_was_not_asked_for_counts_only_where_a_case_is_about_it() -> None:
    before, after = message(), message(header={"durable": True})
    assert compare_messages(before, after, exact=False) == Finding()
    assert compare_messages(before, after, exact=True).outcome is CHANGED


def test_how_a_message_comes_is_no_change_of_it() -> None:
    after = message(header={"first-acquirer": True, "delivery-count": {"u32": "3"}})
    assert compare_messages(message(), after, exact=True) == Finding()
    asked = message(header={"delivery-count": {"u32": "0"}})
    assert compare_messages(asked, after, exact=False).outcome is CHANGED


def test_a_lifetime_gets_less_by_the_time_a_message_waits() -> None:
    before = message(header={"ttl": {"u32": "600000"}})
    for ttl, outcome in (("599990", SAME), ("600000", SAME), ("1000", CHANGED)):
        assert compare_messages(before, message(header={"ttl": {"u32": ttl}}), False).outcome is outcome
    assert compare_messages(before, message(), exact=False).outcome is CHANGED


def test_the_worst_counts() -> None:
    assert worst([SAME, CHANGED, WIDENED]) is CHANGED
    assert worst([]) is Outcome.UNTRIED
    assert Finding(WIDENED, "a").joined(Finding(SAME, "b")) == Finding(WIDENED, "a; b")


@pytest.mark.parametrize(
    "told", [{"i32": {"i32": "1"}}, {"map": [["a"]]}, {"f64": "xyz"}, {"array": 7}, {"i8": None}]
)
def test_a_shim_that_tells_no_value_breaks_nothing(told: Any) -> None:
    found = compare_messages(
        message(properties={"a": {"i32": "1"}}), message(properties={"a": told}), exact=False
    )
    assert found.outcome in (Outcome.CHANGED, Outcome.CRASHED)
