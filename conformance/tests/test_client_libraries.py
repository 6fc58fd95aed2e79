"""Client libraries as they are published: each judged by all rules of its protocol that bind clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from conformance.evidence.kinds import Judged
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.gate.tests.baselines import path_of, unexpected
from conformance.tests.again import still
from conformance.tests.commands import Ended, command, environment
from conformance.tests.endurance import WHOLE
from harness.targets.client.described import clients

OURS = {"own-program", "own-1-0-program"}
ALWAYS = (
    "rabbitmq-java", "qpid-jms", "pika", "amqplib", "lapin", "amqp091-go", "rabbitmq-c", "proton-python",
    "rhea", "go-amqp",
)  # fmt: skip
"""Those that every change is tried on; all others are for `make endurance`."""
LIBRARIES = sorted(clients().keys() - OURS) if WHOLE else ALWAYS
AT_ONCE = 2
"""How many are judged side by side: most of it is waiting."""
BEYOND = (Verdict.ERROR, Verdict.NOT_RUN)

pytestmark = [pytest.mark.minutes, pytest.mark.endurance]


def strange(name: str, run: Path) -> Mapping[str, str]:
    """Give what a run on a library came to that is not known, by rule.

    What could not be judged is a fault of ours or of the shim; rules without a check are none.
    """
    lines = (line.event for line in read(run, "judged"))
    ours = (each for each in lines if isinstance(each, Judged) and each.verdict in BEYOND)
    found = {each.rule: f"{each.verdict}: {each.detail}" for each in ours}
    return found | {each.rule: str(each) for each in unexpected(run, f"client-{name}")}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, tuple[Path, Future[Ended]]]]:
    """Judge all that are there, some at once; each test waits for its own."""
    there = [name for name in LIBRARIES if not clients()[name].missing()]
    begun = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name in there:
            folder = tmp_path_factory.mktemp(name)
            told = (
                "run",
                "--client",
                name,
                "--baseline",
                path_of(f"client-{name}"),
                "--output",
                folder / "run",
            )
            begun[name] = folder / "run", pool.submit(command, *told, cwd=folder, env=environment())
        yield begun


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.broker(f"client:{name}")) for name in LIBRARIES]
)
def test_every_finding_on_a_library_is_known(
    name: str, runs: Mapping[str, tuple[Path, Future[Ended]]]
) -> None:
    run, done = runs[name]
    ended = done.result()
    assert verify(run).state is State.OK, ended.stderr + ended.stdout
    assert still(run, partial(strange, name)) == {}
