"""One Spark for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reports.ingest.tests.cluster import Standalone


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suit the virtual machines of commands that a test starts to a life of a few seconds."""
    from reports.warehouse.spark import BRIEF

    monkeypatch.setenv("JAVA_TOOL_OPTIONS", BRIEF)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start this machine's Spark, in which each test makes the tables it needs."""
    from reports.warehouse.spark import BRIEF, session

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("JAVA_TOOL_OPTIONS", BRIEF)
        with session("local[2]") as running:
            yield running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """Start a standalone cluster of Spark's on this machine, once."""
    from reports.ingest.tests.cluster import standalone

    with standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """Start a server that speaks S3, once; gives its URL."""
    from reports.ingest.tests.buckets import serving

    with serving() as url:
        yield url


@pytest.fixture
def remote(s3: str, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Have the environment say how S3 is reached, as users do; gives what it says."""
    from reports.ingest.tests.buckets import REACHED

    told = REACHED | {"AWS_ENDPOINT_URL": s3}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    return told
