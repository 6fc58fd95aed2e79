"""Who a client is: failed log-ins that are told, secrets that are renewed, and who publishes a message."""

from harness.amqp0_9_1.peer.events import ChannelState, ConnectionState, ContentHeaderReceived
from harness.amqp0_9_1.peer.handshake import (
    credentials_are_good,
    credentials_must_be_asked_for,
    not_offered,
)
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import ChannelRow, ChannelTurn, ConnectionTurn
from harness.amqp0_9_1.peer.turn import ConnectionRow as Row
from harness.amqp0_9_1.rabbitmq.connections.promises import tells
from harness.amqp0_9_1.rabbitmq.consuming.consumers import told
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NOT_ALLOWED,
    PRECONDITION_FAILED,
    Basic,
    Connection,
)
from harness.peers.rows import answering

FAILURE = "authentication_failure_close"


def fails_and_is_told(turn: ConnectionTurn[Connection.StartOk]) -> bool:
    """Say whether credentials are bad, all else is good, and the client takes a Close for an answer."""
    if not_offered(turn) or credentials_must_be_asked_for(turn) or credentials_are_good(turn):
        return False
    return tells(turn.event.client_properties, FAILURE)


def fails_in_the_end_and_is_told(turn: ConnectionTurn[Connection.SecureOk]) -> bool:
    return not credentials_are_good(turn) and told(turn.connection, FAILURE)


def secret_is_wrong(turn: ConnectionTurn[Connection.UpdateSecret]) -> bool:
    """Say whether the new secret is not the one that the user logs in with, where it has one."""
    known = turn.peer.users.get(turn.connection.user)
    return known is not None and bytes(turn.event.new_secret) != known.encode()


def names_another_user(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    """Say whether a message claims to come from another user than that of its connection."""
    told = turn.event.properties
    return isinstance(told, Basic.Properties) and told.user_id not in (None, turn.connection.user)


_update = Row("connection.update-secret", ConnectionState.OPEN, Connection.UpdateSecret)
LOGINS = (
    Row(
        "connection.start-ok: bad credentials end with Close for who takes it",
        ConnectionState.EXPECT_START_OK,
        Connection.StartOk,
        fails_and_is_told,
        answer=refuse(ACCESS_REFUSED, Level.CONNECTION),
    ),
    Row(
        "connection.secure-ok: bad credentials end with Close for who takes it",
        ConnectionState.EXPECT_SECURE_OK,
        Connection.SecureOk,
        fails_in_the_end_and_is_told,
        answer=refuse(ACCESS_REFUSED, Level.CONNECTION),
    ),
    _update("refuses a wrong one", secret_is_wrong, answer=refuse(NOT_ALLOWED)),
    _update("is confirmed", answer=answering(Connection.UpdateSecretOk())),
    ChannelRow(
        "content header: refuses another user's name",
        ChannelState.EXPECT_CONTENT_HEADER,
        ContentHeaderReceived,
        names_another_user,
        answer=refuse(PRECONDITION_FAILED),
    ),
)
