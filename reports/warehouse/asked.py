"""Which runs of a warehouse a command is asked about, and the rows of these alone.

The table of runs is small, and is narrowed first: of a warehouse of years nothing else is read than what is
asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from reports.model.findings import BUILD, Build, Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reports.warehouse.jobs import Whole
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

    def rows(self, spark: SparkSession, snapshot: Snapshot) -> tuple[DataFrame, DataFrame, Whole]:
        """Give what is asked for: the runs, of their verdicts what is counted, and how to read these whole.

        They are what `reports.warehouse.jobs.findings` takes. Raises EvidenceError, with what there is
        instead, where a product or a target has no run.
        """
        return _rows(spark, snapshot, self.runs(snapshot))

    def runs(self, snapshot: Snapshot) -> set[str]:
        """Choose the runs that are asked for. Raises EvidenceError as `rows` does."""
        from reports.warehouse.tables import texts_of

        named = {"product": self.products, "target": self.targets}
        for column, names in named.items():
            if names:
                self._must_be_there(snapshot, column, names)
        among = [f"started >= {texts_of([self.since])}"]
        for column, names in named.items():
            if names:
                among.append(f"lower({column}) IN ({texts_of([name.lower() for name in names])})")
        runs = f"SELECT {', '.join((*BUILD, 'started', 'run'))} FROM heads WHERE {' AND '.join(among)}"
        found = snapshot.asked("runs", _newest(runs, self.builds, self.per_target))
        return set(found["run"].to_pylist())

    @staticmethod
    def _must_be_there(snapshot: Snapshot, column: str, names: Sequence[str]) -> None:
        found = snapshot.asked("runs", f"SELECT DISTINCT {column} FROM heads")
        there = sorted(found[column].to_pylist())
        known = {name.lower() for name in there}
        if missing := [name for name in names if name.lower() not in known]:
            raise EvidenceError(
                f"the warehouse has no run of the {column} {missing[0]!r}; there are {_some(there)}"
            )


def _newest(runs: str, builds: int | None, per_target: int | None) -> str:
    """Write the SQL that gives the `runs` of the newest `builds`: those whose last run started last.

    They are of each target the newest `per_target`, and that comes first.
    """
    build = ", ".join(BUILD)
    same = " AND ".join(f"runs.{name} = kept.{name}" for name in BUILD)
    return (
        f"WITH runs AS ({runs}), "
        f"last AS (SELECT {build}, max(started || run) AS last FROM runs GROUP BY {build}), "
        "placed AS (SELECT *, row_number() OVER (PARTITION BY target ORDER BY last DESC) AS place "
        "FROM last), "
        f"kept AS (SELECT * FROM placed WHERE {'TRUE' if per_target is None else f'place <= {per_target}'} "
        f"ORDER BY last DESC{'' if builds is None else f' LIMIT {builds}'}) "
        f"SELECT runs.run FROM runs JOIN kept ON {same}"
    )


def _rows(spark: SparkSession, snapshot: Snapshot, runs: set[str]) -> tuple[DataFrame, DataFrame, Whole]:
    """Give `runs`, what is counted of their verdicts, and how to read these whole: what `findings` takes."""

    def whole(of: Collection[str] | None) -> DataFrame:
        return snapshot.table(spark, "verdicts", of=runs if of is None else set(of))

    counted = snapshot.texts(spark, "verdicts", ("rule", "verdict"), runs)
    return snapshot.table(spark, "runs", of=runs), counted, whole


def builds_called(names: Sequence[str], spark: SparkSession, snapshot: Snapshot) -> list[Column]:
    """Find the builds with these names, with the findings of all their runs.

    A build is called by its name, its label, its target, or by name and target ("RabbitMQ 4.0 @ amqp://far").
    Raises EvidenceError for another name, and for that of several.
    """
    from reports.warehouse.jobs import columns
    from reports.warehouse.tables import texts_of

    build = ", ".join(BUILD)
    there = snapshot.asked("runs", f"SELECT DISTINCT {build} FROM heads").to_pylist()
    known = [Build.of(row) for row in there]
    chosen = [_called(name, known) for name in names]
    wanted = " OR ".join(
        "(" + " AND ".join(f"{name} = {texts_of([str(getattr(each, name))])}" for name in BUILD) + ")"
        for each in chosen
    )
    runs = set(snapshot.asked("runs", f"SELECT run FROM heads WHERE {wanted}")["run"].to_pylist())
    found = {column.build: column for column in columns(*_rows(spark, snapshot, runs))}
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
