"""The queue class."""

from collections import deque

from harness.amqp0_9_1.peer.entities import Binding
from harness.amqp0_9_1.peer.entities import Queue as Entity
from harness.amqp0_9_1.peer.events import ChannelState, Shortened
from harness.amqp0_9_1.peer.life import delete_queue
from harness.amqp0_9_1.peer.names import (
    default_exchange_is_kept,
    exchange_is_missing,
    generate_name,
    has_name_syntax,
    is_reserved,
    queue_is_locked,
    queue_is_missing,
    use_of_a_queue,
)
from harness.amqp0_9_1.peer.policy import Level, Policy, Refusal
from harness.amqp0_9_1.peer.refusals import refuse, refuse_by
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, Reply
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    RESOURCE_ERROR,
    RESOURCE_LOCKED,
    Queue,
)
from harness.peers.rows import answering

OPEN = ChannelState.OPEN


def has_no_name(turn: ChannelTurn[Queue.Declare]) -> bool:
    return not turn.event.queue


def passive_and_missing(turn: ChannelTurn[Queue.Declare]) -> bool:
    return turn.event.passive and queue_is_missing(turn)


def passive_missing_and_no_wait_has_no_effect(turn: ChannelTurn[Queue.Declare]) -> bool:
    """Say whether the policy lets a check with no-wait that finds nothing have no effect."""
    return turn.policy.passive_no_wait == "silence" and turn.event.no_wait and passive_and_missing(turn)


def declared_queue_is_locked(turn: ChannelTurn[Queue.Declare]) -> bool:
    """Say whether the queue is another connection's; a blank name, unless passive, is a new queue's."""
    return bool(turn.event.queue or turn.event.passive) and queue_is_locked(turn)


def is_passive(turn: ChannelTurn[Queue.Declare]) -> bool:
    """Say whether this is only a check; all fields but name and no-wait are ignored."""
    return turn.event.passive


def name_is_illegal(turn: ChannelTurn[Queue.Declare]) -> bool:
    return not has_name_syntax(turn.event.queue, turn.policy.name_limit)


def named_queue_exists(turn: ChannelTurn[Queue.Declare]) -> bool:
    return turn.event.queue in turn.host.queues


def exists_otherwise(turn: ChannelTurn[Queue.Declare]) -> bool:
    """Say whether the queue was declared with another durable or exclusive, or other arguments."""
    queue, wanted = turn.host.queues.get(turn.event.queue), turn.event
    return queue is not None and (queue.durable, queue.exclusive, queue.arguments) != (
        wanted.durable,
        wanted.exclusive,
        wanted.arguments,
    )


def auto_delete_differs_and_matters(turn: ChannelTurn[Queue.Declare]) -> bool:
    """Say whether auto-delete differs and the policy looks at it (auto-delete.pre-existence)."""
    queue = turn.host.queues.get(turn.event.queue)
    differs = queue is not None and queue.auto_delete != turn.event.auto_delete
    return differs and turn.policy.auto_delete_mismatch == "refuse"


def name_is_reserved(turn: ChannelTurn[Queue.Declare]) -> bool:
    return is_reserved(turn.event.queue)


def there_are_too_many(turn: ChannelTurn[Queue.Declare]) -> bool:
    return len(turn.host.queues) >= turn.peer.limits.entities


def create_queue(turn: ChannelTurn[Queue.Declare]) -> None:
    """Make the queue; an exclusive one belongs to this connection."""
    wanted = turn.event
    turn.host.queues[wanted.queue] = Entity(
        wanted.queue,
        wanted.durable,
        wanted.auto_delete,
        turn.connection if wanted.exclusive else None,
        wanted.arguments,
        [deque() for _ in range(turn.policy.levels(wanted.arguments))],
    )


def bind_to_the_default_exchange(turn: ChannelTurn[Queue.Declare]) -> None:
    name = turn.event.queue
    turn.host.bound_to("").append(Binding("", name, name, {}))


def becomes_current(turn: ChannelTurn[Queue.Declare]) -> None:
    """Let blank queue names on this channel mean this queue from now on."""
    turn.channel.current_queue = turn.queue_name


def declare_ok(turn: ChannelTurn[Queue.Declare]) -> Reply:
    """Answer with Queue.Declare-Ok and the counts; consumers whose channel is paused do not count."""
    queue = turn.find_queue()
    if queue is None:
        return Queue.DeclareOk(turn.queue_name, 0, 0)
    active = sum(each.channel.flowing for each in queue.consumers)
    on_their_way = turn.policy.counts_what_is_on_its_way
    waiting = sum(on_their_way or each.serial < queue.seen for each in queue)
    return Queue.DeclareOk(queue.name, waiting, active)


_declare = Row("queue.declare", OPEN, Queue.Declare)
_DECLARE = (
    _declare("passive and no-wait has no effect", passive_missing_and_no_wait_has_no_effect),
    _declare("passive refuses one that does not exist", passive_and_missing, answer=refuse(NOT_FOUND)),
    _declare(
        "refuses a queue locked by another connection",
        declared_queue_is_locked,
        answer=refuse(RESOURCE_LOCKED),
    ),
    _declare("passive confirms one that exists", is_passive, effects=(becomes_current,), answer=declare_ok),
    _declare("refuses an illegal name", name_is_illegal, answer=refuse(PRECONDITION_FAILED)),
    _declare(
        "refuses another durable or exclusive or other arguments",
        exists_otherwise,
        answer=refuse(PRECONDITION_FAILED),
    ),
    _declare(
        "refuses another auto-delete", auto_delete_differs_and_matters, answer=refuse(PRECONDITION_FAILED)
    ),
    _declare("confirms the same again", named_queue_exists, effects=(becomes_current,), answer=declare_ok),
    _declare("refuses a reserved name", name_is_reserved, answer=refuse(ACCESS_REFUSED)),
    _declare("refuses when there are too many", there_are_too_many, answer=refuse(RESOURCE_ERROR)),
    _declare(
        "creates one with a generated name",
        has_no_name,
        (generate_name, create_queue, bind_to_the_default_exchange, becomes_current),
        declare_ok,
    ),
    _declare(
        "creates it", effects=(create_queue, bind_to_the_default_exchange, becomes_current), answer=declare_ok
    ),
)


def routing_key(turn: ChannelTurn[Queue.Bind | Queue.Unbind]) -> str:
    """Give the binding's key; with queue and key both blank it is the queue's name."""
    event = turn.event
    return event.routing_key or ("" if event.queue else turn.queue_name)


def find_binding(turn: ChannelTurn[Queue.Bind | Queue.Unbind]) -> Binding | None:
    """Give the binding with the method's exchange, queue, key and arguments."""
    queue, key = turn.queue_name, routing_key(turn)
    for each in turn.host.bound_to(turn.event.exchange):
        if each.queue == queue and each.routing_key == key and each.arguments == turn.event.arguments:
            return each
    return None


def is_bound_already(turn: ChannelTurn[Queue.Bind]) -> bool:
    """Say whether an identical binding exists (queue.bind.duplicates)."""
    return find_binding(turn) is not None


def exchange_has_too_many_bindings(turn: ChannelTurn[Queue.Bind]) -> bool:
    return len(turn.host.bound_to(turn.event.exchange)) >= turn.peer.limits.entities


def bind_queue(turn: ChannelTurn[Queue.Bind]) -> None:
    wanted = turn.event
    binding = Binding(wanted.exchange, turn.queue_name, routing_key(turn), wanted.arguments)
    turn.host.bound_to(wanted.exchange).append(binding)


bind_ok = answering(Queue.BindOk())


def is_not_bound_and_matters(turn: ChannelTurn[Queue.Unbind]) -> bool:
    """Say whether there is no such binding and the policy refuses that (queue.unbind.queue.must-exist)."""
    return turn.policy.missing_binding == "refuse" and find_binding(turn) is None


def unbind_queue(turn: ChannelTurn[Queue.Unbind]) -> None:
    """Remove the binding if there is one."""
    binding = find_binding(turn)
    if binding is not None:
        turn.host.bound_to(binding.exchange).remove(binding)


unbind_ok = answering(Queue.UnbindOk())


def _unknown_in_unbind(policy: Policy) -> Refusal:
    refusal = policy.current_queue_unknown
    return Refusal(refusal.code, Level.CONNECTION) if policy.unbind_failure is Level.CONNECTION else refusal


refuse_unbind = refuse_by(lambda policy: Refusal(NOT_FOUND, policy.unbind_failure))
refuse_locked_unbind = refuse_by(lambda policy: Refusal(RESOURCE_LOCKED, policy.unbind_failure))

_bind = Row("queue.bind", OPEN, Queue.Bind)
_unbind = Row("queue.unbind", OPEN, Queue.Unbind)
_BIND = (
    *use_of_a_queue(Queue.Bind),
    _bind("refuses an exchange that does not exist", exchange_is_missing, answer=refuse(NOT_FOUND)),
    _bind("confirms the same again", is_bound_already, answer=bind_ok),
    _bind("refuses when there are too many", exchange_has_too_many_bindings, answer=refuse(RESOURCE_ERROR)),
    _bind("binds", effects=(bind_queue,), answer=bind_ok),
    *use_of_a_queue(Queue.Unbind, refuse_by(_unknown_in_unbind), refuse_unbind, refuse_locked_unbind),
    _unbind(
        "refuses the default exchange",
        default_exchange_is_kept,
        answer=refuse_by(lambda policy: policy.default_unbind),
    ),
    _unbind("refuses an exchange that does not exist", exchange_is_missing, answer=refuse_unbind),
    _unbind("refuses a binding that does not exist", is_not_bound_and_matters, answer=refuse_unbind),
    _unbind("unbinds", effects=(unbind_queue,), answer=unbind_ok),
)


def purge_queue(turn: ChannelTurn[Queue.Purge]) -> None:
    """Remove the messages that are not awaiting acknowledgement."""
    queue = turn.queue
    turn.count = len(queue)
    for level in queue.levels:
        level.clear()
    turn.peer.meet(Entity, turn.about(Shortened(), queue))


def purge_ok(turn: ChannelTurn[Queue.Purge]) -> Reply:
    """Answer with Queue.Purge-Ok and the number of messages purged."""
    return Queue.PurgeOk(turn.count)


def must_be_unused_but_has_consumers(turn: ChannelTurn[Queue.Delete]) -> bool:
    return bool(turn.event.if_unused and turn.queue.consumers)


def must_be_empty_but_has_messages(turn: ChannelTurn[Queue.Delete]) -> bool:
    queue = turn.queue
    also = queue.unacknowledged if turn.policy.unacknowledged_count_as_messages else 0
    return bool(turn.event.if_empty and (len(queue) or also))


def delete_it(turn: ChannelTurn[Queue.Delete]) -> None:
    """Delete the queue the method names, and count its messages."""
    also = turn.queue.unacknowledged if turn.policy.unacknowledged_count_as_deleted else 0
    turn.count = len(turn.queue) + also
    delete_queue(turn.about(turn.event, turn.queue))


def delete_ok(turn: ChannelTurn[Queue.Delete]) -> Reply:
    """Answer with Queue.Delete-Ok and the number of messages deleted."""
    return Queue.DeleteOk(turn.count)


_delete = Row("queue.delete", OPEN, Queue.Delete)
_PURGE_AND_DELETE = (
    *use_of_a_queue(Queue.Purge),
    Row(
        "queue.purge: removes what awaits no acknowledgement",
        OPEN,
        Queue.Purge,
        effects=(purge_queue,),
        answer=purge_ok,
    ),
    *use_of_a_queue(Queue.Delete),
    _delete(
        "if-unused refuses one with consumers",
        must_be_unused_but_has_consumers,
        answer=refuse(PRECONDITION_FAILED),
    ),
    _delete(
        "if-empty refuses one with messages",
        must_be_empty_but_has_messages,
        answer=refuse(PRECONDITION_FAILED),
    ),
    _delete("deletes it", effects=(delete_it,), answer=delete_ok),
)
QUEUE = (*_DECLARE, *_BIND, *_PURGE_AND_DELETE)
