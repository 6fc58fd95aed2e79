"""The compose file that judges three brokers, and the image of the suite, played without a Docker Engine."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from conformance.tests.ci_jobs import (
    COMPOSE,
    ROOT,
    asked,
    bash,
    first_on_path,
    loaded,
    play_judge,
    recorder,
    suite,
)

RULES = "0-9-1/queue.bind.*"
NOBODY = "amqp://127.0.0.1:1"
MET, UNREACHABLE = 0, 3

# Three brokers


def test_the_compose_file_judges_three_brokers_that_only_this_machine_reaches() -> None:
    services = loaded(COMPOSE)["services"]
    judge = services.pop("judge")
    assert services.keys() == {"rabbitmq", "lavinmq", "artemis"} == judge["depends_on"].keys()
    assert {each["condition"] for each in judge["depends_on"].values()} == {"service_healthy"}
    assert judged(judge).keys() == services.keys()
    for service in services.values():
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z/-]+:\d+(\.\d+)+\}", service["image"])
        assert {port.rpartition(":")[0] for port in service["ports"]} == {"127.0.0.1:"}
        assert service["healthcheck"]["test"][0] == "CMD"
    assert "ports" not in judge
    assert (COMPOSE.parent / judge["build"]["context"] / judge["build"]["dockerfile"]).is_file()


def judged(judge: dict[str, Any]) -> dict[str | None, SplitResult]:
    """Give the targets of the judge, by their hosts."""
    targets = map(urlsplit, judge["environment"]["JUDGED"].split())
    return {each.hostname: each for each in targets}


def test_the_credentials_are_those_that_the_brokers_are_given() -> None:
    services = loaded(COMPOSE)["services"]
    targets = judged(services.pop("judge"))
    given = {
        name: list(each["environment"].values()) for name, each in services.items() if "environment" in each
    }
    assert given == {
        name: [targets[name].username, targets[name].password] for name in ("rabbitmq", "artemis")
    }
    assert targets["lavinmq"].username == "guest"  # as its image comes


def test_the_judge_tells_the_gravest_status_and_keeps_every_run(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    suite(programs)
    status, said = play_judge(tmp_path, programs, f"embedded {NOBODY} embedded:tcp", RULES)
    assert status == UNREACHABLE, said
    reports = sorted(tmp_path.glob("runs/*/*/summary.github.md"))
    assert ["✓ pass | 10" in report.read_text() for report in reports].count(True) == 2, said
    assert len(reports) == 3


def test_the_judge_makes_one_site_of_all(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    recorder(programs)
    status, said = play_judge(tmp_path, programs, "one two", "")
    assert status == MET, said
    run, ingest, report = asked(programs)
    assert run[:5] == ["run", "--target", "one", "--target", "two"]
    assert ingest[-2:] == report[1:3] == ["--warehouse", "warehouse"]
    assert report[-2:] == ["--output", "site"]


# The image


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (ROOT / "ci" / "Dockerfile").read_text())
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_image_runs_the_suite_as_somebody_without_rights() -> None:
    told = instructions()
    assert told[0] == ("ARG", "BASE=python:3.12-slim-bookworm")
    final = dict(told[[word for word, _ in told].index("USER") :])
    assert final["USER"] == "conformance"
    assert json.loads(final["ENTRYPOINT"]) == ["amqp-conformance"]
    assert "--uid 1000" in " ".join(rest for word, rest in told if word == "RUN")


def test_the_image_is_made_of_all_packages_of_the_wheel() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = set(described["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"])
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert wanted | {"pyproject.toml", described["project"]["readme"]} <= kept
    assert all((ROOT / name).exists() for name in kept)


def build(tmp_path: Path, *arguments: str) -> tuple[int, str]:
    script = f'"{ROOT}/ci/build-suite-image" "$@"'
    command = f"set -- {' '.join(arguments)}; {script}"
    return bash(command, tmp_path, {"PATH": first_on_path(tmp_path / "programs")})


def test_the_image_is_built_on_the_base_that_is_named(tmp_path: Path) -> None:
    note = recorder(tmp_path / "programs", "docker")
    note.write_text(note.read_text().replace("exit 0", "echo 123456789"))
    assert build(tmp_path, "local/bookworm", "--network", "host") == (
        0, "123456789\namqp-conformance:0.1.0 has 123 MB\n"
    )  # fmt: skip
    _, built, _ = asked(tmp_path / "programs", "docker")
    assert built == [
        "build", "--force-rm", "--file", "ci/Dockerfile",
        "--tag", "amqp-conformance:0.1.0", "--tag", "amqp-conformance:latest",
        "--build-arg", "BASE=local/bookworm", "--network", "host", ".",
    ]  # fmt: skip


def test_without_an_engine_no_image_is_built(tmp_path: Path) -> None:
    recorder(tmp_path / "programs", "docker", status=1)
    assert build(tmp_path) == (1, "no Docker Engine answers.\n")
