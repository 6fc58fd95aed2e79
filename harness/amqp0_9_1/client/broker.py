"""The fixture of the 0-9-1 scenarios: the broker under test."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.leniency import ANOTHER_CHANNEL
from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.client.outcomes import Observation, Received, signature
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Channel, Exchange, Queue
from harness.play.expect import Blocked, ControlFailed
from harness.play.fixture import Fixture
from harness.wire.transport import Transport, Unreachable

REMOVE: dict[str, Callable[[str], Method]] = {"queue": Queue.Delete, "exchange": Exchange.Delete}
LOOK: dict[str, Callable[[str], Method]] = {
    "queue": lambda name: Queue.Declare(name, passive=True),
    "exchange": lambda name: Exchange.Declare(name, "direct", passive=True),
}
DONE = (Queue.DeleteOk, Exchange.DeleteOk, Queue.DeclareOk, Exchange.DeclareOk)


class Broker(Fixture[AmqpConnection]):
    """The broker under test, for one scenario: opens connections, and leaves nothing behind."""

    # -- connections -----------------------------------------------------------------------------------

    def socket(self, **endpoint: Any) -> AmqpConnection:
        """Give a connection on which nothing has been said yet; `endpoint` changes user, virtual host, …"""
        self._opened += 1
        place = self._endpoint_with(endpoint)
        link = Link(self._reach(), self.context, self._connection_name(), self._protocol)
        connection = AmqpConnection(link, self.context, place)
        self._connections.append(connection)
        return connection

    def _reach(self) -> Transport:
        try:
            return self._connect()
        except Unreachable:
            if self._opened == 1:
                raise
            # It served this scenario a moment ago: whether it can be helped, the runner has to see.
            raise ControlFailed("opening another connection", "nobody") from None

    def started(self) -> AmqpConnection:
        """Give a connection on which the server has sent Start."""
        connection = self.socket()
        connection.begin()
        return connection

    def tuned(self) -> AmqpConnection:
        """Give a connection on which the server has sent Tune."""
        connection = self.started()
        connection.authenticate()
        return connection

    def connection(self, **endpoint: Any) -> AmqpConnection:
        """Give a connection ready for use."""
        connection = self.socket(**endpoint)
        connection.begin()
        connection.authenticate()
        connection.open()
        return connection

    def promising(self, *capabilities: str, value: bool = True) -> AmqpConnection:
        """Give a connection whose client tells these capabilities, as true or another `value`."""
        connection = self.started()
        told = connection.start_ok()
        properties = {**told.client_properties, "capabilities": dict.fromkeys(capabilities, value)}
        connection.authenticate(told.replace(client_properties=properties))
        connection.open()
        return connection

    def channel(self, *, new_connection: bool = False) -> AmqpChannel:
        """Give a channel, on the scenario's first usable connection or on a new one."""
        usable = [each for each in self._connections if each.usable]
        connection = self.connection() if new_connection or not usable else usable[0]
        return connection.channel()

    def queue(
        self, *bodies: bytes | str, new_connection: bool = False, **flags: Any
    ) -> tuple[AmqpChannel, str]:
        """Give a channel, and a queue with these messages that was declared on it."""
        channel = self.channel(new_connection=new_connection)
        return channel, channel.queue_with(*bodies, **flags)

    def lookout(self) -> AmqpConnection:
        """Give a connection in use that has nothing else to do than to wait."""
        connection = self.connection()
        connection.channel().fence()
        return connection

    def keeps_to_its_channels(self) -> None:
        """Go on where all has come on the channel it was due on, up to now. Raises Blocked."""
        for each in self.context.breaches:
            if each.rule == ANOTHER_CHANNEL.rule:
                raise Blocked(each.rule, each.what)

    # -- what differs between brokers ------------------------------------------------------------------

    def queue_with_priorities(self, channel: AmqpChannel) -> str:
        """Declare a queue with priorities, a plain one if that has them. Raises NotRun without."""
        queue = channel.declare_queue()
        for priority in (0, 9):
            channel.publish(f"{priority}", key=queue, priority=priority)
        channel.depth(queue)
        if channel.drain(queue) == [b"9", b"0"]:
            return queue
        return channel.declare_queue(arguments=self.priorities(self.facility("priority-queue")))

    @staticmethod
    def priorities(given: Mapping[str, str]) -> dict[str, int]:
        """Give the arguments of Declare that ask for priorities by the facility; none for a plain queue."""
        return {given["argument"]: int(given["levels"])} if given["argument"] else {}

    # -- leaving ---------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Close all connections and remove every named entity, unless the target goes with the run."""
        self.hang_up()
        if self.context.declared and self.context.tidy:
            try:
                left = list(remove(self, self.context.declared))
                self.context.declared.clear()
            finally:
                self.hang_up()
            if left:
                raise ControlFailed("removing what the scenario declared", "; ".join(left))


def remove(broker: Broker, entities: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Delete entities by kind and name, newest first; yields a sentence for each that is still there.

    One that is not there is no fault: names are kept before they are declared. A server may refuse to
    delete a reserved or illegal name with another code than 404, so what it refuses is looked for. A server
    that does not answer is not asked again.
    """
    channel: AmqpChannel | None = None
    for kind, name in reversed(list(entities)):
        channel = channel or broker.channel()
        refusal = _refusal(channel, REMOVE[kind](name))
        if refusal is None:
            continue
        channel = None
        if isinstance(refusal, Received) and _is_gone(refusal, broker, LOOK[kind](name)):
            continue
        yield f"{kind} {name}: {signature(refusal)}"
        if not isinstance(refusal, Received):
            return


def _refusal(channel: AmqpChannel, method: Method) -> Observation | None:
    """Send a method; what came in place of its answer, or None. A Close is answered."""
    link = channel.connection.link
    channel.send(method)
    seen = link.next(channel.number, channel.context.patience.due)
    if isinstance(seen, Received) and isinstance(seen.method, DONE):
        return None
    link.acknowledge_close(seen)
    return seen


def _is_gone(refusal: Received, broker: Broker, look: Method) -> bool:
    if isinstance(refusal.method, Channel.Close) and refusal.method.reply_code == NOT_FOUND:
        return True
    return isinstance(_refusal(broker.channel(), look), Received)
