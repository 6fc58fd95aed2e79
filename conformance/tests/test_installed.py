"""The wheel: what is in it, and that its commands work where there is nothing else, not even Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

from conformance.evidence.stream import State, verify
from conformance.gate.gate import Exit
from conformance.tests.installed import ROOT, lose, must_have, run, wheel

NOTHING_OF_OURS = {"tests", "trials"}
SHIPS = (
    "spec/documents/*",
    "ci/*/*.toml",
    "ci/*/*.json",
    "**/templates/*",
    "**/assets/*",
    "reports/audit/*.json",
)
RULE = "0-9-1/channel.open.state"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel as a tool, with what it says that it needs; gives the folder of its programs."""
    must_have("uv")
    tools = tmp_path_factory.mktemp("tools")
    done = subprocess.run(
        [sys.executable, "-m", "uv", "tool", "install", "--quiet", "--python", sys.executable, str(built)],
        env=os.environ | {"UV_TOOL_DIR": str(tools), "UV_TOOL_BIN_DIR": str(tools / "bin")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        lose(f"the wheel cannot be installed: {done.stderr}")
    assert (tools / "bin" / "amqp-conformance").exists()
    return tools / "amqp-conformance" / "bin"


def test_the_wheel_holds_the_data_and_nothing_for_our_own_tests(built: Path) -> None:
    with ZipFile(built) as file:
        names = set(file.namelist())
        assert not [name for name in names if NOTHING_OF_OURS & set(Path(name).parts)]
        assert [name for name in names if Path(name).name == "conftest.py"] == [
            "conformance/suite/conftest.py"
        ]
        wanted = {
            path.relative_to(ROOT).as_posix() for each in SHIPS for path in ROOT.glob(each) if path.is_file()
        }
        assert len(wanted) > 50
        assert {
            each for each in wanted if not set(Path(each).parts) & {"tests", ".venv", ".venv-plain"}
        } <= names
        # The document of AMQP 0-9-1 may be distributed with its notice.
        assert b"worldwide, perpetual, royalty-free" in file.read("spec/documents/amqp0-9-1.xml")
        [about] = [name for name in names if name.endswith(".dist-info/METADATA")]
        told = Parser().parsestr(file.read(about).decode())
        licences = [name for name in names if "/licenses/" in name]
        assert file.read(licences[0]) == (ROOT / "LICENSE").read_bytes()
    assert (told["License-Expression"], told["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    assert told.get_payload() == (ROOT / "README.md").read_text()
    assert "pyspark" not in "".join(
        each for each in told.get_all("Requires-Dist", []) if "extra ==" not in each
    )


def test_a_tool_in_an_empty_directory_judges_and_writes_its_page(programs: Path, tmp_path: Path) -> None:
    assert not list(programs.glob("*spark*"))
    tool = str(programs / "amqp-conformance")
    listed = run([tool, "rules", "class:queue", "level:must"], tmp_path, programs)
    assert (listed.returncode, listed.stderr) == (Exit.MET, "")
    assert "0-9-1/queue.declare.default-binding" in listed.stdout
    done = run([tool, "certify", RULE, "--output", "run", "--baseline", "@rabbitmq-4.3"], tmp_path, programs)
    assert done.returncode == Exit.MET, done.stdout + done.stderr
    assert "@rabbitmq-4.3 is not applied" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert verify(tmp_path / "run").state is State.OK
    assert (tmp_path / "run" / "report.html").stat().st_size > 1000
    assert (tmp_path / "run" / "site" / "index.html").stat().st_size > 1000
    told = run([tool, "ingest", "run", "--warehouse", "kept"], tmp_path, programs)
    assert (told.returncode, told.stderr.count("\n")) == (Exit.NOTHING, 1)
    assert "install amqp-conformance[spark]" in told.stderr


def test_pytest_finds_the_installed_suite_by_its_name(programs: Path, tmp_path: Path) -> None:
    suite = ["--pyargs", "conformance.suite", "--target", "embedded", "--rules", RULE, "--output", "run"]
    done = run([str(programs / "pytest"), "-q", "-W", "error", *suite], tmp_path, programs)
    assert done.returncode == Exit.MET, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "the run is in run" in done.stdout
    assert verify(tmp_path / "run").state is State.OK


def test_who_tests_something_else_meets_none_of_our_options(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text("def test_theirs(): pass\n")
    done = run(
        [str(programs / "pytest"), "-q", "-W", "error", "--help", "test_theirs.py"], tmp_path, programs
    )
    assert done.returncode == Exit.MET
    assert "amqp-conformance" not in done.stdout
