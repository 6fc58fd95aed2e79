"""The reference peer for AMQP 1.0: a strict measuring instrument, in process, without I/O.

Its behaviour stands in tables of rows (`TABLES`), those of the connection made from the document's own
figures (`states.LEGAL`, `states.ARROWS`); where the document leaves a choice, in `Policy`. It is not a broker
for use: nothing is stored, and its limits are small.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass

from harness.amqp1_0.peer.driver import Connection
from harness.amqp1_0.peer.entities import Link, Message, Node, Nodes, Session
from harness.amqp1_0.peer.events import ConnectionState, SessionState
from harness.amqp1_0.peer.policy import DEFAULT, Policy
from harness.amqp1_0.peer.strategies import Strategies
from harness.amqp1_0.peer.tables.connection import CONNECTION
from harness.amqp1_0.peer.tables.session import SESSION
from harness.amqp1_0.peer.turn import Row, Tables, Turn
from harness.amqp1_0.wire.performatives import Transfer
from harness.peers.peer import PeerConnection
from harness.peers.rows import State, meet

__all__ = ["TABLES", "Limits", "Peer", "Policy", "Row", "Tables"]

TABLES = Tables((*CONNECTION, *SESSION), Strategies())
"""The behaviour the document asks for."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a hostile client from exhausting the machine."""

    frame: int = 1 << 20
    """Octets of a frame where our open states no limit."""
    content: int = 1 << 24
    """Octets of one message."""
    stored: int = 1 << 27
    """Octets of all messages together."""
    nodes: int = 10_000
    """Nodes of the peer."""
    sessions: int = 256
    """Sessions of one connection."""
    links: int = 256
    """Links of one session."""
    address: int = 1024
    """Characters of an address."""
    unread: int = 1 << 24
    """Octets said that a client leaves unread, beyond which it counts as gone."""


GENEROUS = Limits()


def _is_open(session: Session) -> bool:
    """Whether messages can be sent now: session and connection are open, and the client reads."""
    connection = session.connection
    opened = session.state is SessionState.MAPPED and connection.state is ConnectionState.OPENED
    return opened and connection.unread < CHOKED


CHOKED = 1 << 20
"""Octets a client may leave unread before it gets no more messages."""


class Peer:
    """A server whose connections share its nodes; implements harness.peers.peer.PeerServer.

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
        self.restricted: set[str] = set()
        """Users who may open connections and sessions, but attach to no node."""
        self.limits = limits
        self.taken = taken
        self.external: str = external
        self.nodes = Nodes(limits.nodes, limits.stored)
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._accepted = 0
        self._addresses = 0
        self._names = 0

    def use(self, facility: str) -> dict[str, str]:
        """Use a facility: "address" names a node, which comes into being with the first link to it.

        "keep-alive" says that there is none where its strategies have none. Raises KeyError for another one.
        """
        if facility == "keep-alive":
            return {} if self.tables.strategies.keep_alive() else {"kept-alive": ""}
        if facility != "address":
            raise KeyError(facility)
        self._addresses += 1
        return {"address": f"node-{self._addresses}"}

    def secured(self, connection: PeerConnection) -> PeerConnection:
        """What a client meets on the port for TLS."""
        return self.tables.strategies.secured(connection)

    def add_restricted_user(self, name: str, password: str) -> None:
        """Make a user who may attach to no node."""
        self.users[name] = password
        self.restricted.add(name)

    def connect(self, now: float) -> Connection:
        """Accept a connection at time `now`, in seconds of the peer's clock."""
        self._accepted += 1
        connection = Connection(self, now, self._accepted)
        self._connections.add(connection)
        return connection

    def restart(self) -> None:
        """Go down and come up again: every connection ends, no message stays."""
        for connection in sorted(self._connections, key=lambda each: each.number):
            if connection.state is not ConnectionState.END:
                connection.restart()
        self.nodes.clear()

    def unique(self, prefix: str) -> str:
        """A name never given before."""
        self._names += 1
        return f"{prefix}{self._names}"

    def meet(self, state: State, turn: Turn) -> Row | None:
        """Take the first row for `state` and the turn's event whose condition holds, and return it."""
        return meet(self.tables, state, turn, self.taken)

    # What sessions and links need of each other.

    def serve(self, node: Node) -> None:
        """Send the messages of a node to its receivers in turn, as far as their credit goes."""
        idle = 0
        while node.messages and idle < len(node.receivers):
            link = node.receivers[0]
            node.receivers.rotate(-1)
            session = link.session
            if link.credit > 0 and session.remote_window > 0 and _is_open(session):
                idle = 0
                self._deliver(link, node.messages.popleft())
            else:
                idle += 1

    def _deliver(self, link: Link, message: Message) -> None:
        session = link.session
        connection = session.connection
        delivery = session.next_outgoing_id
        tag = delivery.to_bytes(4)
        told = Transfer(link.number, delivery, tag, message.format, link.settles, more=True)
        # What descriptor, nulls and extended header take at most stands beside the performative.
        room = connection.frame_max - 128
        parts = self.tables.strategies.pieces(message.octets, room)
        for place, part in enumerate(parts):
            more = True if place < len(parts) - 1 else None
            connection.say(told.replace(more=more), session.channel, part)
            session.next_outgoing_id = (session.next_outgoing_id + 1) % (1 << 32)
            session.remote_window -= 1
        link.credit -= 1
        link.delivery_count = (link.delivery_count + 1) % (1 << 32)
        if link.settles:
            self.nodes.drop(message)
        else:
            session.unsettled[delivery] = (link, message)

    def release(self, link: Link) -> None:
        """A link lets go of its handle, its node, and what it has not settled."""
        session = link.session
        session.links.pop(link.handle, None)
        if link.node is not None and link in link.node.receivers:
            link.node.receivers.remove(link)
        back = [delivery for delivery, (holder, _) in session.unsettled.items() if holder is link]
        for delivery in reversed(back):
            self.take_back(link, session.unsettled.pop(delivery)[1])
        self.nodes.octets -= len(link.partial)
        link.partial = bytearray()
        if back and link.node is not None:
            self.serve(link.node)

    def take_back(self, link: Link, message: Message) -> None:
        """A message that was sent and not accepted is the first of its node again."""
        if link.node is not None:
            link.node.messages.appendleft(message)
