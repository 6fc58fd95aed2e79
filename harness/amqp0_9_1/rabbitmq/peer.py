"""The peer that serves what the document `rabbitmq` adds: its tables, and the facilities with them."""

from collections.abc import Mapping
from dataclasses import replace

from harness.amqp0_9_1 import peer
from harness.amqp0_9_1.peer.turn import Tables
from harness.amqp0_9_1.rabbitmq.consumers import CONSUMERS, hears, highest_in_turn
from harness.amqp0_9_1.rabbitmq.errata import ERRATA
from harness.amqp0_9_1.rabbitmq.field_types import in_the_grammar
from harness.amqp0_9_1.rabbitmq.nack import NACK
from harness.amqp0_9_1.rabbitmq.permissions import PERMISSIONS, POWERLESS
from harness.amqp0_9_1.rabbitmq.policy import DEFAULT
from harness.amqp0_9_1.rabbitmq.prefetch import PREFETCH, windows_allow
from harness.amqp0_9_1.rabbitmq.promises import PROMISES
from harness.amqp0_9_1.rabbitmq.reply_to import REPLY_TO
from harness.amqp0_9_1.rabbitmq.streams import STREAMS
from harness.peers.reference import Facility

ADDED = (*PROMISES, *PERMISSIONS, *STREAMS, *ERRATA, *NACK, *CONSUMERS, *PREFETCH, *REPLY_TO)
"""The rows of all areas; they are tried before those of 0-9-1."""
STRATEGIES = replace(peer.TABLES.strategies, window_allows=windows_allow, hears=hears, choose=highest_in_turn)
TABLES = Tables((*ADDED, *peer.TABLES.rows), STRATEGIES)


class Peer(peer.Peer):
    """A server that keeps to the extensions too."""

    right = TABLES
    default = DEFAULT

    def in_the_grammar(self, header: bytes) -> bytes:
        """Give a content header with the letters of the errata as the grammar has them."""
        return in_the_grammar(header)

    def facilities(self) -> Mapping[str, Facility]:
        """Give by name what it can do or make for a scenario."""
        return {**super().facilities(), "powerless-user": self._powerless_user}

    def _powerless_user(self) -> dict[str, str]:
        self.users[POWERLESS] = POWERLESS
        return {"user": POWERLESS, "password": POWERLESS}
