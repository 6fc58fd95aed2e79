"""A finding laid out for the person who has to mend the broker, as data; renderers only dress it."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.evidence.kinds import CappedOctets, Judged, Line
from conformance.evidence.octets import hexadecimal, readable, written
from conformance.evidence.printable import printable
from conformance.evidence.tried import aside, tried
from conformance.evidence.verdicts import Verdict
from harness.wire.journal import Direction, Ended, Expected, Octets, Opened
from spec.applicability import said_of
from spec.rules import Rule

Annotate = Callable[[str, bytes], Iterable[tuple[int, int, str, Any]]]
"""Names the fields of octets of a protocol: (offset, length, name, value)."""

FRAMES = 8
"""How many frames of the deciding connection are shown."""
OCTETS = 64
"""How many octets of a frame whose fields are not named are shown."""
_MISSED = (Verdict.FAIL, Verdict.WARN)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of octets in hexadecimal, and what it is (empty when it has no name)."""

    offset: int
    octets: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One frame, or the end of the connection: `at` in seconds, which way, what, and its octets."""

    number: int
    at: float
    way: str
    says: str
    deciding: bool
    parts: tuple[Part, ...]

    @property
    def named(self) -> bool:
        """Whether its octets are told apart: more than one part of them has a meaning."""
        return sum(bool(part.meaning) for part in self.parts) > 1

    @property
    def width(self) -> int:
        """How many characters the octets of its longest part are."""
        return max(len(part.octets) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Explanation:
    """All there is to say about one test's verdict. Texts are one printable line each."""

    judged: Judged
    facts: tuple[tuple[str, str], ...]
    frames: tuple[Shown, ...]
    replay: str


def explain(
    judged: Judged,
    rule: Rule,
    lines: Sequence[Line],
    annotate: Annotate | None = None,
    run: str = "RUN",
    several: bool = False,
) -> Explanation:
    """Explain a test's verdict; `annotate` names octets, `run` is the folder as typed.

    Of many verdicts each is best given the `lines` of its own connection.
    """
    connection = _connection(lines, judged)
    named = [
        (label, printable(readable(text)))
        for label, text in _facts(judged, rule, connection, several)
        if text
    ]
    return Explanation(
        judged=judged,
        facts=tuple(named),
        frames=tuple(_frames(connection, None if aside(judged) else judged.frame, annotate)),
        replay=shlex.join(["amqp-conformance", "replay", run, rule.id]),
    )


def as_text(explanation: Explanation) -> str:
    """Give the explanation as plain text, for reports without layout."""
    text = [f"{label}: {value}" for label, value in explanation.facts]
    for frame in explanation.frames:
        text.append(f"{heading(frame)}  {frame.says}")
        text += [f"        {part.offset:5}  {part.octets}  {part.meaning}".rstrip() for part in frame.parts]
    return "\n".join([*text, f"again: {explanation.replay}"])


def heading(frame: Shown) -> str:
    """Number, time and direction of a frame; the deciding one is marked."""
    return f"{'>' if frame.deciding else ' '} {frame.number:3} {frame.at:9.4f} s  {frame.way}"


def connections(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Give what was seen of each connection, by its name; verdicts are nothing of it."""
    found: dict[str, list[Line]] = {}
    for each in lines:
        name = getattr(each.event, "connection", None)
        if name is not None and not isinstance(each.event, Judged):
            found.setdefault(name, []).append(each)
    return found


def _connection(lines: Iterable[Line], judged: Judged) -> list[Line]:
    if judged.connection is None:
        return []
    all_of_it = connections(lines).get(judged.connection, [])
    return [each for each in all_of_it if each.test == judged.test] or all_of_it


def _facts(
    judged: Judged, rule: Rule, connection: Sequence[Line], several: bool
) -> Iterable[tuple[str, str]]:
    yield "rule", rule.id
    yield "verdict", f"{judged.verdict}: {judged.signature}" if judged.signature else str(judged.verdict)
    yield "test", judged.test if judged.test != rule.id or several else ""
    yield "level", f"{rule.level}, binds the {rule.binds}, judged on the {rule.judged}"
    yield "asks" if rule.is_in_our_words else "sentence", rule.text
    yield "rests upon", rule.source
    yield "said of", said_of(rule)
    yield "place", f"{rule.document}, {rule.place}"
    yield "on failure", rule.on_failure or ""
    if not aside(judged):
        yield "legal", " | ".join(judged.expected)
        yield "came", judged.actual
    yield "while", tried(judged, connection)
    yield "when", "" if aside(judged) else _when(judged, connection)
    yield "detail", judged.detail
    yield "cause", judged.cause
    yield "one fault", " ".join(rule.one_fault) if judged.verdict in _MISSED else ""
    yield "reason", rule.reason if judged.verdict in _MISSED else ""
    yield "reading", judged.reading or rule.reading
    endpoints = [each.event.endpoint for each in connection if isinstance(each.event, Opened)]
    yield "connection", f"{judged.connection} to {endpoints[0]}" if endpoints else judged.connection or ""


def _when(judged: Judged, connection: Sequence[Line]) -> str:
    decided = [e.event for e in connection if isinstance(e.event, Expected) and e.event.frame == judged.frame]
    if not decided:
        return ""
    last = decided[-1]
    return f"{last.at:.4f} s into the run, after waiting {last.waited:.4f} s"


def _frames(connection: Sequence[Line], frame: int | None, annotate: Annotate | None) -> Iterable[Shown]:
    units = [each.event for each in connection if isinstance(each.event, Octets | Ended)]
    protocol = next((each.event.protocol for each in connection if isinstance(each.event, Opened)), "")
    last = len(units) if frame is None else frame
    window = list(enumerate(units[:last], 1))[-FRAMES:]
    sent = [
        number for number, unit in window if isinstance(unit, Octets) and unit.direction is Direction.SENT
    ]
    for number, unit in window:
        deciding = number == frame
        if isinstance(unit, Ended):
            ending = f"connection ended by the {printable(unit.by)} ({printable(unit.how)})"
            yield Shown(number, unit.at, "ended", ending, deciding, ())
        else:
            # Fields are named where the eye goes: what we sent last, and what decided.
            named = annotate if deciding or number in sent[-1:] else None
            way = "sent" if unit.direction is Direction.SENT else "came"
            parts = tuple(_parts(unit, protocol, named))
            yield Shown(number, unit.at, way, printable(readable(unit.says)), deciding, parts)


def _parts(unit: Octets, protocol: str, annotate: Annotate | None) -> Iterable[Part]:
    whole = unit.length if isinstance(unit, CappedOctets) else len(unit.octets)
    if annotate is not None and whole == len(unit.octets):
        for offset, length, name, value in annotate(protocol, unit.octets):
            octets = hexadecimal(unit.octets[offset : offset + length])
            told = written(value) if isinstance(value, bytes) else readable(str(value))
            yield Part(offset, octets, printable(f"{name} = {told}"))
        return
    for offset in range(0, min(len(unit.octets), OCTETS), 16):
        yield Part(offset, hexadecimal(unit.octets[offset : offset + 16]), "")
    if whole > OCTETS:
        yield Part(OCTETS, "...", f"{whole} octets in all")
