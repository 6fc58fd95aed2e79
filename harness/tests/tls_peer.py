"""A server behind TLS, in memory or over TCP, and certificates for it: what tests of TLS talk to."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.brokers_required import REQUIRED
from harness.description import descriptions, fill
from harness.peer import PeerConnection, PeerServer


@dataclass(frozen=True)
class Certificates:
    """A directory of PEM files made as the target rabbitmq-tls makes its own."""

    directory: Path

    def file(self, name: str) -> str:
        return str(self.directory / name)


def make_certificates(directory: Path) -> Certificates:
    """An authority, a server (127.0.0.1, localhost) and a client (guest); skips where openssl is missing."""
    if shutil.which("openssl") is None:
        if os.environ.get(REQUIRED):
            pytest.fail("openssl not found")
        pytest.skip("openssl not found")
    directory.mkdir(parents=True, exist_ok=True)
    described = descriptions()["rabbitmq-tls"]
    values = {"directory": str(directory), "user": "guest", "port.amqp": "0"}
    for name, text in described.files.items():
        (directory / name).write_text(fill(text, values))
    for command in described.before:
        openssl(*(fill(word, values) for word in command[1:]))
    return Certificates(directory)


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def server_context(made: Certificates, demands: str = "") -> ssl.SSLContext:
    """A server's context; `demands` is the authority that a client's certificate must be signed by."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.file("server.pem"), made.file("server.key"))
    if demands:
        context.load_verify_locations(demands)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class TlsServer:
    """`server` behind TLS; with `abrupt` it ends without close_notify. Implements harness.peer.PeerServer."""

    def __init__(self, server: PeerServer, context: ssl.SSLContext, abrupt: bool = False) -> None:
        self.server, self.context, self.abrupt = server, context, abrupt
        self.connections: list[TlsConnection] = []

    def connect(self, now: float) -> PeerConnection:
        connection = TlsConnection(self.server.connect(now), self.context, self.abrupt)
        self.connections.append(connection)
        return connection

    def use(self, facility: str) -> dict[str, str]:
        return self.server.use(facility)

    def restart(self) -> None:
        self.server.restart()


class TlsConnection:
    """One connection of a TlsServer."""

    def __init__(self, inner: PeerConnection, context: ssl.SSLContext, abrupt: bool) -> None:
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
