"""When what a server says to a client that is judged goes out: late, in pieces, not at all.

What it says otherwise or more, the interposers say (`deviations`); both stand before the reference peer.
"""

from __future__ import annotations

from typing import Any

from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import FrameReader
from harness.peers.interposer import Condition
from harness.peers.timing import Protocol, Words
from harness.wire.units import Header

Met = type[Composite] | type[Header]
"""What something is done at: a performative, or a protocol header."""


def _meets(unit: Any, at: Met, when: Condition) -> bool:
    met = unit if isinstance(unit, Header) else performative_of(unit)
    return isinstance(met, at) and when(met)


_WORDS: Words[Met] = Words(Protocol(lambda: FrameReader(limit=16 << 20), _meets))
delays = _WORDS.delays
falls_silent = _WORDS.falls_silent
says_nothing_from = _WORDS.says_nothing_from
hangs_up = _WORDS.hangs_up
in_pieces = _WORDS.in_pieces
