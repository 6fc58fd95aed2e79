"""What sessions, links and nodes do to each other: messages go out, and come back when a link lets go."""

from harness.amqp1_0.peer.entities import Connection, Link, Message, Node, Session
from harness.amqp1_0.peer.events import ConnectionState, SessionState
from harness.amqp1_0.peer.turn import Server
from harness.amqp1_0.wire.performatives import Transfer

CHOKED = 1 << 20
"""Octets a client may leave unread before it gets no more messages."""


def map_session(peer: Server, session: Session) -> bool:
    """Give a session a channel of ours; False when none is left that the client accepts."""
    connection = session.connection
    taken = {each.channel for each in connection.sessions.values()}
    highest = connection.channel_max
    numbers = range(min(highest, len(taken)) + 1)
    if peer.policy.outgoing_channel == "highest":
        numbers = range(highest, max(highest - len(taken), 0) - 1, -1)
    session.channel = next((number for number in numbers if number not in taken), -1)
    if session.channel >= 0:
        connection.sessions[session.number] = session
    return session.channel >= 0


def leave(peer: Server, session: Session) -> None:
    """End a session: its links let go, and what they have not settled goes back."""
    session.connection.sessions.pop(session.number, None)
    session.state = SessionState.UNMAPPED
    for link in list(session.links.values()):
        release(peer, link)


def leave_all(peer: Server, connection: Connection) -> None:
    for session in list(connection.sessions.values()):
        leave(peer, session)


def serve(peer: Server, node: Node) -> None:
    """Send the messages of a node to its receivers in turn, as far as their credit goes."""
    idle = 0
    while node.messages and idle < len(node.receivers):
        link = node.receivers[0]
        node.receivers.rotate(-1)
        session = link.session
        if link.credit > 0 and session.remote_window > 0 and _is_open(session):
            idle = 0
            _deliver(peer, link, node.messages.popleft())
        else:
            idle += 1


def _is_open(session: Session) -> bool:
    connection = session.connection
    opened = session.state is SessionState.MAPPED and connection.state is ConnectionState.OPENED
    return opened and connection.unread < CHOKED


def _deliver(peer: Server, link: Link, message: Message) -> None:
    session = link.session
    connection = session.connection
    delivery = session.next_outgoing_id
    tag = delivery.to_bytes(4)
    told = Transfer(link.number, delivery, tag, message.format, link.settles, more=True)
    # What descriptor, nulls and extended header take at most stands beside the performative.
    room = connection.frame_max - 128
    parts = peer.tables.strategies.pieces(message.octets, room)
    for place, part in enumerate(parts):
        more = True if place < len(parts) - 1 else None
        connection.say(told.replace(more=more), session.channel, part)
        session.next_outgoing_id = (session.next_outgoing_id + 1) % (1 << 32)
        session.remote_window -= 1
    link.credit -= 1
    link.delivery_count = (link.delivery_count + 1) % (1 << 32)
    if link.settles:
        peer.nodes.drop(message)
    else:
        session.unsettled[delivery] = (link, message)


def release(peer: Server, link: Link) -> None:
    """Let a link go of its handle, its node, and what it has not settled."""
    session = link.session
    session.links.pop(link.handle, None)
    if link.node is not None and link in link.node.receivers:
        link.node.receivers.remove(link)
    back = [delivery for delivery, (holder, _) in session.unsettled.items() if holder is link]
    for delivery in reversed(back):
        take_back(link, session.unsettled.pop(delivery)[1])
    peer.nodes.octets -= len(link.partial)
    link.partial = bytearray()
    if back and link.node is not None:
        serve(peer, link.node)


def take_back(link: Link, message: Message) -> None:
    """Put a message that was sent and not accepted first on its node again."""
    if link.node is not None:
        link.node.messages.appendleft(message)
