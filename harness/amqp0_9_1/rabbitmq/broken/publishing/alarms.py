"""Conditions and effects that are wrong about alarms."""

from harness.amqp0_9_1.broken.deviations import Fault
from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.tables.basic import acknowledge
from harness.amqp0_9_1.rabbitmq.publishing.alarms import publish_it, tell_of_the_alarm
from harness.amqp0_9_1.wire.vocabulary import Connection

TOLD = "publication: in an alarm is answered by Blocked"


def in_any_alarm(turn: Turn) -> bool:
    """Says whether there is an alarm, whatever the client knows."""
    return bool(turn.peer.alarm) and not turn.connection.blocked


def publish_and_tell(turn: Turn) -> None:
    """Tells with each publication, and says so to nobody who asks."""
    was_told = turn.connection.blocked
    turn.connection.blocked = True
    publish_it(turn)
    if not was_told:
        turn.connection.blocked = False
    turn.connection.send(0, Connection.Blocked("low on memory"))


def unblock_at_once(turn: Turn) -> None:
    turn.connection.send(0, Connection.Unblocked())


def _acknowledge_and_tell(turn: Turn) -> None:
    acknowledge(turn)
    if in_any_alarm(turn):
        tell_of_the_alarm(turn)


def tell_while_consuming() -> Fault:
    """Tells who acknowledges in an alarm that it is blocked."""
    return Fault.changes("basic.ack: settles", _acknowledge_and_tell)
