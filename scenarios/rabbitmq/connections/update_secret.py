"""connection.update-secret: what a client was authenticated with is renewed."""

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, ignores, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed, message
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.connections.secrets import end_channels, secret_is_empty
from harness.amqp0_9_1.wire.vocabulary import NOT_ALLOWED, Basic, Connection
from harness.wire.sasl import mechanism
from scenarios.registry import broken_by, scenario

CONFIRMED = "connection.update-secret: is confirmed"
WRONG = "connection.update-secret: refuses a wrong one"


def password_of(broker: Broker) -> str:
    """Give the password that connections are opened with. Raises Inapplicable where there is none."""
    if not mechanism(broker.endpoint.mechanism).by_password:
        broker.inapplicable("the connection is opened without a password")
    return broker.endpoint.password


@scenario("rabbitmq/connection.update-secret.confirmed")
@broken_by("does not answer", ignores(Connection.UpdateSecret))
@broken_by("refuses any", changes(CONFIRMED, answer=refuse(NOT_ALLOWED)))
@broken_by("withholds the answer", withholds(Connection.UpdateSecretOk))
def valid_secret_is_confirmed(broker: Broker) -> None:
    """Update-Secret with the password of the connection is confirmed, with and without a reason."""
    connection = broker.connection()
    for reason in ("token refreshed", ""):
        connection.tries(Connection.UpdateSecret(password_of(broker), reason), Connection.UpdateSecretOk)


@scenario("rabbitmq/connection.update-secret.goes-on")
@broken_by("begins anew", changes(CONFIRMED, end_channels))
@broken_by("does not answer", ignores(Connection.UpdateSecret))
def connection_goes_on_with_a_new_secret(broker: Broker) -> None:
    """A consumer, and a message that is out, are still there when the secret was renewed."""
    channel = broker.channel()
    queue = channel.queue_with("1")
    channel.consume(queue)
    tag = channel.deliveries(1)[0].method.delivery_tag
    update = Connection.UpdateSecret(password_of(broker), "token refreshed")
    channel.connection.tries(update, Connection.UpdateSecretOk)
    channel.publish("2", key=queue)
    channel.expect(message(Basic.Deliver, b"2", redelivered=False))
    channel.send(Basic.Ack(tag))
    channel.stays_quiet()


@scenario("rabbitmq/connection.update-secret.invalid")
@broken_by("looks at nothing", drops(WRONG))
@broken_by("looks whether there is one", changes(WRONG, condition=secret_is_empty))
@broken_by("passes it over", answers(Connection.UpdateSecret, Connection.UpdateSecretOk()))
def wrong_secret_is_not_confirmed(broker: Broker) -> None:
    """Update-Secret with another secret ends the connection."""
    connection = broker.connection()
    wrong = Connection.UpdateSecret(f"not {password_of(broker)}", "token refreshed")
    connection.tries(wrong, connection_closed(), closed_silently())
