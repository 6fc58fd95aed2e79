"""exchange.declare."""

from itertools import product
from typing import Any

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, rejects, rewrites, swaps
from harness.amqp0_9_1.broken.entity_faults import (
    asks_for_a_type_that_exists,
    asks_for_its_type,
    asks_without_arguments,
    differs_but_for_pattern_and_headers,
    differs_from_no_direct,
    would_gain_something,
)
from harness.amqp0_9_1.broken.faults import create_while_there_is_room, only_from_durable, only_from_transient
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    answered,
    channel_closed,
    connection_closed,
    message,
    refused,
)
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.exchange import create_exchange
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    COMMAND_INVALID,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    RESOURCE_ERROR,
    SYNTAX_ERROR,
    Basic,
    Channel,
    Connection,
    Exchange,
)
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types
from scenarios.registry import broken_by, scenario

PASSIVE = "exchange.declare: passive confirms one that exists"
MISSING = "exchange.declare: passive refuses one that does not exist"
MANY = 16

ILLEGAL = ("{}/", "{} and more", "{}#", "{}*", "{}!")
"""Patterns of names with one character outside the list of the document."""


@scenario("0-9-1/exchange.declare.minimum")
@broken_by("has room for 15 exchanges", rejects(Exchange.Declare, RESOURCE_ERROR, skip=MANY - 1))
@broken_by("confirms more than it keeps", changes("exchange.declare: creates it", create_while_there_is_room))
def at_least_16_exchanges_are_possible(broker: Broker) -> None:
    """16 exchanges can be declared, and then all of them are there."""
    channel = broker.channel().misses("exchange")
    exchanges = [broker.name("exchange") for _ in range(MANY)]
    for passive in (False, True):
        for exchange in exchanges:
            channel.tries(Exchange.Declare(exchange, "direct", passive=passive), Exchange.DeclareOk)


RESERVED = "exchange.declare: refuses a reserved name"


@scenario("0-9-1/exchange.declare.exchange.reserved")
@broken_by("takes reserved names", drops(RESERVED))
@broken_by("refuses and creates all the same", changes(RESERVED, create_exchange))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=PRECONDITION_FAILED))
def new_name_that_begins_with_amq_is_refused(broker: Broker) -> None:
    """A passive Declare of amq.direct is answered; a new name that begins so is refused, and not made."""
    channel = broker.channel()
    channel.ask(Exchange.Declare("amq.direct", "direct", passive=True))
    exchange = broker.name("exchange", "amq.{}")
    channel.tries(Exchange.Declare(exchange, "direct"), *refused(ACCESS_REFUSED))
    broker.channel().tries(Exchange.Declare(exchange, "direct", passive=True), EXCEPTION)


SYNTAX = "exchange.declare: refuses an illegal name"


@scenario("0-9-1/exchange.declare.exchange.syntax")
@broken_by("takes any name", drops(SYNTAX))
@broken_by("refuses and creates all the same", changes(SYNTAX, create_exchange))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
@broken_by(
    "wants a name without colon", rejects(Exchange.Declare, SYNTAX_ERROR, when=lambda it: ":" in it.exchange)
)
@broken_by("takes a blank name", answers(Exchange.Declare, Exchange.DeclareOk(), lambda it: not it.exchange))
def name_with_other_characters_is_refused(broker: Broker) -> None:
    """A name of all the characters listed is taken; one with another character, or with none, is refused.

    For a blank name 403 is as good: 0-9-1/exchange.default-access is about it too.
    """
    channel = broker.channel()
    channel.declare_exchange()
    channel.tries(Exchange.Declare(broker.name("exchange", "{}-Az09_.:"), "direct"), Exchange.DeclareOk)
    legal = (
        *refused(PRECONDITION_FAILED),
        (channel_closed(SYNTAX_ERROR) | connection_closed(SYNTAX_ERROR)).under(
            "2.3.6, and 502 by definition"
        ),
    )
    for exchange in [broker.name("exchange", pattern) for pattern in ILLEGAL]:
        channel = broker.channel()
        channel.tries(Exchange.Declare(exchange, "direct"), *legal)
        channel = broker.channel()
        channel.tries(Exchange.Declare(exchange, "direct", passive=True), EXCEPTION)
    channel = broker.channel()
    channel.tries(Exchange.Declare("", "direct"), channel_closed(PRECONDITION_FAILED, ACCESS_REFUSED), *legal)


TYPE = "exchange.declare: refuses another type"
OTHERWISE = "exchange.declare: refuses another durable or other arguments"


@scenario("0-9-1/exchange.declare.type.typed")
@broken_by("lets the type change", drops(TYPE, OTHERWISE))
@broken_by("refuses and changes the type", changes(TYPE, create_exchange))
@broken_by("gives another code", rejects(Exchange.Declare, NOT_IMPLEMENTED, lambda it: it.type == "direct"))
def type_of_an_exchange_cannot_change(broker: Broker) -> None:
    """Declaring an exchange again is fine with its type, and refused with another one; it keeps its type.

    530 is what this rule names; by `equivalent` of the same method any channel exception is right too.
    """
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    channel.ask(Exchange.Declare(exchange, "fanout"))
    channel.tries(Exchange.Declare(exchange, "direct"), connection_closed(NOT_ALLOWED) | channel_closed())
    broker.channel(new_connection=True).tries(Exchange.Declare(exchange, "fanout"), Exchange.DeclareOk)


UNSUPPORTED = "exchange.declare: refuses a type that is not supported"


@scenario("0-9-1/exchange.declare.type.support")
@broken_by("takes any type", answers(Exchange.Declare, Exchange.DeclareOk(), skip=1))
@broken_by("refuses and creates all the same", changes(UNSUPPORTED, create_exchange))
@broken_by("gives another code", rewrites(Connection.Close, reply_code=NOT_IMPLEMENTED))
def type_that_is_not_supported_is_refused(broker: Broker) -> None:
    """An exchange of a type that cannot exist is refused with 503, and not made."""
    channel = broker.channel(new_connection=True)
    channel.declare_exchange()
    exchange = broker.name("exchange")
    channel.tries(Exchange.Declare(exchange, f"x-{exchange}"), *refused(COMMAND_INVALID))
    channel = broker.channel(new_connection=True)
    channel.tries(Exchange.Declare(exchange, "direct", passive=True), channel_closed(NOT_FOUND))


@scenario("0-9-1/exchange.declare.passive.not-found")
@broken_by(
    "confirms what is not there",
    answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda declare: declare.passive),
)
@broken_by("creates what is asked for", drops(MISSING, PASSIVE))
@broken_by("refuses and creates all the same", changes(MISSING, create_exchange))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=PRECONDITION_FAILED))
def passive_declare_of_a_missing_exchange_is_not_found(broker: Broker) -> None:
    """A passive declare answers Declare-Ok for an exchange that exists, and 404 for one that does not.

    The second time it is 404 again: asking has created nothing.
    """
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    channel.ask(Exchange.Declare(exchange, "fanout", passive=True))
    missing = broker.name("exchange")
    for _ in range(2):
        broker.channel().tries(Exchange.Declare(missing, "fanout", passive=True), channel_closed(NOT_FOUND))


OTHER_FIELDS: tuple[dict[str, Any], ...] = (
    {"type": "fanout"},
    {"type": "x-no-such-type"},
    {"type": ""},
    {"durable": True},
    {"arguments": {"note": "other"}},
)
"""What a passive Declare ignores besides the name of what is a transient direct exchange."""


@scenario("0-9-1/prose/2.2.6.exchange-asked-for")
@broken_by("makes what it was asked for", drops(PASSIVE, MISSING))
@broken_by("finds everything", answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda it: it.passive))
@broken_by("looks at the other fields", drops(PASSIVE))
@broken_by("looks at the type", changes(PASSIVE, condition=asks_for_its_type))
@broken_by("wants to know the type", changes(PASSIVE, condition=asks_for_a_type_that_exists))
@broken_by("looks at the arguments", changes(PASSIVE, condition=asks_without_arguments))
def passive_declare_looks_at_the_name_alone(broker: Broker) -> None:
    """A passive Declare confirms an exchange that exists, whatever its other fields say, and no other."""
    look = Exchange.Declare(broker.channel().declare_exchange("direct"), "direct", passive=True)
    for ignored in ({}, *OTHER_FIELDS):
        broker.channel().tries(look.replace(**ignored), Exchange.DeclareOk)
    missing = broker.name("exchange")
    for _ in range(2):
        broker.channel().tries(look.replace(exchange=missing), EXCEPTION)


@scenario("0-9-1/exchange.declare.passive.equivalent")
@broken_by("compares names only", drops(TYPE, OTHERWISE))
@broken_by("does not compare durable", drops(OTHERWISE))
@broken_by("refuses and changes durable", changes(OTHERWISE, create_exchange))
@broken_by("closes the connection", changes(OTHERWISE, answer=refuse(NOT_ALLOWED)))
@broken_by("refuses the same again", rejects(Exchange.Declare, NOT_ALLOWED, skip=1))
def declare_that_differs_is_refused(broker: Broker) -> None:
    """The same Declare is answered again; with another type, durable or arguments it is refused.

    After each refusal the exchange still is what it was: the first Declare is answered once more.
    """
    same = Exchange.Declare(broker.channel().declare_exchange("fanout"), "fanout")
    meaningless = answered(Exchange.DeclareOk).recorded("arguments count by what they mean to the server")
    for other, legal in (
        (same.replace(type="direct"), [channel_closed() | connection_closed(NOT_ALLOWED)]),
        (same.replace(durable=True), [channel_closed()]),
        (same.replace(arguments={"conformance": "other"}), [channel_closed(), meaningless]),
    ):
        is_answered(broker, same)
        broker.channel().tries(other, *legal)
    is_answered(broker, same)


@scenario("0-9-1/exchange.declare.passive.equivalent")
@broken_by("lets a durable one become transient", changes(OTHERWISE, condition=would_gain_something))
@broken_by(
    "takes topic and headers for one type", changes(TYPE, condition=differs_but_for_pattern_and_headers)
)
@broken_by("does not compare with direct", changes(TYPE, condition=differs_from_no_direct))
def declare_that_differs_is_refused_whatever_the_type(broker: Broker) -> None:
    """So it is for a durable exchange of each type, declared again as each other type, or as transient."""
    types = known_types(broker)
    for kind in types:
        channel = broker.channel(new_connection=True)
        same = Exchange.Declare(channel.declare_exchange(kind, durable=True), kind, durable=True)
        retyped = [same.replace(type=each) for each in types if each != kind]
        for other in (same.replace(durable=False), *retyped):
            is_answered(broker, same)
            channel = broker.channel()
            channel.send(other)
            another_type = [connection_closed(NOT_ALLOWED)] if other in retyped else []
            channel.expect(channel_closed(), *another_type)
        is_answered(broker, same)


def is_answered(broker: Broker, declare: Exchange.Declare) -> None:
    """Judge that a Declare which matches the exchange gets Declare-Ok."""
    broker.channel().tries(declare, Exchange.DeclareOk)


@scenario("0-9-1/exchange.declare.durable.support")
@broken_by("has no durable ones", rejects(Exchange.Declare, NOT_IMPLEMENTED, when=lambda it: it.durable))
@broken_by("has durable ones only", rejects(Exchange.Declare, NOT_IMPLEMENTED, lambda it: not it.durable))
@broken_by("routes from durable ones only", swaps(queues_for=only_from_durable))
@broken_by("routes from transient ones only", swaps(queues_for=only_from_transient))
@broken_by(
    "has no durable topic exchanges",
    rejects(Exchange.Declare, NOT_IMPLEMENTED, when=lambda it: it.type == "topic" and it.durable),
)
def durable_and_transient_exchanges_carry_messages(broker: Broker) -> None:
    """A durable and a transient exchange of each type can be declared, and a message goes through each."""
    for kind, durable in product(known_types(broker), (True, False)):
        channel = broker.channel()
        queue, exchange = channel.declare_queue(), broker.name("exchange")
        channel.tries(Exchange.Declare(exchange, kind, durable=durable), Exchange.DeclareOk)
        channel.ask(WAYS[kind].bind(queue, exchange))
        channel.consume(queue, no_ack=True)
        WAYS[kind].publish(channel, exchange, b"through")
        channel.expect(message(Basic.Deliver, b"through"))
