"""The reference peer for AMQP/Fast: a strict measuring instrument, in process, without I/O.

Its behaviour stands in tables of rows (`TABLES`), a module for each part of the document. Where the document
allows several behaviours, or contradicts itself, the choice is in `Policy`. It is not a broker for use: what
survives a restart is in memory, and its limits are small.
"""

from collections.abc import Mapping

from harness.amqp_fast.peer.driver import Connection
from harness.amqp_fast.peer.entities import Host, Queue
from harness.amqp_fast.peer.limits import Limits
from harness.amqp_fast.peer.policy import Policy
from harness.amqp_fast.peer.strategies import Strategies
from harness.amqp_fast.peer.tables import channel, connection, handle, negotiation, receiving, sending
from harness.amqp_fast.peer.turn import Server, Tables
from harness.peers.reference import Facility

__all__ = ["TABLES", "Limits", "Peer", "Policy", "Tables"]

TABLES = Tables(
    (*negotiation.ROWS, *connection.ROWS, *channel.ROWS, *sending.ROWS, *receiving.ROWS, *handle.ROWS),
    Strategies(),
)
"""The behaviour the document asks for."""


class Peer(Server):
    """A server whose connections share its virtual hosts."""

    right = TABLES

    def facilities(self) -> Mapping[str, Facility]:
        """Give by name what it can do or make for a scenario; "address" is a queue that was configured."""
        return {
            "address": self._configure,
            "second-vhost": self._second_host,
            "restricted-user": self._restricted_user,
            "idle-timeout": lambda: self._user("impatient", self.impatient),
            "unlimited-user": lambda: self._user("unlimited", self.unlimited),
            "keep-alive": dict,
        }

    def _configure(self) -> dict[str, str]:
        name = self.unique("configured-")
        host = self.host(b"")
        assert host is not None
        host.queues[name.encode()] = Queue(name.encode())
        return {"address": name}

    def _second_host(self) -> dict[str, str]:
        self.hosts.setdefault(b"/second", Host())
        return {"virtual_host": "/second"}

    def _restricted_user(self) -> dict[str, str]:
        return self._user("restricted", self.restricted)

    def _user(self, name: str, among: set[str]) -> dict[str, str]:
        self.users[name] = name
        among.add(name)
        return {"user": name, "password": name}

    def connect(self, now: float) -> Connection:
        """Accept a connection at time `now`, in seconds of the peer's clock."""
        return self.accept(lambda number: Connection(self, now, number))

    def lose(self) -> None:
        """Lose all messages that do not outlive a restart, and what is held in parts."""
        self.partial.clear()
        for host in self.hosts.values():
            for queue in host.queues.values():
                survives = self.tables.strategies.survives
                all_ = self.policy.transient == "keeps"
                kept = [e for e in queue.messages if all_ or survives(e.message)]
                queue.messages.clear()
                queue.messages.extend(kept)
        self.stored = sum(
            len(each.message.body)
            for host in self.hosts.values()
            for queue in host.queues.values()
            for each in queue.messages
        )
