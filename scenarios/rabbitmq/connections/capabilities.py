"""capabilities: what a server tells of its extensions, and what a client need not tell."""

from harness.amqp0_9_1.broken.deviations import answers, ignores, rejects, rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, Basic, Channel, Confirm, Connection, Exchange
from scenarios.registry import broken_by, scenario

SHOWN = ("exchange_exchange_bindings", "consumer_cancel_notify", "basic.nack", "publisher_confirms")


def capabilities_of(broker: Broker) -> dict[str, object]:
    """Give the table capabilities of the server's properties; empty where there is none."""
    told = broker.connection().start.server_properties.get("capabilities")
    return told if isinstance(told, dict) else {}


@scenario("rabbitmq/capabilities.told")
@broken_by("tells none", rewrites(Connection.Start, server_properties={"product": "RabbitMQ"}))
@broken_by(
    "tells all but one",
    rewrites(
        Connection.Start,
        server_properties=lambda told: {**told, "capabilities": dict.fromkeys(SHOWN[:3], True)},
    ),
)
def capabilities_are_told(broker: Broker) -> None:
    """The server's properties have a table with the capabilities that the guide shows."""
    told = capabilities_of(broker)
    missing = [name for name in SHOWN if name not in told]
    broker.judge("the capabilities of the guide", f"no {', '.join(missing)}", not missing)


@scenario("rabbitmq/capabilities.boolean")
@broken_by(
    "tells of them in words",
    rewrites(
        Connection.Start,
        server_properties=lambda told: {**told, "capabilities": dict.fromkeys(SHOWN, "yes")},
    ),
)
@broken_by(
    "tells of them in numbers",
    rewrites(
        Connection.Start, server_properties=lambda told: {**told, "capabilities": dict.fromkeys(SHOWN, 1)}
    ),
)
def capabilities_are_true_or_false(broker: Broker) -> None:
    """Each value in the table is a boolean; another type is legal where the guide shows no value."""
    told = capabilities_of(broker)
    odd = [name for name, value in told.items() if not isinstance(value, bool)]
    shown = [name for name in odd if name in SHOWN]
    holds = bool(told) and not shown
    broker.judge("booleans for what the guide shows", f"others for {', '.join(shown)}", holds)
    broker.judge("booleans", f"others for {', '.join(odd)}", not odd, "values may vary with the capability")


@scenario("rabbitmq/capabilities.client-table-optional")
@broken_by("serves confirms to who tells", ignores(Confirm.Select))
@broken_by("serves bindings to who tells", rejects(Exchange.Bind, NOT_IMPLEMENTED))
@broken_by("serves Nack to who tells", answers(Basic.Nack, Channel.Close(NOT_IMPLEMENTED, "no", 60, 120)))
@broken_by("answers and confirms nothing", answers(Confirm.Select, Confirm.SelectOk()))
def client_needs_no_capabilities(broker: Broker) -> None:
    """A client that tells none binds exchanges, has a publication confirmed, and refuses with Nack."""
    channel = broker.channel()
    one, other = channel.declare_exchange("fanout"), channel.declare_exchange("fanout")
    queue = channel.declare_queue()
    channel.tries(Exchange.Bind(other, one), Exchange.BindOk)
    channel.bind(queue, other)
    channel.confirming()
    channel.publish("1", exchange=one)
    channel.confirmed(1)
    tag = channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag
    channel.send(Basic.Nack(tag))
    channel.stays_quiet()
