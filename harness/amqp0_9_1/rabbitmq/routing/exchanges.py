"""Exchanges bound to exchanges, deleted by themselves, and kept from publishers."""

from typing import TypeAlias, cast

from harness.amqp0_9_1.peer.entities import Binding, Publication
from harness.amqp0_9_1.peer.events import (
    ChannelState,
    ContentComplete,
    ExchangeDeleted,
    QueueDeleted,
    Routing,
)
from harness.amqp0_9_1.peer.life import delete_exchange, remove_binding
from harness.amqp0_9_1.peer.names import queue_is_locked
from harness.amqp0_9_1.peer.policy import Refusal
from harness.amqp0_9_1.peer.refusals import refuse, refuse_by
from harness.amqp0_9_1.peer.tables.queue import find_binding, unbind_ok, unbind_queue
from harness.amqp0_9_1.peer.turn import AnyTurn, ChannelTurn, LifeRow, LifeTurn
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.rabbitmq.policy import Policy
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    RESOURCE_ERROR,
    Basic,
    Exchange,
    Queue,
)
from harness.peers.events import Restarting
from harness.peers.rows import answering

OPEN = ChannelState.OPEN


def policy_of(turn: AnyTurn) -> Policy:
    """Give the choices about the extensions."""
    return cast(Policy, turn.policy)


# -- Declare, and the end of what nothing is bound to ----------------------------------------------------


def auto_delete_differs_and_matters(turn: ChannelTurn[Exchange.Declare]) -> bool:
    """Say whether auto-delete differs and the policy looks at it (auto-delete.ignored-if-exists)."""
    exchange = turn.exchange
    differs = exchange is not None and exchange.auto_delete != turn.event.auto_delete
    return differs and not turn.event.passive and turn.policy.auto_delete_mismatch == "refuse"


def leads_to_its_last(turn: AnyTurn, binding: Binding | None) -> bool:
    """Say whether this is the last binding of an exchange with auto-delete, by which it leads anywhere."""
    exchange = turn.host.exchanges.get(binding.exchange) if binding is not None else None
    return exchange is not None and exchange.auto_delete and exchange.bindings == [binding]


def delete_the_exchange_of(turn: AnyTurn, name: str) -> None:
    delete_exchange(turn.about(turn.event, turn.host.exchanges[name]))


def is_the_last(turn: LifeTurn[object, Binding]) -> bool:
    return leads_to_its_last(turn, turn.subject)


def delete_its_exchange(turn: LifeTurn[object, Binding]) -> None:
    """Delete the exchange whose last binding has gone."""
    delete_the_exchange_of(turn, turn.subject.exchange)


def last_queue_is_unbound(turn: ChannelTurn[Queue.Unbind]) -> bool:
    return not queue_is_locked(turn) and leads_to_its_last(turn, find_binding(turn))


def delete_the_exchange(turn: ChannelTurn[Queue.Unbind]) -> None:
    delete_the_exchange_of(turn, turn.event.exchange)


_DECLARE = (
    Row(
        "exchange.declare: refuses another auto-delete",
        OPEN,
        Exchange.Declare,
        auto_delete_differs_and_matters,
        answer=refuse(PRECONDITION_FAILED),
    ),
)
_AUTO_DELETE = (
    Row(
        "queue.unbind: unbinds the last, and deletes the exchange",
        OPEN,
        Queue.Unbind,
        last_queue_is_unbound,
        (unbind_queue, delete_the_exchange),
        unbind_ok,
    ),
    LifeRow(
        "queue end: removes the last binding, and deletes the exchange",
        Binding,
        QueueDeleted,
        is_the_last,
        (remove_binding, delete_its_exchange),
    ),
    LifeRow(
        "exchange end: removes the last binding that leads to it, and deletes the source",
        Binding,
        ExchangeDeleted,
        is_the_last,
        (remove_binding, delete_its_exchange),
    ),
)


# -- Bind and Unbind -------------------------------------------------------------------------------------

Both: TypeAlias = Exchange.Bind | Exchange.Unbind


def names_the_default_exchange(turn: ChannelTurn[Both]) -> bool:
    return not turn.event.source or not turn.event.destination


def default_exchange_is_not_bound(turn: ChannelTurn[Both]) -> bool:
    """Say whether the policy keeps the default exchange out of bindings (exchange.default-access)."""
    return policy_of(turn).default_exchange_bound != "serve" and names_the_default_exchange(turn)


def source_is_missing(turn: ChannelTurn[Both]) -> bool:
    return turn.event.source not in turn.host.exchanges


def destination_is_missing(turn: ChannelTurn[Both]) -> bool:
    return turn.event.destination not in turn.host.exchanges


def bound(turn: ChannelTurn[Both]) -> Binding | None:
    """Give the binding with the method's source, destination, key and arguments."""
    wanted = turn.event
    for each in turn.host.bound_to(wanted.source):
        same = each.destination == wanted.destination and each.routing_key == wanted.routing_key
        if same and each.arguments == wanted.arguments:
            return each
    return None


def is_bound_already(turn: ChannelTurn[Exchange.Bind]) -> bool:
    """Say whether an identical binding exists (exchange.bind.duplicates)."""
    return bound(turn) is not None


def source_has_too_many_bindings(turn: ChannelTurn[Exchange.Bind]) -> bool:
    return len(turn.host.bound_to(turn.event.source)) >= turn.peer.limits.entities


def bind_exchange(turn: ChannelTurn[Exchange.Bind]) -> None:
    wanted = turn.event
    binding = Binding(wanted.source, "", wanted.routing_key, wanted.arguments, wanted.destination)
    turn.host.bound_to(wanted.source).append(binding)


def is_not_bound_and_matters(turn: ChannelTurn[Exchange.Unbind]) -> bool:
    """Say whether there is no such binding and the policy refuses that (exchange.unbind.01)."""
    return turn.policy.missing_binding == "refuse" and bound(turn) is None


def unbind_exchange(turn: ChannelTurn[Exchange.Unbind]) -> None:
    """Remove the binding if there is one."""
    if (binding := bound(turn)) is not None:
        turn.host.bound_to(binding.exchange).remove(binding)


def last_exchange_is_unbound(turn: ChannelTurn[Exchange.Unbind]) -> bool:
    return leads_to_its_last(turn, bound(turn))


def delete_the_source(turn: ChannelTurn[Exchange.Unbind]) -> None:
    delete_the_exchange_of(turn, turn.event.source)


bind_exchange_ok = answering(Exchange.BindOk())
unbind_exchange_ok = answering(Exchange.UnbindOk())
refuse_unbind = refuse_by(lambda policy: Refusal(NOT_FOUND, policy.unbind_failure))
refuse_the_default = refuse_by(lambda policy: cast(Policy, policy).default_exchange_bound)

_bind = Row("exchange.bind", OPEN, Exchange.Bind)
_unbind = Row("exchange.unbind", OPEN, Exchange.Unbind)
_BIND = (
    _bind("refuses the default exchange", default_exchange_is_not_bound, answer=refuse_the_default),
    _bind("refuses a source that does not exist", source_is_missing, answer=refuse(NOT_FOUND)),
    _bind("refuses a destination that does not exist", destination_is_missing, answer=refuse(NOT_FOUND)),
    _bind("confirms the same again", is_bound_already, answer=bind_exchange_ok),
    _bind("refuses when there are too many", source_has_too_many_bindings, answer=refuse(RESOURCE_ERROR)),
    _bind("binds", effects=(bind_exchange,), answer=bind_exchange_ok),
    _unbind("refuses the default exchange", default_exchange_is_not_bound, answer=refuse_the_default),
    _unbind("refuses a source that does not exist", source_is_missing, answer=refuse_unbind),
    _unbind("refuses a destination that does not exist", destination_is_missing, answer=refuse_unbind),
    _unbind("refuses a binding that does not exist", is_not_bound_and_matters, answer=refuse_unbind),
    _unbind(
        "unbinds the last, and deletes the source",
        last_exchange_is_unbound,
        (unbind_exchange, delete_the_source),
        unbind_exchange_ok,
    ),
    _unbind("unbinds", effects=(unbind_exchange,), answer=unbind_exchange_ok),
)


def joins_durable_exchanges(turn: LifeTurn[Restarting, Binding]) -> bool:
    """Say whether both source and destination are durable exchanges (e2e.durable)."""
    named = (turn.subject.exchange, turn.subject.destination or "")
    ends = [turn.host.exchanges.get(each) for each in named]
    return turn.subject.destination is not None and all(each is not None and each.durable for each in ends)


_RESTART = (
    LifeRow(
        "restart: keeps bindings between durable exchanges", Binding, Restarting, joins_durable_exchanges
    ),
)


# -- internal exchanges ----------------------------------------------------------------------------------


def is_internal(turn: ChannelTurn[Basic.Publish]) -> bool:
    """Say whether publishers may not use the exchange, and the policy says so to them."""
    exchange = turn.exchange
    return exchange is not None and exchange.internal and policy_of(turn).published_to_internal == "refuse"


def was_sent_to_an_internal_one(turn: LifeTurn[ContentComplete, Publication]) -> bool:
    exchange = turn.host.exchanges.get(turn.subject.method.exchange)
    return exchange is not None and exchange.internal


def route_nowhere(turn: LifeTurn[ContentComplete, Publication]) -> None:
    """Let the rows for routing decide about a message that no queue is found for."""
    turn.peer.meet(Publication, turn.about(Routing(), turn.subject))


_INTERNAL = (
    Row(
        "basic.publish: refuses an internal exchange",
        OPEN,
        Basic.Publish,
        is_internal,
        answer=refuse(ACCESS_REFUSED),
    ),
    LifeRow(
        "basic.publish: to an internal exchange goes nowhere",
        Publication,
        ContentComplete,
        was_sent_to_an_internal_one,
        (route_nowhere,),
    ),
)
EXCHANGES = (*_DECLARE, *_AUTO_DELETE, *_BIND, *_RESTART, *_INTERNAL)
