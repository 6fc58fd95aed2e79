"""Transactions: what is rejected in one is rejected when it commits."""

from harness.amqp0_9_1.peer.deliveries import settle
from harness.amqp0_9_1.peer.entities import Delivery
from harness.amqp0_9_1.peer.events import ChannelState, Discarded
from harness.amqp0_9_1.peer.life import is_transacted, requeue
from harness.amqp0_9_1.peer.tables.basic import (
    Refusing,
    named,
    route,
    tag_is_not_of_a_delivered_message,
    wants_requeue,
)
from harness.amqp0_9_1.peer.tables.tx import commit_ok
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn
from harness.amqp0_9_1.wire.vocabulary import Basic, Tx


def is_part_of_a_transaction(turn: ChannelTurn[Refusing]) -> bool:
    return is_transacted(turn) and not tag_is_not_of_a_delivered_message(turn)


def hold_rejection(turn: ChannelTurn[Refusing]) -> None:
    """Make the rejection part of the transaction; the tag cannot be used again in it."""
    channel = turn.channel
    for delivery in named(turn):
        delivery.rejected = wants_requeue(turn)
        del channel.unacknowledged[delivery.tag]
        channel.transaction.append(delivery)
        channel.withheld.append(delivery)


def rejects_something(turn: ChannelTurn[Tx.Commit]) -> bool:
    held = turn.channel.withheld
    return is_transacted(turn) and any(each.rejected is not None for each in held)


def commit_with_rejections(turn: ChannelTurn[Tx.Commit]) -> None:
    """Route publications, settle acknowledgements and reject, in the order they were sent."""
    channel = turn.channel
    transaction, channel.transaction = channel.transaction, []
    channel.withheld = []
    for item in transaction:
        if not isinstance(item, Delivery):
            route(turn, item)
        elif item.rejected is None:
            settle(item)
        elif item.rejected:
            if turn.policy.rejected != "redeliver":
                item.entry.avoid += (channel,)
            requeue(turn.about(turn.event, item))
        else:
            settle(item)
            turn.peer.meet(Delivery, turn.about(Discarded(), item))


TRANSACTIONS = (
    Row[Refusing](
        "rejection: waits for the commit",
        ChannelState.OPEN,
        (Basic.Reject, Basic.Nack),
        is_part_of_a_transaction,
        (hold_rejection,),
    ),
    Row(
        "tx.commit: rejections take effect too",
        ChannelState.OPEN,
        Tx.Commit,
        rejects_something,
        (commit_with_rejections,),
        commit_ok,
    ),
)
