"""Rules, verdicts and exchanges made by hand, for the tests of this folder."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from conformance.evidence.keeping import EventWriter
from conformance.evidence.kinds import AnyEvent, Judged, Line
from conformance.evidence.results import RuleResult, rule_results
from conformance.evidence.verdicts import Verdict
from harness.wire.journal import Direction, Ended, Expected, Grade, Octets, Opened
from spec.rules import Level, Party, Place, Rule, Testability

RULE = "x-1/queue.declare.exclusive"


def rule(id: str = RULE, **changes: Any) -> Rule:
    values: dict[str, Any] = {
        "id": id,
        "document": "x-1",
        "name": "exclusive",
        "section": "queue.declare",
        "place": Place((("class", "queue"), ("method", "declare")), 1234),
        "text": "The server MUST refuse.",
        "scenario": "Try it.",
        "scenario_is_ours": False,
        "on_failure": "resource-locked",
        "level": Level.MUST,
        "binds": Party.CLIENT,
        "judged": Party.SERVER,
        "testability": Testability.ACTIVE,
        "reason": "",
        "reading": "",
    }
    return Rule(**(values | changes))


def judged(verdict: Verdict, rule: str = RULE, test: str | None = None, **more: Any) -> Judged:
    return Judged(test=test or rule, rule=rule, verdict=verdict, **more)


def lines_of(events: Iterable[AnyEvent], test: str | None = RULE) -> list[Line]:
    return [Line(number / 100, "main", number, test, event) for number, event in enumerate(events, 1)]


def results_of(*judgements: Judged) -> list[RuleResult]:
    return rule_results(lines_of(judgements))


def ticking() -> Callable[[], float]:
    """Give a clock on which every look takes a hundredth of a second."""
    return (tick / 100 for tick in itertools.count(1)).__next__


def write(run_dir: Path, worker: str, events: Iterable[AnyEvent]) -> Path:
    with EventWriter(run_dir, worker, ticking()) as writer:
        for event in events:
            writer.write(event)
    return writer.path


def exchange(peer_says: str = "queue.declare-ok channel=1", frames: int = 2) -> list[AnyEvent]:
    """Give a connection on which the peer answered what it should have refused."""
    events: list[AnyEvent] = [Opened(0.0, "c1", "127.0.0.1:5673", "x-1")]
    for number in range(frames - 1):
        events.append(
            Octets(0.1 + number / 100, "c1", Direction.SENT, b"\x01\x00\x01ask", "queue.declare channel=1")
        )
    events.append(Octets(0.5, "c1", Direction.RECEIVED, b"\x01\x00\x01okay", peer_says))
    events.append(Expected(0.5, "c1", ("405 channel close",), peer_says, Grade.UNMET, "", frames, 0.25))
    events.append(
        judged(
            Verdict.FAIL,
            signature=f"{peer_says} for 405",
            expected=("405 channel close", "405 connection close"),
            actual=peer_says,
            connection="c1",
            frame=frames,
        )
    )
    events.append(Ended(0.6, "c1", "harness", "fin"))
    return events
