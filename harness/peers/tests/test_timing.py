"""A server that goes on behind the end of a client's stream shows who still reads, in memory and over TCP."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from harness.peers.serve import TcpPeer
from harness.peers.timing import EVERY, writes_on
from harness.targets.client.ears import knows_no_half_close, leaves_behind
from harness.targets.client.tap import Heard, MemoryClock, RealClock, Tap
from harness.targets.tests.test_slow import Echo
from harness.wire.transport import End, MemoryTransport, TcpTransport, Transport, VirtualClock

WAIT = 5.0
ALL = b"onetwo"


def all_said(transport: Transport) -> bytes:
    """Take what is said up to the end of the server's stream."""
    said = b""
    while isinstance(octets := transport.receive(transport.now() + WAIT), bytes):
        said += octets
    assert octets is End.FIN
    return said


def shuts(transport: MemoryTransport | TcpTransport) -> None:
    """End our stream, and read on."""
    transport.shut()
    assert all_said(transport) == ALL
    transport.close()


def closes(transport: MemoryTransport | TcpTransport) -> None:
    transport.close()


def met_reset(heard: Heard) -> bool:
    assert heard.receive(heard.now() + WAIT) is End.FIN
    return heard.met_reset(heard.now() + 5 * EVERY)


LEAVES: list[tuple[Callable[[MemoryTransport | TcpTransport], None], bool]] = [(shuts, False), (closes, True)]


@pytest.mark.parametrize(("leave", "gone"), LEAVES)
def test_who_has_closed_its_socket_does_not_read_what_is_said_on(
    leave: Callable[[MemoryTransport | TcpTransport], None], gone: bool
) -> None:
    clock = VirtualClock()
    tap = Tap(writes_on(b"one", b"two").before(Echo()), MemoryClock(clock))
    leave(MemoryTransport(tap, clock))
    assert met_reset(tap.accepted.popleft()) is gone


@pytest.mark.parametrize(("leave", "gone"), LEAVES)
def test_so_it_is_over_tcp(leave: Callable[[MemoryTransport | TcpTransport], None], gone: bool) -> None:
    tap = Tap(writes_on(b"one", b"two").before(Echo()), RealClock(time.monotonic))
    with TcpPeer(tap) as served:
        leave(TcpTransport("127.0.0.1", served.port, 0.0))
        while not tap.accepted:
            time.sleep(0)
        assert met_reset(tap.accepted.popleft()) is gone


def test_one_that_leaves_behind_something_has_closed_its_socket() -> None:
    clock, echo = VirtualClock(), Echo()
    tap = Tap(echo, MemoryClock(clock))
    transport = MemoryTransport(leaves_behind(lambda octets: octets == b"bye").before(tap), clock)
    transport.send(b"hello")
    assert transport.receive(1.0) == b"hello"
    transport.send(b"bye")
    assert transport.receive(2.0) is End.FIN
    assert (echo.heard, echo.gone) == (b"hellobye", True)
    heard = tap.accepted.popleft()
    assert [heard.receive(2.0), heard.receive(2.0)] == [b"hello", b"bye"]
    assert met_reset(heard)


def test_one_that_knows_no_half_close_closes_its_socket() -> None:
    clock = VirtualClock()
    tap = Tap(writes_on(b"one").before(Echo()), MemoryClock(clock))
    MemoryTransport(knows_no_half_close().before(tap), clock).shut()
    assert met_reset(tap.accepted.popleft())
