"""The reference peer for AMQP 0-9-1: a strict measuring instrument, in process, without I/O.

Its behaviour stands in tables of rows (`TABLES`); where the document leaves a choice, in `Policy`. It is
not a broker for use: nothing is stored, and its limits are small.
"""

from collections.abc import Iterable, Mapping

from harness.amqp0_9_1.peer.deliveries import serve
from harness.amqp0_9_1.peer.driver import Connection
from harness.amqp0_9_1.peer.entities import VirtualHost
from harness.amqp0_9_1.peer.events import Shortened
from harness.amqp0_9_1.peer.life import DEAD_LETTER_EXCHANGE, LIFE, tell
from harness.amqp0_9_1.peer.policy import PRIORITIES, Policy
from harness.amqp0_9_1.peer.tables.basic import BASIC
from harness.amqp0_9_1.peer.tables.channel import CHANNEL, OTHERWISE
from harness.amqp0_9_1.peer.tables.connection import CONNECTION
from harness.amqp0_9_1.peer.tables.exchange import EXCHANGE
from harness.amqp0_9_1.peer.tables.queue import QUEUE
from harness.amqp0_9_1.peer.tables.tx import TX
from harness.amqp0_9_1.peer.turn import ConnectionTurn, Limits, Server, Tables, Turn
from harness.peers.events import Restarting
from harness.peers.reference import Facility

__all__ = ["TABLES", "Limits", "Peer", "Policy", "Tables"]

TABLES = Tables((*CONNECTION, *CHANNEL, *EXCHANGE, *QUEUE, *BASIC, *TX, *OTHERWISE, *LIFE))
"""The behaviour the document asks for."""


class Peer(Server):
    """A server whose connections share its virtual hosts."""

    right = TABLES

    def add_user(self, name: str, password: str, virtual_hosts: Iterable[str]) -> None:
        """Make a user who may open only these virtual hosts."""
        self.users[name] = password
        self.permissions[name] = frozenset(virtual_hosts)

    def facilities(self) -> Mapping[str, Facility]:
        """Give by name what it can do or make for a scenario."""
        return {
            "second-vhost": self._second_vhost,
            "restricted-user": self._restricted_user,
            "memory-alarm": self._raise_alarm,
            "lift-memory-alarm": self._lift_alarm,
            "dead-letter-exchange": lambda: {"argument": DEAD_LETTER_EXCHANGE},
            "own-port": lambda: {"port": str(self.tables.strategies.port)},
            "log": self._log,
            "priority-queue": self._priority_queue,
        }

    def _second_vhost(self) -> dict[str, str]:
        name = self.unique("vhost-")
        self.add_virtual_host(name)
        return {"virtual_host": name}

    def _restricted_user(self) -> dict[str, str]:
        name = self.unique("user-")
        self.add_user(name, name, ())
        return {"user": name, "password": name}

    def _priority_queue(self) -> dict[str, str]:
        return {"argument": PRIORITIES, "levels": str(self.policy.priority_levels)}

    def _log(self) -> dict[str, str]:
        return {"log": "\n".join(self.tables.strategies.logged(self.noted))}

    def _raise_alarm(self) -> dict[str, str]:
        self.alarm = True
        return {}

    def _lift_alarm(self) -> dict[str, str]:
        self.alarm = False
        for host in self.virtual_hosts.values():
            tell(self.turn_in(host), Shortened(), host.queues.values())
        return {}

    def turn_in(self, host: VirtualHost) -> ConnectionTurn[None]:
        """Give a turn for what happens in a virtual host by nobody's method."""
        manager = Connection(self, 0.0)
        manager.host = host
        return Turn(self, manager, None, None, None)

    def connect(self, now: float) -> Connection:
        """Accept a connection at time `now`, in seconds of the peer's clock."""
        self.pass_time(now)
        return self.accept(lambda number: Connection(self, now, number))

    def lose(self) -> None:
        """Lose what is not durable, in every virtual host."""
        for host in self.virtual_hosts.values():
            turn = self.turn_in(host)
            tell(turn, Restarting(), [each for bound in host.bindings.values() for each in bound])
            tell(turn, Restarting(), [entry for queue in host.queues.values() for entry in queue])
            tell(turn, Restarting(), host.queues.values())
            tell(turn, Restarting(), host.exchanges.values())
            serve(self, host)
