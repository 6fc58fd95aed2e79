"""The dictionary, computed on Spark's workers, is that of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.causes.dictionary import dictionary
from conformance.causes.faults import known_faults
from reports.causes.computing import compute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_judge_faults_and_entries_come_in_order(spark: SparkSession) -> None:
    known = {each.key: each for each in dictionary()}
    few = sorted(known_faults(), key=lambda each: (len(known[each.key].signs) != 2, each.key))[:2]
    moved: list[int] = []
    found = compute(spark, few[::-1], moved.append)
    assert found == [known[each.key] for each in few[::-1]]
    assert moved == [2]
