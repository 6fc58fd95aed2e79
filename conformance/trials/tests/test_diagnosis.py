"""The figures of a diagnosis: what is counted as right, and that most is."""

from __future__ import annotations

from conformance.causes.diagnosis import Cause, Diagnosis
from conformance.causes.dictionary import Entry, Sign
from conformance.evidence.verdicts import Verdict
from conformance.trials.diagnosis import figures, is_hidden, is_right, run_of
from spec.applicability import judged_with
from spec.catalogue import catalogue

RED = Sign(Verdict.FAIL, "red")
FAULT = Entry("0-9-1", "a", "does", dict.fromkeys("abcd", RED))
LIKE = Entry("0-9-1", "b", "does alike", dict.fromkeys("bcd", RED))
OTHER = Entry("0-9-1", "z", "does other", dict.fromkeys("dwxyz", RED))


def told(*faults: Entry, alone: tuple[str, ...] = ()) -> Diagnosis:
    return Diagnosis(tuple(Cause(each, tuple(each.signs), 1.0, 1.0) for each in faults), alone)


def test_right_is_who_turns_the_same_red() -> None:
    assert is_right(told(LIKE), FAULT, 1)
    assert not is_right(told(OTHER), FAULT, 1)
    assert not is_right(told(OTHER, LIKE), FAULT, 1)
    assert is_right(told(OTHER, LIKE), FAULT, 3)


def test_what_is_first_of_its_protocol_leads() -> None:
    ours = [
        Entry("0-9-1", rule, "does", dict.fromkeys((f"{rule}-{each}" for each in "ab"), RED))
        for rule in ("0-9-1/x", "0-9-1/y")
    ]
    theirs = Entry("1-0", "1-0/z", "does", {"1-0/z": RED})
    assert is_right(told(*ours, theirs), theirs, 2)
    assert not is_right(told(*ours, theirs), theirs, 1)
    assert is_right(told(*ours, alone=("1-0/z",)), theirs, 2)
    assert not is_right(
        told(*ours, alone=("0-9-1/z", "1-0/z")), Entry("0-9-1", "0-9-1/z", "does", {"0-9-1/z": RED}), 3
    )


def test_right_is_a_rule_alone_where_no_cause_is_before_it() -> None:
    assert is_right(told(alone=("a",)), FAULT, 1)
    assert not is_right(told(OTHER, alone=("a",)), FAULT, 1)


def test_most_faults_are_found_though_their_own_entry_is_left_out() -> None:
    found = figures(40).values()
    (tried, first, three), (pairs, both, of_six), (each, one, of_them), (seen, _, of_seen) = found
    assert tried == pairs == 40
    assert first >= 0.85 * tried
    assert three >= 0.95 * tried
    assert both >= 0.8 * pairs
    assert of_six >= 0.85 * pairs
    assert each == 2 * pairs
    assert 2 * both <= one <= each
    assert 2 * of_six <= of_them <= each
    assert of_seen <= of_them <= of_seen + each - seen


def test_a_fault_is_hidden_where_the_other_breaks_the_set_up_of_its_rule() -> None:
    one, two = (each.id for each in catalogue().rules[:2])
    document = judged_with(catalogue()[one].document)
    fault = Entry(document, one, "does", {one: RED, two: RED})
    other = Entry(document, two, "breaks", {one: Sign(Verdict.ERROR), two: RED})
    assert is_hidden(fault, run_of((fault, other)))
    assert not is_hidden(fault, run_of((fault,)))
