"""connection.start-ok: the client selects mechanism and locale."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import ends_with, forwards
from harness.amqp0_9_1.outcomes import closed_silently
from harness.amqp0_9_1.vocabulary import ACCESS_REFUSED, Connection
from scenarios.registry import broken_by, scenario


@scenario("0-9-1/connection.start-ok.mechanism.validity", slow=True)
@broken_by("says Close before it closes", ends_with(Connection.Close(ACCESS_REFUSED, "no such mechanism")))
@broken_by("takes any mechanism for PLAIN", forwards(Connection.StartOk, mechanism="PLAIN"))
def mechanism_that_was_not_offered_ends_in_silence(broker: Broker) -> None:
    """A mechanism that Start did not offer: the socket is closed, and not an octet comes before."""
    broker.tuned()
    stranger = broker.started()
    stranger.send(stranger.start_ok(mechanism="NO-SUCH-MECHANISM"))
    stranger.expect(closed_silently())
