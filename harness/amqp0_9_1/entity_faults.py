"""Conditions, effects and strategies that are wrong about exchanges, queues and bindings, and their ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.amqp0_9_1.compiled import Method
from harness.amqp0_9_1.faults import queue_per_binding
from harness.amqp0_9_1.peer.entities import Binding, Consumer, Exchange, Message
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.handshake import NEGOTIATING
from harness.amqp0_9_1.peer.life import delete_queue, joins_durable_ends
from harness.amqp0_9_1.peer.queue_table import (
    bind_queue,
    is_bound_already,
    purge_queue,
    routing_key,
    unbind_queue,
)
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.routing import Matching, headers
from harness.amqp0_9_1.peer.rows import Condition, Row, Tables
from harness.amqp0_9_1.peer.strategies import each_queue_once, hears
from harness.amqp0_9_1.peer.turn import Turn
from harness.amqp0_9_1.vocabulary import COMMAND_INVALID, Basic
from harness.sasl import MECHANISMS

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


def binds_twice(kind: str) -> Callable[[Tables], Tables]:
    """Keeps the same binding to an exchange of one type a second time, and finds the queue once for each."""

    def is_another(turn: Turn) -> bool:
        return is_bound_already(turn) and turn.host.exchanges[turn.event.exchange].type != kind

    def change(tables: Tables) -> Tables:
        kept = tables.replacing("queue.bind: confirms the same again", condition=is_another)
        return kept.swapping(queues_for=queue_per_binding_of(kind))

    return change


def joins_durable_ends_unless(kind: str) -> Condition:
    """Bindings between durable ends, but those to exchanges of one type."""

    def is_kept(turn: Turn) -> bool:
        return joins_durable_ends(turn) and turn.host.exchanges[turn.subject.exchange].type != kind

    return is_kept


def bind_by_key_alone(turn: Turn) -> None:
    """Makes no binding that has arguments."""
    if not turn.event.arguments:
        bind_queue(turn)


def forget_arguments(turn: Turn) -> None:
    """Blanks the arguments of the binding this row is about."""
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


def unbind_from_the_exchange(turn: Turn) -> None:
    """Takes off all bindings of the queue to the exchange."""
    bound = turn.host.bound_to(turn.event.exchange)
    bound[:] = [each for each in bound if each.queue != turn.queue_name]


def unbind_by_key(turn: Turn) -> None:
    """Takes off the first binding with the key, whatever its arguments."""
    bound = turn.host.bound_to(turn.event.exchange)
    named = [each for each in bound if (each.queue, each.routing_key) == (turn.queue_name, routing_key(turn))]
    for each in named[:1]:
        bound.remove(each)


def unbind_without_arguments(turn: Turn) -> None:
    """Takes off no binding that has arguments."""
    if not turn.event.arguments:
        unbind_queue(turn)


def unbind_without_pattern(turn: Turn) -> None:
    """Takes off no binding by a pattern."""
    if not set(turn.event.routing_key) & set("*#"):
        unbind_queue(turn)


# -- passive Declare -----------------------------------------------------------------------------------


def asks_for_its_type(turn: Turn) -> bool:
    """A passive Declare with the type that the exchange has."""
    return bool(turn.event.passive) and turn.exchange is not None and turn.exchange.type == turn.event.type


def asks_for_a_type_that_exists(turn: Turn) -> bool:
    """A passive Declare with a type that there is."""
    return bool(turn.event.passive) and turn.event.type in turn.strategies.routing


def asks_without_arguments(turn: Turn) -> bool:
    """A passive Declare without arguments."""
    return bool(turn.event.passive) and not turn.event.arguments


def asks_as_exclusive_as_it_is(turn: Turn) -> bool:
    """A passive Declare that says exclusive where the queue is, and shared where it is shared."""
    # One that does not say it was never meant to.
    return bool(turn.event.passive) and (turn.queue.exclusive or not turn.event.exclusive)


# -- queues --------------------------------------------------------------------------------------------


def generate_name_of_the_connection(turn: Turn) -> None:
    """Counts the queues that have no name of their client's for each connection by itself."""
    mine = [each.name for each in turn.host.queues.values() if each.owner is turn.connection]
    number = next(number for number in range(len(mine) + 1) if f"amq.gen-{number}" not in mine)
    turn.event = turn.event.replace(queue=f"amq.gen-{number}")


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


# -- ends ----------------------------------------------------------------------------------------------


def _end_unseen(consumer: Consumer) -> None:
    consumer.alive = False
    consumer.channel.consumers.pop(consumer.tag, None)
    if consumer in consumer.queue.consumers:
        consumer.queue.consumers.remove(consumer)


def end_consumer_unseen(turn: Turn) -> None:
    """Ends the consumer this row is about, and its queue does not learn of it."""
    _end_unseen(turn.subject)


def end_consumers_unseen(turn: Turn) -> None:
    """Ends all consumers of the connection, and their queues do not learn of it."""
    for channel in turn.connection.channels.values():
        for consumer in list(channel.consumers.values()):
            _end_unseen(consumer)


def hears_while_none_is_closing(consumer: Consumer) -> bool:
    """Sends nothing on any channel while one of them waits for Close-Ok."""
    channels = consumer.channel.connection.channels.values()
    return hears(consumer) and all(each.state is not ChannelState.CLOSING for each in channels)


def delete_what_it_consumed(turn: Turn) -> None:
    """Deletes the auto-delete queue of the consumer this row is about, whoever else consumes from it."""
    queue = turn.subject.queue
    if queue.auto_delete and queue.alive:
        delete_queue(turn.about(turn.event, queue))


def _another_is_closing(turn: Turn) -> bool:
    # What follows a Publish is no method.
    return not isinstance(turn.event, Basic.Publish) and any(
        each.state is ChannelState.CLOSING for each in turn.connection.channels.values()
    )


def deaf_while_one_is_closing(tables: Tables) -> Tables:
    """Hears no method on an open channel while another one waits for Close-Ok."""
    row = Row("channel: waits for the others", ChannelState.OPEN, Method, _another_is_closing)
    return tables.inserting(next(iter(tables)).name, row)


# -- connections and limits ----------------------------------------------------------------------------


def mechanism_is_unknown(turn: Turn) -> bool:
    """No mechanism has this name, whether it was offered or not."""
    return turn.event.mechanism not in MECHANISMS


def set_signed_window(turn: Turn) -> None:
    """Takes the upper half of the numbers a count can have for negative ones."""
    count = turn.event.prefetch_count
    turn.channel.window.count = count - 0x10000 if count > 0x7FFF else count


def says_close_for_methods(tables: Tables) -> Tables:
    """Answers a method that is not due with Close, though the connection is not open yet."""
    row = Row("connection: tells what is not due", NEGOTIATING, Method, answer=refuse(COMMAND_INVALID))
    return tables.inserting("connection: anything else before it is open ends in silence", row)
