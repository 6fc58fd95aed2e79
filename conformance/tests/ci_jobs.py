"""Stand-ins for those who read the files in `ci/`: they play its scripts as GitHub, GitLab and Compose do.

What belongs to the service itself (setting up Python, keeping artefacts, starting brokers) is only noted.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import yaml

from conformance.tests.commands import environment

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "ci" / "action" / "action.yml"
GITLAB = ROOT / "ci" / "gitlab" / "amqp-conformance.gitlab-ci.yml"
COMPOSE = ROOT / "ci" / "compose.yaml"
JOB = ".amqp-conformance"


def loaded(file: Path) -> dict[str, Any]:
    """Read a YAML file that holds a mapping."""
    content = yaml.safe_load(file.read_text("utf-8"))
    assert isinstance(content, dict)
    return content


def program(file: Path, *lines: str) -> Path:
    """Make `file` a program of the shell."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    file.chmod(0o755)
    return file


def suite(folder: Path, then: str = "") -> Path:
    """Make the program `amqp-conformance` in `folder`: this tree's, whatever is installed.

    `then` are words for the shell to play after `run` (its status is in $status); the warehouse, which needs
    Spark, is never there.
    """
    python = f"PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)}"
    command = f'{python} -m reports.commands.cli "$@"; status=$?'
    absent = 'case "$1" in ingest | report) echo "no Spark here" >&2; exit 2 ;; esac'
    return program(
        folder / "amqp-conformance",
        absent,
        command,
        f'if [ "$1" = run ]; then :; {then}',
        "fi",
        "exit $status",
    )


CUT = """
import json, pathlib
run = pathlib.Path("amqp-conformance/run")
told = json.loads((run / "run.json").read_text())
(run / "run.json").write_text(json.dumps(told | {"files": {}}))
events = (run / "events.jsonl").read_text().splitlines(keepends=True)
(run / "events.jsonl").write_text("".join(events[:-1]))
for report in run.glob("summary.*"):
    report.unlink()
"""
"""Makes a run in an output folder of that name one that was killed before it closed its evidence."""


def cut_short(folder: Path) -> Path:
    """Make the program `amqp-conformance` whose runs are killed at their end, with status 137."""
    return suite(folder, f"{shlex.quote(sys.executable)} -c {shlex.quote(CUT)}; status=137")


def recorder(folder: Path, name: str = "amqp-conformance", status: int = 0) -> Path:
    """Make a program that writes its arguments, one a line and a line of dashes behind, and does nothing."""
    note = shlex.quote(str(folder / f"{name}.asked"))
    return program(folder / name, f'printf "%s\\n" "$@" --- >> {note}', f"exit {status}")


def asked(folder: Path, name: str = "amqp-conformance") -> list[list[str]]:
    """Give what a recorder in `folder` was asked to do, call by call."""
    note = folder / f"{name}.asked"
    calls = note.read_text().split("---\n")[:-1] if note.exists() else []
    return [call.splitlines() for call in calls]


def bash(script: str, folder: Path, settings: Mapping[str, str], *options: str) -> tuple[int, str]:
    """Play `script` in `folder` with nothing but `settings` added; gives status and what it said."""
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", *options, "-c", script, "bash"],
        cwd=folder,
        env=environment() | dict(settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )
    return done.returncode, done.stdout


def first_on_path(folder: Path) -> str:
    """Give a search path that begins with `folder`."""
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@dataclass
class Action:
    """One use of the action, in the folder `place`; `program` is the amqp-conformance it installs."""

    place: Path
    program: Path
    inputs: Mapping[str, str]
    status: int = 0
    said: str = ""
    used: dict[str, dict[str, str]] = field(default_factory=dict)
    """The steps that are other actions, by their names without a version, and what was given to them."""
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    def play(self) -> Action:
        """Play all steps, in order."""
        described = loaded(ACTION)
        known = described["inputs"]
        assert self.inputs.keys() <= known.keys()
        self.inputs = {name: self.inputs.get(name, each.get("default", "")) for name, each in known.items()}
        self.outputs["python"] = {"python-path": str(self._python())}
        for step in described["runs"]["steps"]:
            if self._holds(step.get("if", "success()")):
                self._step(step)
        return self

    @property
    def workspace(self) -> Path:
        """Where the job stands."""
        (self.place / "workspace").mkdir(exist_ok=True)
        return self.place / "workspace"

    @property
    def summary(self) -> str:
        """What the job's page shows."""
        return (self.place / "summary").read_text()

    @property
    def installed(self) -> list[str]:
        """What pip was asked for."""
        return [call[-1] for call in asked(self.place / "python", "pip")]

    def _step(self, step: Mapping[str, Any]) -> None:
        if "uses" in step:
            given = {name: self._filled(value) for name, value in step.get("with", {}).items()}
            self.used[step["uses"].partition("@")[0]] = given
            return
        assert step["shell"] == "bash"
        note = self.place / "output"
        note.write_text("")
        settings = {name: self._filled(value) for name, value in step.get("env", {}).items()} | {
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "GITHUB_OUTPUT": str(note),
            "GITHUB_STEP_SUMMARY": str(self.place / "summary"),
            "RUNNER_TEMP": str(self.place / "temp"),
        }
        status, said = bash(step["run"], self.workspace, settings, "-eo", "pipefail")
        self.said += said
        self.status = self.status or status
        told = (line.partition("=") for line in note.read_text().splitlines())
        self.outputs.setdefault(step.get("id", ""), {}).update({name: value for name, _, value in told})

    def _filled(self, text: object) -> str:
        return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: self._value(found[1]), str(text))

    def _value(self, name: str) -> str:
        match name.split("."):
            case ["inputs", known]:
                return self.inputs[known]
            case ["steps", step, "outputs", output]:
                return self.outputs.get(step, {}).get(output, "")
        raise LookupError(name)

    def _holds(self, condition: str) -> bool:
        if self.status and "always()" not in condition:
            return False
        words = re.sub(r"(always|success)\(\)", "True", condition.replace("||", "or").replace("&&", "and"))
        words = re.sub(r"\b(inputs|steps)\.[\w.-]+", lambda found: repr(self._value(found[0])), words)
        return bool(eval(words, {"__builtins__": {}}))

    def _python(self) -> Path:
        """Python as far as the action uses it: an environment, whose pip notes what it is asked for."""
        pip = recorder(self.place / "python", "pip")
        make = f'mkdir -p "$3/bin" && cp {self.program} "$3/bin/" && cp {pip} "$3/bin/python"'
        return program(self.place / "python" / "python", f'[ "$1 $2" = "-m venv" ] && {make}')


def play_gitlab(project: Path, programs: Path, **variables: str) -> tuple[int, str]:
    """Play the template's job in `project`; `variables` without their AMQP_CONFORMANCE_. Gives its status."""
    job = loaded(GITLAB)[JOB]
    named = {f"AMQP_CONFORMANCE_{name.upper()}": value for name, value in variables.items()}
    assert named.keys() <= job["variables"].keys()
    given = {"CI_JOB_URL": "https://gitlab.example/jobs/7", "CI_REGISTRY_IMAGE": "registry.example/group"}
    expanded = {name: Template(value).substitute(given) for name, value in job["variables"].items()}
    settings = given | expanded | named | {"PATH": first_on_path(programs)}
    status, said = bash(_joined(job["script"]), project, settings, "-eo", "pipefail")
    _, after = bash(_joined(job["after_script"]), project, settings, "-eo", "pipefail")  # it decides nothing
    return status, said + after


def play_judge(folder: Path, programs: Path, judged: str, selectors: str) -> tuple[int, str]:
    """Play the judge of the compose file, in `folder`, on other targets than the three brokers."""
    judge = loaded(COMPOSE)["services"]["judge"]
    assert judge["entrypoint"] == ["bash", "-c"]
    (script,) = judge["command"]
    settings = {
        "LEVEL": "must", "SELECTORS": selectors, "JUDGED": judged, "PATH": first_on_path(programs)
    }  # fmt: skip
    assert settings.keys() - {"PATH"} == judge["environment"].keys()
    return bash(script.replace("$$", "$"), folder, settings)


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)
