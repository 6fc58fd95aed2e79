"""An accepted cause accepts what follows from it, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from conformance.causes.dictionary import Entry, dictionary
from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from conformance.gate.applying import applied
from conformance.gate.baseline import BaselineReport
from conformance.gate.baseline_file import BaselineError, load
from conformance.gate.tests.test_baseline import clean
from conformance.render.tests.samples import results_of
from spec.catalogue import catalogue
from spec.rules import Role

TODAY = date(2026, 6, 1)


def fails(fault: Entry) -> bool:
    """Whether all that follows is a failure, as an accepted finding may be."""
    return len(fault.signs) > 2 and all(each.verdict is Verdict.FAIL for each in fault.signs.values())


FAULT = next(each for each in dictionary() if fails(each))
FOLLOWS = [Judged(test=rule, rule=rule, verdict=sign.verdict, signature=sign.signature)
           for rule, sign in FAULT.signs.items()]  # fmt: skip


def cause(**changes: str) -> str:
    told = {
        "document": FAULT.document,
        "breaks": FAULT.rule,
        "says": FAULT.says,
        "sentence": "The server MUST do it right.",
        "reading": "as it stands",
        "reason": "It is known.",
        "product": "RabbitMQ",
        "versions": ">=3.10,<3.11",
    } | changes
    return "[[cause]]\n" + "".join(f"{name} = {value!r}\n" for name, value in told.items() if value)


def held(folder: Path, *tests: Judged, text: str = "") -> BaselineReport:
    file = folder / "baseline.toml"
    file.write_text(text or cause())
    known = {rule.id for rule in catalogue().rules}
    found = applied(results_of(*tests), [load(file)], "rabbitmq", "3.10.8", Role.SERVER, TODAY, known)
    assert found.report is not None
    return found.report


def test_all_that_follows_from_it_is_excused(tmp_path: Path) -> None:
    report = held(tmp_path, *FOLLOWS)
    assert report.excused.keys() == FAULT.signs.keys()
    assert clean(report)


def test_what_comes_otherwise_or_elsewhere_is_not(tmp_path: Path) -> None:
    other = next(rule.id for rule in catalogue().rules if rule.id not in FAULT.signs)
    worse = replace(FOLLOWS[0], signature="something else")
    elsewhere = Judged(test=other, rule=other, verdict=Verdict.FAIL, signature=FOLLOWS[1].signature)
    report = held(tmp_path, worse, *FOLLOWS[1:], elsewhere)
    assert {each.rule for each in report.failures} == {worse.rule, other}


def test_a_rule_that_passes_is_no_finding_as_long_as_another_shows_the_cause(tmp_path: Path) -> None:
    well = replace(FOLLOWS[0], verdict=Verdict.PASS, signature="")
    report = held(tmp_path, well, *FOLLOWS[1:])
    assert clean(report)


def test_a_cause_that_nothing_shows_any_more_is_a_finding(tmp_path: Path) -> None:
    report = held(tmp_path, *(replace(each, verdict=Verdict.PASS, signature="") for each in FOLLOWS))
    (idle,) = report.unmatched
    assert idle.sentence == f"accepted as a cause that nothing shows now: {FAULT.says}"


def test_one_that_has_expired_or_was_not_reached_counts_once(tmp_path: Path) -> None:
    over = held(tmp_path, *FOLLOWS, text=cause() + "expires = 2026-01-01\n")
    assert len(over.stale) == 1
    assert {each.rule for each in over.failures} == FAULT.signs.keys()
    other = next(rule.id for rule in catalogue().rules if rule.id not in FAULT.signs)
    assert held(tmp_path, Judged(test=other, rule=other, verdict=Verdict.PASS)).not_reached == 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (cause(says=FAULT.says[:-1]), "cause 1: no fault .* is in the dictionary: is .* meant"),
        (cause(says="is nothing that anybody knows of"), r"no fault .* is in the dictionary \(diagnose"),
        (cause(reason=" "), "reason is empty"),
        (cause(sentence=""), "sentence missing"),
        (cause() + "cause = 'x'\n", "unknown key cause"),
    ],
)
def test_what_is_wrong_with_one_is_said(text: str, wrong: str, tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match=wrong):
        held(tmp_path, text=text)
