"""Started by us on a cluster, or by `spark-submit`, a command comes to the same as on this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from conformance.tests.commands import command
from conformance.tests.endurance import some
from reports.commands import submitted
from reports.commands.tests.on_spark import here as here
from reports.ingest.tests.cluster import HOME, Standalone, environment
from reports.site.tests.sites import contents
from reports.tests.samples import make_run
from reports.warehouse.tests.contents import digests

pytestmark = pytest.mark.usefixtures("brief")
INGEST = ("ingest", "one", "two", "--warehouse", "kept")
SITE = ("site", "--warehouse", "kept", "--output", "site")
COMPARE = ("compare", "RabbitMQ 1.0", "RabbitMQ 2.0", "--warehouse", "kept")
AUDIT = ("audit", "--claims", "@rabbitmq", "--warehouse", "kept", "--format", "json")


def runs(place: Path) -> Path:
    place.mkdir()
    for name, version in (("one", "1.0"), ("two", "2.0")):
        make_run(place / name, run=name, product="RabbitMQ", version=version)
    return place


def submit(master: str, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [str(HOME / "bin" / "spark-submit"), "--master", master, submitted.__file__, *words]
    return subprocess.run(line, cwd=place, env=environment(), capture_output=True, text=True, check=False)


@pytest.mark.endurance
def test_on_a_cluster_and_under_spark_submit_commands_do_as_here(
    here: Callable[..., Result], cluster: Standalone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local, ours, theirs = (runs(tmp_path / name) for name in ("local", "ours", "theirs"))
    monkeypatch.chdir(local)
    expected = {words: here(*words) for words in (INGEST, SITE, *some((COMPARE, AUDIT), 1))}
    for words, done in expected.items():
        # Executors are slow to start: one command shows that they are there.
        told = submit(cluster.url if words is INGEST else "local[2]", theirs, *words)
        assert (told.returncode, told.stdout) == (done.exit_code, done.stdout), told.stderr
    way = ("--master", cluster.url, "--conf", "spark.sql.shuffle.partitions=3")
    ended = command(*INGEST, *way, cwd=ours, module="reports.commands.cli")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, expected[INGEST].stdout, "")
    assert digests(local / "kept") == digests(ours / "kept") == digests(theirs / "kept")
    assert contents(local / "site") == contents(theirs / "site") != {}


def test_under_spark_submit_nobody_else_says_where_to_run(tmp_path: Path) -> None:
    done = submit("local[1]", runs(tmp_path / "runs"), *INGEST, "--master", "local[2]")
    assert done.returncode == 2
    # spark-submit passes on all that we say as standard output.
    assert "--master goes in front of our command's file" in done.stdout


def test_it_says_the_file_that_spark_submit_takes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reports.commands.submitted"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == submitted.__file__


def test_a_setting_without_a_value_is_told(here: Callable[..., Result]) -> None:
    done = here(*INGEST, "--conf", "spark.sql.shuffle.partitions")
    assert done.exit_code == 2
    assert "'spark.sql.shuffle.partitions' is not KEY=VALUE" in done.output
