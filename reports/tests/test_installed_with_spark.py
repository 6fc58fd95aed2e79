"""The wheel with `[spark]`: a warehouse from an empty directory."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from conformance.gate.gate import Exit
from conformance.tests.installed import ROOT, must_have, run, wheel

WITHIN = f"lib/python{sysconfig.get_python_version()}/site-packages"


@pytest.fixture
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel beside what is installed here already, Spark among it; gives its programs.

    What the wheel says that it needs is installed where Spark is not, by the test of the tool.
    """
    must_have("uv")
    place = tmp_path_factory.mktemp("with-spark")
    venv.create(place, symlinks=True)
    (place / WITHIN / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    built = wheel(tmp_path_factory.mktemp("wheel"))
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    subprocess.run([*install, "--python", str(place / "bin" / "python"), str(built)], check=True)
    return place / "bin"


@pytest.mark.usefixtures("brief")
def test_an_installed_suite_ingests(programs: Path, tmp_path: Path) -> None:
    tool = str(programs / "amqp-conformance")
    where = "import conformance, pyspark; print(conformance.__file__)"
    found = run([str(programs / "python"), "-c", where], tmp_path, programs)
    assert found.stdout.startswith(str(programs.parent)), found.stderr
    assert not found.stdout.startswith(str(ROOT))
    for command in (
        ["run", "0-9-1/channel.open.state", "--output", "run"],
        ["ingest", "run", "--warehouse", "kept"],
    ):
        done = run([tool, *command], tmp_path, programs)
        assert done.returncode == Exit.MET, done.stdout + done.stderr
    assert (done.stdout, done.stderr) == ("1 added: run\n", "")  # nothing of Spark's own
