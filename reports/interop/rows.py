"""From the folder of an interoperability run to its rows in the tables. Knows neither Spark nor Arrow.

The summary names the run and holds the hash of its legs; what it counts has to agree with them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from conformance.evidence.kinds import EvidenceError
from conformance.interop.folder import LEGS, SCHEMA, SUMMARY
from conformance.interop.outcomes import Leg, Octets, Outcome, Stage
from reports.model.rows import TableRow, digest, in_utc

RUN = re.compile(r"interop-[0-9a-f]{16}")
"""The identity of such a run: never that of a run of rules."""


@dataclass(frozen=True, slots=True)
class InteropRows:
    """The rows of one run, with the columns `reports.model.columns` names."""

    run: TableRow
    legs: list[TableRow]


def interop_rows_of(folder: str, files: Mapping[str, bytes]) -> InteropRows:
    """Make the rows of the run whose folder is called `folder`. Raises EvidenceError with one sentence."""
    summary = _summary(f"{folder}/{SUMMARY}", files.get(SUMMARY))
    lines = files.get(LEGS, b"")
    if sha256(lines).hexdigest() != summary["sha256"]:
        raise EvidenceError(f"{folder}/{LEGS} was changed after the run: its hash is not the summary's")
    legs = [_leg(f"{folder}/{LEGS}:{at}", line) for at, line in enumerate(lines.splitlines(), 1)]
    excused = _excused(summary["excused"], legs)
    if wrong := next(iter(_disagreeing(summary, legs, excused)), ""):
        raise EvidenceError(f"{folder}/{SUMMARY} does not describe the legs beside it: {wrong}")
    run = _run_row(summary) | {"digest": digest(files), "folder": Path(folder).name}
    rows = [_leg_row(summary, leg, excused.get(at, "")) for at, leg in enumerate(legs)]
    return InteropRows(run, rows)


def _summary(path: str, content: bytes | None) -> Mapping[str, Any]:
    """Read the summary, in which everything has the type it should have."""
    if content is None:
        raise EvidenceError(f"{path}: cannot be read (No such file or directory)")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as failure:
        raise EvidenceError(f"{path}: not JSON ({failure})") from None
    if not isinstance(data, dict):
        raise EvidenceError(f"{path}: not the summary of a run")
    if data.get("schema") != SCHEMA:
        raise EvidenceError(f"{path}: its schema is {data.get('schema')!r}, and this suite reads {SCHEMA}")
    if missing := [name for name in _SHAPES if name not in data]:
        told = ", ".join(missing)
        raise EvidenceError(
            f"{path}: it does not tell {told}, as that of an earlier suite; play the run anew"
        )
    for name, fits in _SHAPES.items():
        if not fits(data[name]):
            raise EvidenceError(f"{path}: {name} is {json.dumps(data[name])[:80]}")
    return data


def _text(value: object) -> bool:
    return isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_text, value.values()))


def _count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _identity(value: object) -> bool:
    return isinstance(value, str) and RUN.fullmatch(value) is not None


_SHAPES: Mapping[str, Callable[[object], bool]] = {
    "run": _identity,
    "started": _text,
    "suite": _text,
    "protocol": _text,
    "sha256": _text,
    "clients": _texts,
    "brokers": _texts,
    "broke": _texts,
    "excused": _texts,
    "cases": _count,
    "legs": _count,
    "new": _count,
    "known": _count,
}
"""What a summary must tell, and of what kind it is."""
_WORDS = [each.name for each in fields(Leg) if each.type == "str"]


def _leg(where: str, line: bytes) -> Leg:
    try:
        leg = Leg.of(json.loads(line.decode("ascii")))
    except KeyError as missing:
        raise EvidenceError(f"{where}: it has no {missing.args[0]}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as failure:
        raise EvidenceError(f"{where}: not a leg ({failure})") from None
    if wrong := next((name for name in _WORDS if not isinstance(getattr(leg, name), str)), ""):
        raise EvidenceError(f"{where}: {wrong} is no text")
    return leg


def _excused(told: Mapping[str, str], legs: Sequence[Leg]) -> dict[int, str]:
    """Give the reasons by the number of their leg; one that is none of a failing leg stands under -1."""
    failing = {str(at): at for at, leg in enumerate(legs) if leg.fails}
    return {failing.get(at, -1): reason for at, reason in told.items()}


def _disagreeing(
    summary: Mapping[str, Any], legs: Sequence[Leg], excused: Mapping[int, str]
) -> Iterable[str]:
    """Say of what is told twice how it differs."""
    counted = {
        "legs": len(legs),
        "cases": len({leg.case for leg in legs}),
        "known": len(excused),
        "new": sum(leg.fails for leg in legs) - len(excused),
    }
    if -1 in excused or not all(excused.values()):
        yield "there is a known failure that is none, or has no reason"
    for name, count in counted.items():
        if summary[name] != count:
            yield f"{name} are {count} there, and {summary[name]} here"
    for leg in legs:
        yield from (f"{name} differs in {leg.case}" for name in _strange(summary, leg))
    again = Counter((leg.broker, leg.case, leg.client, leg.leg, leg.form, leg.other) for leg in legs)
    yield from (f"{key[1]} has a leg twice" for key, count in again.items() if count > 1)


def _strange(summary: Mapping[str, Any], leg: Leg) -> Iterable[str]:
    """Name what a leg says of itself otherwise than the summary; only legs of brokers are of no client."""
    if leg.protocol != summary["protocol"]:
        yield "the protocol"
    if summary["brokers"].get(leg.broker) != leg.broker_version:
        yield "the broker"
    if bool(leg.client) is (leg.leg is Stage.BROKER):
        yield "who did it"
    if leg.client and summary["clients"].get(leg.client) not in (leg.client_version, _later(summary, leg)):
        yield "the client"


def _later(summary: Mapping[str, Any], leg: Leg) -> str | None:
    """Give the version of a client that had not told it yet when this leg was played."""
    version: str | None = None if leg.client_version else summary["clients"].get(leg.client)
    return version


def _run_row(summary: Mapping[str, Any]) -> TableRow:
    told = {name: summary[name] for name in ("run", "suite", "protocol", "cases", "new", "known")}
    versions = {
        side: [{"name": name, "version": version} for name, version in sorted(summary[side].items())]
        for side in ("clients", "brokers")
    }
    broke = [{"name": name, "why": why} for name, why in sorted(summary["broke"].items())]
    whole = {"started": in_utc(summary["started"]), "partial": False, "events": summary["legs"]}
    return {**told, **versions, **whole, "broke": broke}


def _leg_row(summary: Mapping[str, Any], leg: Leg, known: str) -> TableRow:
    words = {name: str(getattr(leg, name)) for name in _WORDS}
    return words | {
        "run": summary["run"],
        "client_version": summary["clients"].get(leg.client, ""),
        "leg": str(leg.leg),
        "outcome": str(leg.outcome),
        "fails": leg.fails,
        "changed_by": _who(leg),
        "known": known,
        "asked": _json(leg.asked),
        "told": _json(leg.told),
        "octets": _octets(leg.octets),
        "octets_after": _octets(leg.octets_after),
    }


_QUIET = (Outcome.SAME, Outcome.UNSUPPORTED, Outcome.UNTRIED)


def _who(leg: Leg) -> str:
    """Name who changed or lost the value: whose leg it is; nobody where it came through, or was replayed."""
    if leg.outcome in _QUIET or leg.leg is Stage.PLAYED:
        return ""
    return leg.client or leg.broker


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True)


def _octets(seen: Octets | None) -> TableRow | None:
    return None if seen is None else asdict(seen)
