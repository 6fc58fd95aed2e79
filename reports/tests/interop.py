"""Folders of interoperability runs made by hand, as such a run writes them, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.interop.folder import summary, write
from conformance.interop.known import Known, against
from conformance.interop.matrix import Matrix
from conformance.interop.outcomes import Leg, Outcome, Stage

CASES = ("field.i8", "body.empty")
SAME = dict.fromkeys(CASES, Outcome.SAME)


def make_interop_run(
    folder: Path,
    *,
    number: int = 1,
    client: str = "one",
    client_version: str = "1.0",
    broker: str = "here",
    broker_version: str = "3.0",
    sends: Mapping[str, Outcome] = SAME,
    passes: Mapping[str, Outcome] = SAME,
    gets: Mapping[str, Outcome] = SAME,
    known: Sequence[Known] = (),
    broke: Mapping[str, str] | None = None,
    **changes: Any,
) -> Path:
    """Make the folder of a run of one client at one broker; gives `folder`.

    `sends`, `passes` and `gets` say what each case came to on its legs. `number` tells run from run, and is
    the minute at which it started.
    """
    blank = {"client_version": client_version, "broker": broker, "broker_version": broker_version}
    legs = []
    for case, outcome in sends.items():
        told: dict[str, Any] = {"protocol": "0-9-1", "case": case, "form": f"form of {case}", **blank}
        detail = "it became another"
        legs.append(Leg(client=client, leg=Stage.SEND, outcome=outcome, detail=detail, **told))
        passed = told | {"client_version": ""}
        legs.append(Leg(client="", leg=Stage.BROKER, outcome=passes.get(case, Outcome.SAME), **passed))
        legs.append(Leg(client=client, leg=Stage.RECEIVE, outcome=gets.get(case, Outcome.SAME), **told))
    return write_interop_run(folder, legs, known, broke or {}, number, **changes)


def write_interop_run(
    folder: Path,
    legs: Sequence[Leg],
    known: Sequence[Known] = (),
    broke: Mapping[str, str] | None = None,
    number: int = 1,
    **changes: Any,
) -> Path:
    """Write the folder of a run that came to these legs; `changes` go to its summary."""
    about = {
        "run": f"interop-{number:016x}",
        "started": f"2026-11-20T12:{number:02}:00+00:00",
        "suite": "0.1.0",
        "protocol": "0-9-1",
        "seconds": {},
    }
    told = summary(Matrix(legs), against(legs, known), broke or {}, about)
    write(folder, legs, {**told, **changes})
    return folder
