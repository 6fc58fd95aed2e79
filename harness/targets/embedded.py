"""The embedded target: reference peers in this process, in memory on a virtual clock or over TCP."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from harness.dialect import dialect, documents
from harness.peers.peer import PeerServer
from harness.peers.serve import TcpPeer
from harness.peers.tls_server import SecurePort
from harness.targets.slow import STRAIGHT, Way
from harness.targets.sockets import as_text, served, tables_here
from harness.targets.target import Endpoint, Kind, Known, Target, TargetError
from harness.wire.transport import MemoryTransport, Pause, TcpTransport, Transport, VirtualClock
from spec.applicability import judged_with, protocol

MANY = 1000
"""Rules of which two processes judge half each sooner than one judges all."""


class EmbeddedTarget(Target):
    """Reference peers in memory, one per document; `change` makes them deviate (see harness.peers.deviation).

    Connections to them go through `way`, in virtual time.
    """

    name = "embedded"
    facilities = frozenset(
        {
            "restart",
            "second-vhost",
            "restricted-user",
            "priority-queue",
            "dead-letter-exchange",
            "own-port",
            "log",
            "keep-alive",
            "pause",
            "resume",
            "memory-alarm",
            "lift-memory-alarm",
            "address",
            "no-address",
            "removable-address",
            "remove-address",
            "powerless-user",
            "idle-timeout",
            "unlimited-user",
            "secure-port",
            "policies",
            "late-policy",
            "no-late-policy",
        }
    )
    ephemeral = True
    workers = 0

    def __init__(self, change: object = None, policy: object = None, way: Way = STRAIGHT) -> None:
        super().__init__()
        self.way = way
        self._clock, self._pause = VirtualClock(), Pause()
        self._change, self._policy = change, policy
        self._peers: dict[str, PeerServer] = {}
        self._before: dict[str, PeerServer] = {}

    def at_once(self, rules: int) -> int:
        """Use two processes where that is quicker: nobody waits here, and their start takes a second."""
        return 2 if rules > MANY and (os.cpu_count() or 1) > 1 else self.workers

    def peer(self, document: str) -> PeerServer:
        """Give the reference peer for a document; each document that adds to its protocol has its own."""
        name = judged_with(document)
        if name not in self._peers:
            self._peers[name] = self.make(name)
        return self._peers[name]

    def make(self, document: str) -> PeerServer:
        """Make a fresh reference peer of a document's protocol."""
        return dialect(document).proof.peer(self._change, self._policy, self._time)

    def endpoint(self) -> Endpoint:
        return Endpoint("memory", 0, mechanism=self.security.mechanism)

    def connect(self, document: str) -> Transport:
        peer, name = self.peer(document), judged_with(document)
        if self.way != STRAIGHT and name not in self._before:
            self._before[name] = self.way.before(peer, lambda: self._clock.seconds, virtual=True)
        return MemoryTransport(self._before.get(name, peer), self._clock, self._pause)

    def secure_port(self, document: str) -> Transport:
        return MemoryTransport(SecurePort(self.peer(document)), self._clock, self._pause)

    def use(self, facility: str) -> Mapping[str, str]:
        return self._use(facility)

    def used_by(self, document: str) -> Callable[[str], Mapping[str, str]]:
        """Give `use`, which returns what the peer of this document's protocol made: each has its own."""
        return lambda facility: self._use(facility, judged_with(document))

    def _use(self, facility: str, last: str = "") -> Mapping[str, str]:
        if facility not in self.facilities:
            return super().use(facility)
        if facility in ("pause", "resume"):
            self._let_run(facility == "resume")
            return {}
        seen = self._sockets() if facility == "keep-alive" else {}
        made: dict[str, str] = {}
        for peer in self._servers(last):
            if facility == "restart":
                peer.restart()
            else:
                made = _use(peer, facility) if last else made | _use(peer, facility)
        return seen | made

    def _time(self) -> float:
        return self._clock.seconds

    def _sockets(self) -> dict[str, str]:
        """Say who is connected, and for whom keep-alive is on; a peer that has it off says so itself."""
        return {"clients": MemoryTransport.client, "kept-alive": MemoryTransport.client}

    def _let_run(self, running: bool) -> None:
        self._pause.on = not running

    def _servers(self, last: str) -> list[PeerServer | TcpPeer]:
        return [self.peer(document) for document in _in_turn(self._peers, last)]

    def attachment(self) -> dict[str, Any]:
        """Give nothing but the kind: each process has peers of its own."""
        return {"kind": "embedded", "rest": ""}


class ServedTarget(EmbeddedTarget):
    """The reference peers over TCP on loopback, each with `latency` seconds added both ways."""

    name = "embedded:tcp"
    workers = 4

    def __init__(self, change: object = None, policy: object = None, latency: float = 0.0) -> None:
        super().__init__(change, policy)
        self._latency = latency
        self._stack = ExitStack()
        self._served: dict[str, TcpPeer] = {}
        self._secure: dict[str, TcpPeer] = {}

    def connect(self, document: str) -> Transport:
        """Connect to the peer of that document, which is served from the first connection on."""
        return TcpTransport("127.0.0.1", self._serve(document).port, self._zero)

    def secure_port(self, document: str) -> Transport:
        """Connect to a port for TLS, which has another peer of that document behind it."""
        # Not the one that is served already: a peer lives in one thread.
        if document not in self._secure:
            peer = TcpPeer(SecurePort(self.make(document)), latency=self._latency)
            self._secure[document] = self._stack.enter_context(peer)
        return TcpTransport("127.0.0.1", self._secure[document].port, self._zero)

    def _time(self) -> float:
        return time.monotonic()

    def _serve(self, document: str) -> TcpPeer:
        if document not in self._served:
            peer = TcpPeer(self.peer(document), latency=self._latency)
            self._served[document] = self._stack.enter_context(peer)
        return self._served[document]

    def _sockets(self) -> dict[str, str]:
        tables = tables_here()
        return as_text(each for one in self._served.values() for each in served(one.port, tables))

    def _let_run(self, running: bool) -> None:
        for one in self._all():
            one.resume() if running else one.pause()

    def _servers(self, last: str) -> list[PeerServer | TcpPeer]:
        # Through what serves them: they live in its thread.
        return list(self._all(last))

    def _all(self, last: str = "") -> Iterator[TcpPeer]:
        return (self._serve(document) for document in _in_turn(self._served, last))

    def attachment(self) -> dict[str, Any]:
        """Say what makes such a target: each process serves peers of its own."""
        return {"kind": "embedded", "rest": "tcp"}

    def stop(self) -> None:
        self._stack.close()
        self._served.clear()
        self._secure.clear()


def _in_turn(made: Iterable[str], last: str) -> tuple[str, ...]:
    """Give the documents whose peers use a facility; that of `last`, then of a protocol, has the last word.

    Where one that adds to a protocol is there alone, nobody has asked for the one of the protocol.
    """
    adding = [each for each in made if each not in documents()]
    instead = {protocol(each) for each in adding}.difference(made)
    every = (*adding, *(each for each in documents() if each not in instead))
    return tuple(sorted(every, key=lambda each: each == last))


def _use(peer: PeerServer | TcpPeer, facility: str) -> dict[str, str]:
    """Use a facility of a peer; returns nothing where its protocol has none of that name."""
    try:
        return peer.use(facility)
    except KeyError as failure:
        if failure.args != (facility,):
            raise
        return {}


def _make(rest: str) -> Target:
    if rest not in MODES:
        raise TargetError(f"there is no target 'embedded:{rest}'; there are embedded and embedded:tcp")
    return MODES[rest]()


MODES: Mapping[str, Callable[[], Target]] = {"": EmbeddedTarget, "tcp": ServedTarget}
EMBEDDED = Kind(
    make=_make,
    attach=lambda given: _make(given["rest"]),
    known=lambda: (
        Known("embedded", True, "", "the reference peer, in memory on a virtual clock"),
        Known("embedded:tcp", True, "", "the reference peer over TCP on loopback"),
    ),
)
