"""AMQP 0-9-1 as the runner sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from harness.amqp0_9_1.broken.deviations import Fault, Interposer
from harness.amqp0_9_1.broken.fakes import FAKES, Replacement
from harness.amqp0_9_1.broken.footprint import Footprint, footprint, tables_with, touches
from harness.amqp0_9_1.broken.harmless import HARMLESS
from harness.amqp0_9_1.broken.mutants import mutants
from harness.amqp0_9_1.client.broker import Broker, remove
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.client.leniency import STEPS, barrier
from harness.amqp0_9_1.client.outcomes import HeaderReceived, code, signature
from harness.amqp0_9_1.client.promises import LOOKS
from harness.amqp0_9_1.peer import DEFAULT, TABLES, Peer
from harness.amqp0_9_1.peer.policy import Policy
from harness.amqp0_9_1.wire.annotate import annotate
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER, Frame, Garbage, Header
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    CONNECTION_FORCED,
    INVALID_PATH,
    NOT_ALLOWED,
    RESOURCE_ERROR,
    Channel,
    Connection,
    Queue,
)
from harness.dialect import Banner, tried
from harness.dialect import Look as Tried
from harness.peers.deviation import Mutant
from harness.peers.footprint import observed
from harness.peers.peer import PeerServer
from harness.play.context import Context
from harness.play.expect import Barrier, Blocked, ControlFailed, Stop
from harness.play.fixture import played, visiting
from harness.targets.target import Endpoint, Target
from harness.wire.annotation import Span
from harness.wire.journal import Event
from harness.wire.transport import NotSpoken, Unreachable

LOG_IN = ("connection.start-ok", "connection.secure-ok")
TRIPS = 3
UNWANTED = (CONNECTION_FORCED, INVALID_PATH, ACCESS_REFUSED, RESOURCE_ERROR, NOT_ALLOWED)
"""Codes that say that a client is not wanted, or not there or not now; others say that it did wrong."""


class Amqp091:
    """The dialect of document 0-9-1."""

    document = "0-9-1"

    def session(self, target: Target, context: Context) -> AbstractContextManager[Broker]:
        """A `Broker` for one scenario."""
        return played(self._broker(target, context), self.document)

    def _broker(self, target: Target, context: Context) -> Broker:
        return Broker(lambda: target.connect(self.document), target.endpoint(), context, self.document)

    def _visit(
        self, target: Target, within: float, barrier: Barrier | None = None
    ) -> AbstractContextManager[Broker]:
        """A broker to look at for `within` seconds."""
        return visiting(lambda context: self._broker(target, context), target, within, barrier=barrier)

    def probe(self, target: Target, within: float = 30.0) -> Banner:
        """Handshake three times, keep the shortest round trip of a Channel.Open."""
        try:
            with self._visit(target, within) as broker:
                connection = broker.socket()
                trips, met = [0.0], None
                try:
                    trips = list(_trips(connection, target))
                except Stop as failure:
                    met = _barrier(failure, connection)
                told = connection.start.server_properties
                breaches = tuple(broker.context.breaches)
        except Stop as failure:
            hint = "; it speaks TLS (amqps://)" if target.answers_tls() else _hint(failure)
            sentence = f"{target.name} does not open an AMQP 0-9-1 connection: {failure}{hint}"
            raise (NotSpoken if _other_header(failure) else Unreachable)(sentence) from None
        product, version = (str(told.get(name, "")) for name in ("product", "version"))
        return Banner(product, version, told, min(trips), breaches, met)

    def serves(self, target: Target, within: float = 15.0, barrier: Barrier | None = None) -> None:
        """Open a channel and ask for a queue; any answer will do.

        A broker may go on opening connections while it is stuck behind them.
        """
        look = Queue.Declare("amqp-conformance", passive=True)
        try:
            with self._visit(target, within, barrier) as broker:
                broker.channel().ask(look, Queue.DeclareOk, Channel.Close)
        except Blocked:
            return  # as far as ever
        except Stop as failure:
            raise Unreachable(f"{target.name} no longer serves a new client: {failure}") from None

    def remove(self, target: Target, context: Context, entities: Iterable[tuple[str, str]]) -> list[str]:
        """Delete queues and exchanges by name, whoever declared them."""
        broker = self._broker(target, context)
        try:
            return list(remove(broker, entities))
        finally:
            broker.hang_up()

    def promises(self) -> Mapping[str, Tried]:
        """What facilities promise here, by name."""
        return {facility: tried(self._visit, look) for facility, look in LOOKS.items()}

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
        taken: set[str] = set()
        tables = tables_with(change) if isinstance(change, Fault) else TABLES
        chosen = policy if isinstance(policy, Policy) else DEFAULT
        if change is None:
            tables = replace(tables, strategies=observed(tables.strategies, taken))
            chosen = observed(chosen, taken)
        peer = Peer(chosen, tables, taken=taken)
        return change.before(peer) if isinstance(change, Interposer) else peer

    def harmless(self) -> Mapping[str, Interposer]:
        """Interposers that change nothing that matters, by name."""
        return HARMLESS

    def fakes(self) -> Mapping[str, object]:
        """Peers that know no rule at all."""
        return FAKES

    def mutants(self) -> Iterable[Mutant[Fault]]:
        """Every row of the tables dropped, misled, and answering wrongly."""
        return mutants()

    def footprint(self, peer: PeerServer, events: Iterable[Event]) -> Footprint:
        """What an exchange used of a clean reference peer."""
        assert isinstance(peer, Peer)
        return footprint(peer.taken or (), events)

    def touches(self, change: object, footprint: Footprint) -> bool:
        """Whether a deviation's change could show in an exchange with this footprint."""
        return touches(change, footprint)


def _trips(connection: AmqpConnection, target: Target) -> Iterator[float]:
    """Open the connection, and so many channels: how long each took, in seconds."""
    connection.begin()
    _offered(connection.start, connection.endpoint, target)
    connection.authenticate()
    connection.open()
    # A channel-max of 1 is a legal one.
    for _ in range(min(TRIPS, connection.tune.channel_max or TRIPS)):
        began = connection.link.now()
        connection.channel()
        yield connection.link.now() - began


def _barrier(failure: Stop, connection: AmqpConnection) -> Barrier:
    """What a target that speaks the protocol does not get over. Raises the failure where it is none.

    Who ends a connection may die, or may not want this user or virtual host: that breaks no rule. Who has
    broken one before is judged by that. Raises OverBudget where the target talks without end.
    """
    if not isinstance(failure, ControlFailed) or failure.what not in STEPS or _other_header(failure):
        raise failure
    spoken = any(
        isinstance(each, Frame | Header) or (isinstance(each, Garbage) and each.delimited)
        for each in connection.link.received()
    )
    breaches = connection.context.breaches
    if not spoken or not (breaches or not _lets_nobody_in(failure, connection)):
        raise failure
    while connection.link.listen(connection.context.patience.quiet):
        pass  # up to the first pause, however busy we are
    return barrier(failure.what, failure.actual, breaches)


def _lets_nobody_in(failure: ControlFailed, connection: AmqpConnection) -> bool:
    """Whether the target ended the connection, as it may where it does not want us."""
    if failure.actual.startswith("protocol header"):
        return False  # ours, which it refuses and offers
    closed = failure.actual.startswith("connection.close")
    wanted = failure.what in LOG_IN or any(failure.actual.endswith(f" {code(each)}") for each in UNWANTED)
    return (closed and wanted) or (not closed and connection.link.ended is not None)


def _hint(failure: Stop) -> str:
    """What a user may have got wrong: a server ends a connection whose log-in it does not accept."""
    logging_in = isinstance(failure, ControlFailed) and failure.what in LOG_IN
    ended = logging_in and failure.actual.startswith(("socket closed", "connection.close"))  # type: ignore[attr-defined]
    return "; are user and password right?" if ended else ""


def _other_header(failure: Stop) -> bool:
    """Whether the server answered our protocol header with another one: it speaks something else."""
    other = isinstance(failure, ControlFailed) and failure.actual.startswith("protocol header")
    return other and failure.actual != signature(HeaderReceived(Header(PROTOCOL_HEADER)))  # type: ignore[attr-defined]


def _offered(start: Connection.Start, endpoint: Endpoint, target: Target) -> None:
    """Make sure that our mechanism is one the server lists, if it lists any. Raises Unreachable."""
    offered = bytes(start.mechanisms).decode("utf-8", "backslashreplace")
    if offered and endpoint.mechanism not in offered.split():
        raise Unreachable(
            f"{target.name} does not offer the SASL mechanism {endpoint.mechanism}, only {offered}"
        )


DIALECT = Amqp091()
