"""A second real broker, with faults of its own: nothing of it is an accident of the first one's."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, read, verify
from conformance.gate.tests.baselines import path_of, promised_by, rules_of
from conformance.tests.again import beyond, still
from conformance.tests.commands import Command

pytestmark = [pytest.mark.broker("garagemq"), pytest.mark.minutes]

STRANGE = beyond("garagemq-0.1", "process-garagemq")
# Its races hit some rules of each run: it ends a few of a thousand connections because the thread that sent
# Start has noted that too late, and on a busy machine a Get can overtake the message published before it.


def test_every_verdict_is_known(amqp_conformance: Command, tmp_path: Path) -> None:
    # Once, and in another order than that of the documents.
    run, known = tmp_path / "run", path_of("garagemq-0.1")
    done = amqp_conformance(
        "run", "--target", "process:garagemq", "--baseline", known, "--shuffle", "11", "--output", run
    )
    # Errors are never accepted: a broker on which some controls fail meets no gate.
    assert done.returncode == 1, done.stdout + done.stderr
    assert verify(run).state is State.OK
    assert {result.rule for result in rule_results(read(run))} == rules_of("0-9-1") | promised_by(run)
    assert len(promised_by(run)) > 40
    assert still(run, STRANGE) == {}
