"""Failures that are known, each with a reason: `ci/interop/known.toml`.

[[known]]
client = "pika"                 # globs; empty for legs of brokers, "*" for all
broker = "process:rabbitmq"
case = "field.i8.*"
leg = "receive"
outcome = "changed"
reason = "…"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.interop.outcomes import Leg
from harness.targets.target import TargetError


@dataclass(frozen=True, slots=True)
class Known:
    """An entry: what fails, by globs, and why."""

    client: str
    broker: str
    case: str
    leg: str
    outcome: str
    reason: str

    def about(self, leg: Leg) -> bool:
        """Say whether this is about such a leg, whatever it came to."""
        pairs = (
            (self.client, leg.client),
            (self.broker, leg.broker),
            (self.case, leg.case),
            (self.leg, leg.leg),
        )
        return all(fnmatchcase(str(what), glob) for glob, what in pairs)

    def covers(self, leg: Leg) -> bool:
        return self.about(leg) and fnmatchcase(str(leg.outcome), self.outcome)


@dataclass(frozen=True, slots=True)
class Against:
    """What a run comes to against the known failures; `gone` are entries that nothing needs any more."""

    new: tuple[Leg, ...]
    known: tuple[tuple[Leg, Known], ...]
    gone: tuple[Known, ...]


def read_known(file: Path | None) -> tuple[Known, ...]:
    """Read the known failures; none where there is no file. Raises TargetError."""
    if file is None:
        return ()
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("known", [])
    except OSError as failure:
        raise TargetError(f"{file}: cannot be read ({failure.strerror})") from None
    except ValueError as failure:
        raise TargetError(f"{file}: {failure}") from None
    names = {each.name for each in fields(Known)}
    for entry in entries:
        if set(entry) != names or not all(isinstance(each, str) for each in entry.values()):
            raise TargetError(f"{file}: an entry holds {', '.join(sorted(names))} as texts, and nothing else")
        if not entry["reason"].strip():
            raise TargetError(f"{file}: {entry['case']} has no reason")
    return tuple(Known(**entry) for entry in entries)


def against(legs: Sequence[Leg], known: Iterable[Known]) -> Against:
    """Sort failures into new ones and known ones, and find the entries that nothing needs any more."""
    entries = tuple(known)
    failing = [leg for leg in legs if leg.fails]
    covered = [(leg, next((each for each in entries if each.covers(leg)), None)) for leg in failing]
    used = {id(each) for _, each in covered if each is not None}
    gone = [each for each in entries if id(each) not in used and any(map(each.about, legs))]
    return Against(
        tuple(leg for leg, each in covered if each is None),
        tuple((leg, each) for leg, each in covered if each is not None),
        tuple(gone),
    )
