"""A target behind something that changes nothing that matters: a slow way, or a harmless interposer.

`through:NAME:TARGET` is judged like TARGET, facilities included: what comes to another verdict there is a
defect of a scenario, or of a client.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from harness.dialect import dialect, documents
from harness.peers.peer import PeerServer
from harness.peers.proxy import Broker
from harness.peers.serve import TcpPeer
from harness.targets.embedded import EmbeddedTarget, ServedTarget
from harness.targets.slow import STRAIGHT, Way
from harness.targets.target import Endpoint, Known, Target, TargetError
from harness.wire.tls import Security
from harness.wire.transport import TcpTransport, Transport
from spec.applicability import protocol

WAYS: Mapping[str, Way] = {
    "slow": Way(rate=20_000, delay=0.05),
    "octets": Way(rate=20_000, piece=1),
    "delay": Way(delay=0.02),
}
"""Ways of octets by name; each connection has one of its own."""
BUFFER = 4096
"""Octets a socket before a slow way holds: a kernel that took all at once would hide it."""
AT_ONCE = 4
"""Cases judged at once: what stands before the target is one thread, and must not be what is slow."""
UNSEEN = frozenset({"keep-alive"})
"""Facilities that look at the target's sockets: what is connected to them is not us."""


class ThroughTarget(Target):
    """A target whose connections go `through` the way or interposer of that name, started along with it."""

    def __init__(self, through: str, behind: Target, ports: Mapping[str, int] | None = None) -> None:
        super().__init__()
        self.name = f"through:{through}:{behind.name}"
        self.facilities = behind.facilities - UNSEEN
        self.documents = behind.documents
        self.protocols, self.shared, self.ephemeral = behind.protocols, behind.shared, behind.ephemeral
        self.workers, self.apart = min(behind.workers, AT_ONCE), behind.apart
        self.single = behind.single
        self._through, self._behind = through, behind
        self._ports = dict(ports or {})
        self._stack = ExitStack()

    def secure(self, security: Security) -> None:
        super().secure(security)
        self._behind.secure(security)

    def start(self) -> None:
        self._behind.start()
        for document in documents():
            peer = TcpPeer(self._before(document), buffer=BUFFER)
            self._ports[document] = self._stack.enter_context(peer).port

    def _before(self, document: str) -> PeerServer:
        broker = Broker(lambda: self._behind.connect(document))
        if self._through in WAYS:
            return WAYS[self._through].before(broker, time.monotonic)
        change: Any = dialect(document).proof.harmless.get(self._through)
        return broker if change is None else change.before(broker)

    def stop(self) -> None:
        self._stack.close()
        self._behind.stop()

    def endpoint(self) -> Endpoint:
        """Give that of the target behind, of which user, password and virtual host count."""
        return self._behind.endpoint()

    def connect(self, document: str) -> Transport:
        return TcpTransport("127.0.0.1", self._ports[protocol(document)], self._zero)

    def secure_port(self, document: str) -> Transport:
        """Connect to that of the target behind: nothing stands before it."""
        return self._behind.secure_port(document)

    def calm(self) -> None:
        self._behind.calm()

    def use(self, facility: str) -> Mapping[str, str]:
        return self._behind.use(facility)

    def logs(self) -> Mapping[str, bytes]:
        return self._behind.logs()

    def describe(self) -> Mapping[str, object]:
        """Describe the target behind, and what stands before it."""
        return {**self._behind.describe(), "facilities": sorted(self.facilities), "through": self._through}

    def attachment(self) -> dict[str, Any]:
        """Give the ports of what stands before the target: it stays where it was started."""
        return {
            "kind": "through",
            "through": self._through,
            "behind": self._behind.attachment(),
            "ports": self._ports,
        }


class EmbeddedThrough(EmbeddedTarget):
    """Reference peers in memory behind the way or interposer of that name, in virtual time."""

    def __init__(self, through: str) -> None:
        super().__init__(way=WAYS.get(through, STRAIGHT))
        self.name = f"through:{through}:{EmbeddedTarget.name}"
        self._through = through

    def make(self, document: str) -> PeerServer:
        """Make a reference peer with the interposer of that name before it, where its protocol has one."""
        proof = dialect(document).proof
        return proof.peer(proof.harmless.get(self._through), clock=self._time)


def names() -> list[str]:
    """List what a target can be reached through."""
    return [*WAYS, *sorted({name for each in documents() for name in dialect(each).proof.harmless})]


def placed(named: str, target: Callable[[str], Target]) -> Target:
    """Make the target that `NAME:TARGET` names; `target` makes the part behind. Raises TargetError.

    In memory time is virtual, so nothing stands before a reference peer there but what it is made with.
    """
    through, _, rest = named.partition(":")
    if through not in names():
        raise TargetError(f"nothing leads through {through!r}; there are {', '.join(names())}")
    behind = target(rest)
    if not isinstance(behind, EmbeddedTarget) or isinstance(behind, ServedTarget):
        return ThroughTarget(through, behind)
    return EmbeddedThrough(through)


ABOUT = "any target, through what must change no verdict: " + ", ".join(WAYS)
KNOWN = Known("through:NAME:TARGET", True, "", ABOUT)
