"""connection.start-ok: the client selects mechanism and locale."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.outcomes import closed_silently
from scenarios.registry import scenario


@scenario("0-9-1/connection.start-ok.mechanism.validity", slow=True)
def mechanism_that_was_not_offered_ends_in_silence(broker: Broker) -> None:
    """A mechanism that Start did not offer: the socket is closed, and not an octet comes before."""
    broker.tuned()
    stranger = broker.started()
    stranger.send(stranger.start_ok(mechanism="NO-SUCH-MECHANISM"))
    stranger.expect(closed_silently())
