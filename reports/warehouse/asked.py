"""Which runs of a warehouse a command is asked about, and the rows of these alone.

The table of runs is small, and is narrowed first: of a warehouse of years nothing else is read than what is
asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from reports.model.findings import Build, Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reports.warehouse.warehouse import Snapshot

OFFERED = 8
"""Names that are offered where another one was meant."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Runs of these `products` (as they call themselves, in any case) and `targets`, begun on the day `since`
    or later ("2026-11-20", UTC); of these of each target the newest `per_target` builds, and of all the
    newest `builds`. What is empty or None asks for all.
    """

    products: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    since: str = ""
    builds: int | None = None
    per_target: int | None = None

    def rows(self, spark: SparkSession, snapshot: Snapshot) -> tuple[DataFrame, DataFrame]:
        """Give the rows of the tables of runs and of verdicts that are asked for.

        Raises EvidenceError, with what there is instead, where a product or a target has no run.
        """
        from reports.warehouse.jobs import of_builds

        runs = snapshot.table(spark, "runs")
        self._must_be_there(runs)
        chosen = of_builds(self._among(runs), newest=self.builds, per_target=self.per_target)
        named = {row.run for row in chosen.select("run").collect()}
        return snapshot.table(spark, "runs", of=named), snapshot.table(spark, "verdicts", of=named)

    def _among(self, runs: DataFrame) -> DataFrame:
        from pyspark.sql import functions as f

        for column, names in (("product", self.products), ("target", self.targets)):
            if names:
                runs = runs.where(f.lower(column).isin([name.lower() for name in names]))
        return runs.where(f.col("started") >= self.since)

    def _must_be_there(self, runs: DataFrame) -> None:
        for column, names in (("product", self.products), ("target", self.targets)):
            there = sorted(row[0] for row in runs.select(column).distinct().collect()) if names else []
            known = {name.lower() for name in there}
            if missing := [name for name in names if name.lower() not in known]:
                raise EvidenceError(
                    f"the warehouse has no run of the {column} {missing[0]!r}; there are {_some(there)}"
                )


def builds_called(names: Sequence[str], spark: SparkSession, snapshot: Snapshot) -> list[Column]:
    """Find the builds with these names, with the findings of all their runs.

    A build is called by its name, its label, its target, or by name and target ("RabbitMQ 4.0 @ amqp://far").
    Raises EvidenceError for another name, and for that of several.
    """
    from reports.warehouse.jobs import BUILD, columns, of_builds

    runs = snapshot.table(spark, "runs")
    known = [Build.of(row.asDict()) for row in runs.select(*BUILD).distinct().collect()]
    chosen = [_called(name, known) for name in names]
    named = {row.run for row in of_builds(runs, chosen).select("run").collect()}
    verdicts = snapshot.table(spark, "verdicts", of=named)
    found = {column.build: column for column in columns(runs, verdicts, builds=set(chosen))}
    return [found[build] for build in chosen]


def _called(name: str, known: Sequence[Build]) -> Build:
    fitting = [
        each for each in known if name in (each.name, f"{each.name} @ {each.target}", each.target, each.label)
    ]
    if len(fitting) == 1:
        return fitting[0]
    offered = "; ".join(sorted(printable(f"{each.name} @ {each.target}") for each in fitting or known))
    trouble = "is the name of several builds" if fitting else "is no build of the warehouse"
    raise EvidenceError(f"{name!r} {trouble}; there are {offered}")


def _some(names: Iterable[str]) -> str:
    told = [printable(name) for name in names if name]
    return "; ".join(told[:OFFERED]) + (f" and {len(told) - OFFERED} more" if len(told) > OFFERED else "")
