"""What runs came to, as tables of their own for dashboards: builds, findings, flaky rules.

They stand beside the warehouse's own, in `summaries/`, and are written over each time: what they say is only
what the matrix shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.warehouse.tables import conflicts, refusals, tries, writing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reports.warehouse.asked import Asked
    from reports.warehouse.place import Place
    from reports.warehouse.warehouse import Snapshot

SUMMARIES = ("builds", "findings", "flaky")


def path_of(name: str) -> str:
    """Say where a table of SUMMARIES stands inside its warehouse."""
    return f"summaries/{name}"


def summarise(spark: SparkSession, snapshot: Snapshot, asked: Asked) -> dict[str, int]:
    """Write the tables about what is `asked` for; gives the number of rows of each.

    `builds` has a row for each build (what its newest run says), `findings` one for each rule on each of
    them, `flaky` those on which runs of one build disagree (see `reports.warehouse.jobs`). Raises
    EvidenceError where what is asked for is not there, WarehouseError where nothing can be written.
    """
    from reports.warehouse import jobs

    runs, verdicts, whole = asked.rows(spark, snapshot)
    made = (jobs.facts(runs), jobs.findings(runs, verdicts, whole), jobs.flakiness(runs, verdicts))
    return {name: _write(snapshot.place, name, rows) for name, rows in zip(SUMMARIES, made, strict=True)}


def _write(place: Place, name: str, rows: DataFrame) -> int:
    from deltalake import write_deltalake

    table = rows.orderBy(*(each for each in ("product", "version", "rule") if each in rows.columns)).toArrow()
    for _ in tries(place):
        with conflicts(), refusals(place):
            write_deltalake(
                place.of(path_of(name)),
                table,
                mode="overwrite",
                schema_mode="overwrite",
                writer_properties=writing(),
                storage_options=dict(place.options),
            )
            break
    return int(table.num_rows)
