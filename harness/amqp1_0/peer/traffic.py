"""What sessions, links and nodes do to each other: messages go out, and come back when a link lets go."""

from harness.amqp1_0.peer.entities import Connection, Delivery, Link, Message, Node, Piece, Session
from harness.amqp1_0.peer.events import ConnectionState, LinkState, SessionState
from harness.amqp1_0.peer.fragmentation import sending
from harness.amqp1_0.peer.turn import Server
from harness.amqp1_0.wire.performatives import Modified, Released, SenderSettleMode, Transfer
from harness.amqp1_0.wire.serial import Serial

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
    if session.channel < 0:
        return False
    connection.sessions[session.number] = session
    policy = peer.policy
    session.initial_outgoing_id = session.next_outgoing_id = Serial(policy.initial_outgoing_id)
    session.next_delivery_id = Serial(policy.first_delivery_id)
    session.incoming_window = 0 if peer.alarm else policy.incoming_window
    return True


# -- messages that go out ------------------------------------------------------------------------------


def serve(peer: Server, node: Node) -> None:
    """Send the messages of a node to its receivers in turn, as far as their credit goes."""
    idle = 0
    while node.messages and idle < len(node.receivers):
        link = node.receivers[0]
        node.receivers.rotate(-1)
        ready = link.credit > 0 and not link.only_resumes and takes_more(link.session)
        if ready and _is_taken(link, node.messages[0]):
            idle = 0
            _deliver(peer, link, node.messages.popleft())
        else:
            idle += 1


def serve_all(peer: Server, session: Session) -> None:
    """Send what a session's window has held up, then what its links can take."""
    flush(session)
    for link in list(session.links.values()):
        if link.sends and link.node is not None:
            _resume_due(peer, link)
            serve(peer, link.node)


def _resume_due(peer: Server, link: Link) -> None:
    """Send what both sides consider unsettled first, under new delivery-ids (2.6.13)."""
    while link.due and link.credit > 0 and takes_more(link.session):
        delivery = link.due.popleft()
        del link.kept[delivery.tag]
        message = delivery.message
        assert message is not None
        bare = delivery.state is not None and peer.policy.resumed_payload == "left out"
        send(peer, delivery, Message(message.format, b"") if bare else message, resumed=True)
        if delivery.settled:
            _conclude(peer, delivery, message)
        flush(link.session)


def _conclude(peer: Server, delivery: Delivery, message: Message) -> None:
    """Let the outcome that the receiver had reached be the delivery's (2.7.3)."""
    if isinstance(delivery.state, (Released, Modified)):
        delivery.settled = False
        take_back(peer, delivery)
    else:
        peer.nodes.drop(message)


def takes_more(session: Session) -> bool:
    """Say whether a delivery may begin: window is left, and nothing waits for it."""
    connection = session.connection
    opened = session.state is SessionState.MAPPED and connection.state is ConnectionState.OPENED
    waits = bool(session.outbox) or connection.unread >= CHOKED
    return opened and not waits and session.remote_incoming_window > 0


def _is_taken(link: Link, message: Message) -> bool:
    """Say whether the client takes messages as large as this one (2.7.3); one that it does not take stays."""
    return link.largest is None or len(message.octets) <= link.largest


def _deliver(peer: Server, link: Link, message: Message) -> None:
    session, policy = link.session, peer.policy
    delivery = Delivery(link, session.next_delivery_id, b"", message.format, message=message)
    delivery.tag = _free_tag(link, policy.delivery_tag_size)
    delivery.settled = link.sender_mode == SenderSettleMode.SETTLED
    send(peer, delivery, message)
    if delivery.settled:
        peer.nodes.drop(message)
    flush(session)


def _free_tag(link: Link, size: int) -> bytes:
    """Give a tag that no unsettled delivery of the link has, those from before it was resumed included."""
    session = link.session
    number, taken = session.next_delivery_id, {*link.kept}
    taken |= {each.tag for each in session.unsettled.values() if each.link is link}
    while (tag := number.to_bytes(4)[-size:].rjust(size, b"\0")) in taken:
        number += 1
    return tag


def send(peer: Server, delivery: Delivery, message: Message, resumed: bool = False) -> None:
    """Queue a delivery that has its tag, under the next delivery-id; it is kept until it is settled."""
    link = delivery.link
    session = link.session
    delivery.id = session.next_delivery_id
    session.next_delivery_id += 1
    link.credit -= 1
    link.delivery_count += 1
    session.outbox.extend(_pieces(peer, delivery, message, resumed))
    if not delivery.settled:
        session.unsettled[delivery.id] = delivery


def _pieces(peer: Server, delivery: Delivery, message: Message, resumed: bool) -> list[Piece]:
    """Cut a message into transfers, as the policy has them (2.6.14)."""
    link, policy = delivery.link, peer.policy
    # What descriptor, nulls and extended header take at most stands beside the performative.
    room = min(link.session.connection.frame_max - 160, policy.fragment or 1 << 32)
    parts = peer.tables.strategies.pieces(message.octets, room)
    hint = policy.batchable or None
    first = Transfer(link.number, delivery.id, delivery.tag, delivery.format, batchable=hint)
    others = first if policy.parts_repeat else Transfer(link.number, batchable=hint)
    told = [first.replace(resume=resumed or None), *[others] * (len(parts) - 1)]
    told = [
        each.replace(more=True) if sent.more else each
        for each, sent in zip(told, sending(len(parts)), strict=True)
    ]
    place = 0 if policy.settled_on == "the first" else -1
    if delivery.settled:
        told[place] = told[place].replace(settled=True)
    return [Piece(link, *each) for each in zip(told, parts, strict=True)]


def flush(session: Session) -> None:
    """Send transfers as far as the client's window goes; each takes a transfer-id (2.5.6)."""
    while session.outbox and session.remote_incoming_window > 0:
        piece = session.outbox.popleft()
        session.next_outgoing_id += 1
        session.remote_incoming_window -= 1
        session.connection.say_on(session, piece.transfer, payload=piece.payload)


# -- letting go ----------------------------------------------------------------------------------------


def let_go(peer: Server, session: Session) -> None:
    """Let the links of a session go, all of them before what they have not settled goes back."""
    session.outbox.clear()
    links = (*session.links.values(), *session.suspended)
    for link in links:
        _unmap(peer, link)
    for link in links:
        if link.outlives and link.key is not None and peer.termini.get(link.key) is link:
            outlive(peer, link)
        else:
            release(peer, link)


def unmap_session(session: Session) -> None:
    """Free the channels of a session."""
    session.connection.sessions.pop(session.number, None)


def leave_all(peer: Server, connection: Connection) -> None:
    """End all sessions of a connection that is over."""
    for session in list(connection.sessions.values()):
        unmap_session(session)
        session.state = SessionState.UNMAPPED
        let_go(peer, session)


def suspend(peer: Server, link: Link) -> None:
    """Let a link go of its handle, while its deliveries live on (2.6.4)."""
    _unmap(peer, link)
    link.session.suspended.append(link)


def outlive(peer: Server, link: Link) -> None:
    """Keep a link whose session has ended, with what is unsettled on it; of too many forget the oldest."""
    _unmap(peer, link)
    link.state, link.credit = LinkState.SUSPENDED, 0
    link.kept = unsettled_of(link)
    peer.outliving.append(link)
    if len(peer.outliving) > peer.limits.termini:
        release(peer, peer.outliving[0])


def unsettled_of(link: Link) -> dict[bytes, Delivery]:
    """Take the unsettled deliveries of a link off its session; give them by tag (2.6.13)."""
    session = link.session
    found = dict(link.kept)
    for of in (session.unsettled, session.received):
        for delivery in [each for each in of.values() if each.link is link]:
            found[delivery.tag] = of.pop(delivery.id)
    if link.taking is not None:
        found[link.taking.tag] = link.taking
    link.kept, link.due, link.taking = {}, type(link.due)(), None
    return found


def hand_over(old: Link, new: Link) -> None:
    """Let a link that is attached again have the deliveries of the one it was (2.6.4)."""
    session = old.session
    session.suspended.remove(old)
    for delivery in (*session.unsettled.values(), *session.received.values()):
        if delivery.link is old:
            delivery.link = new


def release(peer: Server, link: Link) -> None:
    """Let a link go of its handle, its name, its node, and what it has not settled."""
    session = link.session
    _unmap(peer, link)
    if link in session.suspended:
        session.suspended.remove(link)
    if link in peer.outliving:
        peer.outliving.remove(link)
    if link.key is not None and peer.termini.get(link.key) is link:
        del peer.termini[link.key]
    link.state = LinkState.DETACHED
    back = list(unsettled_of(link).values())
    for delivery in reversed(back):
        take_back(peer, delivery)
    if back and link.sends and link.node is not None:
        serve(peer, link.node)


def _unmap(peer: Server, link: Link) -> None:
    session = link.session
    if session.links.get(link.handle) is link:
        del session.links[link.handle]
    if link.node is not None and link in link.node.receivers:
        link.node.receivers.remove(link)
    session.outbox = type(session.outbox)(each for each in session.outbox if each.link is not link)
    if link.arriving is not None:
        peer.nodes.octets -= len(link.arriving.octets)
        link.arriving = None


def take_back(peer: Server, delivery: Delivery) -> None:
    """Put a message that was sent and not accepted first on its node again, if that is there still."""
    node = delivery.link.node
    if node is None or delivery.message is None:
        return
    if node.gone:
        peer.nodes.drop(delivery.message)
    else:
        node.messages.appendleft(delivery.message)
