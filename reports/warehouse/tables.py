"""The tables of a warehouse, as Delta Lake keeps them: made, opened, added to, asked. Knows no Spark.

Whoever forks must not have imported Delta Lake, so it is imported where it is used.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from reports.model.columns import KEPT, MONTHLY, stored
from reports.warehouse.place import Place, WarehouseError

if TYPE_CHECKING:
    from deltalake import DeltaTable, WriterProperties

TRIES = 50
"""So often is tried what other writers come in between of; each time one of them has come to its end."""
PAUSE = 0.2
"""Seconds at most before another try, times how many there were, up to ten."""
PROPERTIES = {
    "delta.checkpointInterval": "20",
    "delta.deletedFileRetentionDuration": "interval 1 days",
    "delta.logRetentionDuration": "interval 7 days",
}
PAGE_ROWS = 2000
"""The exchange of a rule is a few rows among millions, and of a sorted file only their pages are read."""
GROUP_ROWS = 200_000
DICTIONARY_OCTETS = 128 * 1024


def new_load() -> str:
    """Make the name of a load: names sort by the microsecond of their making, and no two are alike."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%S}-{now.microsecond:05x}{uuid4().hex[:11]}"


def load_before(seconds: float) -> str:
    """Give a name that sorts before those of loads that are younger than so many `seconds`."""
    return f"{datetime.fromtimestamp(time.time() - seconds, UTC):%Y%m%dT%H%M%S}"


def writing() -> WriterProperties:
    """Say how Parquet is written: with small pages, so that little is read for one exchange."""
    from deltalake import ColumnProperties, WriterProperties

    return WriterProperties(
        compression="ZSTD",
        data_page_row_count_limit=PAGE_ROWS,
        max_row_group_size=GROUP_ROWS,
        # A dictionary is read whole, however few rows are.
        dictionary_page_size_limit=DICTIONARY_OCTETS,
        column_properties={"octets": ColumnProperties(dictionary_enabled=False)},
    )


def opened(place: Place, name: str) -> DeltaTable | None:
    """Open the newest version of a table; None when there is no such table."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    with refusals(place):
        try:
            return DeltaTable(place.of(name), storage_options=dict(place.options))
        except TableNotFoundError:
            return None


def ensured(place: Place, name: str) -> DeltaTable:
    """Open the newest version of a table, made or widened by columns that it did not have."""
    from deltalake import CommitProperties, DeltaTable, Schema

    schema = stored(name)
    for _ in tries(place):
        with conflicts(), refusals(place):
            table = opened(place, name)
            if table is None:
                # Of other columns the least and largest would only make the log long.
                skipping = {"delta.dataSkippingStatsColumns": ",".join(_named(schema, KEPT))}
                DeltaTable.create(
                    place.of(name),
                    schema,
                    mode="ignore",
                    partition_by=["month"] if name in MONTHLY else None,
                    configuration=PROPERTIES | skipping,
                    storage_options=dict(place.options),
                    commit_properties=CommitProperties(max_commit_retries=0),  # else it is made over
                )
                continue
            there = {each.name for each in table.schema().fields}
            if missing := [each for each in Schema.from_arrow(schema).fields if each.name not in there]:
                table.alter.add_columns(missing)
                continue
            return table
    raise AssertionError


def _named(schema: pa.Schema, names: Sequence[str]) -> list[str]:
    return [name for name in names if name in schema.names]


def append(place: Place, name: str, rows: pa.Table) -> None:
    """Add `rows` to a table that is there. Only a change of its columns can come in between."""
    from deltalake import write_deltalake

    for _ in tries(place):
        with conflicts(), refusals(place):
            write_deltalake(
                place.of(name),
                rows,
                mode="append",
                schema_mode="merge",  # a later suite may have given it more columns
                writer_properties=writing(),
                storage_options=dict(place.options),
            )
            return


def asked(table: DeltaTable, question: str) -> pa.Table:
    """Ask SQL of a `table` as it was opened; it is called `t`."""
    from deltalake import QueryBuilder

    found = pa.table(QueryBuilder().register("t", table).execute(question).read_all())
    schema = found.schema
    for at, each in enumerate(schema):
        if each.type == pa.string_view():
            schema = schema.set(at, pa.field(each.name, pa.string()))
    return found.cast(schema)


def sorted_rows(table: DeltaTable, which: str, order: Sequence[str]) -> Any:
    """Read the rows of a `table` for which the SQL `which` holds, sorted, as a stream of Arrow."""
    from deltalake import QueryBuilder

    question = f"SELECT * FROM t WHERE {which} ORDER BY {', '.join(order)}"
    return QueryBuilder().register("t", table).execute(question)


def rows_of(table: DeltaTable, question: str) -> list[dict[str, Any]]:
    """Ask SQL of a `table` and give the rows of the answer."""
    rows: list[dict[str, Any]] = asked(table, question).to_pylist()
    return rows


def texts_of(values: Sequence[str]) -> str:
    """Write texts as SQL lists them."""
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values) or "NULL"


def files_of(table: DeltaTable) -> list[Mapping[str, Any]]:
    """List the files of a table: `path`, `num_records`, `size_bytes`, the least and largest it holds."""
    files: list[Mapping[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return files


def tries(place: Place) -> Iterator[int]:
    """Count tries, with a pause between them that keeps writers out of step.

    Raises WarehouseError when there were too many.
    """
    for number in range(TRIES):
        time.sleep(random.uniform(0, PAUSE) * min(number, 10))
        yield number
    raise WarehouseError(f"{place.path}: other writers came in between {TRIES} times")


def conflicts() -> suppress:
    """Pass over what another writer made futile."""
    from deltalake.exceptions import CommitFailedError

    return suppress(CommitFailedError)


@contextmanager
def refusals(place: Place) -> Iterator[None]:
    """Make one sentence of what Delta Lake or a file system refuses; a conflict stays what it is."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        yield
    except CommitFailedError:
        raise
    except (DeltaError, OSError) as failure:
        raise WarehouseError(f"{place.path}: {_sentence(failure)}") from None


def _sentence(failure: Exception) -> str:
    """Tell what failed and, of the causes that are listed behind it, the last."""
    told = _COLOUR.sub("", str(failure)).strip() or type(failure).__name__
    first, *others = (line.strip() for line in told.splitlines())
    causes = [line.lstrip("↳ ") for line in others if line.startswith("↳")]
    return f"{first}: {causes[-1]}" if causes else first


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
