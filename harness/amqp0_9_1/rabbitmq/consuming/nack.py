"""basic.nack: several messages refused at once."""

from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.basic import (
    discard_rejected,
    keep_off_this_channel,
    requeue_rejected,
    tag_is_not_of_a_delivered_message,
    wants_requeue,
)
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic


def requeue_is_for_anyone(turn: ChannelTurn[Basic.Nack]) -> bool:
    """Say whether requeue is set and anyone may get it back (rabbitmq/basic.nack.requeue.01)."""
    return wants_requeue(turn) and turn.policy.rejected == "redeliver"


_nack = Row("basic.nack", ChannelState.OPEN, Basic.Nack)
NACK = (
    _nack(
        "refuses a tag of no delivered message",
        tag_is_not_of_a_delivered_message,
        answer=refuse(PRECONDITION_FAILED),
    ),
    _nack("requeues for anyone", requeue_is_for_anyone, (requeue_rejected,)),
    _nack("requeues for others", wants_requeue, (keep_off_this_channel, requeue_rejected)),
    _nack("discards", effects=(discard_rejected,)),
)
