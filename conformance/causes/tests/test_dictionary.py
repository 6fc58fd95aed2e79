"""The dictionary that comes with the package: complete, and what it says of faults is seen of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.causes.diagnosis import RED
from conformance.causes.dictionary import DictionaryError, Entry, Sign, dictionary, read, write
from conformance.causes.faults import known_faults
from conformance.causes.judging import prepared, signs
from conformance.evidence.verdicts import Verdict
from conformance.tests.endurance import some
from harness.dialect import dialect
from spec.catalogue import catalogue
from spec.rules import Level

SAMPLE = 30
"""Faults that are judged anew for every change."""
STALE = "the dictionary is not that of these faults and checks: make dictionary"


def test_every_fault_has_its_entry() -> None:
    assert [each.key for each in dictionary()] == [each.key for each in known_faults()], STALE


@pytest.mark.endurance
def test_what_it_says_of_a_fault_is_seen_of_it() -> None:
    bench = prepared()
    known = {each.key: each for each in dictionary()}
    for fault in some(known_faults(), SAMPLE):
        assert signs(fault, bench) == known[fault.key].signs, f"{fault}: {STALE}"


def test_every_deviation_turns_its_own_rule_red() -> None:
    # Of a MAY any change counts as noticed, and none is worse.
    deviations = [
        each for each in dictionary() if each.rule and catalogue()[each.rule].level is not Level.MAY
    ]
    assert [each.key for each in deviations if each.rule not in each.signs] == []


def test_a_dictionary_is_read_as_it_was_written(tmp_path: Path) -> None:
    entries = (
        Entry("0-9-1", "a", "does", {"a": Sign(Verdict.FAIL, "x"), "b": Sign(Verdict.ERROR)}),
        Entry("0-9-1", "", "row / lost", {}),
    )
    write(tmp_path / "one", entries)
    write(tmp_path / "other", entries)
    assert read(tmp_path / "one") == entries
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize("octets", [b"", b"no xz", None])
def test_another_file_gets_a_sentence(tmp_path: Path, octets: bytes | None) -> None:
    if octets is not None:
        (tmp_path / "file").write_bytes(octets)
    with pytest.raises(DictionaryError, match="is no fault dictionary"):
        read(tmp_path / "file")


@pytest.mark.parametrize("says", list(dialect("0-9-1").proof.broad))
def test_what_is_wrong_everywhere_turns_many_rules_red(says: str) -> None:
    (found,) = (each for each in dictionary() if each.key == ("0-9-1", "", says))
    assert sum(sign.verdict in RED for sign in found.signs.values()) >= 50
