"""One fault that breaks several rules is told beside each of them, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec.catalogue import DOCUMENTS, catalogue
from spec.one_fault import faults, with_faults
from spec.readers.xml import DocumentError
from spec.rules import Fault

MINIMUM, LOWERED = "0-9-1/connection.tune-ok.frame-max.minimum", "0-9-1/prose/2.3.3.reduced-limits-borne"
LIVING = ("a", "b", "c")


def read(folder: Path, text: str) -> Path:
    path = folder / "one-fault.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_rule_of_a_fault_names_the_others() -> None:
    for one, other in ((MINIMUM, LOWERED), (LOWERED, MINIMUM)):
        rule = catalogue()[one]
        (said,) = rule.one_fault
        assert other in said
        assert one not in said
        assert catalogue()[other] in catalogue().related(rule)


def test_a_rule_that_nothing_breaks_with_others_says_nothing() -> None:
    assert catalogue()["0-9-1/basic.02"].one_fault == ()


def test_every_fault_reads_as_the_end_of_a_sentence() -> None:
    for fault in faults(DOCUMENTS / "one-fault.toml", catalogue().by_identity):
        assert fault.says[0].islower(), fault
        assert fault.says[-1].isalnum(), fault


def test_rules_stand_in_the_order_of_the_catalogue(tmp_path: Path) -> None:
    path = read(tmp_path, '[[fault]]\nis = "does it"\nrules = ["c", "a"]\n')
    (fault,) = faults(path, LIVING)
    assert (fault.says, fault.rules) == ("does it", ("a", "c"))


def test_a_rule_may_be_broken_by_two_faults() -> None:
    rules = catalogue().rules[:3]
    first, second, third = (rule.id for rule in rules)
    known = [(first, second), (first, third)]
    from_faults = with_faults(rules, [Fault("does it", each) for each in known])
    assert [len(rule.one_fault) for rule in from_faults] == [2, 1, 1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[fault]]\nis = "does it"\nrules = ["a", "d"]', "'d' is no rule"),
        ('[[fault]]\nis = "does it"\nrules = ["a"]', "several rules"),
        ('[[fault]]\nis = "does it"\nrules = ["a", "a"]', "several rules"),
        ('[[fault]]\nrules = ["a", "b"]', "a text under 'is'"),
        ('[[fault]]\nis = "does it"\nrules = ["a", "b"]\nwhy = "so"', "nothing else"),
        ("[[fault", "cannot be read"),
    ],
)
def test_a_fault_that_is_not_in_order_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(DocumentError, match=complaint):
        faults(read(tmp_path, text), LIVING)
