"""queue.bind."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import answers, rewrites, swaps
from harness.amqp0_9_1.faults import queue_per_binding
from harness.amqp0_9_1.outcomes import message, refused
from harness.amqp0_9_1.vocabulary import NOT_FOUND, PRECONDITION_FAILED, Basic, Channel, Queue
from scenarios.registry import broken_by, scenario


@scenario("0-9-1/queue.bind.unique")
@broken_by("delivers once per binding", swaps(queues_for=queue_per_binding))
def message_that_matches_many_bindings_comes_once(broker: Broker) -> None:
    """Three topic bindings match one message: it is delivered once, and then comes the sentinel."""
    channel = broker.channel()
    queue = channel.declare_queue(exclusive=True)
    for pattern in ("stock.*.nyse", "stock.#", "*.usd.*"):
        channel.bind(queue, "amq.topic", f"{queue}.{pattern}")
    channel.consume(queue, no_ack=True)
    channel.publish(b"once", exchange="amq.topic", key=f"{queue}.stock.usd.nyse")
    channel.publish(b"sentinel", key=queue)
    channel.expect(message(Basic.Deliver, b"once"))
    channel.expect(message(Basic.Deliver, b"sentinel"))


@scenario("0-9-1/queue.bind.exchange.exchange-existence")
@broken_by("binds to nothing", answers(Queue.Bind, Queue.BindOk(), skip=1))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=PRECONDITION_FAILED))
def binding_to_a_missing_exchange_is_not_found(broker: Broker) -> None:
    """A queue can be bound to an exchange that exists; to one that does not it is refused with 404."""
    channel = broker.channel()
    queue = channel.declare_queue(exclusive=True)
    channel.bind(queue, "amq.direct", queue)
    channel.send(Queue.Bind(queue, broker.name("exchange"), queue))
    channel.expect(*refused(NOT_FOUND))
