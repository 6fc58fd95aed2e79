"""The server's end of TLS around a reference peer, in memory or over TCP, and the port that has it."""

import ssl
from contextlib import suppress

from harness.peers.peer import ConnectionAround, PeerConnection, PeerServer, Securing, ServerAround


class TlsServer(ServerAround):
    """`server` behind TLS; with `abrupt` it ends without close_notify."""

    def __init__(self, server: PeerServer, context: ssl.SSLContext, abrupt: bool = False) -> None:
        super().__init__(server)
        self.context, self.abrupt = context, abrupt
        self.connections: list[TlsConnection] = []

    def around(self, connection: PeerConnection) -> PeerConnection:
        self.connections.append(TlsConnection(connection, self.context, self.abrupt))
        return self.connections[-1]


class TlsConnection(ConnectionAround):
    """A connection behind TLS."""

    def __init__(self, inner: PeerConnection, context: ssl.SSLContext, abrupt: bool = False) -> None:
        super().__init__(inner)
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


def behind_tls(connection: PeerConnection) -> PeerConnection:
    """Put TLS around a connection, without a certificate: nobody asks who a reference peer is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # TLS 1.3 has no anonymous ciphers.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AECDH:@SECLEVEL=0")
    return TlsConnection(connection, context)


class SecurePort(ServerAround):
    """The port of a server for TLS; a `Securing` one says itself what stands there."""

    def around(self, connection: PeerConnection) -> PeerConnection:
        return (self.inner.secured if isinstance(self.inner, Securing) else behind_tls)(connection)
