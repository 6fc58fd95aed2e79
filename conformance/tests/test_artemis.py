"""A fourth real broker: it speaks 1.0 by proton-j, and its faults are those of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, read, verify
from conformance.gate.tests.baselines import path_of, rules_of
from conformance.tests.again import beyond, ends_well, still
from conformance.tests.commands import Command

pytestmark = [pytest.mark.broker("artemis"), pytest.mark.minutes]

STRANGE = beyond("artemis-2.44", "process-artemis")


def test_every_verdict_is_known_and_the_gate_is_met(amqp_conformance: Command, tmp_path: Path) -> None:
    run, known = tmp_path / "run", path_of("artemis-2.44")
    done = amqp_conformance(
        "run", "--target", "process:artemis", "--baseline", known, "--shuffle", "11", "--output", run
    )
    ends_well(done, run, STRANGE)
    assert verify(run).state is State.OK
    assert {result.rule for result in rule_results(read(run))} == rules_of("1-0")
    assert still(run, STRANGE) == {}
