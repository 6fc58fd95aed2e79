"""The reference peer for AMQP 1.0: a strict measuring instrument, in process, without I/O.

Its behaviour stands in tables of rows (`TABLES`), those of the connection made from the document's own
figures (`states.LEGAL`, `states.ARROWS`); where the document leaves a choice, in `Policy`. It is not a broker
for use: nothing is stored, and its limits are small.
"""

from collections.abc import Mapping

from harness.amqp1_0.peer.driver import Connection
from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.peer.strategies import Strategies
from harness.amqp1_0.peer.tables.connection import CONNECTION
from harness.amqp1_0.peer.tables.session import SESSION
from harness.amqp1_0.peer.turn import Limits, Server, Tables
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
            "keep-alive": lambda: {} if self.tables.strategies.keep_alive() else {"kept-alive": ""},
        }

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
        self.outliving.clear()
