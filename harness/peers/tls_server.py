"""The server's end of TLS around a reference peer, in memory or over TCP, and the port that has it."""

from __future__ import annotations

import ssl
from contextlib import suppress

from harness.peers.peer import PeerConnection, PeerServer, Securing


class TlsServer:
    """`server` behind TLS; with `abrupt` it ends without close_notify. A harness.peers.peer.PeerServer."""

    def __init__(self, server: PeerServer, context: ssl.SSLContext, abrupt: bool = False) -> None:
        self.server, self.context, self.abrupt = server, context, abrupt
        self.connections: list[TlsConnection] = []

    def connect(self, now: float) -> PeerConnection:
        """Accept a connection, on which TLS comes first."""
        connection = TlsConnection(self.server.connect(now), self.context, self.abrupt)
        self.connections.append(connection)
        return connection

    def use(self, facility: str) -> dict[str, str]:
        return self.server.use(facility)

    def restart(self) -> None:
        self.server.restart()


class TlsConnection:
    """A connection behind TLS; implements harness.peers.peer.PeerConnection."""

    def __init__(self, inner: PeerConnection, context: ssl.SSLContext, abrupt: bool = False) -> None:
        self.inner = inner
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._abrupt = abrupt
        self._ready = False
        self._refused = False
        self._told = False
        self.injected = b""
        """Octets that go out behind everything else, as they are."""
        self.heard_close_notify = False

    @property
    def closed(self) -> str | None:
        """As that of the connection inside; "fin" where the handshake failed."""
        return "fin" if self._refused else self.inner.closed

    def receive(self, octets: bytes) -> None:
        self._in.write(octets)
        try:
            if not self._ready:
                self._tls.do_handshake()
                self._ready = True
            while plain := self._tls.read(65536):
                self.inner.receive(plain)
            self.heard_close_notify = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            self._refused = True

    def hang_up(self) -> None:
        self.inner.hang_up()

    def take(self) -> bytes:
        """Return what is to go out, as TLS."""
        if self._ready and not self._refused:
            if plain := self.inner.take():
                self._tls.write(plain)
            if self.inner.closed and not self._told:
                self._told = True
                if self.inner.closed == "fin" and not self._abrupt:
                    with suppress(ssl.SSLError):
                        self._tls.unwrap()
        octets = self._out.read() + self.injected
        self.injected = b""
        return octets

    def next_timer(self) -> float | None:
        return self.inner.next_timer()

    def tick(self, now: float) -> None:
        self.inner.tick(now)


def behind_tls(connection: PeerConnection) -> PeerConnection:
    """Put TLS around a connection, without a certificate: nobody asks who a reference peer is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # TLS 1.3 has no anonymous ciphers.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AECDH:@SECLEVEL=0")
    return TlsConnection(connection, context)


class SecurePort:
    """The port of `server` for TLS; a `Securing` one says itself what stands there. Implements PeerServer."""

    def __init__(self, server: PeerServer) -> None:
        self._server = server

    def connect(self, now: float) -> PeerConnection:
        connection = self._server.connect(now)
        return (self._server.secured if isinstance(self._server, Securing) else behind_tls)(connection)

    def use(self, facility: str) -> dict[str, str]:
        return self._server.use(facility)

    def restart(self) -> None:
        self._server.restart()
