"""The fault dictionary computed: a fault is a task, and each of Spark's workers judges on its own peers."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

from conformance.causes.dictionary import Entry
from conformance.causes.faults import Fault, known_faults
from conformance.causes.judging import prepared, signs
from conformance.evidence.kinds import Judged
from conformance.proof.detection import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUND = 500
"""Faults that are judged before somebody is told how far it is."""
TASKS = 24
"""Of a round, for each worker: some faults touch all rules, and others a few."""

Key = tuple[str, str, str]
Change = tuple[str, Any]
"""What a fault does, where rules of a document are judged: its own rule left out."""


def compute(spark: SparkSession, faults: Sequence[Fault], moved: Callable[[int], None]) -> list[Entry]:
    """Judge faults, on all workers of a session; `moved` is told how many are done. Gives them in order."""
    context = spark.sparkContext
    alike: dict[Change, list[Key]] = {}
    for each in faults:
        alike.setdefault((each.document, each.change), []).append(each.key)
    groups = list(alike.values())
    random.Random(0).shuffle(groups)  # those that touch all stand together
    order = [key for group in groups for key in group]

    def judged(some: list[Key]) -> list[Entry]:
        slices = min(len(some), context.defaultParallelism * TASKS)
        return context.parallelize(some, slices).mapPartitions(_judged).collect()

    found: dict[Key, Entry] = {}
    # Two at once: where one is at its end, and not all workers have something left of it, the next goes on.
    with ThreadPoolExecutor(2) as rounds:
        for entries in rounds.map(judged, (order[at : at + ROUND] for at in range(0, len(order), ROUND))):
            found |= {entry.key: entry for entry in entries}
            moved(len(found))
    return [found[each.key] for each in faults]


def _judged(keys: Iterable[Key]) -> Iterator[Entry]:
    bench, faults = _here()
    gc.freeze()  # Spark collects garbage behind each task: what is there by now it need not look at again
    seen: dict[Change, dict[str, Judged]] = {}
    for key in keys:
        fault = faults[key]
        yield Entry(*key, signs(fault, bench, seen.setdefault((fault.document, fault.change), {})))


@cache
def _here() -> tuple[Bench, dict[Key, Fault]]:
    """Prepare a worker, once."""
    bench, faults = prepared(), {each.key: each for each in known_faults()}
    gc.collect()
    gc.freeze()  # what is there lives as long as the worker
    return bench, faults
