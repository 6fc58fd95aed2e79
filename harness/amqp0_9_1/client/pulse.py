"""Heartbeats over time: letting intervals pass on a connection, how long the server was silent (4.2.7)."""

from collections.abc import Callable
from itertools import pairwise

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.wire.frames import HEARTBEAT, Frame
from harness.wire.journal import Direction

INTERVAL = 1
"""The shortest heartbeat that can be agreed upon, in seconds."""


LEISURELY = 60
"""An interval so long that no scenario outlives it, in seconds."""


def beating(broker: Broker) -> AmqpConnection:
    """Give a connection on which heartbeats were agreed upon. Ends the scenario where the server has none."""
    connection = broker.tuned()
    if not connection.tune.heartbeat:
        broker.inapplicable("the server proposes no heartbeats: it may discard them all (4.2.7)")
    connection.open(connection.tune_ok(heartbeat=LEISURELY))
    return connection


class Pulse:
    """A connection with heartbeats of one second, from Tune-Ok on; its times are in intervals since then."""

    def __init__(self, broker: Broker, *, opened: bool = True) -> None:
        self.connection: AmqpConnection = broker.tuned()
        agreed = self.connection.tune_ok(heartbeat=INTERVAL)
        if opened:
            self.connection.open(agreed)
        else:
            self.connection.send(agreed)
        self._began = self.connection.link.now()

    @property
    def offered(self) -> bool:
        """Whether the server itself proposed heartbeats."""
        return bool(self.connection.tune.heartbeat)

    @property
    def now(self) -> float:
        """The intervals that have passed."""
        return (self.connection.link.now() - self._began) / INTERVAL

    @property
    def ended(self) -> bool:
        """Whether the server has closed the socket."""
        return self.connection.link.ended is not None

    def passes(self, intervals: int, say: Callable[[], None] | None = None) -> None:
        """Let intervals pass, fewer when the server ends the connection; call `say` twice in each."""
        for _ in range(2 * intervals):
            if self.ended:
                return
            if say is not None:
                say()
            self.connection.link.listen(INTERVAL / 2)

    @property
    def heartbeats(self) -> int:
        """How many heartbeats have come."""
        units = [
            each.unit for each in self.connection.link.transcript if each.direction is Direction.RECEIVED
        ]
        return sum(isinstance(unit, Frame) and unit.type == HEARTBEAT for unit in units)

    def longest_silence(self, since: float = 0.0) -> float:
        """Give the longest time from `since` on in which nothing came, in intervals."""
        link = self.connection.link
        came = [each.at for each in link.transcript if each.direction is Direction.RECEIVED]
        begun = self._began + since * INTERVAL
        times = [begun, *(at for at in came if at > begun), link.now()]
        return max(later - earlier for earlier, later in pairwise(times)) / INTERVAL

    @property
    def since_we_spoke(self) -> float:
        """The time since we last sent anything, in intervals."""
        link = self.connection.link
        last = max(each.at for each in link.transcript if each.direction is Direction.SENT)
        return (link.now() - last) / INTERVAL
