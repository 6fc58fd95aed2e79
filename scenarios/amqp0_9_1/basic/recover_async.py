"""basic.recover-async: unacknowledged messages are resent, without an answer."""

from harness.amqp0_9_1.broken.basic_faults import resend_unmarked
from harness.amqp0_9_1.broken.deviations import changes, rewrites, swaps
from harness.amqp0_9_1.broken.faults import never_redelivered
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import EXCEPTION, Silence, channel_closed, connection_closed, silence
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, Basic
from harness.play.expect import Inconclusive
from scenarios.amqp0_9_1.basic.recover import RESENT, THREE, three_taken
from scenarios.registry import broken_by, scenario

REDELIVERS = "basic.recover-async: redelivers"


@scenario("0-9-1/basic.recover-async.01")
@broken_by("never sets the flag", swaps(redelivered=never_redelivered))
@broken_by("does not mark what it resends", changes("basic.recover-async: requeues", resend_unmarked))
@broken_by("clears the flag", rewrites(Basic.Deliver, redelivered=False))
@broken_by("sets the flag once", rewrites(Basic.Deliver, redelivered=False, skip=THREE + 1))
def what_recover_async_resends_is_marked(broker: Broker) -> None:
    """Three messages are taken; each that Recover-Async with requeue set resends has redelivered=1."""
    channel = three_taken(broker)
    channel.send(Basic.RecoverAsync(requeue=True))
    absent = channel_closed(NOT_IMPLEMENTED) | connection_closed(NOT_IMPLEMENTED)
    first = channel.expect(RESENT | absent | silence())
    if isinstance(first, Silence):
        raise Inconclusive("no message was resent")
    if not isinstance(first, Basic.Deliver):
        broker.inapplicable("the server answers Recover-Async with 540")
    for _ in range(THREE - 1):
        channel.expect(RESENT | silence())


@scenario("0-9-1/basic.recover-async.01")
@broken_by("does not mark what it returns to its recipient", changes(REDELIVERS, resend_unmarked))
def what_recover_async_returns_to_its_recipient_is_marked(broker: Broker) -> None:
    """With requeue clear, each message that is resent has redelivered=1; an exception resends nothing."""
    channel = three_taken(broker)
    channel.send(Basic.RecoverAsync(requeue=False))
    refused = EXCEPTION.recorded("an exception resends nothing")
    none = silence().recorded("no more was resent")
    for _ in range(THREE):
        if not isinstance(channel.expect(RESENT, refused, none), Basic.Deliver):
            break
