"""auth-notification: a failed log-in is told to clients that take it."""

from harness.amqp0_9_1.broken.deviations import changes, drops, ends_with, replaces
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.client.outcomes import Received, answered, closed_silently, connection_closed
from harness.amqp0_9_1.rabbitmq.broken.connections.logins import (
    fails,
    fails_and_tells_capabilities,
    fails_as_a_known_user,
)
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, NOT_ALLOWED, Connection
from harness.play.expect import Outcome
from harness.wire.sasl import PLAIN
from scenarios.registry import broken_by, scenario

CAPABILITY = "authentication_failure_close"
WRONG = "\0{}\0not the password"
TOLD = "connection.start-ok: bad credentials end with Close for who takes it"


def fails_to_log_in(broker: Broker, user: str, **properties: object) -> AmqpConnection:
    """Give a connection on which `user` has just given a wrong password, and told these properties."""
    connection = broker.started()
    start_ok = connection.start_ok(mechanism=PLAIN, response=WRONG.format(user).encode())
    connection.send(start_ok.replace(client_properties={**start_ok.client_properties, **properties}))
    return connection


def ends(failed: AmqpConnection, user: str, how: Outcome) -> None:
    """Judge how a failed log-in ends, where the server asks for more first as well. Raises Unmet."""
    seen = failed.expect(how, answered(Connection.Secure))
    if isinstance(seen, Received) and isinstance(seen.method, Connection.Secure):
        failed.send(Connection.SecureOk(WRONG.format(user).encode()))
        failed.expect(how)


@scenario("rabbitmq/auth-notification.told", slow=True)
@broken_by("tells nobody", drops(TOLD))
@broken_by("tells who is known", changes(TOLD, condition=fails_as_a_known_user))
@broken_by("tells another code", replaces(Connection.Close, Connection.Close(NOT_ALLOWED, "no")))
def failure_is_told_to_who_takes_it(broker: Broker) -> None:
    """With the capability a wrong password is answered by Close with 403, and so is an unknown user."""
    broker.promising(CAPABILITY)
    for user in (broker.endpoint.user, "nobody-of-this-name"):
        failed = fails_to_log_in(broker, user, capabilities={CAPABILITY: True})
        ends(failed, user, connection_closed(ACCESS_REFUSED))


@scenario("rabbitmq/auth-notification.silent", slow=True)
@broken_by("tells everybody", changes(TOLD, condition=fails))
@broken_by("tells who knows the name", changes(TOLD, condition=fails_and_tells_capabilities))
@broken_by("says Close before it closes", ends_with(Connection.Close(ACCESS_REFUSED, "wrong password")))
def failure_is_not_told_to_others(broker: Broker) -> None:
    """Without the capability, and with it told as false, a wrong password ends the connection in silence."""
    failed = [
        fails_to_log_in(broker, broker.endpoint.user, **properties)
        for properties in ({}, {"capabilities": {CAPABILITY: False}}, {"capabilities": {"basic.nack": True}})
    ]
    for each in failed:
        ends(each, broker.endpoint.user, closed_silently())
