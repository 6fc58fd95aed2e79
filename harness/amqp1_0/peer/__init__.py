"""The reference peer for AMQP 1.0: a strict measuring instrument, in process, without I/O.

Its behaviour stands in tables of rows (`TABLES`): those of connections and sessions are made from the
document's own figures, those of links from sentences (`LEGAL`, `ARROWS` in `states`, `states_of_sessions`,
`states_of_links`; figures 2.57 and 2.58 in `fragmentation`). Where the document leaves a choice, it is in
`Policy`. It is not a broker for use: nothing is stored, and its limits are small.
"""

from collections.abc import Mapping

from harness.amqp1_0.peer.driver import Connection
from harness.amqp1_0.peer.events import AlarmLifted, AlarmRaised, NodeRemoved
from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.peer.strategies import Strategies
from harness.amqp1_0.peer.tables.connection import CONNECTION
from harness.amqp1_0.peer.tables.session import SESSION
from harness.amqp1_0.peer.turn import Limits, Server, Tables
from harness.peers.events import Event
from harness.peers.peer import PeerConnection
from harness.peers.reference import Facility

__all__ = ["TABLES", "Limits", "Peer", "Policy", "Tables"]

TABLES = Tables((*CONNECTION, *SESSION), Strategies())
"""The behaviour the document asks for."""


class Peer(Server):
    """A server whose connections share its nodes."""

    right = TABLES

    def facilities(self) -> Mapping[str, Facility]:
        """Give by name what it can do or make for a scenario; "address" names a node yet to be."""
        return {
            "address": lambda: {"address": self.unique("node-")},
            "no-address": self._no_address,
            "removable-address": self._removable_address,
            "remove-address": self._remove,
            "powerless-user": self._powerless_user,
            "memory-alarm": lambda: self._alarm(True),
            "lift-memory-alarm": lambda: self._alarm(False),
            "keep-alive": lambda: {} if self.tables.strategies.keep_alive() else {"kept-alive": ""},
        }

    def _no_address(self) -> dict[str, str]:
        name = self.unique("nowhere-")
        self.absent.add(name)
        return {"source": name, "target": name}

    def _removable_address(self) -> dict[str, str]:
        name = self.unique("fleeting-")
        self.removable.add(name)
        return {"address": name}

    def _remove(self) -> dict[str, str]:
        for name in sorted(self.removable):
            if node := self.nodes.remove(name):
                self._tell(NodeRemoved(node))
        self.removable.clear()
        return {}

    def _powerless_user(self) -> dict[str, str]:
        name = "powerless"  # as in peers of other protocols: who is told of one may meet another
        self.users[name] = name
        self.restricted.add(name)
        return {"user": name, "password": name}

    def _alarm(self, on: bool) -> dict[str, str]:
        self.alarm = on and self.policy.on_alarm == "closes windows"
        self._tell(AlarmRaised() if on else AlarmLifted())
        return {}

    def _tell(self, event: Event) -> None:
        """Let something happen on all connections, in the order in which they came."""
        accepted = (each for each in self._connections if isinstance(each, Connection))
        for connection in sorted(accepted, key=lambda each: each.number):
            connection.suffers(event)

    def secured(self, connection: PeerConnection) -> PeerConnection:
        """Give what a client meets on the port for TLS."""
        return self.tables.strategies.secured(connection)

    def connect(self, now: float) -> Connection:
        """Accept a connection at time `now`, in seconds of the peer's clock."""
        return self.accept(lambda number: Connection(self, now, number))

    def lose(self) -> None:
        """Lose all messages."""
        self.nodes.clear()
        self.termini.clear()
        self.alarm = False
        self.outliving.clear()
