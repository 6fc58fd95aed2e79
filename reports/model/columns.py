"""The tables of the warehouse: their columns, once, for the rows written and read. Each is a Delta table.

One row of `runs` is a run folder, one of `verdicts` what a rule came to in a run, one of `frames` what
happened on a connection: it opened, a unit went by, it ended. One of `interop_runs` is the folder of a run
of clients and brokers, one of `interop_legs` what became of a value on a leg of it. `quarantine` names the
folders that were left out. No column of these says where or when something was ingested: the same runs make
the same rows.

Beside them a table has `load`, which reading of a folder a row comes from (`WITH_LOAD`), and `month`, that in
which the run started, by which the large ones are split into folders (`MONTHLY`). Rows of `verdicts` and
`frames` count only where `runs` has their run with their load, those of `interop_legs` where `interop_runs`
has (`SHOWN_BY`); `published` is SQL that reads just these, for whoever reads the tables by other means.
"""

from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa

from conformance.evidence.kinds import Judged
from spec.rules import Role

_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int32(), float: pa.float64()}


def columns_of(cls: type[Any]) -> list[tuple[str, pa.DataType]]:
    """Make a column for each field of a dataclass of plain values, in their order."""
    hints = get_type_hints(cls)
    return [(each.name, _type(hints[each.name])) for each in fields(cls)]


def _type(hint: Any) -> pa.DataType:
    of = get_args(hint)
    if of:  # of a tuple, or of what may be None
        return pa.list_(_type(of[0])) if get_origin(hint) is tuple else _type(of[0])
    return next(kind for plain, kind in _TYPES.items() if issubclass(hint, plain))


_SCORE = pa.struct(
    [("level", pa.string()), ("judged", pa.int32()), ("against", pa.int32()), ("standing", pa.string())]
)


def texts(*names: str) -> list[tuple[str, pa.DataType]]:
    """Make columns of text."""
    return [(name, pa.string()) for name in names]


_DOCUMENT = pa.struct(texts("prefix", "title", "revision", "sha256"))

RUNS = pa.schema(
    [
        *texts("run", "digest", "folder", "started"),
        # Digest is the SHA-256 of the evidence: two folders with the same one are the same run. Of the folder
        # the last name; the start in UTC, always 2026-11-20T12:00:00.000000Z, so that text sorts as time.
        *texts("suite", "target", "role", "product", "version", "label", "level", "profile"),
        ("events", pa.int64()),  # how many its evidence holds: of two parts of a run the larger one counts
        ("partial", pa.bool_()),  # cut short or never finished; `why` says so in a sentence
        ("why", pa.string()),
        ("whole", pa.bool_()),  # all rules of its catalogue were selected
        *texts("standing", "sentence"),
        ("exit_status", pa.int32()),
        ("scores", pa.list_(_SCORE)),
        ("documents", pa.list_(_DOCUMENT)),
        *texts("banner", "environment"),  # JSON with sorted keys
    ]
)

VERDICTS = pa.schema(
    [
        *texts("run", "document"),
        *columns_of(Judged),  # of the deciding test, but for the duration, which is that of all
        ("tests", pa.int32()),  # how many there were
        ("grade", pa.string()),  # of the deciding expectation; empty without one
        ("decided_at", pa.float64()),  # on the connection's clock, with `waited`, in seconds
        ("waited", pa.float64()),
        ("exchange", pa.string()),  # the rule under which the deciding connection stands in `frames`
    ]
)

FRAMES = pa.schema(
    [
        *texts("rule", "run", "connection"),  # the rule during whose test it was opened: it sorts the table
        ("number", pa.int32()),  # units and the end from 1; 0 is the opening
        *texts("test", "worker"),
        ("wall", pa.float64()),
        ("at", pa.float64()),
        # Opened, sent, received or ended; of an opening the endpoint, of an end "target fin"; of an opening.
        *texts("kind", "says", "protocol"),
        ("octets", pa.binary()),
        ("length", pa.int32()),  # of the whole unit
        ("sha256", pa.string()),  # of the whole unit, when only its first octets are kept
    ]
)

_VERSION, _BROKE = pa.struct(texts("name", "version")), pa.struct(texts("name", "why"))
_SEEN = pa.struct([("hex", pa.string()), ("length", pa.int64()), ("sha256", pa.string())])

INTEROP_RUNS = pa.schema(
    [
        *texts("run", "digest", "folder", "started", "suite", "protocol"),  # as in `runs`
        ("events", pa.int64()),  # legs
        ("partial", pa.bool_()),  # never: what was cut short has left no folder
        *((name, pa.int32()) for name in ("cases", "new", "known")),
        ("clients", pa.list_(_VERSION)),
        ("brokers", pa.list_(_VERSION)),
        ("broke", pa.list_(_BROKE)),  # brokers that could not be played
    ]
)

INTEROP_LEGS = pa.schema(
    [
        *texts("run", "protocol", "client", "client_version", "broker", "broker_version", "case", "leg"),
        # Of a leg of the broker no client; of one that was played, `other` has sent it.
        *texts("outcome", "changed_by"),  # the client or broker whose leg it is, where a value became another
        ("fails", pa.bool_()),
        *texts("known", "detail", "form", "after", "kind", "native", "other"),  # known: the reason, or empty
        *texts("asked", "told"),  # JSON with sorted keys
        ("octets", _SEEN),
        ("octets_after", _SEEN),
    ]
)

QUARANTINE = pa.schema(texts("folder", "run", "digest", "reason"))
"""The folder's last name, and the run as far as its description can be read, else empty."""

BEFORE: dict[str, bool | float | int | str] = {"role": str(Role.SERVER), "label": ""}
"""What rows of `runs` say that were written before they had such a column."""

TABLES = {
    "runs": RUNS,
    "verdicts": VERDICTS,
    "frames": FRAMES,
    "interop_runs": INTEROP_RUNS,
    "interop_legs": INTEROP_LEGS,
    "quarantine": QUARANTINE,
}
ORDER = {
    "runs": ["started", "run"],
    "verdicts": ["run", "rule"],
    "frames": ["rule", "run", "connection", "number"],
    "interop_runs": ["started", "run"],
    "interop_legs": ["protocol", "case", "client", "broker", "run", "leg", "form", "other"],
    "quarantine": ["folder", "run", "digest"],
}
"""How each table is sorted within its files: what is asked for together stands together."""
SHOWN_BY = {"verdicts": "runs", "frames": "runs", "interop_legs": "interop_runs"}
"""Of each table of details the one that describes its runs: what that does not name is not there."""
DESCRIBING = ("runs", "interop_runs")
"""The tables in which a run has a row of its own, and by whose change it appears."""
WITH_LOAD = (*DESCRIBING, *SHOWN_BY)
MONTHLY = ("verdicts", "frames")
KEPT = ("load", "run", "rule")
"""The columns of which the least and the largest of each file are kept, to leave files out of a search."""


def stored(table: str) -> pa.Schema:
    """Give the columns of a table as it stands in the warehouse."""
    beside = [("load", table in WITH_LOAD), ("month", table in MONTHLY)]
    return pa.schema([*(pa.field(name, pa.string()) for name, has in beside if has), *TABLES[table]])


def published(table: str) -> str:
    """Write the SQL that gives the rows of a table which count, for readers other than ours.

    It names the tables as they are called here, and is understood by DuckDB, Polars, Spark and DataFusion.
    """
    told = [
        f"COALESCE({table}.{name}, '{BEFORE[name]}') AS {name}"
        if table == "runs" and name in BEFORE
        else f"{table}.{name}"
        for name in TABLES[table].names
    ]
    sql = f"SELECT {', '.join(told)} FROM {table}"
    if shown := SHOWN_BY.get(table):
        sql += f" JOIN {shown} ON {table}.run = {shown}.run AND {table}.load = {shown}.load"
    return sql
