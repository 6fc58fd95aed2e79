"""A third real broker: it speaks both protocols on one port, and its faults are again its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.bug.tests.on_brokers import shown
from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, read, verify
from conformance.gate.tests.baselines import path_of, rules_of
from conformance.tests.again import beyond, ends_well, still
from conformance.tests.commands import command, environment

pytestmark = [pytest.mark.broker("broker-j"), pytest.mark.minutes]

TARGET = "process:broker-j"
STRANGE = beyond("broker-j-10.1", "process-broker-j")
ENDING = frozenset({"0-9-1/prose/4.2.6.content-header-missing"})
"""What ends the broker, so that nothing can be played behind it."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The only run of it; every test reads it."""
    place = tmp_path_factory.mktemp("broker-j") / "run"
    known = path_of("broker-j-10.1")
    way = ("--target", TARGET, "--baseline", known, "--shuffle", "11", "--budget", "1500", "--output", place)
    done = command("run", *way, env=environment(), timeout=1800)
    ends_well(done, place, STRANGE)
    return place


def test_every_verdict_is_known_and_the_gate_is_met(run: Path) -> None:
    assert verify(run).state is State.OK
    assert {result.rule for result in rule_results(read(run))} == rules_of("0-9-1", "1-0")
    assert still(run, STRANGE) == {}


def test_a_script_shows_each_of_its_findings_to_who_has_only_that(run: Path, tmp_path: Path) -> None:
    part, others = shown(run, TARGET, path_of("broker-j-10.1"), tmp_path / "bugs", ENDING)
    assert others == []
    assert part > 0.85
