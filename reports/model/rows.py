"""From the evidence of one run to its rows in the tables. Knows neither Spark nor Arrow, and no other run.

The facts come from the stream of events, which its own hash protects; of run.json only the schema and the
start are taken, and what both say must agree. A rule's verdict, the standing and the scores are those the run
itself came to, by `conformance.evidence.results` and `conformance.gate.gate`; nothing is decided anew here.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.evidence.folder import RUN_FILE, STREAM, STREAMS, RunInfo, Source, read_run
from conformance.evidence.kinds import (
    CappedOctets,
    EvidenceError,
    Interrupted,
    Judged,
    Line,
    RunEnded,
    RunStarted,
    TestStarted,
)
from conformance.evidence.results import RuleResult, rule_results
from conformance.evidence.stream import State, Verification, load
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Standing
from conformance.interop.folder import LEGS, SUMMARY
from harness.wire.journal import Ended, Expected, Octets, Opened

TableRow = dict[str, Any]
"""A row of a table, by column."""
Files = Mapping[str, bytes]
"""The files of a run folder that are evidence, by name: run.json and the streams of events, or OF_INTEROP."""
OF_INTEROP = (LEGS, SUMMARY)
"""What is evidence of a run of clients and brokers."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one run, with the columns `reports.model.columns` names."""

    run: TableRow
    verdicts: list[TableRow]
    frames: list[TableRow]


def evidence_files(folder: Path) -> list[Path]:
    """Read the files in a run `folder` that are evidence. Raises EvidenceError when it holds none."""
    found = [folder / name for name in Source.of(folder).files]
    between = [
        folder / name for name in OF_INTEROP if (folder / LEGS).is_file() and (folder / name).is_file()
    ]
    if found and between:
        raise EvidenceError(
            f"{folder}: it holds two runs, {LEGS} and {found[0].name}; put them into two folders"
        )
    if not found and not between:
        raise EvidenceError(f"{folder}: not a run folder, it has neither {RUN_FILE} nor {STREAM}, nor {LEGS}")
    return found or between


def is_evidence(name: str) -> bool:
    """Say whether a file of a run folder is evidence, by its name alone."""
    return name in (RUN_FILE, *OF_INTEROP) or fnmatchcase(name, STREAMS)


def digest(files: Files) -> str:
    """Tell folders with different evidence apart: the SHA-256 of names and contents."""
    return digest_of({name: hashlib.sha256(content).hexdigest() for name, content in files.items()})


def digest_of(hashes: Mapping[str, str]) -> str:
    """Give the `digest` of files of which the SHA-256 is known, by name.

    run.json is left out, as rendering anew changes it; the stream begins with all it says of the run.
    """
    whole = hashlib.sha256()
    for name, told in sorted(hashes.items()):
        if name != RUN_FILE:
            whole.update(bytes.fromhex(told) + name.encode())
    return whole.hexdigest()


def row_of(told: Any, cls: type[Any]) -> TableRow:
    """Take from `told` the fields of the dataclass `cls`, as its columns hold them."""
    return {each.name: _cell(getattr(told, each.name)) for each in fields(cls)}


def rows_of(folder: str, files: Files) -> Rows:
    """Make the rows of the run whose folder is called `folder`. Raises EvidenceError with one sentence."""
    source = Source(folder, files)
    info = read_run(source)
    checked, lines = load(source)
    if checked.state is State.TAMPERED:
        raise EvidenceError(f"{folder}: {checked.sentence}")
    return rows_from(folder, digest(files), info, lines, checked)


def rows_from(
    folder: str, evidence: str, info: RunInfo, lines: Sequence[Line], checked: Verification
) -> Rows:
    """Make the rows of a run of which the events are read: `checked` says whether they are whole.

    `evidence` is the `digest` of its files. Raises EvidenceError with one sentence.
    """
    started = next((line.event for line in lines if isinstance(line.event, RunStarted)), None)
    if started is None:
        raise EvidenceError(f"{folder}: the run broke before it began. {checked.sentence}")
    if (info.run, info.target, info.version) != (started.run, started.target, started.version):
        raise EvidenceError(f"{folder}: {RUN_FILE} does not describe the run whose events are beside it")
    ended = next((line.event for line in lines if isinstance(line.event, RunEnded)), None)
    why = "" if checked.state is State.OK else _why(lines, ended, checked.sentence)
    results = rule_results(lines)
    run = _run_row(info, started, ended, why)
    run |= {"digest": evidence, "folder": Path(folder).name, "events": len(lines)}
    rule_of = {line.event.test: line.event.rule for line in lines if isinstance(line.event, TestStarted)}
    home = _homes(lines, rule_of)
    decided = _decided(lines)
    verdicts = [_verdict_row(started.run, result, home, decided) for result in results]
    verdicts += _unreached(started, results, why)
    return Rows(run, verdicts, list(_frame_rows(started.run, lines, home)))


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return [_cell(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value


def _why(lines: Sequence[Line], ended: RunEnded | None, sentence: str) -> str:
    cut = next((line.event.reason for line in lines if isinstance(line.event, Interrupted)), "")
    return cut or (sentence if ended else "the run never came to its end")


def _run_row(info: RunInfo, started: RunStarted, ended: RunEnded | None, why: str) -> TableRow:
    return {
        **{name: str(getattr(started, name)) for name in _TOLD},
        "started": in_utc(info.started),
        "partial": bool(why),
        "why": why,
        "whole": started.catalogue == len(started.selected),
        "standing": str(Standing(ended.standing)) if ended and ended.standing else str(Standing.PARTIAL),
        "sentence": ended.sentence if ended else why,
        "exit_status": ended.exit_status if ended else None,
        "scores": [dict(each) for each in ended.scores] if ended else [],
        "documents": [
            {key: str(each.get(key, "")) for key in ("prefix", "title", "revision", "sha256")}
            for each in started.documents
        ],
        "banner": json.dumps(started.banner, sort_keys=True),
        "environment": json.dumps(started.environment, sort_keys=True),
    }


_TOLD = ("run", "suite", "target", "role", "product", "version", "label", "level", "profile")


def in_utc(text: str) -> str:
    """Write a moment as the tables do. Raises EvidenceError when it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as failure:
        raise EvidenceError(f"the run does not say when it started ({failure})") from None
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _homes(lines: Iterable[Line], rule_of: Mapping[str, str]) -> dict[str, str]:
    """Find the rule under which each connection stands: that of the test during which it was opened."""
    return {
        line.event.connection: rule_of.get(line.test or "", "")
        for line in lines
        if isinstance(line.event, Opened)
    }


_Expectation = tuple[str | None, int | None, tuple[str, ...], str]
"""Connection, frame, legal outcomes and what came: several may be decided at one frame."""


def _decided(lines: Iterable[Line]) -> dict[_Expectation, Expected]:
    """Index the expectations by what a verdict tells of the one that decided it."""
    found = [line.event for line in lines if isinstance(line.event, Expected)]
    return {(each.connection, each.frame, each.outcomes, each.actual): each for each in found}


def _verdict_row(
    run: str,
    result: RuleResult,
    home: Mapping[str, str],
    decided: Mapping[_Expectation, Expected],
) -> TableRow:
    judged = result.deciding
    last = decided.get((judged.connection, judged.frame, judged.expected, judged.actual))
    return row_of(judged, Judged) | {
        "run": run,
        "document": judged.rule.partition("/")[0],
        "tests": len(result.tests),
        "duration": sum(test.duration for test in result.tests),
        "decided_at": last.at if last else None,
        "waited": last.waited if last else None,
        "grade": str(last.grade) if last else "",
        "exchange": home.get(judged.connection or ""),
    }


def _unreached(started: RunStarted, results: Iterable[RuleResult], why: str) -> Iterable[TableRow]:
    """Make a row for each selected rule that a run which broke off said nothing of."""
    judged = {result.rule for result in results}
    for rule in started.selected:
        if rule not in judged:
            sentence = f"the run ended before: {why}"
            nothing = Judged(test=rule, rule=rule, verdict=Verdict.NOT_RUN, detail=sentence)
            row = _verdict_row(started.run, RuleResult((), nothing), {}, {})
            yield row | {"level": ""}  # nobody judged it at any


def _frame_rows(run: str, lines: Iterable[Line], home: Mapping[str, str]) -> Iterable[TableRow]:
    number: dict[str, int] = {}
    for line in lines:
        event = line.event
        if not isinstance(event, Opened | Octets | Ended):
            continue
        number[event.connection] = 0 if isinstance(event, Opened) else number.get(event.connection, 0) + 1
        yield {
            "rule": home.get(event.connection, ""),
            "run": run,
            "connection": event.connection,
            "number": number[event.connection],
            "test": line.test,
            "worker": line.worker,
            "wall": line.wall,
            "at": event.at,
        } | _unit(event)


def _unit(event: Opened | Octets | Ended) -> TableRow:
    nothing = {"protocol": None, "octets": None, "length": None, "sha256": None}
    if isinstance(event, Opened):
        return nothing | {"kind": "opened", "says": event.endpoint, "protocol": event.protocol}
    if isinstance(event, Ended):
        return nothing | {"kind": "ended", "says": f"{event.by} {event.how}"}
    whole = (
        {"length": event.length, "sha256": event.sha256}
        if isinstance(event, CappedOctets)
        else {"length": len(event.octets)}
    )
    return nothing | {"kind": str(event.direction), "says": event.says, "octets": event.octets} | whole
