"""Where a message goes: through exchanges bound to exchanges, to alternate ones, by several keys."""

from collections.abc import Callable, Iterable, Sequence

from harness.amqp0_9_1.peer.entities import Exchange, Message, Queue, VirtualHost
from harness.amqp0_9_1.peer.events import ChannelState, ContentHeaderReceived
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.routing import Matching
from harness.amqp0_9_1.peer.strategies import Strategies
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn
from harness.amqp0_9_1.rabbitmq.arguments import asked
from harness.amqp0_9_1.rabbitmq.contents import changed, properties_of
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic

COPIES, BLIND = "CC", "BCC"
"""The headers that name further routing keys; the second one is not shown to consumers."""
Keys = Callable[[Message], Sequence[str]]
Onward = Callable[[VirtualHost, Exchange, Message, Matching], Sequence[str]]
Reaching = Callable[[VirtualHost, Message, Strategies], list[Queue]]
Instead = Callable[[VirtualHost, Exchange], Sequence[str]]


def keys_in(*headers: str) -> Keys:
    """Make what gives the keys that these headers of a message name, beside that of Publish."""

    def keys(message: Message) -> list[str]:
        named = (message.headers.get(name) for name in headers)
        return [key for each in named if isinstance(each, list) for key in each if isinstance(key, str)]

    return keys


keys_of = keys_in(COPIES, BLIND)


def by_any_of(keyed: Sequence[Message], matches: Matching) -> Matching:
    """Match a binding with a message by each of its keys."""
    return lambda binding, _: any(matches(binding, each) for each in keyed)


def bound_exchanges(host: VirtualHost, exchange: Exchange, message: Message, matches: Matching) -> list[str]:
    """Give the exchanges that matching bindings lead to."""
    ways = (each for each in host.bound_to(exchange.name) if each.destination is not None)
    return [str(each.destination) for each in ways if matches(each, message)]


def alternate_of(_: VirtualHost, exchange: Exchange) -> list[str]:
    """Give the exchange for what this one can route nowhere."""
    named = asked(exchange, "alternate-exchange")
    return [named] if isinstance(named, str) else []


def through_exchanges(
    keys: Keys = keys_of,
    onward: Onward = bound_exchanges,
    instead: Instead = alternate_of,
    once: Callable[[Iterable[str]], Iterable[str]] = dict.fromkeys,
) -> Reaching:
    """Make the strategy that follows a message through every exchange it comes to, each of them once."""

    def reached(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
        keyed = [message, *(changed(message, message.exchange, key) for key in keys(message))]
        seen: set[str] = set()

        def behind(name: str) -> list[str]:
            """Give the queues behind an exchange, else those behind its alternate one."""
            exchange = host.exchanges.get(name)
            if exchange is None or name in seen:
                return []
            seen.add(name)
            matches = by_any_of(keyed, strategies.routing[exchange.type])
            further = onward(host, exchange, message, matches)
            # An exchange that has had the message has done with it what can be done.
            done = not seen.isdisjoint(further)
            # A binding to an exchange names no queue.
            found = [each for each in strategies.queues_for(exchange, message, matches) if each]
            found += [queue for each in further for queue in behind(each)]
            if found or done:
                return found
            return [queue for each in instead(host, exchange) for queue in behind(each)]

        return [host.queues[each] for each in once(behind(message.exchange)) if each in host.queues]

    return reached


def without_blind_copies(message: Message) -> bytes:
    """Give the octets of the content header of a message, without the keys nobody is to see."""
    if BLIND not in message.headers:
        return message.header
    headers = {name: each for name, each in (properties_of(message).headers or {}).items() if name != BLIND}
    return changed(message, headers=headers).header


def names_keys_otherwise(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    """Say whether a header that is to name further keys is no array (sender-selected.array)."""
    given = turn.event.properties
    headers = (given.headers or {}) if isinstance(given, Basic.Properties) else {}
    return any(not isinstance(headers.get(name, []), list) for name in (COPIES, BLIND))


ROUTING = (
    Row(
        "content header: refuses further keys that are no array",
        ChannelState.EXPECT_CONTENT_HEADER,
        ContentHeaderReceived,
        names_keys_otherwise,
        answer=refuse(PRECONDITION_FAILED),
    ),
)
