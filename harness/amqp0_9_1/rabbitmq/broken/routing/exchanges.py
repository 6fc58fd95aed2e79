"""What is wrong about exchanges bound to exchanges, and about their ends."""

from collections.abc import Callable, Sequence

from harness.amqp0_9_1.broken.deviations import Fault, changes
from harness.amqp0_9_1.broken.loose import Condition, Turn
from harness.amqp0_9_1.peer.entities import Binding, Exchange, Message, Queue, VirtualHost
from harness.amqp0_9_1.peer.life import delete_exchange, remove_binding
from harness.amqp0_9_1.peer.routing import Matching, fanout
from harness.amqp0_9_1.peer.strategies import Strategies
from harness.amqp0_9_1.peer.tables.exchange import create_exchange
from harness.amqp0_9_1.rabbitmq.contents import changed
from harness.amqp0_9_1.rabbitmq.routing.exchanges import (
    bind_exchange,
    bound,
    joins_durable_exchanges,
    unbind_exchange,
)
from harness.amqp0_9_1.rabbitmq.routing.reaching import Onward, bound_exchanges, through_exchanges

# -- declared and deleted --------------------------------------------------------------------------------


def create_for_a_moment(turn: Turn) -> None:
    """Makes an exchange, and deletes it at once where nothing but a binding would keep it."""
    create_exchange(turn)
    if turn.event.auto_delete:
        del turn.host.exchanges[turn.event.exchange]


def take_over_auto_delete(turn: Turn) -> None:
    """Changes auto-delete of the exchange that is there to what a later Declare says."""
    turn.host.exchanges[turn.event.exchange].auto_delete = turn.event.auto_delete


def declared_anew() -> Fault:
    """Takes over auto-delete from a later Declare."""
    return changes("exchange.declare: confirms the same again", take_over_auto_delete)


def has_auto_delete(turn: Turn) -> bool:
    """Takes any binding for the last one of an exchange with auto-delete."""
    binding = _binding(turn)
    exchange = turn.host.exchanges.get(binding.exchange) if binding is not None else None
    return exchange is not None and exchange.auto_delete


def is_the_last_of_any(turn: Turn) -> bool:
    """Asks for no auto-delete where the last binding of an exchange goes."""
    binding = _binding(turn)
    return binding is not None and turn.host.bound_to(binding.exchange) == [binding]


def _binding(turn: Turn) -> Binding | None:
    return turn.subject if isinstance(turn.subject, Binding) else bound(turn)


def forget_internal(turn: Turn) -> None:
    """Makes an exchange that anybody can publish to."""
    create_exchange(turn)
    turn.host.exchanges[turn.event.exchange].internal = False


# -- bound -----------------------------------------------------------------------------------------------


def bind_the_other_way(turn: Turn) -> None:
    """Binds the source to the destination."""
    turn.event = turn.event.replace(source=turn.event.destination, destination=turn.event.source)
    bind_exchange(turn)


def bind_without_key(turn: Turn) -> None:
    turn.event = turn.event.replace(routing_key="")
    bind_exchange(turn)


def bind_without_arguments(turn: Turn) -> None:
    turn.event = turn.event.replace(arguments={})
    bind_exchange(turn)


def bind_once(turn: Turn) -> None:
    """Binds an exchange to another one in place of what bound them before."""
    _unbind(turn, lambda each: each.destination == turn.event.destination)
    bind_exchange(turn)


def unbind_all(turn: Turn) -> None:
    """Takes off whatever leads from the source to the destination."""
    _unbind(turn, lambda each: each.destination == turn.event.destination)


def unbind_by_key(turn: Turn) -> None:
    """Takes off what leads from the source to the destination by the key, whatever its arguments."""
    wanted = turn.event.destination, turn.event.routing_key
    _unbind(turn, lambda each: (each.destination, each.routing_key) == wanted)


def unbind_without_arguments(turn: Turn) -> None:
    """Takes nothing off that has arguments."""
    if not turn.event.arguments:
        unbind_by_key(turn)


def _unbind(turn: Turn, matches: Callable[[Binding], bool]) -> None:
    there = turn.host.bound_to(turn.event.source)
    there[:] = [each for each in there if not matches(each)]


def joins_no_exchange_called(kind: str) -> Condition:
    """Keeps what joins durable exchanges over a restart, unless the source is of this type."""

    def is_kept(turn: Turn) -> bool:
        source = turn.host.exchanges.get(turn.subject.exchange)
        return joins_durable_exchanges(turn) and source is not None and source.type != kind

    return is_kept


def leads_to_an_exchange(turn: Turn) -> bool:
    return turn.subject.destination is not None


# -- followed --------------------------------------------------------------------------------------------


def once_per_way(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Follows each way that does not go in a circle to its end, and finds a queue once for each."""

    def behind(name: str, way: Sequence[str]) -> list[str]:
        exchange = host.exchanges.get(name)
        if exchange is None or name in way:
            return []
        matches = strategies.routing[exchange.type]
        found = strategies.queues_for(exchange, message, matches)
        further = bound_exchanges(host, exchange, message, matches)
        return found + [queue for each in further for queue in behind(each, (*way, name))]

    return [host.queues[each] for each in behind(message.exchange, ()) if each in host.queues]


def queue_once_per_exchange() -> Fault:
    """Comes to each exchange once, and to a queue once from each of them."""
    return Fault.swaps(reached=through_exchanges(once=list))


def _further(onward: Onward) -> Fault:
    return Fault.swaps(reached=through_exchanges(onward=onward))


def goes_no_further() -> Fault:
    """Brings a message to the queues of the exchange it was published to, and to no other exchange."""
    return _further(lambda *_: [])


def goes_one_step(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Goes to the exchanges that are bound to the one published to, and no further."""

    def one_step(host: VirtualHost, exchange: Exchange, message: Message, matches: Matching) -> Sequence[str]:
        first = exchange.name == message.exchange
        return bound_exchanges(host, exchange, message, matches) if first else []

    return through_exchanges(onward=one_step)(host, message, strategies)


def goes_to_one(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Goes on to one of the exchanges that are bound to an exchange."""
    return through_exchanges(onward=lambda *asked: bound_exchanges(*asked)[:1])(host, message, strategies)


def goes_on_whatever_matches() -> Fault:
    """Goes on to all exchanges that are bound, whatever the key and the headers."""
    return _further(lambda host, exchange, message, _: bound_exchanges(host, exchange, message, fanout))


def goes_to_exchanges_or_queues() -> Fault:
    """Goes on to no other exchange where a queue was found."""

    def onward(host: VirtualHost, exchange: Exchange, message: Message, matches: Matching) -> Sequence[str]:
        found = any(each.queue and matches(each, message) for each in exchange.bindings)
        return [] if found else bound_exchanges(host, exchange, message, matches)

    return _further(onward)


def goes_on_by_the_key_of_the_binding(
    host: VirtualHost, message: Message, strategies: Strategies
) -> list[Queue]:
    """Has a message go on from exchange to exchange with the key of the binding it has passed."""

    def behind(name: str, carried: Message) -> list[str]:
        exchange = host.exchanges[name]
        matches = strategies.routing[exchange.type]
        found = strategies.queues_for(exchange, carried, matches)
        for each in exchange.bindings:
            if each.destination is not None and matches(each, carried):
                found += behind(each.destination, changed(carried, carried.exchange, each.routing_key))
        return found

    return [host.queues[each] for each in behind(message.exchange, message) if each in host.queues]


def keep_its_bindings(turn: Turn) -> None:
    """Deletes an exchange, and leaves what leads to it and from it for the next one of its name."""
    del turn.host.exchanges[turn.event.exchange]


def binding_of_exchanges_again(turn: Turn) -> Callable[[], None]:
    """Give what brings the removed binding of two exchanges back."""
    binding, host = bound(turn), turn.host

    def undo() -> None:
        if binding is not None:
            host.bound_to(binding.exchange).append(binding)

    return undo


def unbind_and_delete_the_destination(turn: Turn) -> None:
    """Takes a binding off, and deletes the destination if nothing else would keep it."""
    unbind_exchange(turn)
    _delete_by_itself(turn, turn.event.destination)


def delete_what_it_led_to(turn: Turn) -> None:
    """Takes a binding off, and deletes the exchange it led to if nothing else would keep it."""
    remove_binding(turn)
    _delete_by_itself(turn, turn.subject.destination)


def _delete_by_itself(turn: Turn, name: str | None) -> None:
    exchange = turn.host.exchanges.get(name) if name is not None else None
    if exchange is not None and exchange.auto_delete:
        delete_exchange(turn.about(turn.event, exchange))
