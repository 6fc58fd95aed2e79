"""What becomes of messages that are dead: dropped, or sent on to the exchange their queue names for them."""

from harness.amqp0_9_1.peer.deliveries import enqueue
from harness.amqp0_9_1.peer.entities import Entry
from harness.amqp0_9_1.peer.turn import AnyTurn
from harness.amqp0_9_1.rabbitmq.arguments import asked
from harness.amqp0_9_1.rabbitmq.contents import changed


def dead(turn: AnyTurn, entry: Entry, reason: str) -> None:  # noqa: ARG001 - headers tell it
    """Send a dead message, which is on no queue any more, to the exchange for those of its queue."""
    exchange = asked(entry.queue, "dead-letter-exchange")
    if not isinstance(exchange, str):
        return
    key = asked(entry.queue, "dead-letter-routing-key")
    message = changed(
        entry.message, exchange, key if isinstance(key, str) else entry.message.routing_key, expiration=None
    )
    for queue in turn.strategies.reached(turn.host, message, turn.strategies):
        enqueue(turn, queue, message)
