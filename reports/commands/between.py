"""What the commands ask of runs of clients and brokers in a warehouse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reports.interop import text
from reports.interop.comparison import Comparison, Pairing, Side, comparisons, following, named
from reports.interop.found import Interop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reports.warehouse.warehouse import Snapshot


def _page(comparison: Comparison) -> str:
    from reports.site.interop import comparison_page

    return comparison_page(comparison)


FORMS: Mapping[str, Callable[[Comparison], str]] = {
    "json": text.as_json,
    "markdown": text.as_markdown,
    "html": _page,
}
"""The forms of a comparison that are one text."""


def between(spark: SparkSession, snapshot: Snapshot, old: str, new: str) -> Comparison:
    """Compare two versions of a client, or of a broker. Raises EvidenceError for another name."""
    with _cells(spark, snapshot) as cells:
        (found,) = _compared(cells, [named(_sides(cells), old, new)])
    return found


def interop_of(spark: SparkSession, snapshot: Snapshot) -> Interop | None:
    """Find what a site shows of clients and brokers; None where no such run was taken in."""
    from reports.interop import jobs

    if not snapshot.rows("interop_runs"):
        return None
    with _cells(spark, snapshot) as cells:
        return Interop(
            runs=jobs.collected(snapshot.table(spark, "interop_runs").orderBy("started", "run")),
            standing=jobs.collected(jobs.standing(cells)),
            history=jobs.collected(jobs.history(cells)),
            comparisons=_compared(cells, following(_sides(cells))),
        )


@contextmanager
def _cells(spark: SparkSession, snapshot: Snapshot) -> Iterator[DataFrame]:
    """Give the cells of all runs, kept while several questions are asked of them."""
    from reports.interop import jobs

    cells = jobs.cells(*(snapshot.table(spark, name) for name in ("interop_runs", "interop_legs"))).persist()
    try:
        yield cells
    finally:
        cells.unpersist()


def _sides(cells: DataFrame) -> list[Side]:
    from reports.interop import jobs

    return [Side(row.who, row.name, row.version) for row in jobs.sides(cells).collect()]


def _compared(cells: DataFrame, pairings: list[Pairing]) -> list[Comparison]:
    from reports.interop import jobs

    if not pairings:
        return []
    return comparisons(pairings, jobs.collected(jobs.summed(jobs.compared(cells, pairings))))
