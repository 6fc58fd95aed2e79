"""The questions asked of the warehouse, as Spark jobs over its tables (`reports.model.columns`).

What grows with the number of runs stays in Spark: only fixed-width facts are aggregated over all verdicts
(the place of a run among those of its build, a bit for each verdict seen), and the wide rows are read for
the answer alone. The table of runs is small and goes to every executor.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from conformance.evidence.verdicts import TABLE
from reports.model.columns import FRAMES, VERDICTS
from reports.model.findings import BUILD, Column, Finding, columns_in_order
from reports.model.single import column

HISTORY = 30
"""Of how many runs, the newest, `flakiness` gives the verdicts one by one."""

SPEAKING = 5000
"""Of more runs than this the verdicts are not asked for by name."""

Whole = Callable[[Collection[str] | None], DataFrame]
"""Gives the verdicts of some runs (None: of all that are asked about) with all their columns."""
Exchange = tuple[str, str, str]
"""Where a connection stands in the table of frames: rule, run, connection."""

_BITS = {str(row.verdict): 1 << rank for rank, row in enumerate(TABLE)}
_SAID = tuple(each.name for each in fields(Finding) if each.name in VERDICTS.names)
"""What a finding takes from the row of its verdict as it stands there."""
_FACTS = (
    "run", "folder", "started", "suite", "level", "profile", "standing", "sentence", "scores", "documents",
)  # fmt: skip


def findings(runs: DataFrame, verdicts: DataFrame, whole: Whole | None = None) -> DataFrame:
    """Make a row for each build and rule: the fields of Build, `started`, a Finding's fields.

    Of `verdicts` are asked run, rule and verdict; `whole` gives all columns, of some runs (None: of all), and
    without it they are those of `verdicts`.

    The newest run of the build that came to its end and has a verdict on the rule speaks, or else the
    newest partial one; `started` is when that run did. `seen` are the verdicts of the runs that came to
    their end (of a run cut short what it says stands alone), `runs` counts all that have a verdict on it.
    """
    placed = F.broadcast(_placed(runs))
    judged = verdicts.select("run", "rule", "verdict").join(placed, "run")
    spoken = judged.groupBy("build", "rule").agg(
        F.max("place").alias("place"),
        F.count(F.lit(1)).cast("int").alias("runs"),
        F.bit_or(F.when(~F.col("partial"), _bit())).alias("bits"),
    )
    # What speaks is rules × builds at most, however many runs there are, and mostly a run for each build.
    speaking = spoken.join(placed.select("place", "run"), "place").select("run", "rule", "runs", "bits")
    wide = verdicts
    if whole is not None:
        speaking = speaking.persist()
        heard = [row.run for row in speaking.select("run").distinct().limit(SPEAKING + 1).collect()]
        wide = whole(None if len(heard) > SPEAKING else heard)
    found = wide.select(*_SAID).join(F.broadcast(speaking), ["run", "rule"])
    seen = F.coalesce(_verdicts_of("bits"), F.array("verdict")).alias("seen")
    return found.join(placed, "run").select(*BUILD, "started", *_SAID, "folder", seen, "runs")


def columns(runs: DataFrame, verdicts: DataFrame, whole: Whole | None = None) -> list[Column]:
    """Make the columns of the matrix in order; the arguments are those of `findings`.

    Collects a row for each build and a row for each rule on each build, no more.
    """
    by_build: dict[tuple[str, ...], dict[str, Finding]] = {}
    for row in _collected(findings(runs, verdicts, whole), "rule"):
        build = tuple(row.pop(name) for name in BUILD)
        by_build.setdefault(build, {})[row["rule"]] = Finding.of(row)
    told = _collected(facts(runs), *BUILD)
    return columns_in_order(
        _column(row, by_build.get(tuple(row[name] for name in BUILD), {})) for row in told
    )


def flakiness(runs: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Find the rules that got different verdicts from the same build: a row for each build and rule.

    Only runs that came to their end count, in the order in which they started. `runs` is their number,
    `seen` the verdicts in the table's order, `changes` how often a verdict differs from the one before,
    `first_change` and `last_change` the run and start of the first and the last that does, `last` the
    verdicts of the newest runs (`HISTORY` at most), oldest first.
    """
    ended = F.broadcast(_placed(runs.where(~F.col("partial"))))
    judged = verdicts.select("run", "rule", "verdict").join(ended, "run")
    unsteady = judged.groupBy("build", "rule").agg(F.bit_or(_bit()).alias("bits"))
    unsteady = unsteady.where(F.bit_count("bits") > 1)
    history = Window.partitionBy("build", "rule").orderBy("place")
    rows = judged.join(F.broadcast(unsteady), ["build", "rule"]).select(
        *BUILD,
        "rule",
        "bits",
        "verdict",
        "place",
        F.struct("started", "run").alias("when"),
        (F.lag("verdict").over(history) != F.col("verdict")).alias("changed"),
        F.row_number().over(history.orderBy(F.desc("place"))).alias("age"),
    )
    change = F.when(F.col("changed"), F.col("when"))
    recent = F.when(F.col("age") <= HISTORY, F.struct("place", "verdict"))
    return rows.groupBy(*BUILD, "rule", "bits").agg(
        F.count(F.lit(1)).cast("int").alias("runs"),
        F.count_if("changed").cast("int").alias("changes"),
        F.min(change).alias("first_change"),
        F.max(change).alias("last_change"),
        F.array_sort(F.collect_list(recent))["verdict"].alias("last"),
        _verdicts_of("bits").alias("seen"),
    ).drop("bits")  # fmt: skip


def exchanges(found: DataFrame) -> DataFrame:
    """Pick of `findings`, for each rule, role and distinct finding, the newest one that shows an exchange.

    Two findings are distinct when verdict, signature or reading are. The rows are those of `findings`.
    """
    shown = found.where(F.col("connection").isNotNull() & F.col("exchange").isNotNull())
    whole = F.struct(*(name for name in shown.columns))
    newest = F.struct("started", "run", *BUILD)
    best = shown.groupBy("rule", "role", "verdict", "signature", "reading").agg(
        F.max_by(whole, newest).alias("newest")
    )
    return best.select("newest.*")


def frames_of(frames: DataFrame, wanted: Iterable[Exchange]) -> DataFrame:
    """Find the rows of `frames` that belong to the exchanges `wanted`, in no order.

    Rules and runs go down to the files as filters, which are sorted by them: of a file that holds none of
    the exchanges nothing but its statistics is read, and of the others only the pages that may.
    """
    keys = sorted(set(wanted))
    named = ["rule", "run", "connection"]
    near = frames.where(
        F.col("rule").isin(sorted({rule for rule, _, _ in keys}))
        & F.col("run").isin(sorted({run for _, run, _ in keys}))
    )
    return near.join(F.broadcast(_rows(frames, named, keys)), named, "left_semi").select(FRAMES.names)


def _rows(beside: DataFrame, names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> DataFrame:
    """Make a small DataFrame of text in the session of another one; to read an Arrow table takes no job."""
    schema = pa.schema([(name, pa.string()) for name in names])
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=schema)
    return beside.sparkSession.createDataFrame(table)


def _placed(runs: DataFrame) -> DataFrame:
    """Number the runs: `build`, and `place`, which grows with what counts more within a build.

    A run that came to its end counts more than any that did not, and then the newer more than the older.
    """
    ended = ~F.col("partial")
    return runs.select(
        "run", *BUILD, "folder", "started", "partial",
        F.dense_rank().over(Window.orderBy(*BUILD)).alias("build"),
        F.row_number().over(Window.orderBy(*BUILD, ended, "started", "run")).alias("place"),
    )  # fmt: skip


def _bit() -> Expression:
    """Make the verdict of a row a bit of its own."""
    bits = F.create_map(*(F.lit(each) for pair in _BITS.items() for each in pair))
    return bits[F.col("verdict")]


def _verdicts_of(bits: str) -> Expression:
    """List the verdicts whose bits are set, in the order of the table; null when there are no bits."""
    each = (F.when(F.col(bits).bitwiseAND(bit) != 0, F.lit(verdict)) for verdict, bit in _BITS.items())
    return F.when(F.col(bits).isNotNull(), F.array_compact(F.array(*each)))


def facts(runs: DataFrame) -> DataFrame:
    """Make a row for each build: what its newest whole run that came to its end says, and how many are."""
    ended = ~F.col("partial")
    counts_more = F.struct((F.col("whole") & ended).alias("whole"), ended.alias("ended"), "started", "run")
    return (
        runs.groupBy(*BUILD)
        .agg(
            F.max_by(F.struct(*_FACTS), counts_more).alias("told"),
            F.count(F.lit(1)).cast("int").alias("runs"),
            F.count_if("partial").cast("int").alias("partial"),
        )
        .select(*BUILD, "told.*", "runs", "partial")
    )


def _collected(rows: DataFrame, *order: str) -> Iterator[dict[str, Any]]:
    """Collect the `rows` one by one, sorted by the columns in `order`; equal texts are one object."""
    table = rows.toArrow().sort_by([(name, "ascending") for name in order])
    names = table.column_names
    for values in zip(*map(_values, table.columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _values(cells: pa.ChunkedArray) -> list[Any]:
    """Give cells as Python has them; what is read often is made once (pyarrow makes it each time)."""
    whole = cells.combine_chunks()
    if pa.types.is_list(cells.type) and pa.types.is_string(cells.type.value_type):
        ends, texts = whole.offsets.to_pylist(), _values(pa.chunked_array([whole.values]))
        return [texts[start:end] for start, end in itertools.pairwise(ends)]
    if not pa.types.is_string(cells.type):
        return list(whole.to_pylist())
    encoded = whole.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    return [None if index is None else texts[index] for index in encoded.indices.to_pylist()]


def _column(row: dict[str, Any], findings: dict[str, Finding]) -> Column:
    return replace(column(row, findings, row["folder"]), runs=row["runs"])
