"""Run folders made by hand, as a run writes them, for the tests of this folder."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.evidence.folder import RunInfo, seal, write_run
from conformance.evidence.keeping import EventWriter
from conformance.evidence.kinds import AnyEvent, Interrupted, Judged, RunEnded, RunStarted
from conformance.evidence.stream import merge
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Standing
from harness.wire.journal import Direction, Ended, Expected, Grade, Octets, Opened
from spec.rules import Level

LOCKED = "x-1/queue.declare.exclusive"
EMPTY = "x-1/queue.purge.empty"
RULES = {LOCKED: Verdict.PASS, EMPTY: Verdict.PASS}
SAID = "queue.declare-ok channel=1"


def make_run(
    folder: Path,
    *,
    run: str = "r1",
    product: str = "Peer",
    version: str = "1.0",
    target: str = "embedded",
    started: str = "2026-11-20T12:00:00+00:00",
    verdicts: Mapping[str, Verdict] = RULES,
    frames: int | Mapping[str, Sequence[AnyEvent]] = 2,
    said: str = SAID,
    level: Level | Mapping[str, Level] = Level.MUST,
    signatures: Mapping[str, str] | None = None,
    readings: Mapping[str, str] | None = None,
    catalogue: int | None = None,
    partial: bool = False,
    merged: bool = True,
    **changes: Any,
) -> Path:
    """Make a run folder at `folder`, the same octets for the same arguments; gives `folder`.

    `frames` is how many units went by on each rule's connection, or the events of it by rule; `said` is
    what the peer says in them and in its findings. `level` is that of the run's rules, or each rule's.
    `catalogue` is how many rules there were to choose from (None: the selected). A `partial` run was
    interrupted after its verdicts; one that is not `merged` is left as its crash left it. `changes` go to
    both descriptions of the run (banner, documents, environment, suite, profile, arguments).
    """
    folder.mkdir(parents=True)
    levels = {rule: level if isinstance(level, Level) else level.get(rule, Level.MUST) for rule in verdicts}
    facts = {
        "run": run,
        "target": target,
        "product": product,
        "version": version,
        "suite": "0.1.0",
        "level": str(min(levels.values(), key=list(Level).index, default=Level.MUST)),
        "documents": ({"prefix": "x-1", "title": "X, 1", "revision": "1", "sha256": "00" * 32},),
        **changes,
    }
    write_run(folder, RunInfo(started=started, **facts))
    beginning = RunStarted(
        **facts | {"level": Level(facts["level"])},
        selected=tuple(verdicts),
        catalogue=len(verdicts) if catalogue is None else catalogue,
    )
    ticks = (tick / 100 for tick in itertools.count(1)).__next__
    with EventWriter(folder, "main", ticks) as writer:
        writer.write(beginning)
        for number, (rule, verdict) in enumerate(verdicts.items(), 1):
            connection = f"main.{number}.1"
            events = (
                exchange(connection, said, frames, verdict)
                if isinstance(frames, int)
                else frames.get(rule, ())
            )
            told = (signatures or {}).get(rule), (readings or {}).get(rule, "")
            judgement = judged(rule, verdict, events, said, levels[rule], *told)
            with writer.test(judgement.test, rule):
                for event in (*events, judgement):
                    writer.write(event)
        writer.write(Interrupted("the total budget was spent") if partial else ending(verdicts, levels))
    if merged:
        merge(folder, partial=partial)
        seal(folder)
    return folder


def exchange(connection: str, said: str, frames: int, verdict: Verdict) -> list[AnyEvent]:
    """Make a connection on which `frames` units went by, the last of them deciding."""
    events: list[AnyEvent] = [Opened(0.0, connection, "127.0.0.1:5673", "x-1")]
    for number in range(1, frames + 1):
        sent = (Direction.SENT, b"\x01\x00\x01ask", "queue.declare channel=1")
        received = (Direction.RECEIVED, b"\x01\x00\x01okay", said)
        events.append(Octets(number / 100, connection, *(sent if number < frames else received)))
    grade = Grade.PREFERRED if verdict is Verdict.PASS else Grade.UNMET
    events.append(Expected(frames / 100, connection, ("405 channel close",), said, grade, "", frames, 0.25))
    events.append(Ended((frames + 1) / 100, connection, "harness", "fin"))
    return events


def judged(
    rule: str,
    verdict: Verdict,
    events: Sequence[AnyEvent],
    said: str,
    level: Level,
    signature: str | None,
    reading: str,
) -> Judged:
    """Make the verdict of the one test of `rule`, decided by the last unit of its first connection."""
    opened = next((event.connection for event in events if isinstance(event, Opened)), None)
    return Judged(
        test=f"{rule}[{rule.rpartition('.')[2]}]",
        rule=rule,
        verdict=verdict,
        signature=("" if verdict is Verdict.PASS else f"{said} for 405") if signature is None else signature,
        expected=("405 channel close",),
        actual=said,
        reading=reading,
        connection=opened,
        frame=None if opened is None else sum(isinstance(event, Octets) for event in events),
        duration=0.25,
        level=level,
    )


def ending(verdicts: Mapping[str, Verdict], levels: Mapping[str, Level]) -> RunEnded:
    """Make the end of a run that came to `verdicts`."""
    scores = [score(level, verdicts, levels) for level in Level]
    against = sum(verdict.blocks for verdict in verdicts.values())
    standing = Standing.NOT_CERTIFIED if against else Standing.CERTIFIED
    return RunEnded(
        verdicts=Counter(map(str, verdicts.values())),
        exit_status=1 if against else 0,
        sentence=f"{standing} as server: {len(verdicts)} rules",
        standing=str(standing),
        scores=tuple(scores),
    )


def score(level: Level, verdicts: Mapping[str, Verdict], levels: Mapping[str, Level]) -> dict[str, Any]:
    """Say what a run says of one `level`."""
    judged = [verdict for rule, verdict in verdicts.items() if level.covers(levels[rule])]
    against = sum(verdict.blocks for verdict in judged)
    standing = Standing.NOT_CERTIFIED if against else Standing.CERTIFIED
    return {"level": str(level), "judged": len(judged), "against": against, "standing": str(standing)}


def make_runs(parent: Path, count: int, **changes: Any) -> list[Path]:
    """`count` runs in folders of `parent`, one a minute, each with its own identity."""
    return [
        make_run(
            parent / f"run-{number:04}",
            **{"run": f"r{number:04}", "started": f"2026-11-20T{number // 60:02}:{number % 60:02}:00+00:00"}
            | changes,
        )
        for number in range(1, count + 1)
    ]


def rewrite(folder: Path, change: Iterable[tuple[bytes, bytes]]) -> Path:
    """Replace octets in the stream of `folder`, as no run does; gives `folder`."""
    stream = folder / "events.jsonl"
    content = stream.read_bytes()
    for old, new in change:
        if old not in content:
            raise ValueError(f"{stream} holds no {old!r}")
        content = content.replace(old, new)
    stream.write_bytes(content)
    return folder
