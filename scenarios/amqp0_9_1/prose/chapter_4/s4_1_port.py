"""4.1: the port that was assigned."""

from harness.amqp0_9_1.broken.deviations import swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.wire.vocabulary import GRAMMAR
from scenarios.registry import broken_by, scenario


@scenario("0-9-1/prose/4.1.assigned-port", needs=["own-port"])
@broken_by("listens elsewhere", swaps(port=GRAMMAR.port + 1))
def port_unless_told_otherwise_is_the_assigned_one(broker: Broker) -> None:
    """The server serves AMQP, and the port that it takes when nobody names one is 5672."""
    broker.channel().fence()
    port = broker.facility("own-port")["port"]
    broker.judge(f"port {GRAMMAR.port}", f"port {port}", port == str(GRAMMAR.port))
