"""AMQP 0-9-1 as the runner sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from harness.amqp0_9_1.annotate import annotate
from harness.amqp0_9_1.benchmark import figures
from harness.amqp0_9_1.broker import Broker, remove
from harness.amqp0_9_1.compiled import Span
from harness.amqp0_9_1.deviations import Fault, Interposer
from harness.amqp0_9_1.fakes import FAKES, Replacement
from harness.amqp0_9_1.footprint import Footprint, footprint, touches
from harness.amqp0_9_1.mutants import Mutant, mutants
from harness.amqp0_9_1.peer import TABLES, Peer
from harness.amqp0_9_1.peer.policy import Policy
from harness.amqp0_9_1.vocabulary import Channel, Connection, Queue
from harness.context import Context, Deadline
from harness.dialect import Banner, Figure
from harness.expect import ControlFailed, Stop
from harness.journal import Event
from harness.peer import PeerServer
from harness.target import Endpoint, Target
from harness.transport import Unreachable

LOG_IN = ("connection.start-ok", "connection.secure-ok")


class _Unkept:
    """A journal for probes: nobody reads it."""

    def write(self, event: Event) -> None:
        """Forget the event."""


class Amqp091:
    """The dialect of document 0-9-1."""

    document = "0-9-1"

    @contextmanager
    def session(self, target: Target, context: Context) -> Iterator[Broker]:
        """A `Broker` for one scenario."""
        broker = self._broker(target, context)
        try:
            yield broker
        finally:
            broker.leave()

    def _broker(self, target: Target, context: Context) -> Broker:
        return Broker(lambda: target.connect(self.document), target.endpoint(), context, self.document)

    @contextmanager
    def _visit(self, target: Target, within: float) -> Iterator[Broker]:
        """A broker to look at for `within` seconds, with all its sockets closed afterwards."""
        deadline = Deadline.after(within, f"it took more than {within:.3g} s")
        broker = self._broker(target, Context(_Unkept(), "probe", deadline=deadline))
        try:
            yield broker
            broker.hang_up()
        finally:
            broker.drop()

    def probe(self, target: Target, within: float = 30.0) -> Banner:
        """Handshake three times, keep the shortest round trip of a Channel.Open."""
        try:
            with self._visit(target, within) as broker:
                connection = broker.started()
                _offered(connection.start, connection.endpoint, target)
                connection.authenticate()
                connection.open()
                trips = []
                for _ in range(3):
                    began = connection.link.now()
                    connection.channel()
                    trips.append(connection.link.now() - began)
                told = connection.start.server_properties
        except Stop as failure:
            hint = "; it speaks TLS (amqps://)" if target.answers_tls() else _hint(failure)
            raise Unreachable(
                f"{target.name} does not open an AMQP 0-9-1 connection: {failure}{hint}"
            ) from None
        return Banner(str(told.get("product", "")), str(told.get("version", "")), told, min(trips))

    def serves(self, target: Target, within: float = 15.0) -> None:
        """Open a channel and ask for a queue; any answer will do.

        A broker may go on opening connections while it is stuck behind them.
        """
        look = Queue.Declare("amqp-conformance", passive=True)
        try:
            with self._visit(target, within) as broker:
                broker.channel().ask(look, Queue.DeclareOk, Channel.Close)
        except Stop as failure:
            raise Unreachable(f"{target.name} no longer serves a new client: {failure}") from None

    def remove(self, target: Target, context: Context, entities: Iterable[tuple[str, str]]) -> list[str]:
        """Delete queues and exchanges by name, whoever declared them."""
        broker = self._broker(target, context)
        try:
            return list(remove(broker, entities))
        finally:
            broker.hang_up()

    def annotate(self, octets: bytes) -> Iterator[Span]:
        """The fields of one frame or protocol header."""
        return annotate(octets)

    def policies(self) -> Mapping[str, object]:
        """The legal variants of the reference peer by name."""
        return dict(Policy.variants())

    def reference_peer(self, change: object = None, policy: object = None) -> PeerServer:
        """The strict embedded peer, with a deviation's change and one of its legal variants."""
        if isinstance(change, Replacement):
            return change.make()
        tables = change.change(TABLES) if isinstance(change, Fault) else TABLES
        peer = Peer(policy if isinstance(policy, Policy) else Policy(), tables, taken=set())
        return change.before(peer) if isinstance(change, Interposer) else peer

    def benchmarks(self) -> Iterator[Figure]:
        """Our codec beside pamqp."""
        return figures()

    def fakes(self) -> Mapping[str, object]:
        """Peers that know no rule at all."""
        return FAKES

    def mutants(self) -> Iterable[Mutant]:
        """Every row of the tables dropped, misled, and answering wrongly."""
        return mutants()

    def footprint(self, peer: PeerServer, events: Iterable[Event]) -> Footprint:
        """What an exchange used of a clean reference peer."""
        assert isinstance(peer, Peer)
        return footprint(peer.taken or (), events)

    def touches(self, change: object, footprint: Footprint) -> bool:
        """Whether a deviation's change could show in an exchange with this footprint."""
        return touches(change, footprint)


def _hint(failure: Stop) -> str:
    """What a user may have got wrong: a server ends a connection whose log-in it does not accept."""
    logging_in = isinstance(failure, ControlFailed) and failure.what in LOG_IN
    ended = logging_in and failure.actual.startswith(("socket closed", "connection.close"))  # type: ignore[attr-defined]
    return "; are user and password right?" if ended else ""


def _offered(start: Connection.Start, endpoint: Endpoint, target: Target) -> None:
    """Make sure that our mechanism is one the server lists. Raises Unreachable."""
    offered = bytes(start.mechanisms).decode("utf-8", "backslashreplace")
    if endpoint.mechanism not in offered.split():
        raise Unreachable(
            f"{target.name} does not offer the SASL mechanism {endpoint.mechanism}, only {offered}"
        )


DIALECT = Amqp091()
