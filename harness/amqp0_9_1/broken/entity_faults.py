"""Conditions, effects and strategies that are wrong about exchanges, queues and bindings, and their ends."""

from collections.abc import Callable
from dataclasses import replace

from harness.amqp0_9_1.broken.faults import queue_per_binding
from harness.amqp0_9_1.broken.loose import Condition, Effect, Row, Turn
from harness.amqp0_9_1.peer.entities import Binding, Exchange, Message, Publication
from harness.amqp0_9_1.peer.handshake import NEGOTIATING, exceeds_the_offer
from harness.amqp0_9_1.peer.life import delete_exchange, is_durable, joins_durable_ends
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.routing import Matching, headers
from harness.amqp0_9_1.peer.strategies import each_queue_once
from harness.amqp0_9_1.peer.tables.basic import route
from harness.amqp0_9_1.peer.tables.exchange import (
    create_exchange,
    exists_with_another_type,
    must_be_unused_but_is_bound,
)
from harness.amqp0_9_1.peer.tables.queue import (
    bind_queue,
    bind_to_the_default_exchange,
    find_binding,
    is_bound_already,
    must_be_empty_but_has_messages,
    must_be_unused_but_has_consumers,
    purge_queue,
    routing_key,
    unbind_queue,
)
from harness.amqp0_9_1.peer.turn import Tables
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import COMMAND_INVALID
from harness.wire.sasl import MECHANISMS

Finding = Callable[[Exchange, Message, Matching], list[str]]

# -- exchanges and bindings ----------------------------------------------------------------------------


def routes_as(instance: str, wrong: Matching) -> Finding:
    """Routes in one exchange of those pre-declared as if it were of another type."""

    def finding(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
        return each_queue_once(exchange, message, wrong if exchange.name == instance else matches)

    return finding


def queue_per_binding_of(kind: str) -> Finding:
    """Finds a queue once for each of its bindings to exchanges of one type."""

    def finding(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
        names = queue_per_binding(exchange, message, matches)
        return names if exchange.type == kind else list(dict.fromkeys(names))

    return finding


def one_queue_of(kind: str) -> Finding:
    """Finds one queue, however many are bound to an exchange of one type."""

    def finding(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
        names = each_queue_once(exchange, message, matches)
        return names[:1] if exchange.type == kind else names

    return finding


def binds_twice(kind: str) -> Callable[[Tables], Tables]:
    """Keeps the same binding to an exchange of one type a second time, and finds the queue once for each."""

    def is_another(turn: Turn) -> bool:
        return is_bound_already(turn) and turn.host.exchanges[turn.event.exchange].type != kind

    def change(tables: Tables) -> Tables:
        kept = tables.replacing("queue.bind: confirms the same again", condition=is_another)
        return kept.swapping(queues_for=queue_per_binding_of(kind))

    return change


def joins_durable_ends_unless(kind: str) -> Condition:
    """Say whether a binding joins durable ends, none of them an exchange of type `kind`."""

    def is_kept(turn: Turn) -> bool:
        return joins_durable_ends(turn) and turn.host.exchanges[turn.subject.exchange].type != kind

    return is_kept


def bind_by_key_alone(turn: Turn) -> None:
    if not turn.event.arguments:
        bind_queue(turn)


def forget_arguments(turn: Turn) -> None:
    turn.subject.arguments = {}


def reserved_may_match(binding: Binding, message: Message) -> bool:
    """Takes an argument that begins with x- for any other where one that matches is enough."""
    reserved = [name for name in binding.arguments if name.startswith("x-") and name != "x-match"]
    by_any = binding.arguments.get("x-match") == "any"
    return headers(binding, message) or (by_any and any(name in message.headers for name in reserved))


def no_value_is_none_of_any(binding: Binding, message: Message) -> bool:
    """Leaves arguments without a value out where one that matches is enough."""
    if binding.arguments.get("x-match") != "any":
        return headers(binding, message)
    valued = {name: value for name, value in binding.arguments.items() if value is not None}
    return headers(replace(binding, arguments=valued), message)


def key_is_one_of_any(binding: Binding, message: Message) -> bool:
    """Compares the keys as well, where one that matches is enough."""
    by_any = binding.arguments.get("x-match") == "any"
    return headers(binding, message) or (by_any and binding.routing_key == message.routing_key)


def _of_the_same_key(turn: Turn) -> list[Binding]:
    wanted = turn.queue_name, routing_key(turn)
    return [
        each for each in turn.host.bound_to(turn.event.exchange) if (each.queue, each.routing_key) == wanted
    ]


def key_is_bound_already(turn: Turn) -> bool:
    return bool(_of_the_same_key(turn))


def bind_in_place_of_the_same_key(turn: Turn) -> None:
    for each in _of_the_same_key(turn):
        turn.host.bound_to(turn.event.exchange).remove(each)
    bind_queue(turn)


def unbind_from_the_exchange(turn: Turn) -> None:
    bound = turn.host.bound_to(turn.event.exchange)
    bound[:] = [each for each in bound if each.queue != turn.queue_name]


def unbind_by_key(turn: Turn) -> None:
    """Takes off the first binding with the key, whatever its arguments."""
    for each in _of_the_same_key(turn)[:1]:
        turn.host.bound_to(turn.event.exchange).remove(each)


def unbind_without_arguments(turn: Turn) -> None:
    if not turn.event.arguments:
        unbind_queue(turn)


def unbind_without_pattern(turn: Turn) -> None:
    if not set(turn.event.routing_key) & set("*#"):
        unbind_queue(turn)


def would_gain_something(turn: Turn) -> bool:
    """Sees a Declare that says durable, or has arguments, where the exchange is not, or has others."""
    exchange = turn.exchange
    return exchange is not None and (
        (turn.event.durable and not exchange.durable) or exchange.arguments != turn.event.arguments
    )


def differs_but_for_pattern_and_headers(turn: Turn) -> bool:
    """Sees another type, unless both are among topic and headers."""
    alike = ("topic", "headers")
    both = turn.exchange is not None and turn.exchange.type in alike and turn.event.type in alike
    return exists_with_another_type(turn) and not both


def differs_from_no_direct(turn: Turn) -> bool:
    return exists_with_another_type(turn) and turn.exchange is not None and turn.exchange.type != "direct"


def is_durable_unless(kind: str) -> Condition:
    return lambda turn: is_durable(turn) and turn.subject.type != kind


def delete_unless(kind: str) -> Effect:
    """Deletes the exchange this row is about, unless it is of type `kind`."""

    def delete(turn: Turn) -> None:
        if turn.subject.type != kind:
            delete_exchange(turn)

    return delete


def become_direct(turn: Turn) -> None:
    turn.subject.type = "direct"


def is_a_direct_one_in_use(turn: Turn) -> bool:
    return must_be_unused_but_is_bound(turn) and turn.exchange is not None and turn.exchange.type == "direct"


def mute_binding(turn: Turn) -> None:
    turn.subject.queue = ""


def mute_what_is_unbound(turn: Turn) -> None:
    """Lets an unbound binding lead nowhere, and leaves it in its exchange's count."""
    if (binding := find_binding(turn)) is not None:
        binding.queue = ""


# -- passive Declare -----------------------------------------------------------------------------------


def asks_for_its_type(turn: Turn) -> bool:
    return bool(turn.event.passive) and turn.exchange is not None and turn.exchange.type == turn.event.type


def asks_for_a_type_that_exists(turn: Turn) -> bool:
    return bool(turn.event.passive) and turn.event.type in turn.strategies.routing


def asks_without_arguments(turn: Turn) -> bool:
    return bool(turn.event.passive) and not turn.event.arguments


def asks_as_exclusive_as_it_is(turn: Turn) -> bool:
    """Sees a passive Declare that says exclusive where the queue is, shared where it is shared."""
    # One that does not say it was never meant to.
    return bool(turn.event.passive) and (turn.queue.exclusive or not turn.event.exclusive)


# -- queues --------------------------------------------------------------------------------------------


def bind_if_shared(turn: Turn) -> None:
    if not turn.event.exclusive:
        bind_to_the_default_exchange(turn)


def bind_if_kept(turn: Turn) -> None:
    if not turn.event.auto_delete:
        bind_to_the_default_exchange(turn)


def bind_if_no_exchange_is_called_so(turn: Turn) -> None:
    if turn.queue_name not in turn.host.exchanges:
        bind_to_the_default_exchange(turn)


def create_in_place_of_a_queue(turn: Turn) -> None:
    """Makes an exchange, and takes the queue of its name off the default exchange."""
    create_exchange(turn)
    bound = turn.host.bound_to("")
    bound[:] = [each for each in bound if each.queue != turn.event.exchange]


def _to_the_exchange_of_its_key(turn: Turn) -> Publication | None:
    given: Publication = turn.subject
    key = given.method.routing_key
    if given.method.exchange or key not in turn.host.exchanges:
        return None
    given.message.exchange = key
    return replace(given, method=given.method.replace(exchange=key))


def route_to_exchanges_first(turn: Turn) -> None:
    """Takes what is sent to the default exchange to the exchange its key names, else to a queue."""
    route(turn, _to_the_exchange_of_its_key(turn) or turn.subject)


def route_to_exchanges_as_well(turn: Turn) -> None:
    """Takes what is sent to the default exchange to the exchange its key names, and to the queue."""
    if (other := _to_the_exchange_of_its_key(turn)) is not None:
        route(turn, other)
        turn.subject.message.exchange = ""
    route(turn, turn.subject)


def is_durable_and_stays(turn: Turn) -> bool:
    return is_durable(turn) and not turn.subject.auto_delete


def of_another_channel(turn: Turn) -> bool:
    """Sees an exclusive queue that this channel has not declared."""
    queue = turn.find_queue()
    return queue is not None and queue.exclusive and turn.channel.current_queue != queue.name


def would_lose_something(turn: Turn) -> bool:
    """Sees a Declare that says transient or exclusive, or has arguments, where the queue differs."""
    queue, wanted = turn.host.queues.get(turn.event.queue), turn.event
    return queue is not None and (
        (queue.durable and not wanted.durable)
        or queue.exclusive != wanted.exclusive
        or queue.arguments != wanted.arguments
    )


def in_use_and_not_if_empty(turn: Turn) -> bool:
    return must_be_unused_but_has_consumers(turn) and not turn.event.if_empty


def not_empty_and_not_if_unused(turn: Turn) -> bool:
    return must_be_empty_but_has_messages(turn) and not turn.event.if_unused


def purge_what_was_got(turn: Turn) -> None:
    """Removes what waits, and what was taken with Get and is not acknowledged."""
    purge_queue(turn)
    for channel in turn.connection.channels.values():
        channel.unacknowledged = {
            tag: each for tag, each in channel.unacknowledged.items() if each.consumer is not None
        }


def _with_tag(turn: Turn, tag: str) -> None:
    turn.event = turn.event.replace(consumer_tag=tag)


def one_tag_for_all(turn: Turn) -> None:
    """Makes the same tag for all consumers that have none."""
    _with_tag(turn, "amq.ctag")


def tag_of_the_queue(turn: Turn) -> None:
    """Calls a consumer by its queue."""
    _with_tag(turn, turn.queue_name)


def tag_of_a_client(turn: Turn) -> None:
    """Calls a consumer as another one of the channel calls itself, if there is any."""
    _with_tag(turn, next(iter(turn.channel.consumers), "amq.ctag"))


# -- connections and limits ----------------------------------------------------------------------------


def mechanism_is_unknown(turn: Turn) -> bool:
    """Sees only mechanisms that nobody has, offered or not."""
    return turn.event.mechanism not in MECHANISMS


def set_signed_window(turn: Turn) -> None:
    """Takes the upper half of the numbers a count can have for negative ones."""
    count = turn.event.prefetch_count
    turn.channel.window.count = count - 0x10000 if count > 0x7FFF else count


def exceeds_the_offer_by_less_than_all(turn: Turn) -> bool:
    """Sees more than was offered, save the highest number a field holds: that counts as no limit."""
    highest = turn.event.channel_max == 0xFFFF or turn.event.frame_max == 0xFFFFFFFF
    return exceeds_the_offer(turn) and not highest


def says_close_for_methods(tables: Tables) -> Tables:
    """Answers a method that is not due with Close, though the connection is not open yet."""
    row = Row("connection: tells what is not due", NEGOTIATING, Method, answer=refuse(COMMAND_INVALID))
    return tables.inserting("connection: anything else before it is open ends in silence", row)
