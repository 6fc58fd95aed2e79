"""A Spark standalone cluster on the loopback address: no table may depend on where Spark runs."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from reports.warehouse.spark import BRIEF, java_home

_PACKAGE = "org.apache.spark.deploy"
ENVIRONMENT = {"SPARK_LOCAL_IP": "127.0.0.1", "JAVA_TOOL_OPTIONS": BRIEF}
"""What a driver on this cluster needs as well."""


@contextmanager
def standalone(scratch: Path, workers: int = 2) -> Iterator[str]:
    """Start a master and `workers` of one core, which keep their files in `scratch`; gives its URL."""
    with ExitStack() as running:
        arguments = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        started = _daemon(f"{_PACKAGE}.master.Master", *arguments, until="Starting Spark master at ")
        url = running.enter_context(started).split()[-1]
        resources = ("--cores", "1", "--memory", "1g")
        for number in range(workers):
            place = ("--work-dir", str(scratch / f"worker-{number}"))
            running.enter_context(
                _daemon(
                    f"{_PACKAGE}.worker.Worker",
                    *(*arguments, *resources, *place, url),
                    until="Successfully registered with master",
                )
            )
        yield url


@contextmanager
def _daemon(name: str, *arguments: str, until: str) -> Iterator[str]:
    """Start one of Spark's own processes; gives the line with which it says that it is ready."""
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), name, *arguments]
    environment = os.environ | ENVIRONMENT | {"JAVA_HOME": str(java_home())}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if until in line:
                break
        else:
            raise AssertionError(f"{name} did not start: {''.join(said)}")
        threading.Thread(target=process.stderr.read, daemon=True).start()  # or it would block one day
        yield said[-1]
    finally:
        process.terminate()
        process.wait()
