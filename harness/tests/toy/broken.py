"""Peers of the toy protocol that break its rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.peers import faults, interposer
from harness.peers.fakes import Answering, replacements
from harness.peers.interposer import Rule, Way, octets_of
from harness.peers.peer import PeerConnection
from harness.peers.rows import Tables
from harness.tests.toy.peer import Strategies
from harness.tests.toy.wire.frames import HEADER, Frame, FrameReader, Unit
from harness.wire.journal import Direction, Octets
from harness.wire.units import Header


class Fault(faults.Fault[Tables[Strategies]]):
    """A change of its state tables."""


@dataclass(frozen=True, slots=True)
class Interposer(interposer.Interposer):
    """Rewrites what passes."""

    def connected(self, inner: PeerConnection) -> Interposed:
        """A connection with this interposer before it."""
        return Interposed(self, inner)


class Interposed(interposer.Interposed[Unit]):
    """Acts on whole units."""

    def _reader(self) -> FrameReader:
        return FrameReader()

    def _apply(self, way: Way[Unit], from_server: bool, raw: bytes, unit: Unit) -> tuple[bytes, bytes]:
        acted = self._acted(way, from_server, 0, unit)
        return (raw, b"") if acted is None else (octets_of(acted[1][0]), octets_of(acted[1][1]))


def says(words: bytes) -> Interposer:
    """Says other words than the server."""
    return Interposer((Rule(Frame, True, lambda *_: ([Frame(words)], [])),))


def units(exchange: Iterable[Octets]) -> Iterator[tuple[Direction, object]]:
    """What a change may look at."""
    for passed in exchange:
        yield from ((passed.direction, unit) for _, unit in FrameReader().feed(passed.octets))


def _fake(answer: bytes) -> Answering:
    def said(unit: Any) -> bytes:
        return HEADER if isinstance(unit, Header) else Frame(answer).encode()

    return Answering(FrameReader(), said, lambda _: False)


FAKES = replacements(lambda: _fake(b"yes"), lambda: _fake(b"no"))
