"""What server and client tell of themselves: the capabilities they promise."""

from typing import Final

from harness.amqp0_9_1.peer.events import ConnectionState, GoodHeader
from harness.amqp0_9_1.peer.handshake import LOCALES, server_properties
from harness.amqp0_9_1.peer.turn import ConnectionRow as Row
from harness.amqp0_9_1.peer.turn import ConnectionTurn, Reply
from harness.amqp0_9_1.wire.field_tables import Table
from harness.amqp0_9_1.wire.vocabulary import Connection

CAPABILITIES: Final = (
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "consumer_priorities",
    "authentication_failure_close",
    "per_consumer_qos",
    "direct_reply_to",
)


def tells(properties: Table, capability: str) -> bool:
    """Say whether a client's properties promise a capability."""
    capabilities = properties.get("capabilities")
    return isinstance(capabilities, dict) and capabilities.get(capability) is True


def start(turn: ConnectionTurn[GoodHeader]) -> Reply:
    """Answer with Connection.Start, and tell in its properties what is promised."""
    told = {**server_properties(), "capabilities": dict.fromkeys(CAPABILITIES, True)}
    return Connection.Start(0, 9, told, " ".join(turn.policy.mechanisms), " ".join(LOCALES))


PROMISES = (
    Row(
        "header: a good one is answered with Start that tells capabilities",
        ConnectionState.EXPECT_HEADER,
        GoodHeader,
        answer=start,
        next=ConnectionState.EXPECT_START_OK,
    ),
)
