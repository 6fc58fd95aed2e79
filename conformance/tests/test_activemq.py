"""A broker of 1.0 alone, which translates into its own protocol: most that breaks a rule goes unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, read, verify
from conformance.gate.tests.baselines import path_of, rules_of
from conformance.tests.again import beyond, ends_well, still
from conformance.tests.commands import Command

pytestmark = [pytest.mark.broker("activemq"), pytest.mark.minutes]

STRANGE = beyond("activemq-6.1", "process-activemq")


def test_every_verdict_is_known_and_the_gate_is_met(amqp_conformance: Command, tmp_path: Path) -> None:
    run, known = tmp_path / "run", path_of("activemq-6.1")
    done = amqp_conformance(
        "run", "--target", "process:activemq", "--baseline", known, "--shuffle", "11", "--output", run
    )
    ends_well(done, run, STRANGE)
    assert verify(run).state is State.OK
    assert {result.rule for result in rule_results(read(run))} == rules_of("1-0")
    assert still(run, STRANGE) == {}
