"""How the vendor's errata read 0-9-1: the default exchange, and queues that are durable and exclusive."""

from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, meet_on_channel
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, Queue


def names_the_default_exchange(turn: ChannelTurn[Queue.Bind | Queue.Unbind]) -> bool:
    return not turn.event.exchange


def is_durable_and_exclusive(turn: ChannelTurn[Queue.Declare]) -> bool:
    """Say whether a plain queue is asked for that is both; other types have rules of their own."""
    wanted = turn.event
    return (
        wanted.durable and wanted.exclusive and not wanted.passive and "x-queue-type" not in wanted.arguments
    )


def declare_it_transient(turn: ChannelTurn[Queue.Declare]) -> None:
    """Let the other rows decide about the method as it is without durable."""
    turn.event = turn.event.replace(durable=False)
    meet_on_channel(turn)


_refused = refuse(ACCESS_REFUSED)
ERRATA = (
    Row(
        "queue.declare: an exclusive queue is not durable",
        ChannelState.OPEN,
        Queue.Declare,
        is_durable_and_exclusive,
        (declare_it_transient,),
    ),
    Row(
        "queue.bind: refuses the default exchange",
        ChannelState.OPEN,
        Queue.Bind,
        names_the_default_exchange,
        answer=_refused,
    ),
    Row(
        "queue.unbind: refuses the blank exchange",
        ChannelState.OPEN,
        Queue.Unbind,
        names_the_default_exchange,
        answer=_refused,
    ),
)
