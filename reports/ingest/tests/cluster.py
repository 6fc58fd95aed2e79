"""A standalone cluster of Spark's on the loopback address: nothing may depend on where Spark runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from reports.warehouse.spark import BRIEF, require

HOME = Path(pyspark.__file__).parent
DEPLOY = "org.apache.spark.deploy"
HOST = ("--host", "127.0.0.1", "--webui-port", "0")


def environment() -> dict[str, str]:
    """Give the environment of Spark's own programs, on this machine and with this Python."""
    require()  # finds Java
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "JAVA_TOOL_OPTIONS": BRIEF}
    return dict(os.environ) | own | {"PYSPARK_DRIVER_PYTHON": sys.executable}


@dataclass(frozen=True, slots=True)
class Standalone:
    """Its master's `url`, and where workers have `kept` what they were sent and what their executors said."""

    url: str
    kept: Path


@contextmanager
def standalone(place: Path) -> Iterator[Standalone]:
    """Start a master and two workers of one core each."""
    with ExitStack() as stack:
        url = _started(stack, "master.Master", ("--port", "0"), r"Starting Spark master at (spark://\S+)")
        for number in ("0", "1"):
            kept = ("--cores", "1", "--memory", "1g", "--work-dir", str(place / number), url)
            _started(stack, "worker.Worker", kept, "Successfully registered with (master)")
        yield Standalone(url, place)


def _started(stack: ExitStack, what: str, words: tuple[str, ...], told: str) -> str:
    """Start one of the cluster's programs and give what it says when it is ready."""
    line = [str(HOME / "bin" / "spark-class"), f"{DEPLOY}.{what}", *HOST, *words]
    process = stack.enter_context(
        subprocess.Popen(
            line, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
    )
    stack.callback(process.kill)
    assert process.stderr is not None
    said = []
    for each in process.stderr:
        said.append(each)
        if found := re.search(told, each):
            # It goes on talking, and would stand still when nobody listens.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return found[1]
    raise AssertionError("".join(said))
