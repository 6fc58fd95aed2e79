"""Bits of a client's methods: each decides what the document says, set as well as clear."""

from __future__ import annotations

from harness.amqp0_9_1.basic_faults import (
    forget_who_published_elsewhere,
    no_local_may_have_nothing,
    no_local_spares_what_waits,
)
from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import changes, forwards, rejects, swaps
from harness.amqp0_9_1.outcomes import message
from harness.amqp0_9_1.peer.basic_table import route_now
from harness.amqp0_9_1.vocabulary import NOT_IMPLEMENTED, Basic
from scenarios.registry import broken_by, scenario

PUBLISHED = "basic.publish: goes to the exchange"


@scenario("0-9-1/grammar/basic.consume.no-local.decides")
@broken_by("overlooks the bit", forwards(Basic.Consume, no_local=False))
@broken_by("takes it for set always", forwards(Basic.Consume, no_local=True))
@broken_by("refuses the bit", rejects(Basic.Consume, NOT_IMPLEMENTED, when=lambda consume: consume.no_local))
@broken_by("withholds what others published too", swaps(may_have=no_local_may_have_nothing))
@broken_by("compares the channel", changes(PUBLISHED, effects=(forget_who_published_elsewhere, route_now)))
@broken_by("sends what was there already", swaps(may_have=no_local_spares_what_waits))
def own_messages_are_withheld_with_no_local(broker: Broker) -> None:
    """One's own message comes without the bit; with it only what another connection published.

    Own ones are there already, and come on the channel that consumes and on another of its connection.
    """
    own, neighbour, other = broker.channel(), broker.channel(), broker.channel(new_connection=True)
    heard, queue = own.declare_queue(), own.declare_queue()
    own.consume(heard, no_ack=True)
    own.publish(b"own", key=heard)
    own.expect(message(Basic.Deliver, b"own"))
    own.publish(b"waiting", key=queue)
    own.depth(queue)
    own.send(Basic.Consume(queue, no_local=True, no_ack=True))
    own.expect(Basic.ConsumeOk)
    for publisher in (own, neighbour, other):
        publisher.publish(b"other" if publisher is other else b"own", key=queue)
        publisher.depth(queue)
    own.expect(message(Basic.Deliver, b"other"))
    own.stays_quiet()
