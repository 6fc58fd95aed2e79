"""connection.open: the client enters a virtual host."""

from harness.amqp0_9_1.broken.deviations import changes, drops, forwards, replaces
from harness.amqp0_9_1.broken.faults import enter_the_first_host, share_exchanges, share_queues
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import channel_closed, closed_silently, connection_closed
from harness.amqp0_9_1.wire.vocabulary import NOT_ALLOWED, NOT_FOUND, Connection, Exchange, Queue
from scenarios.registry import broken_by, scenario

OPENS = "connection.open: is answered"


@scenario("0-9-1/connection.open.virtual-host.separation", needs={"second-vhost"})
@broken_by("takes every client into one host", forwards(Connection.Open, virtual_host="/"))
@broken_by("has one host by many names", changes(OPENS, enter_the_first_host))
@broken_by("shares exchanges", changes(OPENS, share_exchanges))
@broken_by("shares queues", changes(OPENS, share_queues))
def virtual_hosts_have_nothing_in_common(broker: Broker) -> None:
    """What is declared in one virtual host is not found in another, nor reached from there.

    The other host can have an exchange and a queue of the same names; what is published to them there
    does not come here.
    """
    here = broker.channel()
    queue, exchange = here.declare_queue(), here.declare_exchange("fanout")
    here.bind(queue, exchange)
    elsewhere = broker.connection(**broker.facility("second-vhost"))
    for look in (Queue.Declare(queue, passive=True), Exchange.Declare(exchange, "fanout", passive=True)):
        elsewhere.channel().tries(look, channel_closed(NOT_FOUND))
    there = elsewhere.channel()
    there.tries(Queue.Declare(queue, exclusive=True), Queue.DeclareOk)
    there.tries(Exchange.Declare(exchange, "direct"), Exchange.DeclareOk)
    there.publish(b"elsewhere", key=queue)
    there.publish(b"elsewhere", exchange=exchange, key=queue)
    there.ask(Exchange.Delete(exchange))
    here.publish(b"here", exchange=exchange)
    here.consumes(queue, b"here")


@scenario("0-9-1/connection.open.virtual-host.security", needs={"restricted-user"}, slow=True)
@broken_by("lets everybody in", drops("connection.open: refuses a virtual host the user may not use"))
@broken_by(
    "goes on instead",
    replaces(Connection.Close, Connection.OpenOk(), when=lambda close: close.reply_code == NOT_ALLOWED),
)
def user_without_permission_is_not_let_in(broker: Broker) -> None:
    """One user opens a virtual host; another, who has no rights on it, logs in and is refused there."""
    broker.connection()
    restricted = broker.socket(**broker.facility("restricted-user"))
    restricted.begin()
    restricted.authenticate()
    restricted.send(restricted.tune_ok(), Connection.Open(restricted.endpoint.virtual_host))
    any_other = connection_closed() | closed_silently()
    restricted.expect(
        connection_closed(NOT_ALLOWED), any_other.under("the rule names no code: every refusal obeys it")
    )
