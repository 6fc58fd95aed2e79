"""1.4: when two names are equal, how the version is written, what persistent means."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, forwards, rewrites, routes, spoils
from harness.amqp0_9_1.broken.faults import equal_but_for_case
from harness.amqp0_9_1.broken.restart_faults import (
    commit_in_memory,
    forget_on_disk,
    forget_on_disk_what_was_got,
    keep_in_memory_unless,
)
from harness.amqp0_9_1.broken.settling_faults import strip_what_is_stored
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import message, refused
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.peer.deliveries import await_acknowledgement
from harness.amqp0_9_1.peer.tables.basic import await_its_acknowledgement, route_now, take_what_is_due
from harness.amqp0_9_1.wire.frames import BODY, PROTOCOL_HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Basic, Connection, Exchange, Tx
from harness.play.context import RESTART, Restart
from harness.play.watching import Found, came
from harness.wire.journal import Direction
from harness.wire.units import Header
from scenarios.amqp0_9_1.basic.common import PERSISTENT, TRANSIENT
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types
from scenarios.amqp0_9_1.tx.common import transacted
from scenarios.registry import broken_by, scenario, watch

AWAITS = "delivery: awaits acknowledgement"
GETS = "basic.get: awaits acknowledgement"
COMMIT = "tx.commit: publications and acknowledgements take effect"
STORES = "restart: keeps persistent messages"


@scenario("0-9-1/prose/1.4.1.strings-case-sensitive")
@broken_by(
    "finds exchanges by any case",
    answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda it: it.exchange == "amq.Direct"),
)
@broken_by("routes by any case", routes(direct=equal_but_for_case))
@broken_by("routes by lower case", forwards(Basic.Publish, routing_key=str.lower))
def names_that_differ_in_case_are_two_names(broker: Broker) -> None:
    """There is amq.direct and no amq.Direct; of two queues e and E a message for one is in that one only."""
    channel = broker.channel()
    queue = channel.declare_queue(broker.name("queue", "{}e"))
    other = channel.declare_queue(broker.name("queue", f"{queue[:-1]}E"))
    channel.ask(FENCE)
    stranger = broker.channel(new_connection=True)
    stranger.tries(Exchange.Declare("amq.Direct", "direct", passive=True), *refused(NOT_FOUND))
    channel.publish(b"for the capital", key=other)
    channel.gets(other, b"for the capital")
    channel.tries(Basic.Get(queue, no_ack=True), Basic.GetEmpty)


def asked_for_ours(transcript: Iterable[Passage]) -> bool:
    """Say whether the first we said was the protocol header of 0-9-1."""
    first = next((each.unit for each in transcript if each.direction is Direction.SENT), None)
    return isinstance(first, Header) and first.octets == PROTOCOL_HEADER


@watch(
    "0-9-1/prose/1.4.2.version-written-out",
    during="0-9-1/channel.open.state",
    looks_at=came(Connection.Start),
    where=asked_for_ours,
)
@broken_by("writes it as 9-1", rewrites(Connection.Start, version_major=9, version_minor=1))
@broken_by("writes it in tens", rewrites(Connection.Start, version_minor=91))
def start_is_of_version_0_9(each: Passage) -> Found:
    """Every Start that answers our header has version-major 0 and version-minor 9."""
    major, minor = each.said.version_major, each.said.version_minor
    return (major, minor) == (0, 9) or f"Start of version {major}-{minor} at {each.at:.4f} s"


STORED: Mapping[str, Any] = {
    "content_type": "text/plain",
    "headers": {"text": "value"},
    "delivery_mode": PERSISTENT,
    "message_id": "message",
}
"""Properties of a persistent message."""


@scenario("0-9-1/prose/1.4.3.persistent-survives-restart")
@broken_by("loses persistent messages", drops(STORES))
@broken_by("loses the queue's messages", drops("restart: keeps durable queues"))
@broken_by("stores no properties", changes(STORES, strip_what_is_stored))
@broken_by(
    "damages them",
    spoils(
        lambda frame: frame.type == BODY and frame.payload == b"persistent",
        lambda frame: Frame(BODY, frame.channel, b"persistenT"),
    ),
)
def persistent_message_comes_back_unchanged(broker: Broker) -> Iterator[Restart]:
    """Of a transient and a persistent message in a durable queue the latter is there after the restart."""
    channel, queue = broker.queue(durable=True)
    channel.publish(b"transient", key=queue, delivery_mode=TRANSIENT)
    channel.publish(b"persistent", key=queue, **STORED)
    channel.fence()
    channel.settle()
    yield RESTART
    channel = broker.channel()
    channel.send(Basic.Get(queue, no_ack=True))
    persistent = message(Basic.GetOk, b"persistent", carrying=STORED)
    # Whether the other one is there too is open; it would come first.
    if not persistent.matches(channel.observe(persistent | message(Basic.GetOk, b"transient"))):
        channel.tries(Basic.Get(queue, no_ack=True), persistent)


def waits(channel: AmqpChannel, queue: str) -> None:
    """Leave the message: nobody has taken it."""


def is_got(channel: AmqpChannel, queue: str) -> None:
    """Get the message, and do not acknowledge it."""
    channel.ask(Basic.Get(queue), Basic.GetOk)


def is_delivered(channel: AmqpChannel, queue: str) -> None:
    """Let the message be delivered, and do not acknowledge it."""
    channel.consume(queue)
    channel.deliveries(1)


def was_put_back(channel: AmqpChannel, queue: str) -> None:
    """Get the message on a channel that ends then."""
    other = channel.connection.channel()
    is_got(other, queue)
    other.close()


@scenario("0-9-1/prose/1.4.3.persistent-survives-restart", needs=["restart"], disruptive=True, alone=True)
@broken_by("takes off the disk what it delivers", changes(AWAITS, forget_on_disk, await_acknowledgement))
@broken_by(
    "takes off the disk what is got",
    changes(GETS, take_what_is_due, forget_on_disk_what_was_got, await_its_acknowledgement),
)
@broken_by(
    "stores what comes through direct exchanges",
    changes("basic.publish: goes to the exchange", keep_in_memory_unless("direct"), route_now),
)
def persistent_message_survives_whoever_has_it(broker: Broker) -> None:
    """Got, delivered or put back, and not acknowledged when the server restarts: it is there afterwards.

    So it is for messages that came through an exchange of each type.
    """
    states, types, queues = (waits, is_got, is_delivered, was_put_back), known_types(broker), []
    for state, kind in product(states, types):
        channel = broker.channel()
        queue, exchange = channel.declare_queue(durable=True), channel.declare_exchange(kind)
        channel.ask(WAYS[kind].bind(queue, exchange))
        WAYS[kind].publish(channel, exchange, b"persistent", delivery_mode=PERSISTENT)
        state(channel, queue)
        queues.append(queue)
    channel.fence()
    channel.settle()
    broker.facility("restart")
    broker.drop()
    channel = broker.channel()
    for queue in queues:
        channel.gets(queue, b"persistent")


@scenario("0-9-1/prose/1.4.3.persistent-survives-restart")
@broken_by("stores nothing of a transaction", changes(COMMIT, commit_in_memory))
def committed_message_survives(broker: Broker) -> Iterator[Restart]:
    """A persistent message that was published in a transaction and committed is there after the restart."""
    channel = transacted(broker)
    queue = channel.declare_queue(durable=True)
    channel.publish(b"committed", key=queue, delivery_mode=PERSISTENT)
    channel.ask(Tx.Commit())
    yield RESTART
    broker.channel().gets(queue, b"committed")
