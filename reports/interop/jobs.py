"""The questions asked of what clients and brokers made of values, as Spark jobs over the tables of legs.

A cell is a client at a broker in a case, in one run: the worst of its leg to send, of the broker's leg of the
form it sent, and of its legs to receive (`conformance.interop.matrix` says the same of one run). Without a
client it is the broker by itself, with all forms that went through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from conformance.interop.outcomes import RANK, Outcome, Stage
from reports.interop.comparison import Kind, Pairing

HISTORY = 30
"""Of how many runs, the newest, `history` gives what a cell came to."""
WHO = ("run", "protocol", "client", "client_version", "broker", "broker_version", "case")
CELL = ("protocol", "client", "broker", "case")
"""What is the same cell in another run."""
_LEG = ("leg", "outcome", "fails", "changed_by", "known", "detail")


def collected(rows: DataFrame) -> list[dict[str, Any]]:
    """Collect what is small; Arrow does not bear a structure that is null where its fields cannot be."""
    return [row.asDict(recursive=True) for row in rows.collect()]


def cells(runs: DataFrame, legs: DataFrame) -> DataFrame:
    """Make a row for each cell of each run: WHO, `started`, and what it came to.

    `known` is true where all that `fails` is known to; `legs` are those that came to the `outcome`, and
    `detail` is what the first of them tells.
    """
    played = F.col("leg") == str(Stage.PLAYED)
    own = legs.where(~played | F.col("fails")).select(*WHO, *_LEG)
    through = _sent(legs).join(_passed(legs), ["run", "broker", "case", "form"]).select(*WHO, *_LEG)
    found = (
        own.unionByName(through)
        .withColumn("rank", _rank())
        .groupBy(*WHO)
        .agg(
            F.max("rank").alias("rank"),
            F.max_by("outcome", "rank").alias("outcome"),
            F.bool_or("fails").alias("fails"),
            F.coalesce(F.bool_and(F.when(F.col("fails"), F.col("known") != "")), F.lit(False)).alias("known"),
            F.array_sort(F.collect_list(F.struct("rank", "leg", "changed_by", "detail"))).alias("said"),
        )
    )
    worst = F.filter("said", lambda each: each["rank"] == F.col("rank"))
    return (
        found.withColumn("said", worst)
        .select(
            *WHO,
            "rank",
            "outcome",
            "fails",
            "known",
            F.array_distinct(F.col("said")["leg"]).alias("legs"),
            F.col("said")[0]["detail"].alias("detail"),
        )
        .join(F.broadcast(runs.select("run", "started", "folder")), "run")
    )


def _rank() -> Expression:
    """Give the place of an outcome among all.

    That a form of others was not tried says nothing of this client: it counts where there is nothing else.
    """
    ranks = {str(outcome): rank for outcome, rank in RANK.items()} | {str(Outcome.UNTRIED): -1}
    named = F.create_map(*(F.lit(each) for pair in ranks.items() for each in pair))
    return named[F.col("outcome")]


def _sent(legs: DataFrame) -> DataFrame:
    """Give who has sent which form."""
    sent = legs.where((F.col("leg") == str(Stage.SEND)) & (F.col("form") != ""))
    return sent.select(
        "run", "protocol", "client", "client_version", "broker", "broker_version", "case", "form"
    )


def _passed(legs: DataFrame) -> DataFrame:
    """Give what each broker made of which form."""
    passed = legs.where(F.col("leg") == str(Stage.BROKER))
    return passed.select("run", "broker", "case", "form", *_LEG)


def newest(found: DataFrame) -> DataFrame:
    """Keep of the cells those of the newest run, for each client and broker in its version."""
    versions = ["protocol", "client", "client_version", "broker", "broker_version", "case"]
    age = F.row_number().over(Window.partitionBy(*versions).orderBy(F.desc("started"), F.desc("run")))
    return found.withColumn("age", age).where("age = 1").drop("age")


def standing(found: DataFrame) -> DataFrame:
    """Count what the newest cells came to: a row for each client and broker in its version, and outcome."""
    between = ["protocol", "client", "client_version", "broker", "broker_version"]
    return (
        newest(found)
        .groupBy(*between, "outcome", "known")
        .agg(
            F.count(F.lit(1)).cast("int").alias("cases"),
            F.max("started").alias("started"),
            F.max("rank").alias("rank"),
        )
        .orderBy(*between, "rank", "known")
    )


def history(found: DataFrame) -> DataFrame:
    """Make a row for each CELL: `runs`, `changes`, and `points`, what the newest HISTORY runs came to.

    Points stand in the order in which their runs started; `changes` counts, over all runs, how often an
    outcome differs from the one before.
    """
    course = Window.partitionBy(*CELL).orderBy("started", "run")
    rows = found.select(
        *CELL,
        F.struct(
            "started", "run", "client_version", "broker_version", "outcome", "known", "legs", "detail"
        ).alias("point"),
        (F.lag("outcome").over(course) != F.col("outcome")).alias("changed"),
        F.row_number().over(course.orderBy(F.desc("started"), F.desc("run"))).alias("age"),
    )
    recent = F.when(F.col("age") <= HISTORY, F.col("point"))
    return (
        rows.groupBy(*CELL)
        .agg(
            F.count(F.lit(1)).cast("int").alias("runs"),
            F.count_if("changed").cast("int").alias("changes"),
            F.array_sort(F.collect_list(recent)).alias("points"),
        )
        .orderBy(*CELL)
    )


def sides(found: DataFrame) -> DataFrame:
    """List what can be compared: `who` (client, broker), `name`, `version`, and when its last run began."""
    each = [
        found.where(F.col(who) != "").select(
            F.lit(who).alias("who"),
            F.col(who).alias("name"),
            F.col(f"{who}_version").alias("version"),
            "started",
        )
        for who in ("client", "broker")
    ]
    named = each[0].unionByName(each[1]).groupBy("who", "name", "version")
    return named.agg(F.max("started").alias("started")).orderBy("who", "name", "started", "version")


def compared(found: DataFrame, pairings: Sequence[Pairing]) -> DataFrame:
    """Hold each two sides against one another: a row for each cell that either has, with its `kind`.

    A cell is then `protocol`, `other` (the brokers where the sides are clients) and `case`. The newest run in
    which a side met the other speaks; `seen` are the outcomes of all. `old` and `new` are what they came to,
    null where there is none.
    """
    key = ["pairing", "protocol", "other", "case"]
    spoken = _spoken(found, pairings)
    old, new = (
        spoken.where(F.col("side") == side).select(*key, F.col("cell").alias(side)) for side in ("old", "new")
    )
    both = old.join(new, key, "full")
    return both.select(*key, "old", "new", _kind().alias("kind")).orderBy(*key)


def summed(rows: DataFrame) -> DataFrame:
    """Make of what `compared` found a row for each pairing: how many are the `same`, and the `changes`."""
    same = F.col("kind") == str(Kind.SAME)
    change = F.when(~same, F.struct("protocol", "other", "case", "old", "new", "kind"))
    return rows.groupBy("pairing").agg(
        F.count_if(same).cast("int").alias("same"),
        F.array_sort(F.collect_list(change), _in_order).alias("changes"),
    )


def _in_order(one: Expression, other: Expression) -> Expression:
    """Sort by protocol, other and case: by their names, as the rest cannot always be compared."""
    keys = [F.struct(each["protocol"], each["other"], each["case"]) for each in (one, other)]
    return F.when(keys[0] < keys[1], -1).when(keys[0] > keys[1], 1).otherwise(0)


def _spoken(found: DataFrame, pairings: Sequence[Pairing]) -> DataFrame:
    """Give what speaks for each side of each pairing."""
    seen_by = [
        found.withColumn("who", F.lit(who))
        .withColumn("name", F.col(who))
        .withColumn("version", F.col(f"{who}_version"))
        .withColumn("other", F.col(other))
        .withColumn("other_version", F.col(f"{other}_version"))
        for who, other in (("client", "broker"), ("broker", "client"))
    ]
    named = seen_by[0].unionByName(seen_by[1])
    met = named.join(F.broadcast(_rows(found, pairings)), ["who", "name", "version"])
    cell = F.struct("outcome", "rank", "fails", "known", "legs", "detail", "other_version", "run", "started")
    return (
        met.groupBy("pairing", "side", "protocol", "other", "case")
        .agg(
            F.max_by(cell, F.struct("started", "run")).alias("cell"),
            F.array_sort(F.collect_set("outcome")).alias("seen"),
        )
        .withColumn("cell", F.col("cell").withField("seen", F.col("seen")))
    )


def _rows(beside: DataFrame, pairings: Iterable[Pairing]) -> DataFrame:
    """Make a small DataFrame of the sides; to read an Arrow table takes no job."""
    rows = [
        {"pairing": at, "side": name, **asdict(side)}
        for at, each in enumerate(pairings)
        for name, side in (("old", each.old), ("new", each.new))
    ]
    words = [(name, pa.string()) for name in ("side", "who", "name", "version")]
    schema = pa.schema([("pairing", pa.int32()), *words])
    return beside.sparkSession.createDataFrame(pa.Table.from_pylist(rows, schema=schema))


def _kind() -> Expression:
    """Say what became of a cell: the first of these that holds."""
    old, new = F.col("old"), F.col("new")
    wavers = (F.size(old["seen"]) > 1) | (F.size(new["seen"]) > 1)
    cases: Sequence[tuple[Expression, Kind]] = (
        (old.isNull(), Kind.NEW),
        (new.isNull(), Kind.GONE),
        (wavers & F.arrays_overlap(old["seen"], new["seen"]), Kind.FLAKY),
        (old["outcome"] == new["outcome"], Kind.SAME),
        (new["fails"] & ~old["fails"], Kind.REGRESSED),
        (old["fails"] & ~new["fails"], Kind.MENDED),
    )
    chosen = F.when(cases[0][0], str(cases[0][1]))
    for holds, kind in cases[1:]:
        chosen = chosen.when(holds, str(kind))
    return chosen.otherwise(str(Kind.OTHERWISE))
