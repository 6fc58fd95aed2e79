"""Flow control of sessions and links: what a flow says of the peer's end and learns of the other."""

from harness.amqp1_0.peer.entities import Link, Session
from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.wire.performatives import Begin, Flow
from harness.amqp1_0.wire.serial import Serial

OUTGOING_WINDOW = 1 << 20
"""Transfers a session could send if the client took them all."""


# -- sessions ------------------------------------------------------------------------------------------


def session_flow(session: Session, policy: Policy) -> Flow:
    """Give the state of a session, without that of a link."""
    held = len(session.unsettled) if policy.outgoing_window == "what is left" else 0
    return Flow(
        session.next_incoming_id,
        session.incoming_window,
        session.next_outgoing_id,
        max(OUTGOING_WINDOW - held, 0),
    )


def learn_begin(session: Session, begin: Begin) -> None:
    """Take over what the client's begin says of its end."""
    session.next_incoming_id = Serial(begin.next_outgoing_id)
    session.remote_incoming_window = begin.incoming_window
    session.handle_max = begin.handle_max


def learn_windows(session: Session, flow: Flow) -> None:
    """Take over what a flow of the client says of its end, and compute how much it is ready to take."""
    expected = flow.next_incoming_id
    if expected is None:
        expected = session.initial_outgoing_id
    session.next_incoming_id = Serial(flow.next_outgoing_id)
    session.remote_incoming_window = (Serial(expected) - session.next_outgoing_id) + flow.incoming_window


def count_transfer(session: Session) -> None:
    """Count a transfer that has come (2.5.6, receiving a transfer)."""
    session.next_incoming_id += 1
    session.incoming_window -= 1


def needs_window(session: Session, policy: Policy) -> bool:
    """Say whether half of the incoming-window is used up; of one transfer, all of it."""
    return session.incoming_window <= policy.incoming_window // 2


# -- links ---------------------------------------------------------------------------------------------


def link_flow(link: Link, policy: Policy) -> Flow:
    """Give the state of a link and of its session."""
    told = session_flow(link.session, policy).replace(
        handle=link.number, delivery_count=link.delivery_count, link_credit=link.credit
    )
    if not link.sends:
        return told
    waiting = len(link.node.messages) if link.node is not None and policy.available == "told" else None
    return told.replace(available=waiting, drain=link.drain or None)


def learn_credit(link: Link, flow: Flow) -> None:
    """Let the delivery-limit of our sending link be the one that the client identifies (2.6.7)."""
    counted = link.initial_delivery_count if flow.delivery_count is None else flow.delivery_count
    link.credit = max((Serial(counted) - link.delivery_count) + (flow.link_credit or 0), 0)
    link.drain = bool(flow.drain)


def count_message(link: Link) -> None:
    """Count a message that has come: the limit that our credit sets stays where it is (2.6.7)."""
    link.credit = max(link.credit - 1, 0)
    link.delivery_count += 1


def learn_count(link: Link, flow: Flow) -> None:
    """Take over the delivery-count of a client that sends; the delivery-limit remains ours (2.6.7)."""
    if flow.delivery_count is not None:
        counted = Serial(flow.delivery_count)
        link.credit = max(link.credit - (counted - link.delivery_count), 0)
        link.delivery_count = counted
