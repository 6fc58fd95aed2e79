"""Changes that make a 1.0 peer break a rule: interposers on the wire, faults in the state tables.

Interposers are data: what of which performative, frame or header is rewritten, withheld, answered or
followed by something else. They work before the reference peer in memory and, carried by a proxy, before a
real broker. What passes through unchanged passes octet for octet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.peer import Tables
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import (
    PROTOCOL_HEADER,
    Frame,
    FrameReader,
    RawFrame,
    Unit,
    amqp_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.performatives import Close, Error
from harness.peers import faults
from harness.peers.footprint import Footprint
from harness.peers.interposer import Condition, Passed, Rule, Way, always, changed, nothing, octets_of
from harness.peers.interposer import Interposed as AnyInterposed
from harness.peers.interposer import Interposer as AnyInterposer
from harness.peers.peer import PeerConnection
from harness.wire.units import Garbage, Header

Said = Composite | Frame | RawFrame | bytes
Ends = Literal["fin", "rst", "never"]


@dataclass(frozen=True, slots=True)
class Interposer(AnyInterposer):
    """Rewrites what passes; `ends` is how the stream ends in place of how the server ends it."""

    ends: Ends | None = None

    def connected(self, inner: PeerConnection) -> Interposed:
        """Give a connection of the server with this interposer before it."""
        return Interposed(self, inner)

    def shows(self, clean: Footprint) -> bool:
        """Say whether it could act on anything of an exchange, or at its end."""
        return AnyInterposer.shows(self, clean) or (self.ends is not None and clean.ended)


class Fault(faults.Fault[Tables]):
    """A change of the reference peer's state tables."""


# -- interposers, as words: what the server says -------------------------------------------------------


def rewrites(kind: type[Composite], when: Condition = always, skip: int = 0, **values: Any) -> Interposer:
    """Changes fields of a performative the server sends; a value may be a function of the old one."""
    return _rewritten(kind, True, when, skip, lambda sent: changed(values, sent))


def respells(
    kind: type[Composite], by: Callable[[Any], Any], when: Condition = always, skip: int = 0
) -> Interposer:
    """Writes a performative of the server otherwise: `by` gives another value for it, such as `Raw`."""
    return _rewritten(kind, True, when, skip, by)


def replaces(kind: type[Composite], *by: Said, when: Condition = always, skip: int = 0) -> Interposer:
    """Sends something else in place of a performative of the server, on its channel."""
    return Interposer((_on(kind, True, lambda channel, _: (_frames(channel, by), []), when, skip),))


def withholds(kind: type[Composite], when: Condition = always, skip: int = 0) -> Interposer:
    """Lets a performative of the server disappear."""
    return Interposer((_on(kind, True, nothing, when, skip),))


def precedes(kind: type[Composite], *by: Said, when: Condition = always, skip: int = 0) -> Interposer:
    """Says something extra before a performative of the server, on its channel."""

    def act(channel: int, frame: Frame) -> Passed:
        return [*_frames(channel, by), frame], []

    return Interposer((_on(kind, True, act, when, skip),))


def follows(kind: type[Composite], *by: Said, when: Condition = always, skip: int = 0) -> Interposer:
    """Says something extra behind a performative of the server, on its channel."""

    def act(channel: int, frame: Frame) -> Passed:
        return [frame, *_frames(channel, by)], []

    return Interposer((_on(kind, True, act, when, skip),))


def reframes(kind: type[Composite], when: Condition = always, skip: int = 0, **parts: Any) -> Interposer:
    """Sends a performative of the server in another frame: another `channel`, `type` or `extended` header."""
    return Interposer((_on(kind, True, _reframing(parts), when, skip),))


def misframes(kind: type[Composite], when: Condition = always, skip: int = 0, **lies: Any) -> Interposer:
    """Sends a performative of the server in a frame that lies: about its `size`, its `doff`, its `type`."""

    def act(_: int, frame: Frame) -> Passed:
        parts: dict[str, Any] = {
            "channel": frame.channel,
            "type": frame.type,
            "extended": frame.extended,
        } | lies
        return [RawFrame(frame.body, **parts)], []

    return Interposer((_on(kind, True, act, when, skip),))


def withholds_frames(when: Condition, skip: int = 0) -> Interposer:
    """Lets frames of the server disappear, by what `when` says of the frame: `is_empty`, for instance."""
    return Interposer((Rule(Frame, True, nothing, when, skip),))


def moves_frames(when: Condition, skip: int = 0, **parts: Any) -> Interposer:
    """Sends frames of the server otherwise: on another `channel`, of another `type`."""
    return Interposer((Rule(Frame, True, _reframing(parts), when, skip),))


def ends_stream(kind: type[Composite], how: Ends = "fin", when: Condition = always) -> Interposer:
    """Ends the stream where the server would have sent this performative."""
    return Interposer((_on(kind, True, lambda *_: ([STREAM_ENDS[how]], []), when, 0),))


def ends_with(*last_words: Said) -> Interposer:
    """Says something more before the server's stream ends."""
    return Interposer(last_words=octets_of(_frames(0, last_words)))


def ends_by(how: Ends) -> Interposer:
    """Ends the stream otherwise than the server does: by "rst", or "never"."""
    return Interposer(ends=how)


# -- what the client says ------------------------------------------------------------------------------


def ignores(kind: type[Composite], when: Condition = always, skip: int = 0) -> Interposer:
    """Lets a performative of the client disappear."""
    return Interposer((_on(kind, False, nothing, when, skip),))


def answers(kind: type[Composite], *by: Said, when: Condition = always, skip: int = 0) -> Interposer:
    """Answers a performative of the client itself, on its channel; the server never sees it."""
    return Interposer((_on(kind, False, lambda channel, _: ([], _frames(channel, by)), when, skip),))


def rejects(kind: type[Composite], condition: str, when: Condition = always, skip: int = 0) -> Interposer:
    """Refuses a performative of the client by a close with this condition; the server never sees it."""
    return Interposer((_on(kind, False, _refusing(condition), when, skip),))


def forwards(kind: type[Composite], when: Condition = always, skip: int = 0, **values: Any) -> Interposer:
    """Changes fields of a performative the client sends before the server sees it."""
    return _rewritten(kind, False, when, skip, lambda sent: changed(values, sent))


def takes_frames(when: Condition, skip: int = 0, **parts: Any) -> Interposer:
    """Takes frames of the client for others: of another `type`, on another `channel`, without `extended`."""
    return Interposer((Rule(Frame, False, _reframing(parts), when, skip),))


def ignores_frames(when: Condition, skip: int = 0) -> Interposer:
    """Lets frames of the client disappear, by what `when` says of the frame."""
    return Interposer((Rule(Frame, False, nothing, when, skip),))


def ignores_garbage() -> Interposer:
    """Takes no notice of what is no frame."""
    return Interposer((Rule(Garbage, False, nothing),))


def rejects_frames(when: Condition, condition: str, skip: int = 0) -> Interposer:
    """Refuses frames of the client by a close with this condition; the server never sees them."""
    return Interposer((Rule(Frame, False, _refusing(condition), when, skip),))


def of_client(change: Interposer) -> Interposer:
    """Does to what the client says what an interposer does to what the server says."""
    turned = (replace(rule, from_server=not rule.from_server) for rule in change.rules)
    return replace(change, rules=tuple(turned))


# -- headers -------------------------------------------------------------------------------------------


def offers_header(octets: bytes, when: Condition = always) -> Interposer:
    """Sends another protocol header (or anything, or nothing) where the server answers with its own."""
    return Interposer((Rule(Header, True, lambda *_: ([octets], []), when),))


def takes_any_header(when: Condition = always) -> Interposer:
    """Takes every protocol header for AMQP 0 1.0.0, and answers as if it were the one it got."""
    foreign = lambda header: header.octets != PROTOCOL_HEADER and when(header)  # noqa: E731
    return Interposer((Rule(Header, False, lambda *_: ([PROTOCOL_HEADER], []), foreign),))


# -- faults, as words ----------------------------------------------------------------------------------


drops, changes, inserts, swaps = Fault.drops, Fault.changes, Fault.inserts, Fault.swaps


# -- conditions of frames ------------------------------------------------------------------------------


def is_empty(frame: Frame) -> bool:
    return not frame.body


def is_extended(frame: Frame) -> bool:
    return bool(frame.extended)


def is_unread(frame: Frame) -> bool:
    return bool(frame.body) and performative_of(frame) is None


def is_larger(octets: int) -> Condition:
    return lambda frame: len(frame.encode()) > octets


def on_channels(lowest: int) -> Condition:
    return lambda frame: bool(frame.channel >= lowest)


def of_type(number: int) -> Condition:
    return lambda frame: bool(frame.type == number)


# -- how they act --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _StreamEnds:
    """Stands among what goes on where the stream ends."""

    how: Ends


STREAM_ENDS: Mapping[Ends, Any] = MappingProxyType({"fin": _StreamEnds("fin"), "rst": _StreamEnds("rst")})


def _on(
    kind: type[Composite], from_server: bool, act: Callable[[int, Any], Passed], when: Condition, skip: int
) -> Rule:
    """Make a rule about frames with a performative of this kind; `when` looks at the performative."""

    def meets(frame: Frame) -> bool:
        performative = performative_of(frame)
        if not isinstance(performative, kind):
            return False
        return bool(_unless_malformed(performative, lambda: when(performative), False))

    return Rule(Frame, from_server, act, meets, skip)


def _unless_malformed(performative: Composite, ask: Callable[[], Any], otherwise: Any) -> Any:
    """Ask something about the fields of a performative, which may not be of their types."""
    try:
        return ask()
    except TypeError:
        if performative.is_as_defined():
            raise
        return otherwise


def _rewritten(
    kind: type[Composite], from_server: bool, when: Condition, skip: int, by: Callable[[Any], Any]
) -> Interposer:
    def act(_: int, frame: Frame) -> Passed:
        performative, payload = frame.read()
        assert performative is not None
        written = _unless_malformed(performative, lambda: by(performative), performative)
        return [replace(frame, body=encode(written) + payload)], []

    return Interposer((_on(kind, from_server, act, when, skip),))


def _reframing(parts: Mapping[str, Any]) -> Callable[[int, Any], Passed]:
    return lambda _, frame: ([replace(frame, **parts)], [])


def _refusing(condition: str) -> Callable[[int, Any], Passed]:
    close = amqp_frame(0, Close(Error(condition, "refused")))
    return lambda *_: ([], [close])


def octets_said(channel: int, said: Sequence[Said]) -> bytes:
    """Give the octets of what is said on a channel."""
    return octets_of(_frames(channel, tuple(said)))


def _frames(channel: int, said: tuple[Said, ...]) -> list[Any]:
    return [_framed(channel, each) if isinstance(each, Composite) else each for each in said]


def _framed(channel: int, performative: Composite) -> Frame:
    if "sasl-frame" in performative.spec.provides:
        return sasl_frame(performative)
    return amqp_frame(0 if isinstance(performative, Close) else channel, performative)


class Interposed(AnyInterposed[Unit]):
    """A peer's connection with an interposer before it."""

    def __init__(self, interposer: Interposer, inner: PeerConnection) -> None:
        super().__init__(interposer, inner)
        self._ends = interposer.ends
        self._cut: Ends | None = None

    @property
    def closed(self) -> str | None:
        """As the inner connection, unless it is to end otherwise."""
        if self._cut is not None:
            return self._cut
        if self.inner.closed and self._ends is not None:
            return None if self._ends == "never" else self._ends
        return self.inner.closed

    def _reader(self) -> FrameReader:
        return FrameReader(limit=16 << 20)

    def _looks_at(self, from_server: bool) -> bool:
        return self._cut is not None or super()._looks_at(from_server)

    def _apply(self, way: Way[Unit], from_server: bool, raw: bytes, unit: Unit) -> tuple[bytes, bytes]:
        if self._cut is not None:
            return b"", b""
        channel = unit.channel if isinstance(unit, Frame) else 0
        acted = self._acted(way, from_server, channel, unit)
        if acted is None:
            return raw, b""
        _, (on, back) = acted
        end = next((each for each in on if isinstance(each, _StreamEnds)), None)
        if end is not None:
            self._cut = end.how
            on = on[: on.index(end)]
            self.inner.hang_up()
        return octets_of(on), octets_of(back)
