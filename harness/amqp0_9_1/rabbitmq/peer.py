"""The peer that serves what the document `rabbitmq` adds: its tables, and the facilities with them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from harness.amqp0_9_1 import peer
from harness.amqp0_9_1.peer.life import tell
from harness.amqp0_9_1.peer.turn import Tables
from harness.amqp0_9_1.rabbitmq.arguments import LATE, POLICIES, POLICY, PolicySet
from harness.amqp0_9_1.rabbitmq.connections.errata import ERRATA
from harness.amqp0_9_1.rabbitmq.connections.logins import LOGINS
from harness.amqp0_9_1.rabbitmq.connections.permissions import PERMISSIONS, POWERLESS
from harness.amqp0_9_1.rabbitmq.connections.promises import PROMISES
from harness.amqp0_9_1.rabbitmq.consuming.consumers import CONSUMERS, hears, highest_in_turn
from harness.amqp0_9_1.rabbitmq.consuming.nack import NACK
from harness.amqp0_9_1.rabbitmq.consuming.prefetch import PREFETCH, windows_allow
from harness.amqp0_9_1.rabbitmq.field_types import in_the_grammar
from harness.amqp0_9_1.rabbitmq.policy import DEFAULT
from harness.amqp0_9_1.rabbitmq.publishing.alarms import ALARMS, AlarmCleared, AlarmRaised
from harness.amqp0_9_1.rabbitmq.publishing.confirms import CONFIRMS
from harness.amqp0_9_1.rabbitmq.publishing.outside import OUTSIDE, no_local_is_ignored
from harness.amqp0_9_1.rabbitmq.publishing.transactions import TRANSACTIONS
from harness.amqp0_9_1.rabbitmq.queues.dead_letters import DEAD_LETTERS
from harness.amqp0_9_1.rabbitmq.queues.declare import DECLARE, every_priority, naming
from harness.amqp0_9_1.rabbitmq.queues.expiry import EXPIRY, renewing
from harness.amqp0_9_1.rabbitmq.queues.lengths import LENGTHS
from harness.amqp0_9_1.rabbitmq.queues.quorum import QUORUM, in_its_level, making_quorum_queues
from harness.amqp0_9_1.rabbitmq.queues.streams import STREAMS
from harness.amqp0_9_1.rabbitmq.routing.exchanges import EXCHANGES
from harness.amqp0_9_1.rabbitmq.routing.reaching import ROUTING, through_exchanges, without_blind_copies
from harness.amqp0_9_1.rabbitmq.routing.reply_to import REPLY_TO
from harness.peers.events import Event
from harness.peers.reference import Facility
from harness.peers.rows import AnyRow

ADDED: Final[tuple[AnyRow, ...]] = (
    *PROMISES, *LOGINS, *ALARMS, *PERMISSIONS, *STREAMS, *ERRATA, *TRANSACTIONS, *OUTSIDE, *CONFIRMS, *NACK,
    *EXCHANGES, *ROUTING, *QUORUM, *CONSUMERS, *PREFETCH, *REPLY_TO, *DECLARE, *LENGTHS, *EXPIRY, *POLICY,
    *DEAD_LETTERS,
)  # fmt: skip
"""The rows of all areas; they are tried before those of 0-9-1."""
STRATEGIES: Final = replace(
    peer.TABLES.strategies,
    may_have=no_local_is_ignored,
    reached=through_exchanges(),
    shown=without_blind_copies,
    level=every_priority,
    place=in_its_level,
    window_allows=windows_allow,
    hears=hears,
    choose=highest_in_turn,
)
"""The algorithms, where they are not those of 0-9-1."""
TABLES = making_quorum_queues(naming(renewing(Tables((*ADDED, *peer.TABLES.rows), STRATEGIES))))


class Peer(peer.Peer):
    """A server that keeps to the extensions too."""

    right = TABLES
    default = DEFAULT

    def in_the_grammar(self, header: bytes) -> bytes:
        """Give a content header with the letters of the errata as the grammar has them."""
        return in_the_grammar(header)

    def facilities(self) -> Mapping[str, Facility]:
        """Give by name what it can do or make for a scenario."""
        return {
            **super().facilities(),
            "memory-alarm": lambda: self._alarm(AlarmRaised(), super(Peer, self)._raise_alarm),
            "lift-memory-alarm": lambda: self._alarm(AlarmCleared(), super(Peer, self)._lift_alarm),
            "policies": lambda: {name: each.begins for name, each in POLICIES.items()},
            "late-policy": lambda: self._late(LATE.says),
            "no-late-policy": lambda: self._late({}),
            "powerless-user": self._powerless_user,
        }

    def _powerless_user(self) -> dict[str, str]:
        self.users[POWERLESS] = POWERLESS
        return {"user": POWERLESS, "password": POWERLESS}

    def _alarm(self, event: Event, happens: Facility) -> dict[str, str]:
        told = happens()
        for connection in self.open_connections():
            connection.happens(event)
        return told

    def _late(self, says: Mapping[str, object]) -> dict[str, str]:
        for host in self.virtual_hosts.values():
            subjects = [each for each in host.queues.values() if each.name.startswith(LATE.begins)]
            tell(self.turn_in(host), PolicySet(says), subjects)
        return {"begins": LATE.begins}
