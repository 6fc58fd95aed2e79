"""RabbitMQ 3.10, 4.0 and a current 4.x in containers: judged at once by every rule, and nothing is left."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from conformance.bug.tests.on_brokers import shown
from conformance.evidence.folder import read_run
from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from conformance.gate.tests.baselines import (
    BASELINES,
    NO_EVIDENCE,
    path_of,
    rules_of,
)
from conformance.tests.again import Strange, beyond, still
from conformance.tests.commands import command, environment
from conformance.tests.endurance import WHOLE
from harness.targets.docker.tests.containers import image_of

pytestmark = [pytest.mark.minutes, pytest.mark.endurance]

SUITES = ("bookworm", "trixie", "sid") if WHOLE else ("trixie", "sid")
"""RabbitMQ 3.10, that of bookworm, is judged for every change as a process (test_rabbitmq)."""


@dataclass(frozen=True, slots=True)
class Together:
    """What the one command came to: its `status`, what it `said`, and a run for each suite of Debian's."""

    status: int
    said: str
    runs: dict[str, Path]


@pytest.fixture(scope="module")
def together(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Together:
    """The only run of each build; every test reads it. At once, since most of a run is waiting."""
    targets = {suite: f"docker:{image_of(engine, suite)}" for suite in SUITES}
    place = tmp_path_factory.mktemp("containers") / "runs"
    chosen = [word for target in targets.values() for word in ("--target", target)]
    known = [word for path in sorted(BASELINES.glob("rabbitmq-*.toml")) for word in ("--baseline", str(path))]
    # However busy the machine is, what is looked at here is what came out.
    way = ("--parallel", "12", "--budget", "2400", "--output", place)
    done = command("run", *chosen, *known, *way, env=environment(), timeout=3000)
    runs = {read_run(told.parent).target: told.parent for told in place.glob("*/run.json")}
    assert runs.keys() == set(targets.values()), done.stdout
    said = done.stdout + done.stderr
    return Together(done.returncode, said, {suite: runs[name] for suite, name in targets.items()})


@pytest.fixture(params=SUITES)
def run(request: pytest.FixtureRequest, together: Together) -> Path:
    return together.runs[request.param]


def name_of(run: Path) -> str:
    """Say what the baseline of the version in `run` is called."""
    return "rabbitmq-" + ".".join(read_run(run).version.split(".")[:2])


def strange_of(run: Path) -> Strange:
    return beyond(name_of(run), f"docker-{name_of(run)}")


def test_all_gates_are_met_with_what_is_known(together: Together) -> None:
    known = [run for run in together.runs.values() if path_of(name_of(run)).exists()]
    assert together.status in (Exit.MET, Exit.NOT_MET), together.said
    assert together.status == Exit.MET or any(strange_of(run)(run) for run in known), together.said
    assert len({name_of(run) for run in together.runs.values()}) == len(SUITES)


def test_every_rule_has_a_verdict_or_says_why_not(run: Path) -> None:
    results = rule_results(read(run))
    assert verify(run).state is State.OK
    known = rules_of("0-9-1", "1-0", "rabbitmq", version=read_run(run).version)
    assert {each.rule for each in results} == known
    # Whether an error comes again is tried where all that is strange is judged again.
    errors = {each.rule for each in results if each.verdict is Verdict.ERROR}
    assert errors <= (strange_of(run)(run).keys() if path_of(name_of(run)).exists() else set())
    silent = [each for each in results if each.verdict in (*NO_EVIDENCE, Verdict.UNTESTABLE)]
    assert [each.rule for each in silent if not all(test.detail for test in each.tests)] == []


def test_every_finding_is_in_the_baseline_of_its_version(run: Path) -> None:
    name = name_of(run)
    if not path_of(name).exists():  # sid goes on: what nobody has read does not gate
        told = f"nobody has read {name} yet: judge it, read its findings, write ci/baselines/{name}.toml"
        warnings.warn(told, stacklevel=1)
        pytest.skip(told)
    assert still(run, strange_of(run)) == {}


def test_a_script_shows_each_finding_on_the_newest_to_who_has_only_that(
    together: Together, engine: docker.DockerClient, tmp_path: Path
) -> None:
    run, image = together.runs["sid"], image_of(engine, "sid")
    part, others = shown(run, f"docker:{image}", path_of(name_of(run)), tmp_path / "bugs")
    assert others == []
    assert part > 0.85


def test_the_broker_was_restarted_inside(run: Path) -> None:
    assert [line.kind for line in read(run)].count("target-restarted") == 1


def test_the_container_is_gone_and_its_log_is_kept(run: Path, engine: docker.DockerClient) -> None:
    # A node is called after its host, which is the beginning of the container's name. The images have no
    # volumes; that volumes go too is shown in harness/targets/docker/tests/test_target.py.
    host = str(read_run(run).banner["cluster_name"]).partition("@")[2]
    assert len(host) == 12
    left = [each["Id"] for each in engine.api.containers(all=True)]
    assert [each for each in left if each.startswith(host)] == []
    assert b"Starting RabbitMQ" in (run / "broker.log").read_bytes()
