"""Slow ways: octets arrive late, in order, in pieces, in both directions, and an end behind them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER
from harness.dialect import dialect, documents
from harness.targets.embedded import ServedTarget
from harness.targets.named import target
from harness.targets.slow import ROOM, Slowed, Way
from harness.targets.target import TargetError
from harness.targets.through import WAYS, EmbeddedThrough, ThroughTarget
from harness.wire.transport import End, MemoryTransport, VirtualClock


class Echo:
    """Says what it hears, and ends the stream when it hears an exclamation mark."""

    def __init__(self) -> None:
        self.heard, self.said = b"", b""
        self.closed: str | None = None
        self.gone = False

    def connect(self, now: float) -> Echo:
        return self

    def receive(self, octets: bytes) -> None:
        self.heard += octets
        self.said += octets
        self.closed = "fin" if b"!" in octets else self.closed

    def take(self) -> bytes:
        said, self.said = self.said, b""
        return said

    def hang_up(self) -> None:
        self.gone = True

    def next_timer(self) -> float | None:
        return None

    def tick(self, now: float) -> None: ...

    def use(self, facility: str) -> dict[str, str]:
        raise KeyError(facility)

    def restart(self) -> None: ...


def through(way: Way) -> tuple[MemoryTransport, Echo]:
    clock, echo = VirtualClock(), Echo()
    server = way.before(echo, lambda: clock.seconds, virtual=True)
    return MemoryTransport(server, clock), echo


def received(transport: MemoryTransport, deadline: float) -> Iterator[tuple[float, bytes | End]]:
    while (seen := transport.receive(deadline)) is not None:
        yield round(transport.now(), 6), seen
        if isinstance(seen, End):
            return


def test_octets_take_their_time_both_ways() -> None:
    transport, _ = through(Way(rate=100, delay=0.5))
    transport.send(bytes(10))
    assert list(received(transport, 5.0)) == [(1.2, bytes(10))]


def test_octets_arrive_in_pieces_at_their_rate() -> None:
    transport, _ = through(Way(rate=10, piece=1))
    transport.send(b"abc")
    assert list(received(transport, 5.0)) == [(0.2, b"a"), (0.3, b"b"), (0.4, b"c")]


def test_the_end_arrives_behind_what_was_said() -> None:
    transport, _ = through(Way(delay=1.0))
    transport.send(b"bye!")
    assert list(received(transport, 9.0)) == [(2.0, b"bye!"), (3.0, End.FIN)]


def test_what_is_on_its_way_is_known() -> None:
    transport, echo = through(Way(rate=10, piece=1))
    transport.send(b"abcdefghij")
    assert transport.outgoing() == 10
    transport.receive(0.35)
    assert (transport.outgoing(), echo.heard) == (8, b"ab")


def test_who_leaves_is_missed_and_what_was_sent_arrives() -> None:
    transport, echo = through(Way(delay=1.0))
    transport.send(b"last words")
    transport.close()
    assert (echo.heard, echo.gone) == (b"last words", True)


def test_a_way_that_is_full_says_so() -> None:
    slowed = Slowed(Way(rate=1.0), Echo(), lambda: 0.0, ())
    slowed.receive(bytes(ROOM))
    assert slowed.full


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("document", documents())
def test_a_client_is_served_through_each_way_in_memory(name: str, document: str) -> None:
    found = EmbeddedThrough(name)
    dialect(document).speaker.serves(found)
    assert found.name == f"through:{name}:embedded"


def test_a_client_is_served_through_a_slow_way_over_tcp() -> None:
    with ThroughTarget("slow", ServedTarget()) as found:
        began = time.monotonic()
        for document in documents():
            assert dialect(document).speaker.probe(found).round_trip >= 2 * WAYS["slow"].delay
        assert time.monotonic() > began


def test_the_end_of_our_stream_reaches_who_is_at_the_other_end() -> None:
    with ThroughTarget("delay", ServedTarget()) as found:
        transport = found.connect("0-9-1")
        transport.send(PROTOCOL_HEADER)
        assert isinstance(transport.receive(transport.now() + 10.0), bytes)
        transport.shut()  # type: ignore[attr-defined]
        assert transport.receive(transport.now() + 10.0) is End.FIN


def test_what_leads_nowhere_is_named() -> None:
    with pytest.raises(TargetError, match="there are slow, octets"):
        target("through:nothing:embedded")


def test_a_url_can_be_reached_through_something() -> None:
    found = target("through:slow:amqp://guest:secret@localhost:1/")
    assert found.name == "through:slow:amqp://guest@localhost:1/%2F"
    assert found.shared
