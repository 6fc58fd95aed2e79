"""The events of a run beside the harness's own, and the one JSON line each event becomes.

Nothing in here knows a protocol. A line is the event's fields under an envelope:
`{"event": kind, "wall": seconds, "worker": name, "seq": number, "test": id or null, …}`.
Octets are lower-case hex.
"""

import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import lru_cache
from sys import intern
from typing import Any, Union, get_args, get_origin, get_type_hints

from conformance.evidence.verdicts import Verdict
from harness.wire import journal
from spec.rules import Level, Role

SCHEMA = 2
"""The version of run.json and of the events, in every run's description; another one is not read."""


class EvidenceError(Exception):
    """A run folder cannot be read as evidence; the message names file, line and what is wrong."""


@dataclass(frozen=True, slots=True)
class CappedOctets(journal.Octets):
    """Octets of which only the first are kept: `length` and `sha256` are those of the whole."""

    length: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run began: what is judged, on whom, and from which documents.

    `documents` are mappings with title, revision and sha256; `selected` the identities of the chosen
    rules, `others` those that the run is not about although it is about their document; `target` is without
    its password, and judged in its `role`; `catalogue` how many rules there were to choose from; `unspoken`
    are protocols and documents that were left out, each with the sentence why.
    """

    run: str
    suite: str
    target: str
    role: Role = Role.SERVER
    product: str = ""
    version: str = ""
    banner: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[Mapping[str, Any], ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    level: Level = Level.MUST
    fail_on: str = "fail"
    profile: str = "document"
    unspoken: Mapping[str, str] = field(default_factory=dict)
    selected: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    label: str = ""
    catalogue: int | None = None
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TestStarted:
    """A test of `rule` began, or anew: then what came before says nothing. A restart is no new beginning."""

    __test__ = False  # the name is an event's, not a test class for pytest

    test: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A test of a rule came to its verdict.

    `expected` are the legal outcomes and `actual` what came, both as the harness words them; `signature`
    is the short stable form of the finding, which a baseline names. `connection` and `frame` point at
    what decided: the number of octets and ended events on that connection. `level` is the strength at
    which the rule was judged, `duration` in seconds, `detail` a sentence (for not-run the reason).
    `cause` is what the harness raised, for an error.
    """

    test: str
    rule: str
    verdict: Verdict
    signature: str = ""
    expected: tuple[str, ...] = ()
    actual: str = ""
    detail: str = ""
    reading: str = ""
    connection: str | None = None
    frame: int | None = None
    duration: float = 0.0
    level: Level = Level.MUST
    cause: str = ""


@dataclass(frozen=True, slots=True)
class TargetRestarted:
    """The target was restarted by us and serves again; `why` says how it had died, if it had."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The run was cut short: a signal, the total budget, or a target that died."""

    reason: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run came to its end: how many rules have which verdict, the exit status, and the gate's words.

    `unexpected` and `flaky` are mappings with rule and sentence: what the baseline of the run did not
    cover, and what it knows to alternate. `standing` is what the run says of its target as a whole,
    `scores` are mappings with level, judged, against and standing, strongest level first. `documents` are
    mappings with document, verdicts, standing and sentence: what only some products promise counts there.
    """

    verdicts: Mapping[str, int]
    exit_status: int
    sentence: str = ""
    unexpected: tuple[Mapping[str, Any], ...] = ()
    flaky: tuple[Mapping[str, Any], ...] = ()
    standing: str = ""
    scores: tuple[Mapping[str, Any], ...] = ()
    documents: tuple[Mapping[str, Any], ...] = ()


RunEvent = RunStarted | TestStarted | Judged | TargetRestarted | Interrupted | RunEnded
AnyEvent = journal.Event | RunEvent

KINDS: Mapping[str, type[Any]] = {
    "opened": journal.Opened,
    "octets": journal.Octets,
    "ended": journal.Ended,
    "declared": journal.Declared,
    "given": journal.Given,
    "expected": journal.Expected,
    "noted": journal.Noted,
    "seen": journal.Seen,
    "breached": journal.Breached,
    "run-started": RunStarted,
    "test-started": TestStarted,
    "judged": Judged,
    "target-restarted": TargetRestarted,
    "interrupted": Interrupted,
    "run-ended": RunEnded,
}
_KIND_OF = {cls: kind for kind, cls in KINDS.items()} | {CappedOctets: "octets"}
ENVELOPE = ("event", "wall", "worker", "seq", "test")


@dataclass(frozen=True, slots=True)
class Line:
    """One event with its envelope.

    `wall` is in seconds since the run began, on the clock all workers share; `seq` counts the worker's
    lines from 1; `test` is the test during which it happened.
    """

    wall: float
    worker: str
    seq: int
    test: str | None
    event: AnyEvent

    @property
    def kind(self) -> str:
        """The event's name in the stream."""
        return _KIND_OF[type(self.event)]


def encode(line: Line) -> bytes:
    """Give `line` as it stands in the stream, line feed included; pure ASCII whatever a peer has said."""
    event = line.event
    # An event that names its test is about that one, whatever was under way.
    test = getattr(event, "test", line.test)
    data: dict[str, Any] = dict(
        zip(ENVELOPE, (line.kind, line.wall, line.worker, line.seq, test), strict=True)
    )
    data |= {name: getattr(event, name) for name in _WRITTEN[type(event)]}
    return _WRITER.encode(data).encode("ascii") + b"\n"


def decode(text: bytes) -> Line:
    """Give the line that `text` stands for. Raises EvidenceError saying what is wrong with it."""
    try:
        data = _JSON.decode(str(text, "utf-8"))
    except (ValueError, RecursionError):
        raise EvidenceError("not JSON") from None
    if not isinstance(data, dict):
        raise EvidenceError("not a JSON object")
    kind = data.get("event")
    if not isinstance(kind, str) or kind not in KINDS:
        raise EvidenceError(f"unknown kind of event {kind!r}")
    try:
        return _line(CappedOctets if kind == "octets" and "length" in data else KINDS[kind], data)
    except (TypeError, ValueError, KeyError, OverflowError) as failure:
        raise EvidenceError(f"not a valid {kind} event ({failure})") from None


def _finite(text: str) -> float:
    """Read a number as JSON has it: Python would take NaN and infinities too, and could not write them."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a number")
    return number


_JSON = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def _line(cls: type[Any], data: dict[str, Any]) -> Line:
    event = cls(**{name: read(data[name]) for name, read in _PAIRS[cls] if name in data})
    if not data.keys() <= _NAMES[cls]:
        raise ValueError(f"superfluous: {', '.join(sorted(data.keys() - _NAMES[cls]))}")
    return Line(_float(data["wall"]), _text(data["worker"]), _whole(data["seq"]), _maybe(data["test"]), event)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"{type(value).__name__} has no place in an event")


_WRITER = json.JSONEncoder(default=_plain, separators=(",", ":"), allow_nan=False)
Reader = Callable[[Any], Any]


def _reader(hint: Any) -> Reader:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _optional(_reader(next(each for each in arguments if each is not type(None))))
    if origin is tuple:
        element = _reader(arguments[0])
        return lambda value: tuple(element(each) for each in _exactly(list)(value))
    if origin is not None and issubclass(origin, Mapping):
        each = _reader(arguments[1])
        return lambda value: {name: each(one) for name, one in _exactly(dict)(value).items()}
    if hint is Any:
        return lambda value: value
    if hint is bytes:
        return _octets
    if hint is str:
        return _text
    if hint is float:
        return _float
    return hint if issubclass(hint, StrEnum) else _exactly(hint)


SHORT = 512
"""Characters of a text that is kept once, however many lines have it: a peer can say the same without end."""


def _text(value: Any) -> str:
    text: str = _string(value)
    return intern(text) if len(text) <= SHORT else text


@lru_cache(1024)
def _recurring(text: str) -> bytes:
    return bytes.fromhex(text)


def _octets(value: Any) -> bytes:
    return _recurring(value) if type(value) is str and len(value) <= SHORT else bytes.fromhex(value)


def _optional(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _exactly(cls: type[Any]) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not cls:
            raise ValueError(f"{value!r} is not {cls.__name__}")
        return value

    return read


def _float(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def readers(cls: type[Any]) -> Mapping[str, Reader]:
    """Give for each field of a dataclass what reads it from JSON; that raises ValueError otherwise."""
    hints = get_type_hints(cls)
    return {each.name: _reader(hints[each.name]) for each in fields(cls)}


_whole, _string = _exactly(int), _exactly(str)
_maybe = _optional(_text)
# A run has many thousand lines: what each kind needs is looked up once.
_READERS = {cls: readers(cls) for cls in (*KINDS.values(), CappedOctets)}
_PAIRS = {cls: tuple(found.items()) for cls, found in _READERS.items()}
_NAMES = {cls: frozenset((*found, *ENVELOPE)) for cls, found in _READERS.items()}
_WRITTEN = {cls: tuple(name for name in found if name not in ENVELOPE) for cls, found in _READERS.items()}
