"""A cluster of Spark's own on the loopback address: no table may depend on where Spark runs."""

from __future__ import annotations

from pathlib import Path

import pyspark

CLUSTER = "local-cluster[2,1,1024]"
"""A master and two workers of one core and 1024 MiB in the driver; each has an executor beside it."""


def home(place: Path) -> dict[str, str]:
    """Make `place` a home of Spark, where the workers keep their files; gives the environment."""
    place.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        (place / each.name).symlink_to(each)
    return {"SPARK_HOME": str(place), "SPARK_LOCAL_IP": "127.0.0.1"}
