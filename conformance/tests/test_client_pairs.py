"""Client libraries as they are published, through real brokers: what fails is known, and has a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import docker
import pytest

from conformance.interop.cases import cases
from conformance.interop.play.shims import libraries
from conformance.tests.commands import Command
from conformance.tests.endurance import WHOLE, some
from harness.targets.docker.tests.containers import image_of

CASES = 45
"""How many of each protocol every change is tried on."""
CLIENTS = {
    "0-9-1": ("pika", "amqplib", "rabbitmq-java"),
    "1-0": ("proton-python", "rhea", "qpid-jms"),
}
BROKERS = {
    "0-9-1": ("rabbitmq", "broker-j", *(("garagemq",) if WHOLE else ())),
    "1-0": ("rabbitmq", "broker-j", *(("artemis", "activemq", "proton") if WHOLE else ())),
}
SUITES = ("trixie", "sid")
"""Of Debian, whose RabbitMQ is in an image."""


def players(protocol: str) -> Sequence[str]:
    return sorted(libraries(protocol)) if WHOLE else CLIENTS[protocol]


@pytest.fixture
def images(request: pytest.FixtureRequest) -> Iterator[Sequence[str]]:
    """Name the brokers in images; an engine is asked for only where they are played."""
    if not WHOLE:
        yield ()
        return
    engine: docker.DockerClient = request.getfixturevalue("engine")
    yield tuple(f"docker:{image_of(engine, suite)}" for suite in SUITES)


@pytest.mark.minutes
@pytest.mark.endurance
@pytest.mark.parametrize(
    "protocol",
    [
        pytest.param(
            protocol,
            marks=pytest.mark.broker(*BROKERS[protocol], *(f"client:{each}" for each in players(protocol))),
        )
        for protocol in CLIENTS
    ],
)
def test_what_fails_between_clients_and_brokers_is_known(
    protocol: str, images: Sequence[str], amqp_conformance: Command, tmp_path: Path
) -> None:
    goals = [*(f"process:{each}" for each in BROKERS[protocol]), *images]
    chosen = some([each.name for each in cases(protocol)], CASES, protocol)
    told = [
        *(word for each in players(protocol) for word in ("--client", each)),
        *(word for each in goals for word in ("--target", each)),
        *(word for each in chosen for word in ("--case", each)),
    ]
    done = amqp_conformance(
        "interop", "--protocol", protocol, *told, "--output", tmp_path / "run", timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="ascii"))
    assert summary["gone"] == []
    assert set(summary["brokers"]) == set(goals)
    assert set(summary["clients"]) == set(players(protocol))
