"""The tx class: publications and acknowledgements that take effect together."""

from harness.amqp0_9_1.peer.deliveries import settle
from harness.amqp0_9_1.peer.entities import Delivery
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.life import abandon_transaction
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.basic import route
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Tx
from harness.peers.rows import answering

OPEN = ChannelState.OPEN


def is_not_transacted(turn: ChannelTurn[object]) -> bool:
    return not turn.channel.transacted


def select(turn: ChannelTurn[Tx.Select]) -> None:
    turn.channel.transacted = True


def commit(turn: ChannelTurn[object]) -> None:
    """Route publications and settle acknowledgements, in the order they were sent."""
    channel = turn.channel
    transaction, channel.transaction = channel.transaction, []
    channel.withheld = []
    for item in transaction:
        if isinstance(item, Delivery):
            settle(item)
        else:
            route(turn, item)


select_ok = answering(Tx.SelectOk())
commit_ok = answering(Tx.CommitOk())
rollback_ok = answering(Tx.RollbackOk())

_commit = Row("tx.commit", OPEN, Tx.Commit)
_rollback = Row("tx.rollback", OPEN, Tx.Rollback)
TX = (
    Row("tx.select: makes the channel transacted", OPEN, Tx.Select, effects=(select,), answer=select_ok),
    _commit("refuses a channel not transacted", is_not_transacted, answer=refuse(PRECONDITION_FAILED)),
    _commit("publications and acknowledgements take effect", effects=(commit,), answer=commit_ok),
    _rollback("refuses a channel not transacted", is_not_transacted, answer=refuse(PRECONDITION_FAILED)),
    _rollback(
        "publications and acknowledgements are abandoned", effects=(abandon_transaction,), answer=rollback_ok
    ),
)
