"""A second real broker, with faults of its own: nothing of it is an accident of the first one's."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.events import State, read, verify
from conformance.results import rule_results
from conformance.tests.baselines import admitted, unevidenced, unexpected
from conformance.tests.conftest import Command

pytestmark = pytest.mark.broker("garagemq")


@pytest.mark.parametrize("shuffle", ["11", "23"])
def test_every_verdict_is_known_in_every_order(
    amqp_conformance: Command, tmp_path: Path, shuffle: str
) -> None:
    run = tmp_path / "run"
    done = amqp_conformance(
        "run", "--target", "process:garagemq", "--level", "should", "--shuffle", shuffle, "--output", run
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert verify(run).state is State.OK
    assert len(rule_results(read(run))) == 115
    assert unexpected(run, "garagemq-0.1") == []
    assert unevidenced(run) == admitted("process-garagemq")
