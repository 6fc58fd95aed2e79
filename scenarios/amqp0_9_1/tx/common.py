"""The class tx: what its rules, and those about acknowledgement, have in common."""

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, connection_closed
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, Exchange, Tx
from scenarios.amqp0_9_1.basic.common import NOTHING


def transacted(broker: Broker, *, new_connection: bool = False) -> AmqpChannel:
    """Give a channel, on a connection of its own if that is wanted, on which Tx.Select was confirmed.

    A server that answers it with 540, or only what is sent after it, has no transactions.
    """
    channel = broker.channel(new_connection=new_connection)
    channel.send(Tx.Select(), FENCE)
    absent = channel_closed(NOT_IMPLEMENTED) | connection_closed(NOT_IMPLEMENTED) | NOTHING
    if not isinstance(channel.expect(answered(Tx.SelectOk) | absent), Tx.SelectOk):
        broker.inapplicable("the server has no transactions: it refuses Tx.Select with 540, or ignores it")
    channel.control("the method after tx.select", Exchange.DeclareOk)
    return channel
