"""Conditions that are wrong about who a client is."""

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.handshake import credentials_are_good, credentials_must_be_asked_for, not_offered
from harness.amqp0_9_1.rabbitmq.connections.logins import names_another_user


def carries_a_name(turn: Turn) -> bool:
    return turn.event.properties.user_id is not None


def is_another_of_the_same_length(turn: Turn) -> bool:
    """Overlooks names that are as long as the user's."""
    told = turn.event.properties.user_id
    return names_another_user(turn) and len(told) != len(turn.connection.user)


def is_another_and_not_empty(turn: Turn) -> bool:
    return bool(turn.event.properties.user_id) and names_another_user(turn)


def fails(turn: Turn) -> bool:
    """Says whether credentials are bad, whatever the client promises."""
    return not (not_offered(turn) or credentials_must_be_asked_for(turn) or credentials_are_good(turn))


def fails_and_tells_capabilities(turn: Turn) -> bool:
    """Looks whether a capability is named, not whether it is true."""
    return fails(turn) and "capabilities" in turn.event.client_properties


def fails_as_a_known_user(turn: Turn) -> bool:
    return fails_and_tells_capabilities(turn) and bytes(turn.event.response).split(b"\0")[1] == b"guest"
