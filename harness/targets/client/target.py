"""What all targets have in common that connect, and are not connected to."""

from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from harness.peers.peer import PeerServer
from harness.shims.contract import Shim
from harness.targets.client.tap import Tap
from harness.targets.target import Endpoint, Target
from harness.wire.transport import Transport, Unreachable
from spec.rules import Role

Place = tuple[str, int]
"""Host and port."""


class BeforeServer(Protocol):
    """A fault of a client's: it stands between it and any server."""

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections pass through it."""


class ClientTarget(Target):
    """A client under test. `change` makes it deviate: behind it is what the client is judged by."""

    role = Role.CLIENT
    facilities = frozenset({"restart"})
    ephemeral = True
    single = True
    workers = 0
    within = 0.0
    """Seconds that its library is told to take at most."""

    def __init__(self, change: BeforeServer | None = None) -> None:
        super().__init__()
        self._change = change

    @property
    @abstractmethod
    def shim(self) -> Shim:
        """What tells the client what to do. Raises TargetError before `start`."""

    @abstractmethod
    def serves(self, server: PeerServer) -> AbstractContextManager[tuple[Place, Tap]]:
        """Serve the client at a place of its own; what passes there is heard at the tap."""

    def halted(self) -> AbstractContextManager[None]:
        """Give the client no time inside; one that lives only while it is told something has none anyway."""
        return nullcontext()

    @abstractmethod
    def keeps_alive(self, place: Place) -> bool | None:
        """Say whether it has TCP keep-alive on for a connection to a place; None where nobody can tell."""

    def _deviating(self, tap: Tap) -> PeerServer:
        return tap if self._change is None else self._change.before(tap)

    def endpoint(self) -> Endpoint:
        """Give where our servers are: on loopback, at a port for each."""
        return Endpoint("127.0.0.1", 0)

    def connect(self, document: str) -> Transport:
        """Raise Unreachable: it is the client that connects."""
        raise Unreachable(f"{self.name} is a client of {document}: it connects, and is not connected to")
