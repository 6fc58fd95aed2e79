"""Known failures: what they cover, what no longer needs them, and what cannot be one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.kinds import EvidenceError
from conformance.interop.folder import read, write
from conformance.interop.known import Known, against, read_known
from conformance.interop.outcomes import CAP, Leg, Octets, Outcome, Stage
from harness.targets.target import TargetError


def leg(**fields: Any) -> Leg:
    given = {
        "protocol": "0-9-1", "client": "pika", "client_version": "1", "broker": "process:rabbitmq",
        "broker_version": "3", "case": "field.f32.half", "leg": Stage.RECEIVE, "outcome": Outcome.CHANGED,
    }  # fmt: skip
    return Leg(**given | fields)


ENTRY = Known("pika", "*", "field.f*", "receive", "changed", "it reads floats as integers")


def test_an_entry_covers_what_its_globs_match() -> None:
    found = against([leg(), leg(client="lapin"), leg(case="field.i8"), leg(outcome=Outcome.LOST)], [ENTRY])
    assert [each.outcome for each, _ in found.known] == [Outcome.CHANGED]
    assert len(found.new) == 3
    assert found.gone == ()


def test_what_no_longer_fails_is_said() -> None:
    assert against([leg(outcome=Outcome.SAME)], [ENTRY]).gone == (ENTRY,)


def test_what_is_known_of_one_protocol_is_not_missed_in_the_other() -> None:
    entry = replace(ENTRY, protocol="1-0")
    found = against([leg()], [entry])
    assert (len(found.new), found.gone) == (1, ())
    assert against([leg(protocol="1-0")], [entry]).new == ()


def test_an_entry_says_how_a_leg_fails() -> None:
    entry = replace(ENTRY, detail=("told: * became int 0*", "echo: *"))
    told = [leg(detail="told: v: f32 3f000000 became int 0"), leg(detail="told: v is gone")]
    found = against(told, [entry])
    assert [each.detail for each, _ in found.known] == [told[0].detail]
    assert found.new == (told[1],)


def test_what_fails_sometimes_may_be_missing() -> None:
    assert against([leg(outcome=Outcome.SAME)], [replace(ENTRY, sometimes=True)]).gone == ()


def test_of_some_clients_only_what_they_send_is_said_to_fail_no_longer() -> None:
    sends = replace(ENTRY, leg="send")
    legs = [leg(outcome=Outcome.SAME), leg(leg=Stage.SEND, outcome=Outcome.SAME)]
    assert against(legs, [ENTRY, sends], whole=False).gone == (sends,)


def test_each_case_of_an_entry_is_needed_or_said(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(
        "[[known]]\nclient='pika'\ncase=['field.f32.*', 'field.i8.*']\nleg='*'\noutcome='changed'\nreason='r'"
    )
    floats, octets = read_known(tmp_path / "known.toml")
    legs = [leg(), leg(case="field.i8.least", outcome=Outcome.SAME)]
    found = against(legs, (floats, octets))
    assert [each for _, each in found.known] == [floats]
    assert found.gone == (octets,)


def test_an_entry_about_what_was_not_played_is_left_alone() -> None:
    assert against([leg(client="lapin", outcome=Outcome.SAME)], [ENTRY]).gone == ()


@pytest.mark.parametrize("outcome", [Outcome.SAME, Outcome.WIDENED, Outcome.UNSUPPORTED, Outcome.UNTRIED])
def test_what_is_no_failure_needs_no_entry(outcome: Outcome) -> None:
    assert against([leg(outcome=outcome)], []).new == ()


def test_a_played_pair_fails_only_where_it_contradicts_its_legs() -> None:
    assert against([leg(leg=Stage.PLAYED, other="own")], []).new == ()
    assert against([leg(leg=Stage.PLAYED, outcome=Outcome.CONTRADICTED, other="own")], []).new


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[known]]\nclient='a'", "holds case, client"),
        ("[[known]]\nclient='a'\nbroker='b'\ncase='c'\nleg='send'\noutcome='lost'\nreason=' '", "no reason"),
        ("[[known]]\nclient=1\nbroker='b'\ncase='c'\nleg='send'\noutcome='lost'\nreason='r'", "as texts"),
        ("[[known", "known.toml"),
    ],
)
def test_a_file_that_says_too_little_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "known.toml").write_text(text)
    with pytest.raises(TargetError, match=says):
        read_known(tmp_path / "known.toml")


def test_the_list_of_the_suite_can_be_read() -> None:
    read_known(Path(__file__).parents[3] / "ci" / "interop" / "known.toml")


def test_legs_are_written_and_read_back(tmp_path: Path) -> None:
    legs = [
        leg(octets=Octets.of(b"\xff" * 1000), told={"size": 1}, detail="\u202e\ud800"),
        leg(),
        leg(client="", client_version=""),
    ]
    write(tmp_path, legs, {})
    assert read(tmp_path) == legs
    assert (tmp_path / "interop.jsonl").read_bytes().isascii()
    (tmp_path / "interop.jsonl").write_text("{}\n")
    with pytest.raises(EvidenceError):
        read(tmp_path)


def test_long_messages_are_kept_by_their_beginning_length_and_hash() -> None:
    one, other = Octets.of(bytes(1000)), Octets.of(bytes(999) + b"\1")
    assert (len(one.hex), one.length) == (2 * CAP, 1000)
    assert one.sha256 != other.sha256
