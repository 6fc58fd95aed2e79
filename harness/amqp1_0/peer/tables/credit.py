"""Flows that are about a link: credit, drain, echo (2.6.7 to 2.6.10, 2.7.4)."""

from harness.amqp1_0.peer import windows
from harness.amqp1_0.peer.events import LinkState
from harness.amqp1_0.peer.traffic import serve_all
from harness.amqp1_0.peer.turn import LinkRow as Row
from harness.amqp1_0.peer.turn import LinkTurn, Reply
from harness.amqp1_0.wire.performatives import Flow

ATTACHED = LinkState.ATTACHED


def client_receives(turn: LinkTurn[Flow]) -> bool:
    return turn.link.sends


def learn_windows(turn: LinkTurn[Flow]) -> None:
    """Take over the state of the client's session, which every flow carries (2.5.6)."""
    windows.learn_windows(turn.session, turn.event)


def learn_credit(turn: LinkTurn[Flow]) -> None:
    """Take over the credit that a receiver gives, and whether it wants to drain (2.6.7)."""
    windows.learn_credit(turn.link, turn.event)


def serve(turn: LinkTurn[Flow]) -> None:
    """Send what can be sent now, on this link and on the others of the session."""
    serve_all(turn.peer, turn.session)


def learn_count(turn: LinkTurn[Flow]) -> None:
    """Take over the delivery-count that a sender states (2.6.7)."""
    windows.learn_count(turn.link, turn.event)


def drain(turn: LinkTurn[Flow]) -> Reply:
    """Consume the credit that no message is left for, even none, and say so (2.6.7); this answers an echo."""
    link = turn.link
    nothing_left = link.node is None or not link.node.messages
    drained = link.drain and nothing_left
    if drained:
        link.delivery_count += link.credit
        link.credit = 0
    return echo(turn) if drained or turn.event.echo else ()


def asks_back(turn: LinkTurn[Flow]) -> bool:
    return turn.event.echo


def echo(turn: LinkTurn[Flow]) -> Reply:
    """Answer with the state of the link."""
    return (windows.link_flow(turn.link, turn.policy),)


_flow = Row("flow", ATTACHED, Flow)
CREDIT = (
    _flow("of a receiver gives credit", client_receives, (learn_windows, learn_credit, serve), drain),
    _flow("of a sender is answered", asks_back, (learn_windows, learn_count, serve), echo),
    _flow("of a sender is taken", effects=(learn_windows, learn_count, serve)),
)
