"""Changes that make a server of AMQP/Fast break a rule: interposers on the wire, faults in the state tables.

Interposers are data: what of which command is rewritten, withheld, answered or repeated. A fragment goes
wherever its command goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.peer.strategies import cut
from harness.amqp_fast.peer.turn import Tables
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Frame, FrameReader, Initiation, RawFrame, Unit, frame
from harness.peers import faults, interposer
from harness.peers.footprint import Footprint
from harness.peers.interposer import Condition, Passed, Rule, Way, always, changed, nothing, octets_of
from harness.peers.peer import PeerConnection

Said = Command | Frame | RawFrame | bytes
Made = Said | Callable[[Any], Said]
"""What is said: as it stands, or made of the command that it is about."""


@dataclass(frozen=True, slots=True)
class Interposer(interposer.Interposer):
    """Rewrites what passes."""

    def connected(self, inner: PeerConnection) -> Interposed:
        """Give a connection of the server with this interposer before it."""
        return Interposed(self, inner)


@dataclass(frozen=True, slots=True)
class Forgetful(Interposer):
    """Forgets the part of a unit that a segment ends in."""

    def connected(self, inner: PeerConnection) -> Interposed:
        """Give a connection of the server that knows whole units only."""
        return Forgetting(self, inner)

    def shows(self, clean: Footprint) -> bool:
        """Say that it may show wherever there is a connection."""
        return bool(clean.taken)


class Fault(faults.Fault[Tables]):
    """A change of the reference peer's state tables."""


class Interposed(interposer.Interposed[Unit]):
    """A server's connection with an interposer before it."""

    def __init__(self, interposer: Interposer, inner: PeerConnection) -> None:
        super().__init__(interposer, inner)
        self._to_server.reader = FrameReader(limit=16 << 20, initiated=False)

    def _reader(self) -> FrameReader:
        return FrameReader(limit=16 << 20)

    def _apply(self, way: Way[Unit], from_server: bool, raw: bytes, unit: Unit) -> tuple[bytes, bytes]:
        if not isinstance(unit, Frame | Initiation):
            return raw, b""
        acted = self._acted(way, from_server, 0, unit)
        return (raw, b"") if acted is None else (octets_of(acted[1][0]), octets_of(acted[1][1]))


class Forgetting(Interposed):
    """A server's connection before which the rest of a segment is forgotten."""

    def _looks_at(self, from_server: bool) -> bool:
        return not from_server

    def _concerns(self, begun: bytearray) -> bool:
        return bool(begun)

    def receive(self, octets: bytes) -> None:
        """Pass on what is whole."""
        super().receive(octets)
        self._to_server.reader.pending.clear()


def _of(kind: type[Command], when: Condition) -> Condition:
    """Find the frames of a command that `when` holds for."""

    def holds(unit: Any) -> bool:
        command = command_of(unit)
        return isinstance(command, kind) and when(command)

    return holds


def _said(what: Made, about: Any = None) -> Frame | bytes:
    made = what if isinstance(what, Command | Frame | RawFrame | bytes) else what(about)
    if isinstance(made, RawFrame):
        return made.encode()
    return frame(made) if isinstance(made, Command) else made


def _on(
    kind: type[Command], from_server: bool, act: Callable[[Frame], Passed], when: Condition, skip: int
) -> Interposer:
    return Interposer((Rule(Frame, from_server, lambda _, met: act(met), _of(kind, when), skip),))


def _with(values: dict[str, Any]) -> Callable[[Frame], Passed]:
    return lambda met: ([frame(changed(values, command_of(met)), met.fragment)], [])


# -- what the server says ------------------------------------------------------------------------------


def rewrites(kind: type[Command], when: Condition = always, skip: int = 0, **values: Any) -> Interposer:
    """Changes fields of a command the server sends; a value may be a function of the old one."""
    return _on(kind, True, _with(values), when, skip)


def replaces(kind: type[Command], *by: Made, when: Condition = always, skip: int = 0) -> Interposer:
    """Sends others in place of a command of the server."""
    return _on(kind, True, lambda met: ([_said(each, command_of(met)) for each in by], []), when, skip)


def withholds(kind: type[Command], when: Condition = always, skip: int = 0) -> Interposer:
    """Lets a command of the server disappear, with its fragment."""
    return _on(kind, True, nothing, when, skip)


def repeats(kind: type[Command], when: Condition = always, skip: int = 0) -> Interposer:
    """Sends a command of the server twice."""
    return _on(kind, True, lambda met: ([met, met], []), when, skip)


def adds(
    kind: type[Command], *more: Made, before: bool = False, when: Condition = always, skip: int = 0
) -> Interposer:
    """Says more behind a command of the server, or before it."""

    def act(met: Frame) -> Passed:
        said = [_said(each, command_of(met)) for each in more]
        return ([*said, met] if before else [met, *said]), []

    return _on(kind, True, act, when, skip)


def mangles(
    kind: type[Command], by: Callable[[bytes], bytes], when: Condition = always, skip: int = 0
) -> Interposer:
    """Changes the octets of a frame of the server, its fragment included."""
    return _on(kind, True, lambda met: ([by(met.encode())], []), when, skip)


def carries(
    kind: type[Command], by: Callable[[bytes], bytes], when: Condition = always, skip: int = 0
) -> Interposer:
    """Changes the fragment behind a command of the server, and tells its size."""

    def act(met: Frame) -> Passed:
        fragment, command = by(met.fragment), command_of(met)
        return [frame(changed({"fragment_size": len(fragment)}, command), fragment)], []

    return _on(kind, True, act, when, skip)


# -- what the client says ------------------------------------------------------------------------------


def hears(kind: type[Command], when: Condition = always, skip: int = 0, **values: Any) -> Interposer:
    """Changes fields of a command the client sends before the server sees it."""
    return _on(kind, False, _with(values), when, skip)


def ignores(kind: type[Command], when: Condition = always, skip: int = 0) -> Interposer:
    """Lets a command of the client disappear, with its fragment."""
    return _on(kind, False, nothing, when, skip)


def answers(kind: type[Command], *by: Made, when: Condition = always, skip: int = 0) -> Interposer:
    """Answers a command of the client itself; the server never sees it."""
    return _on(kind, False, lambda met: ([], [_said(each, command_of(met)) for each in by]), when, skip)


def takes(kind: type[Command], *by: Made, when: Condition = always, skip: int = 0) -> Interposer:
    """Passes a command of the client on, and answers it as well."""
    return _on(kind, False, lambda met: ([met], [_said(each, command_of(met)) for each in by]), when, skip)


def hears_fragment(
    kind: type[Command], by: Callable[[bytes], bytes], when: Condition = always, skip: int = 0
) -> Interposer:
    """Changes the fragment behind a command of the client, and tells its size."""

    def act(met: Frame) -> Passed:
        fragment, command = by(met.fragment), command_of(met)
        return [frame(changed({"fragment_size": len(fragment)}, command), fragment)], []

    return _on(kind, False, act, when, skip)


def begins(*by: bytes, when: Condition = always) -> Interposer:
    """Answers the initiation itself; the server never sees it."""
    return Interposer((Rule(Initiation, False, lambda *_: ([], [*by]), when),))


def begins_with(initiation: Initiation) -> Interposer:
    """Lets the server see another initiation than the client sends."""
    return Interposer((Rule(Initiation, False, lambda *_: ([initiation], [])),))


def forgets_halves() -> Interposer:
    """Forgets the part of a unit of the client's that a segment ends in."""
    return Forgetful()


def together(first: Interposer, *others: Interposer) -> Interposer:
    """Join several interposers."""
    for each in others:
        first += each
    return first


# -- how the server reads its stream -------------------------------------------------------------------


def misreads(octets: bytes, instead: bytes) -> Fault:
    """Takes some octets of the client for others, before they are cut into frames."""
    return Fault.swaps(cut=lambda reader, came: cut(reader, came.replace(octets, instead)))


def greets(octets: bytes) -> Fault:
    """Says something before the client has said anything."""
    return Fault.swaps(greeting=octets)
