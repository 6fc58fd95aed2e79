"""Failures that are known, each with a reason: `ci/interop/known.toml`.

    [[known]]
    client = "pika"                  # globs, one or a list; empty for legs of brokers
    broker = "process:rabbitmq"      # every one unless given
    protocol = "0-9-1"               # either unless given: both have cases of the same names
    case = ["field.i8.*", "field.u8.*"]
    leg = "receive"
    outcome = "changed"
    detail = "told: *became int 0*"  # what the leg says of it, every one unless given
    reason = "…"
    sometimes = true                 # it need not fail each time

An entry with several cases is one for each: what none of its cases needs any more is said.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.interop.outcomes import Leg, Stage
from harness.targets.target import TargetError

REQUIRED = frozenset({"client", "case", "leg", "outcome", "reason"})
KEYS = REQUIRED | {"broker", "protocol", "detail", "sometimes"}
Globs = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """An entry: what fails, by globs, and why."""

    client: Globs
    broker: Globs
    case: Globs
    leg: Globs
    outcome: Globs
    reason: str
    detail: Globs = "*"
    sometimes: bool = False
    protocol: Globs = "*"

    def about(self, leg: Leg) -> bool:
        """Say whether this is about such a leg, whatever it came to."""
        pairs = (
            (self.client, leg.client),
            (self.broker, leg.broker),
            (self.protocol, leg.protocol),
            (self.case, leg.case),
            (self.leg, leg.leg),
        )
        return all(fits(what, globs) for globs, what in pairs)

    def covers(self, leg: Leg) -> bool:
        """Say whether this leg fails as the entry has it."""
        return self.about(leg) and fits(leg.outcome, self.outcome) and fits(leg.detail, self.detail)

    def __str__(self) -> str:
        who = words(self.client) or "broker"
        return f"{who} at {words(self.broker)}, {words(self.case)}, {words(self.leg)} {words(self.outcome)}"


def fits(what: str, globs: Globs) -> bool:
    """Say whether one of these globs fits."""
    return any(fnmatchcase(str(what), glob) for glob in ((globs,) if isinstance(globs, str) else globs))


def words(globs: Globs) -> str:
    """Write globs in a line."""
    return globs if isinstance(globs, str) else " or ".join(globs)


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
        return tuple(each for entry in entries for each in _entries(entry))
    except OSError as failure:
        raise TargetError(f"{file}: cannot be read ({failure.strerror})") from None
    except ValueError as failure:
        raise TargetError(f"{file}: {failure}") from None


def _entries(entry: Mapping[str, Any]) -> Iterator[Known]:
    """Give an entry for each of its cases. Raises ValueError."""
    if not REQUIRED <= set(entry) <= KEYS:
        least, more = ", ".join(sorted(REQUIRED)), ", ".join(sorted(KEYS - REQUIRED))
        raise ValueError(f"an entry holds {least}, may hold {more}, and nothing else")
    given = {name: tuple(each) if isinstance(each, list) else each for name, each in entry.items()}
    sometimes = given.pop("sometimes", False)
    texts = [text for each in given.values() for text in (each if isinstance(each, tuple) else (each,))]
    if not isinstance(sometimes, bool) or not all(isinstance(each, str) for each in texts):
        raise ValueError("an entry says all as texts, or lists of these; `sometimes` is true or false")
    if not str(given["reason"]).strip():
        raise ValueError(f"{given['case']} has no reason")
    cases = given.pop("case")
    for case in cases if isinstance(cases, tuple) else (cases,):
        yield Known(**{"broker": "*", **given, "case": case, "sometimes": sometimes})


def is_known(known: Iterable[Known], leg: Leg) -> bool:
    """Say whether a leg is known to fail like that."""
    return any(each.covers(leg) for each in known)


def against(legs: Sequence[Leg], known: Iterable[Known], whole: bool = True) -> Against:
    """Sort failures into new ones and known ones, and find the entries that nothing needs any more.

    Where not all clients took part it is not the `whole`: nobody got what the others send, and it is said
    of what clients send alone that it no longer fails.
    """
    entries = tuple(known)
    failing = [leg for leg in legs if leg.fails]
    covered = [(leg, next((each for each in entries if each.covers(leg)), None)) for leg in failing]
    used = {id(each) for each in entries if any(map(each.covers, failing))}
    told = entries if whole else [each for each in entries if each.leg == Stage.SEND]
    unused = [each for each in told if id(each) not in used and not each.sometimes]
    return Against(
        tuple(leg for leg, each in covered if each is None),
        tuple((leg, each) for leg, each in covered if each is not None),
        tuple(each for each in unused if any(map(each.about, legs))),
    )
