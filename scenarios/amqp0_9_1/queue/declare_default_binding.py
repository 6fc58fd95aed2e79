"""queue.declare, what binds a new queue to the default exchange."""

from harness.amqp0_9_1.broken.deviations import changes, forwards, routes
from harness.amqp0_9_1.broken.entity_faults import (
    bind_if_kept,
    bind_if_no_exchange_is_called_so,
    bind_if_shared,
    create_in_place_of_a_queue,
    route_to_exchanges_as_well,
    route_to_exchanges_first,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered
from harness.amqp0_9_1.peer.names import generate_name
from harness.amqp0_9_1.peer.routing import fanout
from harness.amqp0_9_1.peer.tables.queue import becomes_current, create_queue
from harness.amqp0_9_1.wire.vocabulary import Basic, Exchange, Queue
from scenarios.registry import broken_by, scenario

NAMES = "queue.declare: creates one with a generated name"
CREATES = "queue.declare: creates it"
GOES = "basic.publish: goes to the exchange"


@scenario("0-9-1/queue.declare.default-binding")
@broken_by("does not bind it", changes(CREATES, create_queue))
@broken_by("passes it all messages", routes(direct=fanout))
@broken_by(
    "uses the name in capitals", forwards(Basic.Publish, routing_key=str.upper, when=lambda p: not p.exchange)
)
@broken_by("does not bind one that it names", changes(NAMES, generate_name, create_queue, becomes_current))
@broken_by("does not bind an exclusive one", changes(CREATES, create_queue, bind_if_shared))
@broken_by("does not bind one with auto-delete", changes(CREATES, create_queue, bind_if_kept))
@broken_by("takes it to an exchange of that name", changes(GOES, route_to_exchanges_first))
@broken_by("takes it to an exchange of that name as well", changes(GOES, route_to_exchanges_as_well))
@broken_by(
    "does not bind one that is called as an exchange",
    changes(CREATES, create_queue, bind_if_no_exchange_is_called_so),
)
@broken_by(
    "takes off the binding when an exchange is called so",
    changes("exchange.declare: creates it", create_in_place_of_a_queue),
)
def new_queue_is_bound_to_the_default_exchange(broker: Broker) -> None:
    """A message to the blank exchange goes to the queue its key names, one with another key does not.

    So it is for a durable queue, an exclusive one, one with auto-delete, and one named by the server; and
    whether or not an exchange is called as the queue is, and which of the two was there first.
    """
    channel = broker.channel()
    queues = [
        channel.declare_queue(durable=True),
        channel.declare_queue(exclusive=True),
        channel.declare_queue(durable=True, auto_delete=True),
    ]
    # Whether it names queues at all is judged by 0-9-1/queue.declare.queue.default-name.
    named = broker.channel().tries(Queue.Declare(exclusive=True), answered(Queue.DeclareOk) | EXCEPTION)
    if isinstance(named, Queue.DeclareOk):
        queues.append(named.queue)
    for queue in queues:
        channel.publish(b"other", key=f"{queue}.other")
        channel.publish(b"bound", key=queue)
        channel.consumes(queue, b"bound")
    exchange_of_the_same_name_is_another_thing(broker)


def exchange_of_the_same_name_is_another_thing(broker: Broker) -> None:
    """Judge that what the default binding matches comes to the queue, though an exchange is called so too.

    The exchange has a queue of its own, which gets what is published to the exchange and nothing else.
    """
    for queue_first in (True, False):
        channel = broker.channel()
        name, other = broker.name("exchange"), channel.declare_queue()
        both = Queue.Declare(name, exclusive=True), Exchange.Declare(name, "fanout")
        for declare in both if queue_first else reversed(both):
            channel.ask(declare)
        channel.bind(other, name)
        channel.publish("to the exchange", exchange=name)
        channel.publish("to the queue", key=name, mandatory=True)
        came = [[body.decode() for body in channel.drain(queue)] for queue in (name, other)]
        due = [["to the queue"], ["to the exchange"]]
        where = "in the queue {}, in the one bound to the exchange of that name {}"
        broker.judge(where.format(*due), where.format(*came), came == due)
        channel.consume(name, no_ack=True)
        channel.hears("to its consumer", key=name)
