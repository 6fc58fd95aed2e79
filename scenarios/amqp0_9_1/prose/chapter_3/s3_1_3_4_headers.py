"""3.1.3.4: exchanges of the type headers."""

from collections.abc import Iterable, Mapping

from harness.amqp0_9_1.broken.deviations import changes, rejects, routes
from harness.amqp0_9_1.broken.entity_faults import (
    bind_in_place_of_the_same_key,
    key_is_bound_already,
    key_is_one_of_any,
    no_value_is_none_of_any,
    reserved_may_match,
)
from harness.amqp0_9_1.broken.faults import (
    all_must_match,
    any_may_match,
    counts_what_is_reserved,
    headers_and_key,
    is_missing_by_either_name,
    no_value_is_a_value,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed
from harness.amqp0_9_1.peer.routing import fanout
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, SYNTAX_ERROR, Basic, Exchange, Queue
from scenarios.amqp0_9_1.exchange.types import knows
from scenarios.registry import broken_by, scenario

MISSING = "exchange.declare: passive refuses one that does not exist"

Table = Mapping[str, str | None]
BINDS = "queue.bind: binds"
AGAIN = "queue.bind: confirms the same again"


def of_headers(broker: Broker) -> tuple[AmqpChannel, str]:
    """Give a channel, and a headers exchange of its own."""
    if not knows(broker, "headers"):
        broker.inapplicable("the server has no headers exchanges")
    channel = broker.channel()
    return channel, channel.declare_exchange("headers")


def bound(channel: AmqpChannel, exchange: str, match: str, wanted: Table, key: str = "") -> str:
    """Give a queue bound with x-match and these headers."""
    queue = channel.declare_queue()
    channel.ask(Queue.Bind(queue, exchange, key, arguments={"x-match": match, **wanted}))
    return queue


def get_only(channel: AmqpChannel, queue: str, bodies: Iterable[bytes]) -> None:
    """Judge that these messages are in the queue, in this order, and no other."""
    channel.gets(queue, *bodies)
    channel.tries(Basic.Get(queue, no_ack=True), Basic.GetEmpty)


PUBLISHED: Mapping[bytes, Table] = {
    b"both": {"a": "1", "b": "2"},
    b"one": {"a": "1"},
    b"one, and another value": {"a": "1", "b": "3"},
    b"neither": {"c": "1"},
}


@scenario("0-9-1/prose/3.1.3.4.headers-all-or-any")
@broken_by("wants all", routes(headers=all_must_match))
@broken_by("wants any", routes(headers=any_may_match))
@broken_by("takes all", routes(headers=fanout))
def x_match_tells_whether_all_must_match(broker: Broker) -> None:
    """By two headers and all comes the message that has both, by any those too that have one of them."""
    channel, exchange = of_headers(broker)
    wanted = {"a": "1", "b": "2"}
    by_all, by_any = (bound(channel, exchange, match, wanted) for match in ("all", "any"))
    for body, headers in PUBLISHED.items():
        channel.publish(body, exchange=exchange, headers=headers)
    channel.publish(b"no headers", exchange=exchange)
    get_only(channel, by_all, [b"both"])
    get_only(channel, by_any, [b"both", b"one", b"one, and another value"])


@scenario("0-9-1/prose/3.1.3.4.headers-presence")
@broken_by("wants a header without a value too", routes(headers=no_value_is_a_value))
@broken_by("looks at nothing", routes(headers=fanout))
@broken_by("wants a value where any may match", routes(headers=no_value_is_none_of_any))
def argument_without_value_matches_any_value(broker: Broker) -> None:
    """By an argument without a value come messages that have the header, whatever it holds, and no other.

    So it is where all must match, and where any may, beside another header.
    """
    channel, exchange = of_headers(broker)
    by_all = bound(channel, exchange, "all", {"a": None})
    by_any = bound(channel, exchange, "any", {"a": None, "c": "3"})
    for body, headers in ((b"first", {"a": "1"}), (b"second", {"a": "2"}), (b"other", {"b": "1"})):
        channel.publish(body, exchange=exchange, headers=headers)
    get_only(channel, by_all, [b"first", b"second"])
    get_only(channel, by_any, [b"first", b"second"])


@scenario("0-9-1/prose/3.1.3.4.headers-ignores-key")
@broken_by("compares keys as well", routes(headers=headers_and_key))
@broken_by("looks at nothing", routes(headers=fanout))
@broken_by("takes an equal key for enough where any may match", routes(headers=key_is_one_of_any))
def headers_exchange_takes_no_notice_of_keys(broker: Broker) -> None:
    """By a matching header messages come whatever their key, though queues are bound with one.

    So it is where all must match, and where any may.
    """
    channel, exchange = of_headers(broker)
    queues = [bound(channel, exchange, match, {"a": "1"}, key="key") for match in ("all", "any")]
    channel.publish(b"another header", exchange=exchange, key="key", headers={"a": "2"})
    for key in ("key", "another", ""):
        channel.publish(f"by {key!r}", exchange=exchange, key=key, headers={"a": "1"})
    for queue in queues:
        get_only(channel, queue, [b"by 'key'", b"by 'another'", b"by ''"])


@scenario("0-9-1/prose/3.1.3.4.headers-ignores-key")
@broken_by("knows bindings by their keys", changes(BINDS, bind_in_place_of_the_same_key))
@broken_by("takes the same key for the same binding", changes(AGAIN, condition=key_is_bound_already))
def bindings_by_one_key_are_as_many_as_their_arguments(broker: Broker) -> None:
    """A queue is bound twice with one key, by different headers: messages come by either."""
    channel, exchange = of_headers(broker)
    queue = bound(channel, exchange, "all", {"a": "1"}, key="key")
    channel.tries(Queue.Bind(queue, exchange, "key", arguments={"x-match": "all", "b": "2"}), Queue.BindOk)
    for name, value in (("a", "1"), ("b", "2")):
        channel.publish(name, exchange=exchange, key="key", headers={name: value})
    get_only(channel, queue, [b"a", b"b"])


@scenario("0-9-1/prose/3.1.3.4.headers-reserved-arguments")
@broken_by("compares them", routes(headers=counts_what_is_reserved))
@broken_by("refuses them", rejects(Queue.Bind, SYNTAX_ERROR, when=lambda it: "x-other" in it.arguments))
@broken_by("counts them where any may match", routes(headers=reserved_may_match))
def reserved_arguments_do_not_count(broker: Broker) -> None:
    """By a header and an argument that begins with x- comes what has the header, not what has the other.

    So it is where all must match, and where any may.
    """
    channel, exchange = of_headers(broker)
    for match in ("all", "any"):
        get_ready = bound(channel, exchange, match, {"a": "1"})
        channel.publish(b"control", exchange=exchange, headers={"a": "1"})
        get_only(channel, get_ready, [b"control"])
        queue = channel.declare_queue()
        channel.send(Queue.Bind(queue, exchange, arguments={"x-match": match, "x-other": "1", "a": "1"}))
        refusal = EXCEPTION.under("3.1.3.4 reserves such arguments")
        if not isinstance(channel.expect(answered(Queue.BindOk), refusal), Queue.BindOk):
            return
        for body, headers in ((b"by it alone", {"x-other": "1"}), (b"without it", {"a": "1"})):
            channel.publish(body, exchange=exchange, headers=headers)
        get_only(channel, queue, [b"without it"])


@scenario("0-9-1/prose/3.1.3.4.headers-instance")
@broken_by("has none", changes(MISSING, condition=is_missing_by_either_name))
def headers_exchange_is_there_by_name(broker: Broker) -> None:
    """There is amq.match, or at least amq.headers."""
    channel, _ = of_headers(broker)
    channel.misses("exchange")
    channel.send(Exchange.Declare("amq.match", "headers", passive=True))
    elsewhere = channel_closed(NOT_FOUND).under("exchange.required-instances calls it amq.headers")
    if not isinstance(channel.expect(answered(Exchange.DeclareOk), elsewhere), Exchange.DeclareOk):
        broker.channel().tries(Exchange.Declare("amq.headers", "headers", passive=True), Exchange.DeclareOk)
