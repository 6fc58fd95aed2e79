"""Run folders by the thousand, as a run writes them, for the benchmark of the warehouse.

Every line is made once by the encoder of the real stream and then copied: from run to run change its
identity (in the octets too, where names carry it), the clock, and the verdicts. What a rule comes to
follows from its number, the build's and the run's, so that the same arguments make the same folders.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

from conformance.evidence.folder import STREAM, RunInfo, write_run
from conformance.evidence.kinds import (
    AnyEvent,
    Interrupted,
    Judged,
    Line,
    RunEnded,
    RunStarted,
    TestStarted,
    encode,
)
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Standing
from harness.wire.journal import Direction, Ended, Expected, Grade, Octets, Opened
from reports.ingest.sealing import seal
from spec.catalogue import Catalogue, catalogue
from spec.rules import Level, Rule

TARGETS = 10
VERSIONS = 30
UNITS = 21
"""Of one connection, of which each rule has one; with its opening and its end it makes 23 rows of frames."""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
PARTIAL_EVERY = 40
NAME = "@@name@@"
"""Stands where the identity of a run goes; as long as one."""
TICKS = [f"65432{number}" for number in range(10)]
"""The last digits of every time, which each run replaces by its own, so that they compress as times do."""

_SPREAD = (
    [Verdict.PASS] * 80 + [Verdict.WARN] * 6 + [Verdict.INFO] * 4 + [Verdict.INAPPLICABLE] * 2
    + [Verdict.UNTESTABLE] * 2
)  # fmt: skip
"""Of a hundred rules those that come to the same in all versions of a product."""
_MENDED = 98
"""The rules from there up to this one fail until some version, and those behind it now and then."""


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of one rule's test: how it begins, and its judgement by verdict; `kinds` counts them."""

    begins: bytes
    judged: Mapping[Verdict, bytes]
    kinds: Counter[str]

    def of(self, verdict: Verdict) -> bytes:
        return self.begins + self.judged[verdict]


def identity(number: int) -> str:
    """Make the identity of a run: no two runs share one, and their order is not that of their numbers."""
    return f"{number * 2654435761 % 2**32:08x}"


def _is_partial(number: int) -> bool:
    return number % PARTIAL_EVERY == PARTIAL_EVERY - 1


def verdict_of(rule: int, number: int) -> Verdict:
    """Say what the rule with this number comes to in the run with this `number`."""
    product, version, attempt = (
        number % TARGETS,
        number // TARGETS % VERSIONS,
        number // (TARGETS * VERSIONS),
    )
    place = (rule * 37 + product * 11) % 100
    if place < len(_SPREAD):
        return _SPREAD[place]
    fails = version < rule % VERSIONS if place < _MENDED else (attempt * 3 + rule + version) % 5 == 0
    return Verdict.FAIL if fails else Verdict.PASS


def rules(count: int) -> tuple[Rule, ...]:
    """Make `count` rules: those of the documents over and over, each time with another identity."""
    real = catalogue().rules
    return tuple(
        replace(rule, id=f"{rule.id}-{number // len(real)}" if number >= len(real) else rule.id)
        for number in range(count)
        for rule in [real[number % len(real)]]
    )


class Generator:
    """Writes run folders about `count` rules, with the rows that a run makes where it came to its end."""

    def __init__(self, count: int) -> None:
        self.rules = rules(count)
        self.catalogue = Catalogue(catalogue().documents, self.rules, {})
        self._blocks = [_block(number, rule) for number, rule in enumerate(self.rules)]
        self._counts = list(accumulate((block.kinds for block in self._blocks), initial=Counter[str]()))
        self._documents = tuple(
            {key: getattr(each, key) for key in ("prefix", "title", "revision", "sha256")}
            for each in catalogue().documents
        )

    def write(self, parent: Path, numbers: Sequence[int]) -> list[Path]:
        """Write the folders of the runs with these `numbers` (0 is the oldest) into `parent`; gives them."""
        return [self._folder(parent, number) for number in numbers]

    def _folder(self, parent: Path, number: int) -> Path:
        run = identity(number)
        folder = parent / f"{number:06}-{run}"
        folder.mkdir(parents=True)
        facts: dict[str, Any] = {
            "run": run,
            "suite": "0.1.0",
            "target": f"process:broker-{number % TARGETS}",
            "product": f"Broker {number % TARGETS}",
            "version": f"3.{number // TARGETS % VERSIONS}.0",
            "documents": self._documents,
        }
        started = BEGAN + timedelta(minutes=7 * number)
        write_run(folder, RunInfo(started=started.isoformat(), level="should", **facts))
        (folder / STREAM).write_bytes(self._stream(number, facts))
        if not _is_partial(number):
            seal(folder, read(folder))
        return folder

    def _stream(self, number: int, facts: dict[str, Any]) -> bytes:
        partial = _is_partial(number)
        reached = len(self.rules) * 3 // 4 if partial else len(self.rules)
        came = [verdict_of(rule, number) for rule in range(reached)]
        selected = tuple(rule.id for rule in self.rules)
        begins = RunStarted(level=Level.SHOULD, selected=selected, catalogue=len(selected), **facts)
        ends = Interrupted("the total budget was spent") if partial else self._end(came)
        tests = (block.of(verdict) for block, verdict in zip(self._blocks, came, strict=False))
        content = b"".join([_line(begins), *tests, _line(ends)])
        for placeholder, own in self._own(number):
            content = content.replace(placeholder, own)
        return content + _footer(content, self._counts[reached] + _kinds(begins, ends), partial)

    @staticmethod
    def _own(number: int) -> Iterator[tuple[bytes, bytes]]:
        """Pair what stands in the lines of a run with what this run has there."""
        for nth, tick in enumerate(TICKS, 1):
            yield tick.encode(), f"{number * nth * 7919 % 1_000_000:06}".encode()
        # The identity comes last, as its digits may be those of a placeholder.
        run = identity(number)
        yield NAME.encode(), run.encode()
        yield NAME.encode().hex().encode(), run.encode().hex().encode()

    def _end(self, came: Sequence[Verdict]) -> RunEnded:
        against = sum(verdict.blocks for verdict in came)
        standing = str(Standing.NOT_CERTIFIED if against else Standing.CERTIFIED)
        score = {"judged": len(came), "against": against, "standing": standing}
        return RunEnded(
            verdicts=Counter(map(str, came)),
            exit_status=int(bool(against)),
            sentence=f"{standing} as server at level should: {against} of {len(came)} rules stand against it",
            standing=standing,
            scores=tuple({"level": str(level)} | score for level in Level),
        )


def _time(seconds: int, hundredths: int) -> float:
    """Make a time whose last digits are a placeholder."""
    return float(f"{seconds}.{hundredths:02}{TICKS[hundredths % len(TICKS)]}")


def _block(number: int, rule: Rule) -> Block:
    test = f"{rule.id}[case]"
    before: list[AnyEvent] = [TestStarted(test, rule.id)]
    before += _exchange(f"main.{number + 1}.1", number)
    judged = {verdict: _judged(number, rule, test, verdict) for verdict in Verdict}
    lines = [_line(event, _time(number, seq), seq, test) for seq, event in enumerate(before)]
    return Block(
        b"".join(lines),
        {verdict: _line(event, _time(number, 99), len(lines), test) for verdict, event in judged.items()},
        _kinds(*before, judged[Verdict.PASS]),
    )


def _exchange(connection: str, number: int) -> list[AnyEvent]:
    """Make a connection with units of some 60 octets, which carry a name and little else that repeats."""
    events: list[AnyEvent] = [Opened(0.0, connection, "127.0.0.1:5672", "0-9-1")]
    for unit in range(1, UNITS + 1):
        direction = list(Direction)[unit % 2]
        filling = hashlib.sha256(f"{number} {unit}".encode()).digest()
        octets = (
            b"\x01\x00\x01\x00\x00\x00\x34\x00\x32\x00\x0a\x00\x00\x08" + NAME.encode() + filling + b"\xce"
        )
        says = f"queue.declare channel=1 queue=amqp-conformance.{NAME}.{number}.{unit} durable=false"
        events.append(Octets(_time(0, unit), connection, direction, octets, says))
    last = _time(0, UNITS)
    outcomes = ("queue.declare-ok", "channel closed by the target with 405 RESOURCE_LOCKED")
    waited = _time(0, 0)
    events.append(
        Expected(last, connection, outcomes, "queue.declare-ok", Grade.PREFERRED, "", UNITS, waited)
    )
    events.append(Ended(_time(0, 99), connection, "harness", "fin"))
    return events


def _judged(number: int, rule: Rule, test: str, verdict: Verdict) -> Judged:
    missed = verdict.severity > 0
    return Judged(
        test=test,
        rule=rule.id,
        verdict=verdict,
        signature=f"channel closed with {404 + number % 3} for queue.declare-ok" if missed else "",
        expected=("queue.declare-ok", "channel closed by the target with 405 RESOURCE_LOCKED"),
        actual="channel.close 404 NOT_FOUND" if missed else "queue.declare-ok",
        detail=f"the target answered the {number}th way, and none of the legal outcomes" if missed else "",
        reading=rule.reading if verdict is Verdict.INFO else "",
        connection=f"main.{number + 1}.1",
        frame=UNITS,
        duration=_time(0, 0),
        level=rule.level,
    )


def _line(event: AnyEvent, wall: float = 0.0, seq: int = 1, test: str | None = None) -> bytes:
    return encode(Line(wall, "main", seq, test, event))


def _kinds(*events: AnyEvent) -> Counter[str]:
    return Counter(Line(0.0, "main", 1, None, event).kind for event in events)


def _footer(content: bytes, kinds: Counter[str], partial: bool) -> bytes:
    footer = {
        "event": "footer",
        "events": kinds.total(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "partial": partial,
        "counts": dict(sorted(kinds.items())),
    }
    return json.dumps(footer, separators=(",", ":")).encode("ascii") + b"\n"
