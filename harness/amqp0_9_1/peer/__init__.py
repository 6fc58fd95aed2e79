"""The reference peer for AMQP 0-9-1: a strict measuring instrument, in process, without I/O.

Its behaviour stands in tables of rows (`TABLES`); where the document leaves a choice, in `Policy`. It is
not a broker for use: nothing is stored, and its limits are small.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.amqp0_9_1.peer.deliveries import serve
from harness.amqp0_9_1.peer.driver import Connection
from harness.amqp0_9_1.peer.entities import Store, VirtualHost
from harness.amqp0_9_1.peer.events import Restarting, Shortened, Thing
from harness.amqp0_9_1.peer.life import DEAD_LETTER_EXCHANGE, LIFE, tell
from harness.amqp0_9_1.peer.policy import DEFAULT, PRIORITIES, Policy
from harness.amqp0_9_1.peer.rows import Row, Tables
from harness.amqp0_9_1.peer.tables.basic import BASIC
from harness.amqp0_9_1.peer.tables.channel import CHANNEL, OTHERWISE
from harness.amqp0_9_1.peer.tables.connection import CONNECTION
from harness.amqp0_9_1.peer.tables.exchange import EXCHANGE
from harness.amqp0_9_1.peer.tables.queue import QUEUE
from harness.amqp0_9_1.peer.tables.tx import TX
from harness.amqp0_9_1.peer.turn import Turn
from harness.peers.rows import State, meet

__all__ = ["TABLES", "Limits", "Peer", "Policy", "Row", "Tables"]

TABLES = Tables((*CONNECTION, *CHANNEL, *EXCHANGE, *QUEUE, *BASIC, *TX, *OTHERWISE, *LIFE))
"""The behaviour the document asks for."""

NOTED = 1000
"""Lines of its log that it remembers."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a hostile client from exhausting the machine."""

    frame: int = 1 << 20
    """Octets of a frame where no frame-max was agreed upon."""
    content: int = 1 << 25
    """Octets of one content."""
    stored: int = 1 << 28
    """Octets of all messages together."""
    entities: int = 10_000
    """Queues or exchanges of a virtual host, bindings of an exchange, consumers of a queue or channel."""
    unread: int = 1 << 27
    """Octets said that a client leaves unread, beyond which it counts as gone."""


GENEROUS = Limits()


class Peer:
    """A server whose connections share its virtual hosts; implements harness.peers.peer.PeerServer.

    `users` are names with passwords; `external` is who EXTERNAL finds the client to be. `taken`, when given,
    collects the names of all rows taken.
    """

    def __init__(
        self,
        policy: Policy = DEFAULT,
        rows: Tables = TABLES,
        users: Mapping[str, str] | None = None,
        limits: Limits = GENEROUS,
        taken: set[str] | None = None,
        external: str = "guest",
    ) -> None:
        self.policy = policy
        self.tables = rows
        self.users: dict[str, str] = dict(users if users is not None else {"guest": "guest"})
        self.permissions: dict[str, frozenset[str]] = {}
        self.limits = limits
        self.taken = taken
        self.external: str = external
        self.store = Store(limits.stored)
        self.checks_names = policy.illegal_field_name != "accept"
        self.reads_contested_types = policy.contested_types == "read"
        self.alarm = False
        """Whether memory counts as exhausted, so that every queue is over its limit."""
        self.virtual_hosts: dict[str, VirtualHost] = {}
        self.nowhere = VirtualHost("")
        """Where connections are before they open a virtual host."""
        self.noted: deque[str] = deque(["the peer has started"], NOTED)
        """What a log may hold: how connections ended that were not closed by the hand-shake."""
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._accepted = 0
        self.names = 0
        """How many names it has made."""
        self.add_virtual_host("/")

    def add_virtual_host(self, name: str) -> None:
        """Make a virtual host with the pre-declared exchanges."""
        host = self.virtual_hosts.setdefault(name, VirtualHost(name))
        host.predeclare(self.policy.predeclared_durable, self.policy.headers_instances)

    def add_user(self, name: str, password: str, virtual_hosts: Iterable[str]) -> None:
        """Make a user who may open only these virtual hosts."""
        self.users[name] = password
        self.permissions[name] = frozenset(virtual_hosts)

    def use(self, facility: str) -> dict[str, str]:
        """Use a facility, one of those below. Raises KeyError for another."""
        facilities = {
            "second-vhost": self._second_vhost,
            "restricted-user": self._restricted_user,
            "memory-alarm": self._raise_alarm,
            "lift-memory-alarm": self._lift_alarm,
            "dead-letter-exchange": lambda: {"argument": DEAD_LETTER_EXCHANGE},
            "own-port": lambda: {"port": str(self.tables.strategies.port)},
            "log": self._log,
            "priority-queue": self._priority_queue,
        }
        return facilities[facility]()

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
            tell(self._turn_in(host), Thing.QUEUE, Shortened(), host.queues.values())
        return {}

    def _turn_in(self, host: VirtualHost) -> Turn:
        """A turn for what no client has caused."""
        manager = Connection(self, 0.0)
        manager.host = host
        return Turn(manager, None, None)

    def connect(self, now: float) -> Connection:
        """Accept a connection at time `now`, in seconds of the peer's clock."""
        self._accepted += 1
        connection = Connection(self, now, self._accepted)
        self._connections.add(connection)
        return connection

    def restart(self) -> None:
        """Go down and come up again: every connection ends, only what is durable stays."""
        for connection in sorted(self._connections, key=lambda each: each.number):
            if not connection.closed:
                connection.restart()
        for host in self.virtual_hosts.values():
            turn = self._turn_in(host)
            bindings = [each for bound in host.bindings.values() for each in bound]
            tell(turn, Thing.BINDING, Restarting(), bindings)
            tell(
                turn,
                Thing.MESSAGE,
                Restarting(),
                [entry for queue in host.queues.values() for entry in queue],
            )
            tell(turn, Thing.QUEUE, Restarting(), host.queues.values())
            tell(turn, Thing.EXCHANGE, Restarting(), host.exchanges.values())
            serve(self, host)

    def unique(self, prefix: str) -> str:
        """A name never given before."""
        self.names += 1
        return f"{prefix}{self.names}"

    def meet(self, state: State, turn: Turn) -> Row | None:
        """Take the first row for `state` and the turn's event whose condition holds, and return it."""
        return meet(self.tables, state, turn, self.taken)
