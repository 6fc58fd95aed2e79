"""Changes that make a 0-9-1 peer break a rule: interposers on the wire, faults in the state tables.

Interposers are data: what of which method is rewritten, withheld, answered or repeated. They work before
the reference peer in memory and, carried by a proxy, before a real broker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.amqp0_9_1.peer.turn import Tables
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import (
    FRAME_END,
    METHOD,
    OVERHEAD,
    PROTOCOL_HEADER,
    Frame,
    FrameReader,
    Unit,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.peers import faults
from harness.peers.footprint import Footprint
from harness.peers.interposer import (
    Condition,
    Passed,
    Rule,
    Way,
    always,
    changed,
    left_alone,
    nothing,
    octets_of,
)
from harness.peers.interposer import Interposed as AnyInterposed
from harness.peers.interposer import Interposer as AnyInterposer
from harness.peers.peer import PeerConnection
from harness.wire.units import DecodeError, Garbage, Header

ANY_CHANNEL = 0xFFFF
"""Stands for the channel of a method where it is not known."""


@dataclass(frozen=True, slots=True)
class FrameRule:
    """What an interposer does with frames that `matches` finds, whether they can be read or not.

    `act` gives what takes a frame's place, as for methods. `behind` a method only what it carries is met,
    with a `type` only frames of that type.
    """

    matches: Callable[[Frame], bool]
    from_server: bool
    act: Callable[[Frame], Passed]
    behind: type[Method] | None = None
    type: int | None = None


@dataclass(frozen=True, slots=True)
class Interposer(AnyInterposer):
    """Rewrites what passes; `mending` gives what goes on in place of the client's octets of no frame."""

    header_from_server: bytes | None = None
    header_to_server: bytes | None = None
    frames: tuple[FrameRule, ...] = ()
    mending: Callable[[bytes], bytes] | None = None

    def connected(self, inner: PeerConnection) -> Interposed:
        """Give a connection of the server with this interposer before it."""
        return Interposed(self, inner)

    def shows(self, clean: Footprint) -> bool:
        """Say whether it could act on anything of an exchange: methods, frames, headers, or garbage."""
        by_header = self.header_from_server is not None or self.header_to_server is not None
        return (
            AnyInterposer.shows(self, clean)
            or any(rule.matches(each) for rule in self.frames for each in clean.of(rule.from_server, Frame))
            or (by_header and bool(clean.of(True, Header) or clean.of(False, Header)))
            or (self.mending is not None and bool(clean.of(True, Garbage) or clean.of(False, Garbage)))
        )

    def leaves(self, rule: Rule, met: Any) -> bool:
        """Say whether a method passes as it is, on whatever channel, and its content with it."""
        dropped = rule.content and met.spec.content
        return not dropped and left_alone(rule, ANY_CHANNEL, met, method_frame(ANY_CHANNEL, met))


class Fault(faults.Fault[Tables]):
    """A change of the reference peer's state tables."""


# -- interposers, as words -----------------------------------------------------------------------------


def rewrites(method: type[Method], when: Condition = always, skip: int = 0, **values: Any) -> Interposer:
    """Changes fields of a method the server sends; a value may be a function of the old one."""
    return _on(method, True, _changing(values), when, skip, content=False)


def replaces(method: type[Method], by: Method | bytes, when: Condition = always, skip: int = 0) -> Interposer:
    """Sends another method (or octets) in place of one the server sends."""
    return _on(method, True, lambda on, _: ([_said(on, by)], []), when, skip)


def repeats(method: type[Method], skip: int = 0) -> Interposer:
    """Sends a method without content twice."""
    return _on(method, True, lambda on, sent: ([_said(on, sent)] * 2, []), always, skip)


def withholds(method: type[Method], when: Condition = always, skip: int = 0) -> Interposer:
    """Lets a method of the server disappear, with its content."""
    return _on(method, True, nothing, when, skip)


def ignores(method: type[Method], when: Condition = always, skip: int = 0) -> Interposer:
    """Lets a method of the client disappear, with its content."""
    return _on(method, False, nothing, when, skip)


def answers(method: type[Method], by: Method, when: Condition = always, skip: int = 0) -> Interposer:
    """Answers a method of the client itself; the server never sees it."""
    return _on(method, False, lambda on, _: ([], [_said(on, by)]), when, skip)


def confirms(method: type[Method], by: Method) -> Interposer:
    """Passes a method of the client on, and answers it as well."""
    return _on(method, False, lambda on, sent: ([_said(on, sent)], [_said(on, by)]), content=False)


def replies(method: type[Method], by: Method) -> Interposer:
    """Answers a method of the server as well, on its channel; the client sees it all the same."""
    return _on(method, True, lambda on, sent: ([_said(on, sent)], [_said(on, by)]), content=False)


def rejects(method: type[Method], code: int, when: Condition = always, skip: int = 0) -> Interposer:
    """Refuses a method of the client by a Close of the connection; the server never sees it."""
    close = method_frame(0, Connection.Close(code, "refused", method.spec.class_index, method.spec.index))
    return _on(method, False, lambda *_: ([], [close]), when, skip)


def forwards(method: type[Method], when: Condition = always, skip: int = 0, **values: Any) -> Interposer:
    """Changes fields of a method the client sends before the server sees it."""
    return _on(method, False, _changing(values), when, skip, content=False)


def ends_with(*last_words: Method | bytes) -> Interposer:
    """Says something on channel 0 before the server closes the socket without a word."""
    return Interposer(last_words=octets_of([_said(0, each) for each in last_words]))


def offers_header(octets: bytes) -> Interposer:
    """Sends another protocol header (or anything) where the server answers with its own."""
    return Interposer(header_from_server=octets)


def takes_any_header() -> Interposer:
    """Takes every protocol header for the right one."""
    return Interposer(header_to_server=PROTOCOL_HEADER)


def swallows(matches: Callable[[Frame], bool]) -> Interposer:
    """Lets frames of the client disappear."""
    return Interposer(frames=(FrameRule(matches, False, nothing),))


def mends(matches: Callable[[Frame], bool], mended: Callable[[Frame], Frame | bytes]) -> Interposer:
    """Changes frames of the client: passes them on as they should have been, or should not."""
    return Interposer(frames=(FrameRule(matches, False, lambda frame: ([mended(frame)], [])),))


def serves(matches: Callable[[Frame], bool], by: Method) -> Interposer:
    """Answers frames of the client itself, on their channel; the server never sees them."""
    return Interposer(frames=(FrameRule(matches, False, lambda it: ([], [_said(it.channel, by)])),))


def objects(matches: Callable[[Frame], bool], code: int) -> Interposer:
    """Ends the connection by Close for frames of the client; the server never sees them."""
    close = method_frame(0, Connection.Close(code, "not such a frame"))
    return Interposer(frames=(FrameRule(matches, False, lambda _: ([], [close])),))


def spoils(
    matches: Callable[[Frame], bool],
    spoilt: Callable[[Frame], Frame | bytes],
    behind: type[Method] | None = None,
) -> Interposer:
    """Changes frames the server sends; with `behind` those of contents that this method carries."""
    return Interposer(frames=(FrameRule(matches, True, lambda frame: ([spoilt(frame)], []), behind),))


def adds(
    matches: Callable[[Frame], bool], added: Callable[[Frame], Frame], from_server: bool = True
) -> Interposer:
    """Sends another frame behind frames of the server's, or of the client's."""
    return Interposer(frames=(FrameRule(matches, from_server, lambda frame: ([frame, added(frame)], [])),))


def overlooks_frame_ends() -> Interposer:
    """Takes a frame for good whatever octet it ends with."""

    def mended(octets: bytes) -> bytes:
        end = int.from_bytes(octets[3:7]) + OVERHEAD - 1
        return octets[:end] + bytes((FRAME_END,)) + octets[end + 1 :] if end < len(octets) else octets

    return Interposer(mending=mended)


# -- faults, as words ----------------------------------------------------------------------------------


drops, changes, swaps = Fault.drops, Fault.changes, Fault.swaps


def routes(**types: Any) -> Fault:
    """Routes otherwise in exchanges of these types."""
    return Fault(lambda tables: tables.routing(**types))


# -- how they act --------------------------------------------------------------------------------------


def _on(
    method: type[Method],
    from_server: bool,
    act: Callable[[int, Any], Passed],
    when: Condition = always,
    skip: int = 0,
    content: bool = True,
) -> Interposer:
    return Interposer((Rule(method, from_server, act, when, skip, content),))


def _said(channel: int, said: Method | bytes) -> Frame | bytes:
    return said if isinstance(said, bytes) else method_frame(channel, said)


def _changing(values: dict[str, Any]) -> Callable[[int, Any], Passed]:
    return lambda channel, sent: ([method_frame(channel, changed(values, sent))], [])


class Interposed(AnyInterposed[Unit]):
    """A peer's connection with an interposer before it."""

    def __init__(self, interposer: Interposer, inner: PeerConnection) -> None:
        super().__init__(interposer, inner)
        self._from_server, self._for_server = interposer.header_from_server, interposer.header_to_server
        self._frames, self._mending = interposer.frames, interposer.mending
        # Class and method of the last method frame, by way and channel: contents belong to it.
        self._last: dict[tuple[bool, int], bytes] = {}

    def _reader(self) -> FrameReader:
        return FrameReader(limit=16 << 20)

    def _looks_at(self, from_server: bool) -> bool:
        if super()._looks_at(from_server) or any(each.from_server is from_server for each in self._frames):
            return True
        if from_server:
            return self._from_server is not None
        return self._for_server is not None or self._mending is not None

    def _concerns(self, begun: bytearray) -> bool:
        if super()._concerns(begun) or self._mending is not None or self._for_server is not None:
            return True
        return any(not rule.from_server and rule.type in (None, begun[0]) for rule in self._frames)

    def _apply(self, way: Way[Unit], from_server: bool, raw: bytes, unit: Unit) -> tuple[bytes, bytes]:
        if isinstance(unit, Garbage) and self._mending is not None and not from_server:
            return self._mending(raw), b""
        if not isinstance(unit, Frame):
            header = self._from_server if from_server else self._for_server
            return raw if header is None else header, b""
        if unit.type == METHOD:
            self._last[from_server, unit.channel] = unit.payload[:4]
        for rule in self._frames:
            if rule.from_server is from_server and self._belongs(rule, unit) and rule.matches(unit):
                on, back = rule.act(unit)
                return octets_of(on), octets_of(back)
        if unit.type != METHOD:
            return (b"" if unit.channel in way.dropping else raw), b""
        way.dropping.discard(unit.channel)
        return self._of_method(way, from_server, raw, unit)

    def _belongs(self, rule: FrameRule, frame: Frame) -> bool:
        if rule.behind is None:
            return True
        last = self._last.get((rule.from_server, frame.channel))
        return frame.type != METHOD and last == rule.behind.key.to_bytes(4)

    def _of_method(self, way: Way[Unit], from_server: bool, raw: bytes, frame: Frame) -> tuple[bytes, bytes]:
        try:
            method = frame.method()
        except DecodeError:
            return raw, b""
        acted = self._acted(way, from_server, frame.channel, method)
        if acted is None:
            return raw, b""
        rule, (on, back) = acted
        if rule.content and method.spec.content:
            way.dropping.add(frame.channel)
        return octets_of(on), octets_of(back)
