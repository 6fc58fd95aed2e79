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
from harness.amqp0_9_1.vocabulary import Channel, Queue
from harness.context import Context
from harness.dialect import Banner, Figure
from harness.expect import Stop
from harness.journal import Event
from harness.peer import PeerServer
from harness.target import Target
from harness.transport import Unreachable


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

    def probe(self, target: Target) -> Banner:
        """Handshake three times, keep the shortest round trip of a Channel.Open."""
        broker = self._broker(target, Context(_Unkept(), "probe"))
        try:
            connection = broker.connection()
            trips = []
            for _ in range(3):
                began = connection.link.now()
                connection.channel()
                trips.append(connection.link.now() - began)
            told = connection.start.server_properties
            broker.hang_up()
        except Stop as failure:
            raise Unreachable(f"{target.name} does not open an AMQP 0-9-1 connection: {failure}") from None
        return Banner(str(told.get("product", "")), str(told.get("version", "")), told, min(trips))

    def serves(self, target: Target) -> None:
        """Open a channel and ask for a queue; any answer will do.

        A broker may go on opening connections while it is stuck behind them.
        """
        broker = self._broker(target, Context(_Unkept(), "probe"))
        try:
            broker.channel().ask(
                Queue.Declare("amqp-conformance", passive=True), Queue.DeclareOk, Channel.Close
            )
            broker.hang_up()
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


DIALECT = Amqp091()
