"""The class exchange: types and instances."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import answers, rejects
from harness.amqp0_9_1.outcomes import answered, channel_closed, connection_closed
from harness.amqp0_9_1.vocabulary import COMMAND_INVALID, Exchange
from scenarios.registry import broken_by, scenario

EXTENSIONS = ("x-consistent-hash", "x-delayed-message", "x-modulus-hash", "x-random", "x-recent-history")
"""Types beyond the four of the document that brokers are known to offer."""


@scenario("0-9-1/exchange.required-types")
@broken_by(
    "knows no fanout",
    rejects(Exchange.Declare, COMMAND_INVALID, when=lambda declare: declare.type == "fanout"),
)
def fanout_and_direct_exist(broker: Broker) -> None:
    """An exchange of each required type can be declared."""
    for kind in ("fanout", "direct"):
        channel = broker.channel()
        channel.send(Exchange.Declare(broker.name("exchange"), kind))
        channel.expect(Exchange.DeclareOk)


@scenario("0-9-1/exchange.extensions")
@broken_by(
    "offers x-random",
    answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda declare: declare.type == "x-random"),
)
def other_types_are_recorded(broker: Broker) -> None:
    """Which types beyond the document's four can be declared; the document wants none."""
    for kind in EXTENSIONS:
        channel = broker.channel()
        channel.send(Exchange.Declare(broker.name("exchange"), kind))
        absent = channel_closed() | connection_closed()
        if isinstance(channel.expect(absent, answered(Exchange.DeclareOk).recorded()), Exchange.DeclareOk):
            broker.note(f"the exchange type {kind} exists")
