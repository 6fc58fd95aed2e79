"""What a script plays: the steps of one test of a run, up to what decided, as plain data."""

import re
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from conformance.bug.player import CLOSED, HANDSHAKE, SILENCE, UNCOUNTED
from conformance.bug.reading import READERS, Seen
from conformance.bug.words import pattern
from conformance.evidence.kinds import CappedOctets, Judged, Line, TargetRestarted, TestStarted
from conformance.evidence.octets import readable
from conformance.evidence.printable import printable
from harness.dialect import dialect
from harness.wire.journal import Direction, Ended, Expected, Given, Grade, Octets, Opened

PLACES = ("address", "virtual_host")
"""What a broker has to have before: who plays the script gives one of their own."""
NAMING = {"queue.declare-ok": "queue", "basic.consume-ok": "consumer"}
"""What tells a name that the server may have made, and of what."""
MOST = 1 << 18
"""Octets both ways: with more, what comes when depends on how fast everybody is."""
PAUSE = 0.8
"""Seconds after which a pause before something is sent is one that was meant."""
_RESPONDING = (b"\0\x0a\0\x0b", b"\0S\x41")
"""Marks of Start-Ok and of sasl-init, which carry a response before they were asked for one."""
_ENDING = ("end ", "close ", "detach ", "channel.close", "connection.close")
"""What we say when nothing more is tried."""
_TUNE_OK = b"\0\x0a\0\x1f"
_WITHHELD = re.compile(rb"\*{4,}")


class NoScript(Exception):
    """No script can play this exchange; the message says why."""


@dataclass(slots=True)
class _Wire:
    """A connection while it is read.

    `pending` is what came and no step has waited for; so many of it, `before`, came before what decided.
    """

    number: int
    reader: Any
    units: int = 0
    seen: list[Seen] = field(default_factory=list)
    pending: list[Seen] = field(default_factory=list)
    before: int | None = None


def lines_of(lines: Sequence[Line], judged: Judged) -> list[Line]:
    """Give what was seen in a test when it was last played; for a watch, in the test that it looked at."""
    test = judged.test
    if judged.frame is None or not any(_connects(each, judged, test) for each in lines):
        test = next((each.test for each in lines if _connects(each, judged, each.test)), None) or test
    found: list[Line] = []
    for each in lines:
        if each.test == test and isinstance(each.event, TestStarted):
            found.clear()
        elif each.test == test and not isinstance(each.event, Judged):
            found.append(each)
    return found


def _connects(line: Line, judged: Judged, test: str | None) -> bool:
    return isinstance(line.event, Opened) and (line.event.connection, line.test) == (judged.connection, test)


def endpoint_of(lines: Iterable[Line]) -> str:
    """Give where most connections of a run went."""
    found = Counter(each.event.endpoint for each in lines if isinstance(each.event, Opened))
    return found.most_common(1)[0][0] if found else ""


@dataclass
class Exchange:
    """Reads the lines of a test into steps.

    `run` is the part of names that differs from run to run, `endpoint` where the broker is: a container may
    have another address when it comes back, with the same port. `places` are what the broker had before, by
    the names that a script calls them; `sources` say which facility gives such a one, and as which of its
    values.
    """

    lines: Sequence[Line]
    judged: Judged
    run: str
    endpoint: str
    steps: list[tuple[Any, ...]] = field(default_factory=list)
    deciding: Seen | None = None
    protocol: str = ""
    places: dict[str, str] = field(default_factory=dict)
    sources: dict[str, tuple[str, str]] = field(default_factory=dict)
    _wires: dict[str, _Wire] = field(default_factory=dict)
    _learnt: dict[str, str] = field(default_factory=dict)
    _at: float = 0.0
    _decided: Expected | None = None
    _octets: int = 0

    def data(self, about: str) -> dict[str, Any]:
        """Give what a script is given. Raises NoScript."""
        if self.judged.connection is None:
            raise NoScript("nothing on a connection decided")
        cut = self._cut()
        for line in self.lines[:cut]:
            self._take(line)
        if self._where not in self._wires:
            raise NoScript("what decided is no connection of it")
        if self._octets > MOST:
            raise NoScript("so much goes to and fro that it is chance what comes first")
        for wire in self._wires.values():
            wire.pending = wire.pending[: wire.before]
        self._await("after")
        while self.steps and self.steps[-1][0] == "end":  # our own end comes behind what decided
            self.steps.pop()
        came = self.deciding or self._last() or Seen(0, SILENCE)
        legal = self._legal(came)
        same = [each for wire in self._wires.values() for each in wire.seen if each.octets == came.octets]
        spoken = dialect(self.protocol)
        words = Counter(each.word for wire in self._wires.values() for each in wire.seen)
        # A watch that does not say which frame decided may have looked at any.
        actual = self._decided.actual if self._decided else " ".join(UNCOUNTED)
        noise = [each for each in UNCOUNTED if each not in actual]
        return {
            "about": about,
            "protocol": self.protocol,
            "run": self.run,
            "places": self.places,
            "other": "other-user" in self.sources,
            "steps": self.steps,
            "tried": self._tried(),
            "connection": self._wires[self._where].number,
            "came": came.word,
            "legal": legal,
            "never": bool(legal) and self._never(),
            "patient": came.word == CLOSED or "connection" in legal,  # a broker may linger before it ends one
            "noise": noise,
            "tally": {word: count for word, count in words.items() if word not in noise},
            "octets": came.octets.hex() if self._telling(came) else "",
            "alike": len(same),
            "names": dict(spoken.names),
            "codes": dict(spoken.codes),
        }

    def _tried(self) -> int:
        """Give the last step that says more than that something ends; what is legal may come behind it."""
        sent = [number for number, step in enumerate(self.steps) if step[0] == "send"]
        more = [number for number in sent if not self.steps[number][3].startswith(_ENDING)]
        return more[-1] if more else len(self.steps)

    def _never(self) -> bool:
        """Whether what came may not come at all, and what is legal is only what ends the wait for it."""
        outcomes = self._decided.outcomes if self._decided else ()
        return all(each.startswith("nothing before ") for each in outcomes[:1])

    def _telling(self, came: Seen) -> bool:
        """Whether a thing comes with the same octets each time: it has nothing of a product or a clock."""
        varying = came.word.startswith((*HANDSHAKE, SILENCE, CLOSED)) or b"x-death" in came.octets
        return self.protocol == "0-9-1" and not varying

    def _cut(self) -> int:
        """Give the place of the line that decided; a watch decides where what it saw stands."""
        grades = {line.event.grade for line in self.lines if isinstance(line.event, Expected)}
        # What is only tolerated may be done again and again: it shows as soon as it is done.
        grade = Grade.UNMET if Grade.UNMET in grades else Grade.TOLERATED
        units, last = 0, len(self.lines)
        for place, line in enumerate(self.lines):
            event = line.event
            if isinstance(event, Octets | Ended) and event.connection == self.judged.connection:
                units += 1
                if units == self.judged.frame:
                    last = place + 1
            if isinstance(event, Expected) and event.grade is grade:
                self._decided = event
                return place
        return last

    def _legal(self, came: Seen) -> str:
        """Give the pattern of what ends the finding; "" where words do not tell it from what came."""
        if self._decided is None:
            return ""
        outcomes = self._decided.outcomes
        names = set(dialect(self.protocol).names.values())
        legal = pattern(outcomes if self._decided.grade is Grade.UNMET else outcomes[:1], names) or ""
        return "" if legal and re.fullmatch(legal, came.word) else legal

    # -- reading ---------------------------------------------------------------------------------------

    def _take(self, line: Line) -> None:
        match line.event:
            case Opened() as opened:
                self._open(opened)
            case Given() as given:
                self._give(given)
            case TargetRestarted():
                raise NoScript("the broker is restarted in it")
            case Ended(by="harness") as ended:
                self._await()
                self.steps.append(("end", self._wires[ended.connection].number))
            case Octets(direction=Direction.SENT) as octets:
                self._await()
                if self.steps and self._at and line.wall - self._at > PAUSE:
                    self.steps.append(("pause", 0, round(min(line.wall - self._at, 20.0), 1)))
                self._send(octets)
            case Octets() | Ended() as came:
                self._came(came)
        if isinstance(line.event, Octets | Ended):
            self._at = line.wall
        if isinstance(line.event, Octets):
            self._octets += len(line.event.octets)

    def _open(self, opened: Opened) -> None:
        if _port(opened.endpoint) != _port(self.endpoint):
            raise NoScript(f"it uses another port than the usual one: {opened.endpoint}")
        spoken = dialect(opened.protocol)
        if opened.protocol not in READERS:
            raise NoScript(f"scripts do not speak {spoken.speaker.name}")
        self.protocol = opened.protocol
        number = len(self._wires) + 1
        self._wires[opened.connection] = _Wire(number, READERS[opened.protocol](spoken.names, spoken.codes))
        self._await()
        self.steps.append(("open", number))

    def _give(self, given: Given) -> None:
        if not given.values:
            raise NoScript(f"the broker is to do something itself: {given.facility}")
        for key in [each for each in PLACES if each in given.values]:
            name = key.replace("_", "-")
            number = sum(each.startswith(name) for each in self.places) + 1
            name = name if number == 1 else f"{name}-{number}"
            self.places[name], self.sources[name] = given.values[key], (given.facility, key)
        if "user" in given.values:
            self.sources["other-user"] = given.facility, "user"
            self.sources["other-password"] = given.facility, "password"

    def _send(self, event: Octets) -> None:
        wire = self._wires[event.connection]
        wire.units += 1
        says = printable(readable(event.says)).replace(self.run, "…")
        parts = _tuned(wire, event.octets) or self._parts(_whole(event))
        self.steps.append(("send", wire.number, parts, says[:160]))

    def _came(self, event: Octets | Ended) -> None:
        wire = self._wires[event.connection]
        wire.units += 1
        octets = event.octets if isinstance(event, Octets) else b""
        if isinstance(event, CappedOctets):
            octets += b"\0" * (event.length - len(octets))
        seen = list(wire.reader.feed(octets)) if octets else [Seen(0, CLOSED)]
        wire.seen += seen
        if seen and self._decides(event.connection, wire.units):
            self.deciding = seen.pop()
            wire.before = len(wire.pending) + len(seen)
        wire.pending += seen

    @property
    def _where(self) -> str:
        return (self._decided and self._decided.connection) or self.judged.connection or ""

    def _decides(self, connection: str, units: int) -> bool:
        """Whether a frame is what decided; behind a silence stands the last before it."""
        if self._decided is None:
            return (connection, units) == (self.judged.connection, self.judged.frame)
        silent = self._decided.actual == SILENCE
        return not silent and (connection, units) == (self._where, self._decided.frame)

    def _last(self) -> Seen | None:
        """Give what came last where more than one thing decided, all of it before something we said."""
        if self._decided is None or self._decided.actual == SILENCE:
            return None
        return next(reversed(self._wires[self._where].seen), None)

    def _await(self, how: str = "await") -> None:
        """Wait for all that came before what is done next; behind the last of it, only know of it."""
        for wire in self._wires.values():
            # What came beside the deciding thing and is the same as that is none that has to come.
            skipped = (*UNCOUNTED, self.deciding.word if self.deciding and wire.before is not None else "")
            words = [each.word for each in wire.pending if each.word not in skipped]
            if words:
                self.steps.append((how, wire.number, words))
            for each in wire.pending:
                self._learn(wire, each)
            wire.pending, wire.before = [], None

    def _learn(self, wire: _Wire, seen: Seen) -> None:
        if seen.word in NAMING and seen.octets:
            told = seen.octets[1 : 1 + seen.octets[0]].decode("utf-8", "replace")
            if told and self.run not in told:
                self._learnt.setdefault(told, f"{NAMING[seen.word]}{len(self._learnt) + 1}")
                self.steps.append(("learn", wire.number, seen.word, self._learnt[told]))

    def _who(self) -> str:
        return "other" if "other-user" in self.sources else "plain"

    def _parts(self, octets: bytes) -> list[str]:
        """Give octets in hexadecimal, with names in place of what is another each time."""
        found: list[tuple[int, int, str]] = []
        for withheld in _WITHHELD.finditer(octets):
            found.append(_credentials(octets, *withheld.span(), self._who()))
        written = {told: name for name, told in self.places.items()} if self.protocol == "0-9-1" else {}
        for told, name in (self._learnt | written).items():
            sought = bytes([len(told.encode())]) + told.encode()
            places = re.finditer(re.escape(sought), octets)
            found += [(each.start(), each.end(), f"1:{name}") for each in places]
        parts, at = [], 0
        for start, end, name in sorted(found):
            if start >= at:
                parts += [octets[at:start].hex(" ", -4), name]
                at = end
        return [*parts, octets[at:].hex(" ", -4)]


def _port(endpoint: str) -> str:
    return endpoint.rpartition(":")[2]


def _tuned(wire: _Wire, octets: bytes) -> list[str]:
    """Give a Tune-Ok that agrees to what was proposed as limits another broker may lower; else nothing."""
    proposed = next((each.octets[:8] for each in wire.seen if each.word == "connection.tune"), b"")
    if octets[7:11] != _TUNE_OK or len(octets) != 20 or len(proposed) != 8:
        return []
    ours, theirs = struct.unpack("!HIH", octets[11:19]), struct.unpack("!HIH", proposed)
    agrees = all(a and a <= (b or a) for a, b in zip(ours[:2], theirs[:2], strict=True))
    return [octets[:11].hex(" ", -4), f"tune:{octets[11:19].hex()}", octets[19:].hex()] if agrees else []


def _credentials(octets: bytes, start: int, end: int, who: str) -> tuple[int, int, str]:
    """Give where a response that is withheld begins, with its size, where it ends, and who gives it."""
    if b"AMQPLAIN" in octets or not any(each in octets for each in _RESPONDING):
        raise NoScript("it logs in by another mechanism than PLAIN")
    for width in (4, 1):
        if int.from_bytes(octets[start - width : start]) == end - start:
            return start - width, end, f"{width}:{who}"
    raise NoScript("what is withheld has another form than a response")


def _whole(event: Octets) -> bytes:
    """Give all octets of a frame. Raises NoScript where they were not kept and are not one octet repeated."""
    if not isinstance(event, CappedOctets):
        return event.octets
    last = event.octets[-1:]
    for end in (b"", b"\xce"):  # 0-9-1, 4.2.3: frame-end
        whole = event.octets + last * (event.length - len(event.octets) - len(end)) + end
        if sha256(whole).hexdigest() == event.sha256:
            return whole
    raise NoScript(f"of a frame of {event.length} octets the beginning alone was kept")
