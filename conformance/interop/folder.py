"""The folder of a run: `interop.jsonl`, a line for each leg, and `summary.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from conformance.evidence.kinds import EvidenceError
from conformance.interop.known import Against
from conformance.interop.matrix import Matrix, counted
from conformance.interop.outcomes import Leg

LEGS, SUMMARY, PAGE = "interop.jsonl", "summary.json", "interop.html"
SCHEMA = 1


def write(folder: Path, legs: Sequence[Leg], summary: Mapping[str, Any]) -> None:
    """Write both files, in pure ASCII, whatever a peer has said; the summary has the hash of the legs."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(leg.line()) + "\n" for leg in legs).encode("ascii")
    (folder / LEGS).write_bytes(lines)
    whole = {**summary, "sha256": sha256(lines).hexdigest()}
    (folder / SUMMARY).write_text(json.dumps(whole, indent=1) + "\n", encoding="ascii")


def read(folder: Path) -> list[Leg]:
    """Read the legs of a run. Raises EvidenceError."""
    try:
        lines = (folder / LEGS).read_text(encoding="ascii").splitlines()
        return [Leg.of(json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError, KeyError) as failure:
        raise EvidenceError(f"{folder / LEGS}: {failure}") from None


def summary(
    matrix: Matrix, found: Against, broke: Mapping[str, str], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Sum a run up: who took part, in which version, and what came of it in each cell.

    `excused` gives the reason by the number of a leg that is known to fail, from 0.
    """
    reasons = {id(leg): known.reason for leg, known in found.known}
    excused = {str(at): reasons[id(leg)] for at, leg in enumerate(matrix.legs) if id(leg) in reasons}
    return {
        "schema": SCHEMA,
        **about,
        "clients": {each: matrix.version_of(client=each) for each in matrix.clients},
        "brokers": {each: matrix.version_of(broker=each) for each in matrix.brokers},
        "cases": len(matrix.cases),
        "legs": len(matrix.legs),
        "broke": dict(broke),
        "new": len(found.new),
        "known": len(found.known),
        "excused": excused,
        "gone": [{"entry": str(each), "reason": each.reason} for each in found.gone],
        "cells": _cells(matrix),
    }


def _cells(matrix: Matrix) -> list[dict[str, Any]]:
    return [
        {
            "client": client,
            "broker": broker,
            **{str(key): count for key, count in of_cell(matrix, client, broker).items()},
        }
        for client in matrix.clients
        for broker in matrix.brokers
    ]


def of_cell(matrix: Matrix, client: str, broker: str) -> Mapping[Any, int]:
    """Count what came of the cases of a client at a broker."""
    cells = (matrix.cell(client, broker, case) for case in matrix.cases)
    return counted(cell.outcome for cell in cells if cell.legs)


def sentence(legs: Iterable[Leg]) -> str:
    """Count legs in words."""
    count = len(list(legs))
    return f"{count} leg{'' if count == 1 else 's'}"
