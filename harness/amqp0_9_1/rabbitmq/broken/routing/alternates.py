"""What is wrong about alternate exchanges, and about messages with several keys."""

from collections.abc import Sequence
from dataclasses import replace

from harness.amqp0_9_1.broken.deviations import Fault, swaps
from harness.amqp0_9_1.broken.loose import Row, Turn
from harness.amqp0_9_1.peer.entities import Exchange, Message, Queue, VirtualHost
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.strategies import Strategies
from harness.amqp0_9_1.peer.tables.exchange import create_exchange
from harness.amqp0_9_1.rabbitmq.contents import changed, properties_of
from harness.amqp0_9_1.rabbitmq.routing.reaching import Instead, Keys, alternate_of, through_exchanges
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Basic

ARGUMENT = "alternate-exchange"
NO_ARRAY = "content header: refuses further keys that are no array"

# -- alternate exchanges ---------------------------------------------------------------------------------


def _no_other(_: VirtualHost, __: Exchange) -> Sequence[str]:
    return ()


def _instead(instead: Instead) -> Fault:
    return swaps(reached=through_exchanges(instead=instead))


def by_the_policy(host: VirtualHost, exchange: Exchange) -> Sequence[str]:
    """Gives the alternate exchange of a policy, where there is one, in place of the one of an argument."""
    return alternate_of(host, replace(exchange, arguments={})) or alternate_of(host, exchange)


def by_policy_and_argument(host: VirtualHost, exchange: Exchange) -> Sequence[str]:
    """Gives the alternate exchange of a policy and the one of an argument."""
    return [*by_the_policy(host, exchange), *alternate_of(host, exchange)]


def has_no_alternate() -> Fault:
    """Drops what an exchange cannot route."""
    return _instead(_no_other)


def only_where_nothing_is_bound() -> Fault:
    """Takes for unroutable what comes to an exchange without bindings, and else drops it."""
    return _instead(lambda host, exchange: [] if exchange.bindings else alternate_of(host, exchange))


def only_of_type(kind: str) -> Fault:
    """Has alternates for exchanges of one type."""
    return _instead(lambda host, exchange: alternate_of(host, exchange) if exchange.type == kind else [])


def there_as_well(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Takes a message to the alternate exchange, too, when it was routed."""
    found = through_exchanges()(host, message, strategies)
    exchange = host.exchanges.get(message.exchange)
    other = host.exchanges.get(next(iter(alternate_of(host, exchange)), "")) if exchange is not None else None
    if other is None or not other.name:
        return found
    names = strategies.queues_for(other, message, strategies.routing[other.type])
    return list(dict.fromkeys([*found, *(host.queues[each] for each in names)]))


def there_in_every_case(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Delivers to the queues of an alternate exchange twice."""
    found = through_exchanges()(host, message, strategies)
    plain = through_exchanges(instead=_no_other)(host, message, strategies)
    return found if plain else [*found, *found]


def of_the_first(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Heeds only the alternate exchange of the exchange that a message was published to."""

    def instead(host: VirtualHost, exchange: Exchange) -> Sequence[str]:
        return alternate_of(host, exchange) if exchange.name == message.exchange else ()

    return through_exchanges(instead=instead)(host, message, strategies)


def of_the_first_two(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Heeds the alternate exchange of an exchange, that one's, and no other."""
    first = host.exchanges.get(message.exchange)
    heeded = [message.exchange, *(alternate_of(host, first) if first is not None else [])]

    def instead(host: VirtualHost, exchange: Exchange) -> Sequence[str]:
        return alternate_of(host, exchange) if exchange.name in heeded else ()

    return through_exchanges(instead=instead)(host, message, strategies)


def only_an_alternate_routes(turn: Turn) -> bool:
    """Takes a message for unroutable that only an alternate exchange can route."""
    method, message = turn.subject.method, turn.subject.message
    reached = through_exchanges(instead=_no_other)(turn.host, message, turn.strategies)
    return method.mandatory and not reached


def create_with_what_is_there(turn: Turn) -> None:
    """Makes an exchange, and forgets its alternate one where there is none of that name yet."""
    create_exchange(turn)
    if turn.event.arguments.get(ARGUMENT) not in turn.host.exchanges:
        turn.host.exchanges[turn.event.exchange].arguments = {}


def _alternate_is_missing(turn: Turn) -> bool:
    exchange = turn.exchange
    return exchange is not None and any(
        each not in turn.host.exchanges for each in alternate_of(turn.host, exchange)
    )


def refuses_without_alternate() -> Fault:
    """Refuses what is published to an exchange whose alternate one does not exist."""
    row = Row(
        "basic.publish: refuses where the alternate exchange does not exist",
        ChannelState.OPEN,
        Basic.Publish,
        _alternate_is_missing,
        answer=refuse(NOT_FOUND),
    )
    return Fault.inserts("basic.publish: its content follows", row)


def take_other_arguments(turn: Turn) -> None:
    """Takes the arguments of a later Declare over."""
    turn.host.exchanges[turn.event.exchange].arguments = turn.event.arguments


# -- several keys ----------------------------------------------------------------------------------------


def _keys(keys: Keys) -> Fault:
    return swaps(reached=through_exchanges(keys=keys))


def looks_at_headers(*names: str) -> Fault:
    """Takes further keys from headers of these names, however they are written."""

    def keys(message: Message) -> list[str]:
        named = (value for name, value in message.headers.items() if name.upper() in names)
        return [key for each in named if isinstance(each, list) for key in each]

    return _keys(keys)


def looks_at(*names: str, most: int | None = None) -> Fault:
    """Takes further keys from headers of these names alone, and at `most` so many of each."""

    def keys(message: Message) -> list[str]:
        named = (message.headers.get(name) for name in names)
        return [key for each in named if isinstance(each, list) for key in each[:most]]

    return _keys(keys)


def takes_strings() -> Fault:
    """Takes a header that is no array for one key."""

    def keys(message: Message) -> list[str]:
        named = (message.headers.get(name, []) for name in ("CC", "BCC"))
        return [key for each in named for key in (each if isinstance(each, list) else [str(each)])]

    return Fault.together(Fault.drops(NO_ARRAY), _keys(keys))


def names_further_keys(turn: Turn) -> bool:
    """Takes offence at any value of the headers that name further keys."""
    headers = turn.event.properties.headers or {}
    return "CC" in headers or "BCC" in headers


def drops_what_has_no_array() -> Fault:
    """Routes a message nowhere that names further keys in another way than by an array."""

    def reached(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
        named = [message.headers.get(name, []) for name in ("CC", "BCC")]
        if not all(isinstance(each, list) for each in named):
            return []
        return through_exchanges()(host, message, strategies)

    return Fault.together(Fault.drops(NO_ARRAY), swaps(reached=reached))


def by_the_others_alone(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Routes by the keys in headers in place of the key of Publish."""
    named = [key for name in ("CC", "BCC") for key in message.headers.get(name, ())]
    if not named:
        return through_exchanges()(host, message, strategies)
    first = changed(message, message.exchange, named[0])
    return through_exchanges()(host, first, strategies)


def once_for_each_key(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Delivers a message once for each of its keys that lead somewhere."""
    keys = [message.routing_key, *(key for name in ("CC", "BCC") for key in message.headers.get(name, ()))]
    single = through_exchanges(keys=lambda _: ())
    return [
        queue for key in keys for queue in single(host, changed(message, message.exchange, key), strategies)
    ]


def by_own_key_behind(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Routes by all keys in the first exchange, and by the key of Publish in those behind it."""
    found = through_exchanges(onward=lambda *_: ())(host, message, strategies)
    behind = through_exchanges(keys=lambda _: ())(host, message, strategies)
    return list(dict.fromkeys([*found, *behind]))


def only_in_exchanges_of_type(kind: str) -> Fault:
    """Takes further keys where the exchange is of one type."""

    def reached(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
        exchange = host.exchanges.get(message.exchange)
        heeds = exchange is not None and exchange.type == kind
        return (through_exchanges() if heeds else through_exchanges(keys=lambda _: ()))(
            host, message, strategies
        )

    return swaps(reached=reached)


def without_headers(*names: str) -> Fault:
    """Takes other headers off what is delivered."""

    def shown(message: Message) -> bytes:
        headers = properties_of(message).headers or {}
        if not headers:
            return message.header
        return changed(message, headers={name: headers[name] for name in headers if name not in names}).header

    return swaps(shown=shown)


def with_blanked(name: str) -> Fault:
    """Leaves a header there without its keys."""

    def shown(message: Message) -> bytes:
        headers = dict(properties_of(message).headers or {})
        if name not in headers:
            return message.header
        return changed(message, headers=headers | {name: []}).header

    return swaps(shown=shown)


def with_a_header_more() -> Fault:
    """Adds a header that says how a message came."""

    def shown(message: Message) -> bytes:
        return changed(message, headers={**(properties_of(message).headers or {}), "x-came": "by"}).header

    return swaps(shown=shown)
