"""How an interposer works on 0-9-1: it reads every frame that passes, and puts others in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.amqp0_9_1.wire.field_tables import DecodeError
from harness.amqp0_9_1.wire.frames import METHOD, Frame, FrameReader, Garbage, Unit
from harness.peers.interposer import Interposed as AnyInterposed
from harness.peers.interposer import Way, octets_of
from harness.peers.peer import PeerConnection

if TYPE_CHECKING:
    from harness.amqp0_9_1.broken.deviations import FrameRule, Interposer


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
