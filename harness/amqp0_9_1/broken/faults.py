"""Strategies that are wrong, to be swapped into the reference peer: what no table row can express."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from harness.amqp0_9_1.broken.deviations import Fault, changes
from harness.amqp0_9_1.broken.loose import Answer, Condition, Row, Turn
from harness.amqp0_9_1.peer.deliveries import settle
from harness.amqp0_9_1.peer.entities import Binding, Channel, Consumer, Entry, Exchange, Message, Queue
from harness.amqp0_9_1.peer.events import ChannelState, ConnectionState
from harness.amqp0_9_1.peer.handshake import enter_the_host
from harness.amqp0_9_1.peer.life import cancel_consumer
from harness.amqp0_9_1.peer.names import exchange_is_missing
from harness.amqp0_9_1.peer.refusals import close_in_silence, refuse
from harness.amqp0_9_1.peer.routing import Matching, headers, topic
from harness.amqp0_9_1.peer.strategies import each_queue_once
from harness.amqp0_9_1.peer.tables.exchange import create_exchange
from harness.amqp0_9_1.peer.turn import Tables
from harness.amqp0_9_1.wire.vocabulary import NOT_ALLOWED, Basic, Connection
from harness.peers.rows import always


def queue_per_binding(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
    return [each.queue for each in exchange.bindings if matches(each, message)]


def persistent_first(queue: Queue, level: int, entry: Entry) -> None:
    """Puts persistent messages before transient ones of the same priority."""
    entries = queue.levels[level]
    if entry.message.persistent:
        entries.insert(0, entry)
    else:
        entries.append(entry)


# -- deliveries and flow -------------------------------------------------------------------------------


def tags_from_zero(channel: Channel) -> int:
    channel.last_tag += 1
    return channel.last_tag - 1


def never_redelivered(_: Entry) -> bool:
    return False


def always_redelivered(_: Entry) -> bool:
    return True


def settle_on_any_channel(turn: Turn) -> None:
    tag = turn.event.delivery_tag
    for channel in turn.connection.channels.values():
        if tag in channel.unacknowledged:
            settle(channel.unacknowledged[tag])


def regardless_of_the_client(consumer: Consumer) -> bool:
    """Sends to every consumer of an open channel, whether its client reads or wants it or not."""
    return consumer.channel.delivers


def stop_flow(turn: Turn) -> None:
    turn.channel.flowing = False


def _is_long(turn: Turn) -> bool:
    return len(turn.subject) >= 100 and turn.channel not in turn.host.paused


def _goes_on(turn: Turn) -> bool:
    return turn.channel in turn.host.paused


PAUSES_PUBLISHERS = Fault(
    lambda tables: tables.replacing("overflow: asks the publisher to pause", condition=_is_long)
)
"""Asks a publisher to pause when its queue is long."""

BANS_THE_UNRULY = Fault(
    lambda tables: PAUSES_PUBLISHERS.change(tables).inserting(
        "basic.publish: its content follows",
        Row("basic.publish: bans", ChannelState.OPEN, Basic.Publish, _goes_on, answer=refuse(NOT_ALLOWED)),
    )
)
"""Asks a publisher to pause, and disconnects one that goes on."""


def uncut(body: bytes, _: int) -> list[bytes]:
    """Sends a body in one frame, however large."""
    return [body]


def stop_all_flow(turn: Turn) -> None:
    for channel in turn.connection.channels.values():
        channel.flowing = False


def cancel_all_consumers(turn: Turn) -> None:
    for channel in turn.connection.channels.values():
        for consumer in list(channel.consumers.values()):
            cancel_consumer(turn.about(turn.event, consumer))


# -- connections and virtual hosts ---------------------------------------------------------------------


def serve_on_a_channel(turn: Turn) -> None:
    """Serves a method on a connection that is closing as if it were open."""
    channel = Channel(turn.connection, 1)
    turn.peer.meet(ChannelState.OPEN, turn.on(channel))


def enter_the_first_host(turn: Turn) -> None:
    enter_the_host(turn)
    turn.connection.host = next(iter(turn.peer.virtual_hosts.values()))


def is_a_direct_one(turn: Turn) -> bool:
    """Sees only that the default exchange is declared as what it is."""
    return not turn.event.exchange and turn.event.type == "direct"


def forget_bindings(turn: Turn) -> None:
    turn.host.bound_to(turn.event.exchange).clear()


def goes_over_to_another_host(answer: Answer | None) -> Fault:
    """Enters another virtual host whenever Open asks for it, and answers so."""
    row = Row(
        "connection.open: goes over", ConnectionState.OPEN, Connection.Open, always, (enter_the_host,), answer
    )
    return Fault(lambda tables: tables.inserting("connection.open: the same again is confirmed", row))


def share_exchanges(turn: Turn) -> None:
    """Gives all virtual hosts the exchanges of the first one."""
    enter_the_host(turn)
    turn.host.exchanges = next(iter(turn.peer.virtual_hosts.values())).exchanges


def share_queues(turn: Turn) -> None:
    """Gives all virtual hosts the queues of the first one."""
    enter_the_host(turn)
    turn.host.queues = next(iter(turn.peer.virtual_hosts.values())).queues


def is_not_the_only_one(turn: Turn) -> bool:
    return bool(turn.connection.channel_max != 1)


def number_is_the_limit(turn: Turn) -> bool:
    limit = turn.connection.channel_max or 0xFFFF
    return bool(turn.channel.number >= limit)


def close_after_a_pause(turn: Turn) -> None:
    """Says nothing more, and closes the socket three seconds later."""
    close_in_silence(turn)
    turn.connection.closed = None
    turn.connection.state = ConnectionState.CONDEMNED
    turn.connection.wait(3.0)


# -- exchanges -----------------------------------------------------------------------------------------


def matches_nothing(_: Binding, __: Message) -> bool:
    return False


def only_from_durable(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
    return [each.queue for each in exchange.bindings if exchange.durable and matches(each, message)]


def only_from_transient(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
    """Finds queues through the default exchange and transient ones alone."""
    serves = not exchange.durable or not exchange.name
    return [each.queue for each in exchange.bindings if serves and matches(each, message)]


def create_while_there_is_room(turn: Turn) -> None:
    """Makes an exchange as long as the virtual host has less than 15."""
    if len(turn.host.exchanges) < 15:
        create_exchange(turn)


def lacks(name: str, beyond_the_first_host: bool = False) -> Condition:
    """Say whether an exchange is missing or is called `name`, perhaps only beyond the first virtual host."""

    def is_missing(turn: Turn) -> bool:
        spared = beyond_the_first_host and turn.host is next(iter(turn.peer.virtual_hosts.values()))
        return exchange_is_missing(turn) or (turn.event.exchange == name and not spared)

    return is_missing


def equal_but_for_case(binding: Binding, message: Message) -> bool:
    return binding.routing_key.lower() == message.routing_key.lower()


def first_queue_only(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
    return each_queue_once(exchange, message, matches)[:1]


def twice(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
    return each_queue_once(exchange, message, matches) * 2


def only_with_a_key(_: Binding, message: Message) -> bool:
    return bool(message.routing_key)


def no_empty_words(binding: Binding, message: Message) -> bool:
    """Routes keys in which dots stand between words only."""
    return topic(binding, message) and all(message.routing_key.split("."))


def hash_wants_a_word(binding: Binding, message: Message) -> bool:
    """Takes # in a pattern for one word or more."""
    return topic(replace(binding, routing_key=binding.routing_key.replace("#", "*.#")), message)


def star_takes_any_number(binding: Binding, message: Message) -> bool:
    """Takes * in a pattern for #."""
    return topic(replace(binding, routing_key=binding.routing_key.replace("*", "#")), message)


def _matching(binding: Binding, message: Message, **match: str) -> bool:
    return headers(replace(binding, arguments={**binding.arguments, **match}), message)


def all_must_match(binding: Binding, message: Message) -> bool:
    return _matching(binding, message, **{"x-match": "all"})


def any_may_match(binding: Binding, message: Message) -> bool:
    return _matching(binding, message, **{"x-match": "any"})


def no_value_is_a_value(binding: Binding, message: Message) -> bool:
    """Wants a header without a value where the binding has none."""
    blank = [name for name, value in binding.arguments.items() if value is None]
    return headers(binding, message) and all(message.headers[name] is None for name in blank)


def headers_and_key(binding: Binding, message: Message) -> bool:
    """Compares the keys as well as the headers."""
    return headers(binding, message) and binding.routing_key == message.routing_key


def counts_what_is_reserved(binding: Binding, message: Message) -> bool:
    """Compares every argument of the binding but x-match."""
    reserved = [name for name in binding.arguments if name.startswith("x-") and name != "x-match"]
    return headers(binding, message) and all(name in message.headers for name in reserved)


def is_full(method: str, room: int, of: Callable[[Any], Collection[object]]) -> Fault:
    """Refuses a method as one too many where there are as many of these as there is room for."""
    row = f"{method}: refuses when there are too many"
    return changes(row, condition=lambda turn: len(of(turn)) >= room)


def declared_exchanges(turn: Turn) -> list[Exchange]:
    return [each for each in turn.host.exchanges.values() if not each.predeclared]


def is_missing_by_either_name(turn: Turn) -> bool:
    """Sees a passive Declare for a missing exchange, or a headers exchange not declared."""
    names = ("amq.match", "amq.headers")
    return bool(turn.event.passive) and (exchange_is_missing(turn) or turn.event.exchange in names)


# -- queues --------------------------------------------------------------------------------------------


def current_everywhere(turn: Turn) -> None:
    for channel in turn.connection.channels.values():
        channel.current_queue = turn.queue_name


def first_stays_current(turn: Turn) -> None:
    turn.channel.current_queue = turn.channel.current_queue or turn.queue_name


def forget_the_oldest_of_many(turn: Turn) -> None:
    """Drops the oldest queue when there are more than 255."""
    queues = turn.host.queues
    if len(queues) > 255:
        del queues[next(iter(queues))]


def queue_is_shared(turn: Turn) -> bool:
    queue = turn.find_queue()
    return queue is not None and not queue.exclusive


def purge_every_queue(turn: Turn) -> None:
    turn.count = len(turn.queue)
    for queue in turn.host.queues.values():
        for level in queue.levels:
            level.clear()


def queue_name_begins_like(reserved: str) -> Condition:
    return lambda turn: bool(turn.event.queue.startswith(reserved))


def keep_transient_queues(tables: Tables) -> Tables:
    """Lets a restart pass by transient queues and their messages."""
    kept = tables.replacing("restart: drops transient queues", effects=())
    return kept.replacing("restart: loses other messages", effects=())


def passes_no_blank_key(binding: Binding, message: Message) -> bool:
    """Routes by equal keys, unless they are blank."""
    return bool(binding.routing_key) and binding.routing_key == message.routing_key


def take_over_auto_delete(turn: Turn) -> None:
    """Lets a second Declare change auto-delete."""
    turn.queue.auto_delete = turn.event.auto_delete


def forget_older_bindings(turn: Turn) -> None:
    """Leaves a queue no binding but the one to the default exchange."""
    for name, bindings in turn.host.bindings.items():
        if name:
            bindings[:] = [each for each in bindings if each.queue != turn.queue_name]


def forget_routing_key(turn: Turn) -> None:
    turn.subject.routing_key = ""


def forget_what_is_out(turn: Turn) -> None:
    """Takes the queue's messages from every channel of the connection that has not acknowledged them."""
    for channel in turn.connection.channels.values():
        kept = {
            tag: each for tag, each in channel.unacknowledged.items() if each.entry.queue is not turn.queue
        }
        channel.unacknowledged = kept
