"""What the runner reads from files and users, damaged in every way: read or refused, nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.evidence.folder import RUN_FILE, STREAM, read_run
from conformance.evidence.kinds import EvidenceError, decode
from conformance.evidence.stream import State, verify
from conformance.gate.baseline_file import BaselineError, load
from conformance.trials.fuzz import ENTRY, INFO, LINE, RUN, TARGETS
from harness.trials.fuzz import HARSH, Draws, damaged
from spec.rules import Role

EXAMPLES = settings(derandomize=True, deadline=None, max_examples=100, database=None)


@pytest.mark.parametrize("name", sorted(TARGETS))
@EXAMPLES
@given(data=st.binary(max_size=80))
def test_nothing_but_typed_refusals_comes(name: str, data: bytes) -> None:
    TARGETS[name](data)


@pytest.mark.parametrize("name", sorted(TARGETS))
@pytest.mark.parametrize("harsh", range(len(HARSH)))
def test_nothing_that_readers_stumble_over_comes_through(name: str, harsh: int) -> None:
    # Damage as `damaged` reads it: one change, at a place, for a whole value, by one of the harsh ones.
    change = bytes((0, 1, 0, harsh))
    for place in (0, 60, 120) if name == "stream" else range(0, 700, 15):
        damage = bytes((255, 1, place >> 8, place & 255)) + change
        for data in (b"\0" + damage, b"\1" + damage) if name == "stream" else (damage,):
            TARGETS[name](data)


def test_damage_replaces_a_whole_value() -> None:
    assert damaged(Draws(bytes((255, 1, 0, 5, 0, 1, 0, HARSH.index(b"NaN")))), b'{"a":12,"b":3}') == (
        b'{"a":NaN,"b":3}'
    )
    assert damaged(Draws(b"\0anything"), b"whole") == b"anything"
    assert damaged(Draws(b""), b"whole") == b""


# -- what fuzzing has found ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 400, b"9" * 5000, b"[" * 5000]
)
def test_a_line_with_such_a_time_is_refused(value: bytes) -> None:
    with pytest.raises(EvidenceError):
        decode(LINE.replace(b'"wall":0.5', b'"wall":' + value))


def test_a_nested_footer_is_no_footer(tmp_path: Path) -> None:
    (tmp_path / STREAM).write_bytes(LINE + b'{"event":"footer","a":' + b"[" * 5000 + b"\n")
    assert verify(tmp_path).state is not State.OK


@pytest.mark.parametrize(
    "change",
    [{"run": None}, {"files": []}, {"files": "ab"}, {"banner": 5}, {"documents": ["x"]}, {"arguments": "ab"}],
    ids=str,
)
def test_a_description_of_a_run_with_other_types_is_refused(
    tmp_path: Path, change: Mapping[str, Any]
) -> None:
    (tmp_path / RUN_FILE).write_text(json.dumps(asdict(INFO) | dict(change)))
    with pytest.raises(EvidenceError, match="not the description of a run"):
        read_run(tmp_path)
    assert verify(tmp_path).state is State.PARTIAL


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000, "../" * 20 + "etc/passwd"], ids=range(4))
def test_a_listed_file_no_folder_can_hold_counts_as_changed(tmp_path: Path, name: str) -> None:
    (tmp_path / RUN_FILE).write_text(json.dumps(asdict(INFO) | {"files": {name: "0"}}))
    (tmp_path / "events-main.jsonl").write_bytes(LINE)
    assert verify(tmp_path).state is not State.OK


def test_a_nested_description_of_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / RUN_FILE).write_text(RUN.replace('"banner": {}', '"banner": ' + '{"a":' * 5000))
    with pytest.raises(EvidenceError, match="not the description of a run"):
        read_run(tmp_path)


@pytest.mark.parametrize("versions", ["==" + "9" * 5000, ">=1,<" + "9" * 5000], ids=lambda text: text[:6])
def test_a_baseline_for_versions_without_end_is_refused(tmp_path: Path, versions: str) -> None:
    path = tmp_path / "baseline.toml"
    path.write_text(ENTRY.replace(">=3.10,<3.11", versions))
    with pytest.raises(BaselineError):
        load(path)


def test_a_version_without_end_fits_no_range(tmp_path: Path) -> None:
    path = tmp_path / "baseline.toml"
    path.write_text(ENTRY)
    (entry,) = load(path).accepted
    assert entry.concerns("RabbitMQ", "3.10.8", Role.SERVER)
    assert not entry.concerns("RabbitMQ", "9" * 5000, Role.SERVER)


@pytest.mark.parametrize("value", ["[" * 5000, "{a=" * 5000, "9" * 5000], ids=lambda value: value[:3])
def test_a_baseline_nested_or_of_long_numbers_is_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "baseline.toml"
    path.write_text(ENTRY.replace('"known"', value))
    with pytest.raises(BaselineError, match="not valid TOML"):
        load(path)
