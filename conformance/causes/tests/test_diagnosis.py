"""Who explains a run best: on a dictionary small enough to say what must come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.causes.diagnosis import FAMILY, RED, Diagnostics
from conformance.causes.dictionary import Entry, Sign
from conformance.evidence.verdicts import Verdict
from spec.applicability import judged_with
from spec.catalogue import catalogue

RULES = [rule.id for rule in catalogue().rules if judged_with(rule.document) == "0-9-1"][:60]
PASS = Sign(Verdict.PASS)


def entry(number: int, *rules: int, words: str = "") -> Entry:
    """Make a fault that breaks rule `number` and turns red these, each in its words."""
    signs = {RULES[each]: Sign(Verdict.FAIL, words or f"red {each}") for each in (number, *rules)}
    return Entry("0-9-1", RULES[number], f"breaks {number}", signs)


def found(*entries: Entry, words: str = "") -> dict[str, Sign]:
    """Give what a broker with these faults would come to, all else green."""
    signs = {rule: sign for each in entries for rule, sign in each.signs.items()}
    if words:
        signs = {rule: Sign(sign.verdict, words) for rule, sign in signs.items()}
    return {rule: signs.get(rule, PASS) for rule in RULES}


DELIVERIES, RETURNS, ONE = entry(0, 1, 2, 3), entry(10, 11, 12, 3), entry(20)
NOISE = [entry(each) for each in range(30, 60)]
MANY = [
    Entry("0-9-1", RULES[59], f"noise {each}", {RULES[59]: Sign(Verdict.FAIL, "red")}) for each in range(500)
]
"""Faults that have to do with no other rule: in a large dictionary it is no chance what a rule says."""
KNOWN = Diagnostics([DELIVERIES, RETURNS, ONE, *NOISE])


def test_a_fault_takes_all_that_follows_from_it() -> None:
    told = KNOWN.diagnose(found(DELIVERIES))
    (cause,) = told.causes
    assert (cause.fault, set(cause.rules), told.alone) == (DELIVERIES, set(DELIVERIES.signs), ())
    assert cause.closest == DELIVERIES.rule
    assert cause.certainty > 0.9


def test_two_faults_at_once_are_told_apart() -> None:
    told = KNOWN.diagnose(found(DELIVERIES, RETURNS))
    assert {each.fault.rule for each in told.causes} == {DELIVERIES.rule, RETURNS.rule}
    assert sum(len(each.rules) for each in told.causes) == len({*DELIVERIES.signs, *RETURNS.signs})


def test_what_no_fault_explains_stands_alone() -> None:
    strange = {**found(), RULES[5]: Sign(Verdict.FAIL, "never seen")}
    told = KNOWN.diagnose(strange)
    assert (told.causes, told.alone) == ((), (RULES[5],))


def test_what_no_fault_explains_is_put_together_where_it_is_red_in_one_way() -> None:
    words = ["queue.bind-ok instead of channel.close 404 (not-found) or another"] * 2
    words += ["exchange.delete-ok instead of channel.close 404 (not-found)", "something else instead of that"]
    strange = {RULES[each]: Sign(Verdict.FAIL, told) for each, told in enumerate(words, 20)}
    told = KNOWN.diagnose(found() | strange)
    (together,) = told.alike
    assert (together.due, sorted(together.rules)) == ("channel.close 404 (not-found)", sorted(RULES[20:23]))
    assert told.alone == (RULES[23],)
    fewer = KNOWN.diagnose(found() | {rule: strange[rule] for rule in RULES[21:24]})
    assert (fewer.alike, len(fewer.alone)) == ((), 3)


@pytest.mark.parametrize(("came", "groups"), [("connection.close 541 (internal-error)", 1), ("silence", 0)])
def test_an_error_of_one_code_in_place_of_different_things_is_one_way(came: str, groups: int) -> None:
    strange = {RULES[20 + at]: Sign(Verdict.FAIL, f"{came} instead of thing {at}") for at in range(FAMILY)}
    told = KNOWN.diagnose(found() | strange)
    assert [each.due for each in told.alike] == [""] * groups
    assert len(told.alone) == FAMILY * (1 - groups)


def test_a_fault_whose_own_rule_is_green_or_explained_is_none() -> None:
    """Whatever else it turns red: who has it breaks the rule that it was made to break."""
    spared = {**found(DELIVERIES), DELIVERIES.rule: Sign(Verdict.PASS)}
    assert DELIVERIES not in [each.fault for each in KNOWN.diagnose(spared).causes]


def test_what_breaks_no_rule_of_its_own_has_to_explain_many_or_be_certain() -> None:
    row = Entry(
        "0-9-1",
        "",
        "basic.get: answers / dropped",
        {rule: Sign(Verdict.FAIL, "lost") for rule in RULES[20:22]},
    )
    other = replace(row, says="basic.get: answers / has no effect")
    told = found(row)
    assert [each.fault for each in Diagnostics([row, *MANY]).diagnose(told).causes] == [row]
    assert Diagnostics([row, other, *MANY]).diagnose(told).causes == ()


def test_who_would_have_turned_more_red_is_no_cause() -> None:
    told = KNOWN.diagnose({**found(), RULES[1]: Sign(Verdict.FAIL, "red 1")})
    assert [each.fault for each in told.causes] != [DELIVERIES]


def test_other_words_weigh_less() -> None:
    same, other = (KNOWN.diagnose(found(DELIVERIES, words=words)) for words in ("", "in other words"))
    assert same.causes[0].odds > max((each.odds for each in other.causes), default=0)


def test_what_is_red_as_a_whole_is_that_fault_in_whatever_words() -> None:
    """Where the same is red among other things, what many faults turn red says too little."""
    often = [entry(each, rule) for each in range(30, 42) for rule in range(4)]
    known = Diagnostics([DELIVERIES, *often, *MANY])
    strange = {
        RULES[each]: Sign(Verdict.FAIL, f"in words of its own {each}")
        for each in (0, 1, 2, 3, *range(42, 47))
    }
    (cause,) = known.diagnose(found() | {rule: strange[rule] for rule in DELIVERIES.signs}).causes
    assert (cause.fault, len(cause.rules)) == (DELIVERIES, 4)
    assert known.diagnose(found() | strange).causes == ()


def test_what_is_known_of_many_methods_is_one_fault_of_all() -> None:
    alike = [Entry("0-9-1", RULES[each], "reads on", entry(each).signs) for each in (40, 41, 42)]
    told = Diagnostics([DELIVERIES, *alike, *NOISE[:5]]).diagnose(found(*alike))
    (cause,) = told.causes
    assert (cause.fault.says, sorted(cause.rules)) == ("reads on", sorted(each.rule for each in alike))


def test_what_a_fault_of_many_methods_does_is_known_in_other_words_too() -> None:
    alike = [Entry("0-9-1", RULES[each], "reads on", entry(each).signs) for each in (40, 41, 42, 43)]
    seen = found(*alike) | {RULES[43]: Sign(Verdict.FAIL, "in words of its own")}
    (cause,) = Diagnostics([DELIVERIES, *alike, *MANY]).diagnose(seen).causes
    assert cause.rules[-1] == RULES[43]
    strange = seen | {RULES[50]: Sign(Verdict.FAIL, "in words of its own")}
    assert Diagnostics([DELIVERIES, *alike, *MANY]).diagnose(strange).alone == (RULES[50],)


def test_another_code_than_the_known_one_is_the_same_fault() -> None:
    wrong, other = ("close 599 instead of close 404", "close 320 instead of close 404")
    known = entry(0, 1, 2, 3, words=wrong)
    told = Diagnostics([known, RETURNS, *MANY]).diagnose(found(known, words=other))
    (cause,) = told.causes
    assert (cause.fault, len(cause.rules)) == (known, 4)


def test_who_answers_alike_in_some_places_has_one_fault() -> None:
    """It is not held against it that all is well in others, and what is not that answer is none of it."""
    rows = [
        Entry("0-9-1", "", f"row {each} / answers 541", entry(each, words="close 541 instead of it").signs)
        for each in range(20, 40)
    ]
    shows = found(*rows[:4]) | {RULES[39]: Sign(Verdict.FAIL, "close 404 instead of it")}
    told = Diagnostics([*rows, *NOISE[10:]]).diagnose(shows)
    (cause,) = told.causes
    assert (cause.fault.says, len(cause.rules)) == ("answers 541", 4)
    assert told.alone == (RULES[39],)
    row = Entry("0-9-1", "", "row / answers 541", entry(40, 41, 42, words="close 541 instead of it").signs)
    alone = Diagnostics([row, *rows, *NOISE[10:]]).diagnose(found(row))
    assert [each.fault for each in alone.causes] == [row]


def test_faults_that_cannot_be_told_apart_share_the_certainty() -> None:
    twin = Entry("0-9-1", RULES[1], "is the same", DELIVERIES.signs)
    told = Diagnostics([DELIVERIES, twin, *NOISE]).diagnose(found(DELIVERIES))
    assert told.causes[0].certainty == pytest.approx(0.5, abs=0.01)
    assert told.causes[0].rivals == (twin,)


SIGNS = st.builds(Sign, st.sampled_from(list(Verdict)), st.sampled_from(["", "red 1", "red 3"]))
VERDICTS: st.SearchStrategy[Mapping[str, Sign]] = st.dictionaries(st.sampled_from(RULES), SIGNS)


@given(VERDICTS)
def test_every_red_rule_is_told_exactly_once(signs: Mapping[str, Sign]) -> None:
    told = KNOWN.diagnose(signs)
    grouped = [each.rules for each in told.causes] + [each.rules for each in told.alike]
    listed = [*(rule for rules in grouped for rule in rules), *told.alone]
    assert sorted(listed) == sorted(rule for rule, sign in signs.items() if sign.verdict in RED)
    assert all(0 < each.certainty <= 1 for each in told.causes)
