"""What others copy into their CI: action, template, compose file and image, played without the services."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conformance.tests.ci_jobs import (
    ACTION,
    COMPOSE,
    GITLAB,
    JOB,
    ROOT,
    Action,
    asked,
    cut_short,
    loaded,
    play_gitlab,
    recorder,
    suite,
)

RULES = "0-9-1/queue.bind.*"
SERIAL = "--parallel 0"
NOBODY = "amqp://127.0.0.1:1"
MET, NOT_MET, NOTHING, UNREACHABLE = range(4)
REFUSED = set('":<>|*?\r\n')
"""Characters that actions/upload-artifact takes in no file name."""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    suite(folder)
    return folder


@pytest.fixture
def broken_promise(tmp_path: Path) -> Path:
    """A baseline that does not hold: it accepts a finding that the reference peer does not give."""
    file = tmp_path / "accepted.toml"
    file.write_text(
        """
        [[accepted]]
        rule = "0-9-1/queue.bind.duplicates"
        verdict = "fail"
        signature = "channel.close 406 (precondition-failed) instead of queue.bind-ok"
        sentence = "A server MUST allow ignore duplicate bindings."
        reading = "as it stands"
        frame = "channel.close"
        reason = "It was so once."
        product = "AMQP conformance reference peer"
        versions = ">=0.1"
        """
    )
    return file


def action(tmp_path: Path, programs: Path, **inputs: str) -> Action:
    given = {"target": "embedded", "selectors": RULES, "site": "false", "options": SERIAL} | inputs
    return Action(tmp_path, programs / "amqp-conformance", given).play()


# What their readers document


def lint(file: Path, schema: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def as_extended(tmp_path: Path) -> Path:
    """Give the template as a job that extends it: of a hidden one nothing is checked."""
    file = tmp_path / "job.gitlab-ci.yml"
    file.write_text(yaml.safe_dump({"conformance": loaded(GITLAB)[JOB]}))
    return file


@pytest.mark.parametrize("schema", ["github-actions", "gitlab-ci", "compose-spec"])
def test_every_key_is_documented_and_a_wrong_one_is_seen(tmp_path: Path, schema: str) -> None:
    files = {"github-actions": ACTION, "gitlab-ci": as_extended(tmp_path), "compose-spec": COMPOSE}
    assert lint(files[schema], schema) == (0, "ok -- validation done\n")
    words = {"github-actions": "using:", "gitlab-ci": "reports:", "compose-spec": "healthcheck:"}
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(files[schema].read_text().replace(words[schema], "mispelt:"))
    assert lint(wrong, schema)[0] == 1


# The action


def test_the_action_judges_and_hands_over_the_run(tmp_path: Path, programs: Path) -> None:
    played = action(tmp_path, programs)
    run = played.workspace / "amqp-conformance" / "run"
    assert (played.status, played.outputs["judge"]) == (
        MET,
        {"run": "amqp-conformance/run", "status": "0"},
    ), played.said
    assert played.summary == (run / "summary.github.md").read_text()
    assert "✓ pass | 10 |" in played.summary
    assert (run / "junit.xml").is_file()
    assert played.used["actions/upload-artifact"] == {
        "name": "amqp-conformance", "path": "amqp-conformance", "if-no-files-found": "warn"
    }  # fmt: skip
    kept = [path.relative_to(run).as_posix() for path in run.rglob("*")]
    assert [name for name in kept if REFUSED & set(name)] == []


def test_the_action_fails_when_the_baseline_does_not_hold(
    tmp_path: Path, programs: Path, broken_promise: Path
) -> None:
    played = action(tmp_path, programs, baseline=str(broken_promise))
    assert (played.status, played.outputs["judge"]["status"]) == (NOT_MET, "1"), played.said
    assert "<li><code>0-9-1/queue.bind.duplicates: " in played.summary
    assert "actions/upload-artifact" in played.used


def test_the_action_judges_several_targets(tmp_path: Path, programs: Path) -> None:
    played = action(tmp_path, programs, target=f"embedded {NOBODY}")
    assert played.status == UNREACHABLE, played.said
    assert re.findall("(?:pass|not-run) \\| 10", played.summary) == ["not-run | 10", "pass | 10"]


def test_the_action_fails_when_the_target_is_not_there(tmp_path: Path, programs: Path) -> None:
    played = action(tmp_path, programs, target=NOBODY)
    assert played.status == UNREACHABLE, played.said
    assert "○ not-run | 10 |" in played.summary


@pytest.mark.parametrize(
    ("inputs", "told"),
    [({"baseline": "missing.toml"}, "missing.toml"), ({"site": "yes"}, 'site is "true" or "false"')],
)
def test_the_action_says_so_when_nothing_was_judged(
    tmp_path: Path, programs: Path, inputs: dict[str, str], told: str
) -> None:
    played = action(tmp_path, programs, **inputs)
    assert played.status == NOTHING
    assert told in played.said
    assert "Nothing was judged" in played.summary


def test_the_action_sums_up_a_run_that_was_cut_short(tmp_path: Path, programs: Path) -> None:
    cut_short(programs)
    played = action(tmp_path, programs)
    assert played.status == 137
    assert "✓ pass | 10 |" in played.summary


def test_every_input_reaches_the_command_line_as_it_is(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    program_asked = recorder(programs)
    for name in ("0-9-1/a-file", "out/run/events.jsonl"):
        (tmp_path / "workspace" / name).parent.mkdir(parents=True)
        (tmp_path / "workspace" / name).touch()
    Action(
        tmp_path,
        program_asked,
        {
            "target": "amqp://a:$(touch${IFS}owned)'\"@b:1/ process:*", "level": "may",
            "baseline": "b c.toml", "targets": "mine.toml", "options": "--disruptive  --budget 9",
            "selectors": "0-9-1/*\n class:queue", "output": "out", "warehouse": "kept",
        },
    ).play()  # fmt: skip
    assert asked(programs) == [
        [
            "run", "--level", "may", "--output", "out/run",
            "--baseline", "b c.toml", "--targets", "mine.toml",
            "--target", "amqp://a:$(touch${IFS}owned)'\"@b:1/", "--target", "process:*",
            "--disruptive", "--budget", "9",
            "--", "0-9-1/*", "class:queue",
        ],
        ["ingest", "out/run", "--warehouse", "kept"],
        ["site", "--warehouse", "kept", "--output", "out/site"],
        ["render", "out/run"],
    ]  # fmt: skip
    assert not (tmp_path / "workspace" / "owned").exists()


def test_no_script_of_the_action_has_an_input_in_its_text() -> None:
    assert [step["name"] for step in loaded(ACTION)["runs"]["steps"] if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize(
    ("inputs", "wanted", "java", "command"),
    [
        ({"site": "false"}, str(ROOT), False, "run"),
        ({"site": "true"}, str(ROOT), False, "certify"),
        ({"site": "false", "warehouse": "kept"}, f"{ROOT}[spark]", True, "run"),
        ({"site": "false", "version": "0.1.0"}, "amqp-conformance==0.1.0", False, "run"),
        ({"version": "0.1.0"}, "amqp-conformance==0.1.0", False, "certify"),
        ({"version": "0.1.0", "warehouse": "kept"}, "amqp-conformance[spark]==0.1.0", True, "run"),
    ],
)
def test_the_action_installs_what_it_needs(
    tmp_path: Path, inputs: dict[str, str], wanted: str, java: bool, command: str
) -> None:
    played = Action(tmp_path, recorder(tmp_path / "programs"), {"target": "embedded"} | inputs).play()
    assert played.installed == [wanted]
    assert ("actions/setup-java" in played.used) == java
    assert asked(tmp_path / "programs")[0][0] == command


def test_a_warehouse_that_fails_costs_no_verdict(tmp_path: Path, programs: Path) -> None:
    played = action(tmp_path, programs, warehouse="kept", site="true")
    assert played.status == MET
    assert "::warning::the run is not in the warehouse" in played.said
    assert "::warning::there is no site" in played.said


# The template


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def annotated(project: Path) -> dict[str, str]:
    """Give the links on the job's page."""
    (links,) = json.loads((project / "amqp-conformance" / "annotations.json").read_text()).values()
    return {each["external_link"]["label"]: each["external_link"]["url"] for each in links}


def test_the_template_judges_and_hands_over_the_run(project: Path, programs: Path) -> None:
    status, said = play_gitlab(project, programs, selectors=RULES, options=SERIAL, site="false")
    assert status == MET, said
    page = "https://gitlab.example/jobs/7/artifacts/file/amqp-conformance/run/summary.gitlab.md"
    assert annotated(project) == {"partial at level must": page}
    artifacts = loaded(GITLAB)[JOB]["artifacts"]
    assert artifacts["reports"]["annotations"] == "amqp-conformance/annotations.json"
    one, _ = artifacts["reports"]["junit"]
    assert all((project / path).exists() for path in (*artifacts["paths"], one))
    assert (project / "amqp-conformance" / "run" / "summary.gitlab.md").is_file()


def test_the_template_judges_several_targets(project: Path, programs: Path) -> None:
    status, said = play_gitlab(
        project, programs, selectors=RULES, options=SERIAL, site="false", target="embedded embedded:tcp"
    )
    assert status == MET, said
    assert sorted(annotated(project)) == [
        "embedded-tcp: partial at level must", "embedded: partial at level must"
    ]  # fmt: skip
    _, several = loaded(GITLAB)[JOB]["artifacts"]["reports"]["junit"]
    assert len(list(project.glob(several))) == 2


def test_the_template_links_a_site_that_is_there(project: Path, programs: Path) -> None:
    site = "amqp-conformance/run/site"
    suite(programs, f"mkdir {site} && touch {site}/index.html")
    status, said = play_gitlab(project, programs, selectors=RULES, options=SERIAL, site="false")
    assert status == MET, said
    assert annotated(project)["site"] == f"https://gitlab.example/jobs/7/artifacts/file/{site}/index.html"


def test_the_template_fails_when_the_baseline_does_not_hold(
    project: Path, programs: Path, broken_promise: Path
) -> None:
    status, said = play_gitlab(
        project,
        programs,
        selectors=RULES,
        options=SERIAL,
        site="false",
        baseline=str(broken_promise),
        level="should",
    )
    assert status == NOT_MET, said
    assert list(annotated(project)) == ["partial at level should"]


def test_the_template_fails_when_the_target_is_not_there(project: Path, programs: Path) -> None:
    assert (
        play_gitlab(project, programs, selectors=RULES, options=SERIAL, site="false", target=NOBODY)[0]
        == UNREACHABLE
    )
    assert list(annotated(project)) == ["partial at level must"]


def test_the_template_sums_up_a_run_that_was_cut_short(project: Path, programs: Path) -> None:
    cut_short(programs)
    assert play_gitlab(project, programs, selectors=RULES, options=SERIAL, site="false")[0] == 137
    assert list(annotated(project)) == ["partial at level must"]


def test_every_variable_reaches_the_command_line_as_it_is(project: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    recorder(programs)
    (project / "0-9-1").mkdir()
    (project / "0-9-1" / "a-file").touch()
    status, _ = play_gitlab(
        project, programs, target="amqp://a:$(touch${IFS}owned)@b:1/ process:*", level="may",
        baseline="b c.toml", targets="mine.toml", options="--disruptive  --budget 9",
        selectors="0-9-1/*\n class:queue",
    )  # fmt: skip
    assert status == MET
    assert asked(programs) == [
        [
            "certify", "--level", "may", "--output", "amqp-conformance/run",
            "--baseline", "b c.toml", "--targets", "mine.toml",
            "--target", "amqp://a:$(touch${IFS}owned)@b:1/", "--target", "process:*",
            "--disruptive", "--budget", "9", "--", "0-9-1/*", "class:queue",
        ]
    ]  # fmt: skip
    assert not (project / "owned").exists()


def test_the_template_refuses_a_wrong_setting(project: Path, programs: Path) -> None:
    assert play_gitlab(project, programs, site="yes")[0] == NOTHING
