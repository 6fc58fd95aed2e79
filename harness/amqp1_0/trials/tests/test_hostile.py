"""Peers that mean harm to a 1.0 client: bounded time and memory, and one sentence for each."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from harness.amqp0_9_1.client.tests.test_client import Kept
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.trials.hostile import HOSTILE, OPENED
from harness.amqp1_0.wire.frames import Frame, FrameReader, RawFrame
from harness.dialect import dialect
from harness.peers.peer import PeerServer
from harness.play import link as bounds
from harness.play.context import Context
from harness.play.expect import Barrier, Stop
from harness.targets.embedded import EmbeddedTarget
from harness.trials.hostile import AHEAD, Harming
from harness.wire.journal import Ended
from harness.wire.transport import NotSpoken, Unreachable
from harness.wire.units import DecodeError

DIALECT = dialect("1-0")
Tamper = Callable[[PeerServer], PeerServer]


class Tampered(EmbeddedTarget):
    """A reference peer in memory that somebody has tampered with."""

    name = "tampered"

    def __init__(self, tamper: Tamper) -> None:
        super().__init__()
        self._tamper = tamper

    def peer(self, document: str) -> PeerServer:
        if document not in self._peers:
            self._peers[document] = self._tamper(DIALECT.proof.peer())
        return self._peers[document]


@pytest.fixture(autouse=True)
def _short_of_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_UNITS", 1000)
    monkeypatch.setattr(bounds, "MOST_OCTETS", 4 << 20)


def hostile(name: str, behind: bytes = b"", beside: bool = False) -> Tampered:
    return Tampered(lambda honest: Harming(HOSTILE[name], honest, 0, behind, beside))


JUDGED_BY = {
    "1-0/2.2.data-matches-header",
    "1-0/2.2.supported-version-proceeds",
    "1-0/2.4.1.open-answered",
    "1-0/2.7.1.open-well-formed",
}
"""The rules that those break who begin as the protocol has it."""


@pytest.mark.parametrize("behind", [b"", OPENED], ids=["at once", "once opened"])
@pytest.mark.parametrize("name", HOSTILE)
def test_the_probe_refuses_it_with_one_sentence_or_says_what_it_breaks(name: str, behind: bytes) -> None:
    barrier, refused = probed(hostile(name, behind))
    if refused is not None:
        assert str(refused).startswith("tampered does not open an AMQP 1.0 connection: ")
        assert str(refused).isprintable()
        assert isinstance(refused, NotSpoken) is (name == "amqp-0-9-1" and not behind)
    else:
        assert barrier is not None
        assert barrier.what.isprintable()
        assert barrier.rule in JUDGED_BY


def test_however_slowly_one_goes_on_the_probe_refuses_it() -> None:
    slow = replace(HOSTILE["4-gib"], pace=0.2)
    barrier, refused = probed(Tampered(lambda honest: Harming(slow, honest, 0)))
    assert barrier is None
    assert "does not open an AMQP 1.0 connection" in str(refused)


def probed(goal: Tampered) -> tuple[Barrier | None, Unreachable | None]:
    """Where the probe got no further, or why it does not count as speaking the protocol."""
    try:
        return DIALECT.speaker.probe(goal, within=5.0).barrier, None
    except Unreachable as refused:
        return None, refused


@pytest.mark.parametrize("name", HOSTILE)
def test_a_scenario_comes_to_its_end_whatever_is_said_beside(name: str) -> None:
    kept = Kept()
    with (
        suppress(Stop),
        DIALECT.speaker.session(hostile(name, OPENED, beside=True), Context(kept, "test")) as container,
    ):
        connection = container.connection()
        connection.fence()
        connection.until_end()
    assert len([event for event in kept.events if isinstance(event, Ended)]) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_it_says_no_more_ahead_than_it_may(name: str) -> None:
    connection = Harming(HOSTILE[name], DIALECT.proof.peer()).connect(0.0)
    for _ in range(100):
        if (timer := connection.next_timer()) is not None:
            connection.tick(timer)
    assert len(connection.take()) < AHEAD + (1 << 21)


@pytest.mark.parametrize(
    "name",
    ["empty-frames", "opens", "flows", "other-channels", "transfers", "endless-delivery", "challenges"],
)
def test_what_is_endless_is_made_of_valid_frames(name: str) -> None:
    reader, pieces = FrameReader(), HOSTILE[name].says()
    for _ in range(3):
        for _, unit in reader.feed(next(pieces)):
            assert not isinstance(unit, Frame) or not unit.body or performative_of(unit) is not None
    assert not reader.broken


@pytest.mark.parametrize("name", ["nested", "descriptors", "huge-map", "huge-list", "huge-array"])
def test_what_no_stack_or_memory_holds_is_a_typed_error(name: str) -> None:
    octets = b"".join(HOSTILE[name].says())
    units = [unit for _, unit in FrameReader(1 << 24).feed(octets) if isinstance(unit, Frame)]
    tracemalloc.start()
    with pytest.raises(DecodeError):
        units[0].read()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 * len(octets) + (1 << 20)


def test_a_frame_of_four_gib_is_not_waited_for() -> None:
    reader = FrameReader(1 << 24)
    list(reader.feed(RawFrame(size=0xFFFFFFFF).encode()))
    assert reader.broken
