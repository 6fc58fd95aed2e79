"""3.2.1: minimal numbers, and requests that do not wait for their replies."""

from harness.amqp0_9_1.broken.deviations import changes, ignores, withholds
from harness.amqp0_9_1.broken.faults import declared_exchanges, is_full
from harness.amqp0_9_1.broken.settling_faults import has_something_to_commit
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import message
from harness.amqp0_9_1.wire.frames import Frame, content_frames, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Exchange, Queue, Tx
from scenarios.amqp0_9_1.tx.common import transacted
from scenarios.registry import broken_by, scenario

COMMIT = "tx.commit: publications and acknowledgements take effect"
TWICE = 2 * 16
"""Exchanges, and consumers of a queue: the document's minimum is 16 of each."""

BINDINGS = 2 * 4


@scenario("0-9-1/prose/3.2.1.minima-exceeded")
@broken_by("has room for 16 exchanges", is_full("exchange.declare", 16, declared_exchanges))
@broken_by(
    "has room for four bindings",
    is_full("queue.bind", 4, lambda turn: turn.host.bound_to(turn.event.exchange)),
)
@broken_by("has room for 16 consumers", is_full("basic.consume", 16, lambda turn: turn.queue.consumers))
def twice_the_minimum_is_offered(broker: Broker) -> None:
    """32 exchanges are declared, a queue is bound eight times, and 32 consumers are started on it."""
    channel = broker.channel().misses("exchange")
    for _ in range(TWICE):
        exchange = broker.name("exchange")
        channel.tries(Exchange.Declare(exchange, "direct"), Exchange.DeclareOk)
    queue = channel.declare_queue()
    for number in range(BINDINGS):
        channel.tries(Queue.Bind(queue, exchange, f"key.{number}"), Queue.BindOk)
    for _ in range(TWICE):
        channel.tries(Basic.Consume(queue), Basic.ConsumeOk)


@scenario("0-9-1/prose/3.2.1.pipelined-requests-borne")
@broken_by("loses a request that does not wait", ignores(Queue.Bind))
@broken_by("loses a message that does not wait", ignores(Basic.Publish))
@broken_by("answers the last only", withholds(Basic.GetOk))
def requests_are_served_in_the_order_they_were_sent(broker: Broker) -> None:
    """Declare, Bind, Publish, Get and Delete are sent in one write: their answers come in this order."""
    channel = broker.channel()
    queue, number = broker.name("queue"), channel.number
    publish = Basic.Publish("amq.direct", queue)
    channel.connection.send_frames(
        method_frame(number, Queue.Declare(queue)),
        method_frame(number, Queue.Bind(queue, "amq.direct", queue)),
        *content_frames(number, publish, Basic.Properties(), b"pipelined", channel.connection.link.frame_max),
        method_frame(number, Basic.Get(queue, no_ack=True)),
        method_frame(number, Queue.Delete(queue)),
    )
    channel.expect_each(Queue.DeclareOk, Queue.BindOk, message(Basic.GetOk, b"pipelined"), Queue.DeleteOk)


THREE_TRANSACTIONS = (
    (b"committed", Tx.Commit(), Tx.CommitOk),
    (b"rolled back", Tx.Rollback(), Tx.RollbackOk),
    (b"as well", Tx.Commit(), Tx.CommitOk),
)


@scenario("0-9-1/prose/3.2.1.pipelined-requests-borne")
@broken_by("confirms only what there is", changes(COMMIT, condition=has_something_to_commit))
@broken_by("confirms once", withholds(Tx.CommitOk, skip=1))
def transactions_follow_one_another_unasked(broker: Broker) -> None:
    """Three transactions and an empty one, sent in one piece: answered in order, each for itself."""
    channel, witness = transacted(broker), broker.channel()
    queue, number = witness.declare_queue(), channel.number
    frames: list[Frame] = []
    for body, end, _ in THREE_TRANSACTIONS:
        room = channel.connection.link.frame_max
        frames += content_frames(number, Basic.Publish("", queue), Basic.Properties(), body, room)
        frames.append(method_frame(number, end))
    channel.connection.send_frames(*frames, method_frame(number, Tx.Commit()))
    for answer in (*(each for _, _, each in THREE_TRANSACTIONS), Tx.CommitOk):
        channel.expect(answer)
    witness.gets(queue, b"committed", b"as well")
    witness.tries(Basic.Get(queue, no_ack=True), Basic.GetEmpty)
