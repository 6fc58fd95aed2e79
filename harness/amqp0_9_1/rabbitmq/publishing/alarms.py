"""Alarms: connections that publish are told that what they publish has to wait, and when that is over."""

from harness.amqp0_9_1.peer.entities import Publication
from harness.amqp0_9_1.peer.events import ConnectionState, ContentComplete
from harness.amqp0_9_1.peer.turn import AnyTurn, ConnectionTurn, LifeRow, LifeTurn
from harness.amqp0_9_1.peer.turn import ConnectionRow as Row
from harness.amqp0_9_1.rabbitmq.consuming.consumers import told
from harness.amqp0_9_1.rabbitmq.routing.exchanges import policy_of
from harness.amqp0_9_1.wire.vocabulary import Connection
from harness.peers.events import Event
from harness.peers.rows import answering


class AlarmRaised(Event):
    """Memory runs low."""


class AlarmCleared(Event):
    """There is room again."""


def _wants_to_know(turn: AnyTurn) -> bool:
    return told(turn.connection, "connection.blocked") and not turn.connection.blocked


def is_blocked_from_now_on(turn: LifeTurn[ContentComplete, Publication]) -> bool:
    """Say whether there is an alarm, and a client that publishes and wants to know has not been told."""
    return turn.peer.alarm and _wants_to_know(turn)


def has_published(turn: ConnectionTurn[AlarmRaised]) -> bool:
    soon = policy_of(turn).blocked_notice == "who has published"
    return soon and turn.connection.publishes and _wants_to_know(turn)


def is_blocked(turn: ConnectionTurn[AlarmCleared]) -> bool:
    return turn.connection.blocked


def is_the_first(turn: LifeTurn[ContentComplete, Publication]) -> bool:
    return not turn.connection.publishes


def remember_the_publisher(turn: LifeTurn[ContentComplete, Publication]) -> None:
    turn.connection.publishes = True


def tell_of_the_alarm(turn: AnyTurn) -> None:
    """Say Blocked, once until it is over."""
    turn.connection.blocked = True
    turn.connection.send(0, Connection.Blocked("low on memory"))


def publish_it(turn: LifeTurn[ContentComplete, Publication]) -> None:
    """Let the other rows decide about the publication."""
    turn.peer.meet(Publication, turn)


def unblock(turn: ConnectionTurn[AlarmCleared]) -> None:
    turn.connection.blocked = False


_published = LifeRow("publication", Publication, ContentComplete)
ALARMS = (
    _published("in an alarm is answered by Blocked", is_blocked_from_now_on, (tell_of_the_alarm, publish_it)),
    _published("makes a publisher", is_the_first, (remember_the_publisher, publish_it)),
    Row(
        "alarm: who has published is told",
        ConnectionState.OPEN,
        AlarmRaised,
        has_published,
        (tell_of_the_alarm,),
    ),
    Row(
        "alarm: who is blocked is told of its end",
        ConnectionState.OPEN,
        AlarmCleared,
        is_blocked,
        (unblock,),
        answering(Connection.Unblocked()),
    ),
)
"""Taken before the other rows about publications."""
