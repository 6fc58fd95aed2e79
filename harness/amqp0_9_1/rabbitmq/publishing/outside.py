"""Where RabbitMQ departs from 0-9-1 by its own account: what it refuses, and what it answers instead."""

from harness.amqp0_9_1.peer.entities import Channel, Consumer, Entry
from harness.amqp0_9_1.peer.events import ChannelState, UnknownMethod
from harness.amqp0_9_1.peer.names import exchange_is_missing, queue_is_missing
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.strategies import may_have
from harness.amqp0_9_1.peer.turn import AnyTurn, ChannelTurn
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.rabbitmq.routing.exchanges import policy_of
from harness.amqp0_9_1.wire.frames import METHOD
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, Basic, Exchange, Queue
from harness.amqp0_9_1.wire.vocabulary import Channel as Channels
from harness.peers.rows import answering

REQUEST, REQUEST_OK = (30, 10), b"\x00\x1e\x00\x0b\x00\x01"
"""Access.Request of earlier versions, and the octets of its answer with the ticket one."""


def _refuses(turn: AnyTurn) -> bool:
    return policy_of(turn).outside == "refuse"


def pauses(turn: ChannelTurn[Channels.Flow]) -> bool:
    return not turn.event.active and _refuses(turn)


def limits_octets(turn: ChannelTurn[Basic.Qos]) -> bool:
    return bool(turn.event.prefetch_size) and _refuses(turn)


def does_not_requeue(turn: ChannelTurn[Basic.Recover]) -> bool:
    return not turn.event.requeue and _refuses(turn)


def nothing_is_bound(turn: ChannelTurn[Queue.Unbind]) -> bool:
    """Say whether there is no such binding, because of whatever is missing of it."""
    wanted, queue = turn.event, turn.find_queue()
    if not turn.queue_name or not wanted.exchange:
        return False
    if queue is None or turn.exchange is None:
        return True
    return not any(
        (each.queue, each.routing_key, each.arguments) == (queue.name, wanted.routing_key, wanted.arguments)
        for each in turn.exchange.bindings
    )


def names_no_queue_there_is(turn: ChannelTurn[Queue.Delete]) -> bool:
    return bool(turn.queue_name) and queue_is_missing(turn)


def asks_for_access(turn: ChannelTurn[UnknownMethod]) -> bool:
    return (turn.event.class_id, turn.event.method_id) == REQUEST


def give_a_ticket(turn: ChannelTurn[UnknownMethod]) -> None:
    """Say Access.Request-Ok, whatever was asked for."""
    octets = REQUEST_OK
    head = bytes((METHOD,)) + turn.channel.number.to_bytes(2) + len(octets).to_bytes(4)
    turn.connection.put(head + octets + b"\xce")


def no_local_is_ignored(channel: Channel, consumer: Consumer | None, entry: Entry) -> bool:
    """Say whether a message is for this channel, whoever has published it."""
    if consumer is not None and consumer.no_local:
        consumer.no_local = False
    return may_have(channel, consumer, entry)


OUTSIDE = (
    Row(
        "channel.flow: refuses to pause",
        ChannelState.OPEN,
        Channels.Flow,
        pauses,
        answer=refuse(NOT_IMPLEMENTED),
    ),
    Row(
        "basic.qos: refuses a limit of octets",
        ChannelState.OPEN,
        Basic.Qos,
        limits_octets,
        answer=refuse(NOT_IMPLEMENTED),
    ),
    Row(
        "basic.recover: refuses without requeue",
        ChannelState.OPEN,
        Basic.Recover,
        does_not_requeue,
        answer=refuse(NOT_IMPLEMENTED),
    ),
    Row(
        "exchange.delete: confirms that there is none",
        ChannelState.OPEN,
        Exchange.Delete,
        exchange_is_missing,
        answer=answering(Exchange.DeleteOk()),
    ),
    Row(
        "queue.delete: confirms that there is none",
        ChannelState.OPEN,
        Queue.Delete,
        names_no_queue_there_is,
        answer=answering(Queue.DeleteOk(0)),
    ),
    Row(
        "queue.unbind: confirms that nothing is bound",
        ChannelState.OPEN,
        Queue.Unbind,
        nothing_is_bound,
        answer=answering(Queue.UnbindOk()),
    ),
    Row(
        "access.request: is answered with a ticket",
        ChannelState.OPEN,
        UnknownMethod,
        asks_for_access,
        (give_a_ticket,),
    ),
)
