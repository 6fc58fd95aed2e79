"""The exchange class."""

from harness.amqp0_9_1.peer.entities import Exchange as Entity
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.life import delete_exchange
from harness.amqp0_9_1.peer.names import exchange_is_missing, has_name_syntax, is_reserved
from harness.amqp0_9_1.peer.refusals import refuse, refuse_by
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    COMMAND_INVALID,
    NOT_FOUND,
    PRECONDITION_FAILED,
    RESOURCE_ERROR,
    Exchange,
)
from harness.peers.rows import answering

OPEN = ChannelState.OPEN


def is_the_default_exchange(turn: ChannelTurn[Exchange.Declare | Exchange.Delete]) -> bool:
    """Say whether the name is blank, as only Bind, Unbind and Publish allow (exchange.default-access)."""
    return not turn.event.exchange


def name_is_illegal(turn: ChannelTurn[Exchange.Declare]) -> bool:
    return not has_name_syntax(turn.event.exchange, turn.policy.name_limit)


def is_the_default_and_cannot_match(turn: ChannelTurn[Exchange.Declare]) -> bool:
    """Say whether the policy does not even let the default exchange match a Declare."""
    return is_the_default_exchange(turn) and turn.policy.blank_exchange != "confirm"


def passive_and_missing(turn: ChannelTurn[Exchange.Declare]) -> bool:
    return turn.event.passive and exchange_is_missing(turn)


def passive_missing_and_no_wait_has_no_effect(turn: ChannelTurn[Exchange.Declare]) -> bool:
    """Say whether the policy lets a check with no-wait that finds nothing have no effect."""
    return turn.policy.passive_no_wait == "silence" and turn.event.no_wait and passive_and_missing(turn)


def is_passive(turn: ChannelTurn[Exchange.Declare]) -> bool:
    """Say whether this is only a check; all fields but name and no-wait are ignored."""
    return turn.event.passive


def type_is_not_supported(turn: ChannelTurn[Exchange.Declare]) -> bool:
    return turn.event.type not in turn.strategies.routing


def exists_with_another_type(turn: ChannelTurn[Exchange.Declare]) -> bool:
    return turn.exchange is not None and turn.exchange.type != turn.event.type


def exists_otherwise(turn: ChannelTurn[Exchange.Declare]) -> bool:
    """Say whether the exchange was declared with another durable or other arguments."""
    exchange = turn.exchange
    return exchange is not None and (
        exchange.durable != turn.event.durable or exchange.arguments != turn.event.arguments
    )


def exists(turn: ChannelTurn[Exchange.Declare]) -> bool:
    return turn.exchange is not None


def name_is_reserved(turn: ChannelTurn[Exchange.Declare]) -> bool:
    return is_reserved(turn.event.exchange)


def there_are_too_many(turn: ChannelTurn[Exchange.Declare]) -> bool:
    return len(turn.host.exchanges) >= turn.peer.limits.entities


def create_exchange(turn: ChannelTurn[Exchange.Declare]) -> None:
    """Make the exchange; the bits that 0-9-1 reserves have no meaning to its own rows."""
    wanted = turn.event
    turn.host.exchanges[wanted.exchange] = Entity(
        wanted.exchange,
        wanted.type,
        wanted.durable,
        wanted.arguments,
        turn.host.bound_to(wanted.exchange),
        auto_delete=wanted.auto_delete,
        internal=wanted.internal,
    )


declare_ok = answering(Exchange.DeclareOk())


def is_predeclared(turn: ChannelTurn[Exchange.Delete]) -> bool:
    return turn.exchange is not None and turn.exchange.predeclared


def must_be_unused_but_is_bound(turn: ChannelTurn[Exchange.Delete]) -> bool:
    return bool(turn.event.if_unused and turn.exchange and turn.exchange.bindings)


def delete_it(turn: ChannelTurn[Exchange.Delete]) -> None:
    assert turn.exchange is not None
    delete_exchange(turn.about(turn.event, turn.exchange))


delete_ok = answering(Exchange.DeleteOk())

_declare = Row("exchange.declare", OPEN, Exchange.Declare)
_delete = Row("exchange.delete", OPEN, Exchange.Delete)
EXCHANGE = (
    _declare(
        "refuses the default exchange",
        is_the_default_and_cannot_match,
        answer=refuse_by(lambda policy: policy.blank_exchange),
    ),
    _declare("passive and no-wait has no effect", passive_missing_and_no_wait_has_no_effect),
    _declare("passive refuses one that does not exist", passive_and_missing, answer=refuse(NOT_FOUND)),
    _declare("passive confirms one that exists", is_passive, answer=declare_ok),
    _declare("refuses an illegal name", name_is_illegal, answer=refuse(PRECONDITION_FAILED)),
    _declare("refuses a type that is not supported", type_is_not_supported, answer=refuse(COMMAND_INVALID)),
    _declare(
        "refuses another type", exists_with_another_type, answer=refuse_by(lambda policy: policy.type_change)
    ),
    _declare(
        "refuses another durable or other arguments", exists_otherwise, answer=refuse(PRECONDITION_FAILED)
    ),
    _declare("confirms the same again", exists, answer=declare_ok),
    _declare("refuses a reserved name", name_is_reserved, answer=refuse(ACCESS_REFUSED)),
    _declare("refuses when there are too many", there_are_too_many, answer=refuse(RESOURCE_ERROR)),
    _declare("creates it", effects=(create_exchange,), answer=declare_ok),
    _delete("refuses the default exchange", is_the_default_exchange, answer=refuse(ACCESS_REFUSED)),
    _delete("refuses one that does not exist", exchange_is_missing, answer=refuse(NOT_FOUND)),
    _delete("refuses a pre-declared one", is_predeclared, answer=refuse(ACCESS_REFUSED)),
    _delete(
        "if-unused refuses one with bindings", must_be_unused_but_is_bound, answer=refuse(PRECONDITION_FAILED)
    ),
    _delete("deletes it", effects=(delete_it,), answer=delete_ok),
)
