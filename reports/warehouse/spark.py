"""Spark for one command: found, started quietly, ended.

Everything here is for a process that starts no other Spark beside it. The virtual machine says much while
it starts; it goes into a file of its own, whose end is shown only when the start fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reports.warehouse.parts import NAMED

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
PACKAGES = ("spec", "harness", "scenarios", "conformance", "reports")
_ROOT = Path(__file__).parents[2]
_HOW = "everything else works without it: install amqp-conformance[spark]"


class NoSpark(Exception):
    """Spark cannot be started; the message is a sentence that says what is missing and what to do."""


def java_home() -> Path | None:
    """Find Java 17 or later: by JAVA_HOME, then on the PATH.

    None when there is none. A Java that does not say its version is taken at its word.
    """
    homes = [Path(home) for home in filter(None, [os.environ.get("JAVA_HOME")])]
    homes += [
        (Path(folder) / "java").resolve().parents[1]
        for folder in os.get_exec_path()
        if (Path(folder) / "java").is_file()
    ]
    return next((home for home in homes if (home / "bin" / "java").is_file() and _new_enough(home)), None)


def _new_enough(home: Path) -> bool:
    release = home / "release"
    lines = release.read_text("utf-8", "replace").splitlines() if release.is_file() else []
    told = next((line.partition("=")[2].strip('"') for line in lines if line.startswith("JAVA_VERSION=")), "")
    first = told.partition(".")[0].partition("-")[0]
    return not first.isdigit() or int(first) >= OLDEST_JAVA


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where Spark runs: its `master` (None: this machine with all its cores), and settings the user wants."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def session(
    master: str | None = None,
    *,
    conf: Mapping[str, str] = MappingProxyType({}),
    memory: str | None = None,
    brief: bool = False,
) -> Iterator[SparkSession]:
    """Start a Spark session on `master`; it ends with the block, and its virtual machine with it.

    None is this machine with all its cores. Settings in `conf` go before ours; those that a cluster makes
    are left alone, but for the few in NEEDED. `memory` ("4g") is for the driver, and on a cluster for each
    executor as well. `brief` suits its virtual machine to a life of seconds. Under spark-submit the session
    is that of the application it has begun. On a cluster our packages are sent along; what they need
    (packaging, pyarrow, deltalake) its Python must have. Raises NoSpark when PySpark or Java is missing,
    Spark does not start, or it ends before its work is done.
    """
    require()
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    with tempfile.TemporaryDirectory(prefix="amqp-conformance-") as scratch, ExitStack() as stack:
        said = Path(scratch) / "spark.log"
        if SUBMITTED in os.environ:
            spark = stack.enter_context(_submitted(master, conf, said))
        else:
            wanted = _conf(master or str(conf.get(MASTER, "local[*]")), conf, memory, Path(scratch), brief)
            spark = stack.enter_context(_own(wanted, said))
        try:
            if not _local(spark.sparkContext.master or ""):
                spark.sparkContext.addPyFile(str(_shipped(Path(scratch))))
            yield spark
        except (PySparkException, Py4JJavaError) as failure:
            failure.add_note(str(failure))  # the virtual machine tells it, and will soon be gone
            raise
        except (Py4JError, ConnectionError) as failure:
            if not _ended(spark.sparkContext._gateway):
                raise
            why = _last(said) or "where it was started from, its output says why"
            raise NoSpark(f"Spark ended before its work was done: {why}") from failure


@contextmanager
def _own(conf: SparkConf, said: Path) -> Iterator[SparkSession]:
    """Start a virtual machine of our own, and end it."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    launch: Any = launch_gateway  # PySpark does not say its types
    with said.open("wb") as log:
        gateway = _started(lambda: launch(conf, {"stdout": log, "stderr": log}), said)
        try:
            yield _started(lambda: SparkSession(SparkContext(conf=conf, gateway=gateway)), said)
        finally:
            _stop(gateway)


@contextmanager
def _submitted(master: str | None, conf: Mapping[str, str], said: Path) -> Iterator[SparkSession]:
    """Take the session of the application that spark-submit has begun; it knows where that runs."""
    from pyspark.sql import SparkSession

    if master is not None:
        raise NoSpark("spark-submit has been told where to run: --master goes in front of our command's file")
    builder: Any = SparkSession.builder
    for name, value in (NEEDED | dict(conf)).items():
        builder = builder.config(name, value)
    spark = _started(builder.appName(APPLICATION).getOrCreate, said)
    try:
        yield spark
    finally:
        spark.stop()


def require_installed() -> None:
    """Raise NoSpark when PySpark is missing, and with it all else that a warehouse needs."""
    try:
        import pyspark  # noqa: F401
    except ModuleNotFoundError:
        raise NoSpark(f"PySpark is not installed, and {_HOW}") from None


def require() -> None:
    """Raise NoSpark when PySpark or Java is missing."""
    require_installed()
    home = java_home()
    if home is None:
        raise NoSpark(
            f"no Java {OLDEST_JAVA} or later was found (JAVA_HOME, PATH), and Spark needs "
            "one: install a JRE, or set JAVA_HOME"
        )
    os.environ["JAVA_HOME"] = str(home)


def _started(start: Any, said: Path) -> Any:
    """Give what `start` gives. Raises NoSpark with the last thing Spark said."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return start()
    except (PySparkException, Py4JError, OSError) as failure:
        told = _last(said) or str(failure).splitlines()[0]
        raise NoSpark(f"Spark did not start: {told}") from None


def _last(said: Path) -> str:
    """Find the last complaint in what Spark `said`, or else the last line."""
    text = said.read_text("utf-8", "replace") if said.is_file() else ""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [error[1] for error in map(_ERROR.match, lines) if error]
    return (errors or lines or [""])[-1].strip()


_ERROR = re.compile(
    r"(?:[\d/ :]+ ERROR \w+: "
    r'|(?:Exception in thread "\w+" )?[\w.$]+(?:Exception|Error): '
    r"|(?=Terminating due to))(.+)"
)


def _ended(gateway: Any) -> bool:
    """Say whether the virtual machine is gone, or about to go; one that is not ours is where it is deaf."""
    if not hasattr(gateway, "proc"):
        return True
    try:
        gateway.proc.wait(timeout=5)
    except subprocess.TimeoutExpired:
        return False
    return True


def _conf(master: str, given: Mapping[str, str], memory: str | None, scratch: Path, brief: bool) -> SparkConf:
    from pyspark import SparkConf

    settings = dict(NEEDED)
    if _local(master):
        settings |= HERE | {
            "spark.sql.warehouse.dir": (scratch / "catalogue").as_uri(),
            "spark.executorEnv.PYTHONPATH": str(_ROOT),
        }
        if brief:
            settings["spark.driver.extraJavaOptions"] += f" {BRIEF}"
        os.environ.setdefault(
            "SPARK_LOCAL_IP", "127.0.0.1"
        )  # else it looks its own name up, and may not find it
    if memory is not None:
        settings |= {"spark.driver.memory": memory, "spark.executor.memory": memory}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setMaster(master).setAppName(APPLICATION)
    return conf.setAll(list((settings | dict(given)).items()))


APPLICATION = "amqp-conformance"
MASTER = "spark.master"
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""In the environment of a program that spark-submit has started: where its virtual machine listens."""
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a virtual machine that lives for seconds: compiling well takes longer than what it would save."""
NEEDED: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.executorEnv.PYTHONHASHSEED": "0",
    # A run's evidence travels inside its task.
    "spark.rpc.message.maxSize": "1024",
    # Delta Lake names all files, so none are looked for, least of all by a job of its own.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # Of a file sorted by runs the pages of others are left out only where each is compared.
    "spark.sql.parquet.pushdown.inFilterThreshold": str(NAMED),
}
"""What our jobs need wherever they run."""
HERE: dict[str, str] = {
    # Out of memory, a virtual machine that lives on only hangs.
    "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "8",  # adaptive execution makes fewer of them
}
"""What suits a Spark of this machine alone."""


def _local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _shipped(scratch: Path) -> Path:
    """Pack our packages as executors import them, without their tests."""
    path = scratch / "amqp_conformance.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for source in sorted((_ROOT / package).rglob("*.py")):
                inside = source.relative_to(_ROOT)
                if "tests" not in inside.parts:
                    archive.write(source, inside.as_posix())
    return path


def _stop(gateway: Any) -> None:
    """End Spark and its virtual machine, so that the next session starts its own."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if gateway.proc.poll() is None:
        running = SparkSession.getActiveSession()
        if running is not None:
            running.stop()
        elif SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    else:  # there is nobody left to be told
        SparkSession._instantiatedSession = None
        SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
