"""Half-closes: one direction of a stream ends before the other, in memory and over TCP alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from harness.amqp1_0.broken.deviations import Interposer
from harness.amqp1_0.client.tests.test_client import link as scripted
from harness.amqp1_0.wire.frames import empty_frame
from harness.peers.peer import HalfClosing, PeerConnection, PeerServer
from harness.peers.serve import TcpPeer
from harness.play.context import Context
from harness.play.link import Link as AnyLink
from harness.wire.transport import End, Locatable, MemoryTransport, TcpTransport, Transport, VirtualClock

BYE = empty_frame().encode()


class Plain:
    """Says its greeting, ends its stream on BYE, and answers the end of ours."""

    def __init__(self, reads_on: bool = True) -> None:
        self.closed: str | None = None
        self.got = b""
        self._said = b"hello"
        self._reads_on = reads_on

    def receive(self, octets: bytes) -> None:
        if self.closed and not self._reads_on:
            self.closed = "rst"
        self.got += octets
        if octets == BYE:
            self.closed = "fin"

    def hang_up(self) -> None:
        self.closed = self.closed or "fin"

    def take(self) -> bytes:
        said, self._said = self._said, b""
        return said

    def next_timer(self) -> float | None:
        return None

    def tick(self, now: float) -> None:
        pass


class Halving(Plain):
    """As Plain, but it knows the two directions apart."""

    def end_of_stream(self) -> None:
        self._said += b"last words"
        self.closed = "fin"


class Server:
    def __init__(self, make: Callable[[], PeerConnection]) -> None:
        self.make = make
        self.made: list[PeerConnection] = []

    def connect(self, now: float) -> PeerConnection:
        self.made.append(self.make())
        return self.made[-1]

    def use(self, facility: str) -> dict[str, str]:
        raise KeyError(facility)

    def restart(self) -> None:
        pass


@contextmanager
def over(how: str, server: PeerServer) -> Iterator[Transport]:
    if how == "memory":
        yield MemoryTransport(server, VirtualClock())
        return
    with TcpPeer(server) as served:
        transport = TcpTransport("127.0.0.1", served.port, 0.0)
        try:
            yield transport
        finally:
            transport.close()


def hear(transport: Transport) -> list[bytes | End | None]:
    heard: list[bytes | End | None] = []
    while isinstance(seen := transport.receive(transport.now() + 5.0), bytes):
        heard.append(seen)
    # TCP may cut or join what was said.
    return [b"".join(each for each in heard if isinstance(each, bytes)), seen]


everywhere = pytest.mark.parametrize("how", ["memory", "tcp"])
interposed = pytest.mark.parametrize("between", [None, Interposer()], ids=["bare", "interposed"])


def with_(between: Interposer | None, server: PeerServer) -> PeerServer:
    return server if between is None else between.before(server)


def test_a_socket_knows_whether_its_peer_is_on_this_machine() -> None:
    with over("tcp", Server(Plain)) as transport:
        assert isinstance(transport, Locatable)
        assert transport.local
    assert not isinstance(MemoryTransport(Server(Plain), VirtualClock()), Locatable)


@everywhere
@interposed
def test_what_the_peer_still_says_is_heard_behind_our_end(how: str, between: Interposer | None) -> None:
    with over(how, with_(between, Server(Halving))) as transport:
        assert transport.receive(transport.now() + 5.0) == b"hello"
        transport.shut()  # type: ignore[attr-defined]
        assert hear(transport) == [b"last words", End.FIN]


@everywhere
def test_a_peer_that_knows_no_half_close_takes_our_end_for_the_end(how: str) -> None:
    server = Server(Plain)
    with over(how, server) as transport:
        assert transport.receive(transport.now() + 5.0) == b"hello"
        transport.shut()  # type: ignore[attr-defined]
        assert hear(transport) == [b"", End.FIN]
    assert not isinstance(server.made[0], HalfClosing)


@everywhere
@interposed
@pytest.mark.parametrize("reads_on", [True, False])
def test_a_reset_behind_the_peers_end_is_seen(how: str, between: Interposer | None, reads_on: bool) -> None:
    server = Server(lambda: Halving(reads_on))
    with over(how, with_(between, server)) as transport:
        transport.send(BYE)
        assert hear(transport)[-1] is End.FIN
        transport.send(b"x" * 64)
        assert transport.met_reset(transport.now() + (0.05 if reads_on else 5.0)) is not reads_on  # type: ignore[attr-defined]
    (peer,) = server.made
    assert isinstance(peer, Plain)
    assert peer.got.endswith(b"x")


def test_a_link_shuts_once_and_says_nothing_more() -> None:
    server = Server(Halving)
    with over("memory", server) as transport:
        unused, kept, _ = scripted()
        link: AnyLink[object, object] = type(unused)(transport, Context(kept, "test"), "c1", "1-0")  # type: ignore[assignment]
        link.shut()
        link._push(b"nothing")
        assert not link.met_reset(1.0)
    (peer,) = server.made
    assert isinstance(peer, Plain)
    assert peer.got == b""
