"""Bits of a client's methods: each decides what the document says, set as well as clear."""

from harness.amqp0_9_1.broken.basic_faults import (
    anybody_may_have_what_is_resent,
    forget_who_published_elsewhere,
    no_local_may_have_nothing,
    no_local_spares_what_waits,
)
from harness.amqp0_9_1.broken.deviations import Fault, changes, forwards, rejects, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import EXCEPTION, Silence, message, silence
from harness.amqp0_9_1.peer.tables.basic import route_now
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, Basic
from scenarios.amqp0_9_1.basic.recover import recovers
from scenarios.amqp0_9_1.grammar.calls import kind, of
from scenarios.registry import broken_by, scenario, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject

THREE = 3
REFUSED = EXCEPTION.recorded("judged by the rule that it is implemented")
NO_MORE = silence().recorded("no more was resent")
PUBLISHED = "basic.publish: goes to the exchange"


@scenario("0-9-1/grammar/basic.consume.no-local.decides")
@broken_by("overlooks the bit", forwards(Basic.Consume, no_local=False))
@broken_by("takes it for set always", forwards(Basic.Consume, no_local=True))
@broken_by("refuses the bit", rejects(Basic.Consume, NOT_IMPLEMENTED, when=lambda consume: consume.no_local))
@broken_by("withholds what others published too", swaps(may_have=no_local_may_have_nothing))
@broken_by("compares the channel", changes(PUBLISHED, forget_who_published_elsewhere, route_now))
@broken_by("sends what was there already", swaps(may_have=no_local_spares_what_waits))
def own_messages_are_withheld_with_no_local(broker: Broker) -> None:
    """One's own message comes without the bit; with it only what another connection published.

    Own ones are there already, and come on the channel that consumes and on another of its connection.
    """
    own, neighbour, other = broker.channel(), broker.channel(), broker.channel(new_connection=True)
    heard, queue = own.declare_queue(), own.declare_queue()
    own.consume(heard, no_ack=True)
    own.hears(b"own", key=heard)
    own.publish(b"waiting", key=queue)
    own.depth(queue)
    own.tries(Basic.Consume(queue, no_local=True, no_ack=True), Basic.ConsumeOk)
    for publisher in (own, neighbour, other):
        publisher.publish(b"other" if publisher is other else b"own", key=queue)
        publisher.depth(queue)
    own.expect(message(Basic.Deliver, b"other"))
    own.stays_quiet()


@scenario("0-9-1/grammar/basic.qos.global.decides")
@broken_by("takes it for set always", forwards(Basic.Qos, global_=True))
@broken_by(
    "takes it for set without a size", forwards(Basic.Qos, lambda qos: not qos.prefetch_size, global_=True)
)
@broken_by("takes it the other way round", forwards(Basic.Qos, global_=lambda set_: not set_))
@broken_by("answers and does nothing", changes("basic.qos: for the channel", effects=()))
def window_without_global_is_that_of_its_channel(broker: Broker) -> None:
    """A channel whose window is full gets no more; others, opened before and behind it, get a message."""
    before, limited = broker.channel(), broker.channel()
    limited.ask(Basic.Qos(prefetch_count=1))
    for channel in (limited, before, broker.channel()):
        queue = channel.queue_with(*[b"in advance"] * THREE)
        channel.depth(queue)
        channel.consume(queue)
        channel.expect(message(Basic.Deliver, b"in advance"))
    limited.stays_quiet()


def overlooks_the_recipient(about: Subject) -> Fault:
    row = f"{kind(about).full_name}: redelivers"
    return changes(row, anybody_may_have_what_is_resent)


@scenarios_for(of("bit", "basic.consume", "basic.qos"))
@broken_by("resends to anybody", overlooks_the_recipient)
def what_is_not_requeued_comes_to_its_recipient(broker: Broker, about: Subject) -> None:
    """Of three messages, resent without requeue, none comes to the other consumer that waits for them."""
    recipient, other = broker.channel(), broker.channel(new_connection=True)
    queue = recipient.queue_with(*map(str, range(THREE)))
    recipient.consume(queue)
    recipient.deliveries(THREE)
    other.consume(queue)
    if kind(about) is Basic.Recover:
        recovers(broker, recipient, requeue=False)
    else:
        recipient.send(Basic.RecoverAsync(requeue=False))
    for _ in range(THREE):
        seen = recipient.expect(message(Basic.Deliver), NO_MORE, REFUSED)
        if isinstance(seen, Silence):
            break
        if not isinstance(seen, Basic.Deliver):
            broker.inapplicable("the method is refused, so that nothing is resent")
    other.stays_quiet()
