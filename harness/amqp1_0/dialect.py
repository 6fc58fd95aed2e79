"""AMQP 1.0 as the runner sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from secrets import token_hex
from typing import Any
from weakref import WeakKeyDictionary

from harness.amqp1_0.broken.deviations import Fault, Interposer
from harness.amqp1_0.broken.fakes import FAKES, Replacement
from harness.amqp1_0.broken.footprint import Footprint, footprint, tables_with, touches
from harness.amqp1_0.broken.harmless import HARMLESS
from harness.amqp1_0.broken.mutants import mutants
from harness.amqp1_0.client import sasl
from harness.amqp1_0.client.connection import AmqpConnection, OtherHeader
from harness.amqp1_0.client.container import Container, Layers
from harness.amqp1_0.client.leniency import STEPS, barrier
from harness.amqp1_0.client.promises import LOOKS
from harness.amqp1_0.peer import DEFAULT, TABLES, Peer, Policy
from harness.amqp1_0.wire.annotate import annotate
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, Header
from harness.amqp1_0.wire.performatives import Open
from harness.amqp1_0.wire.types import Map
from harness.dialect import Banner, tried
from harness.dialect import Look as Tried
from harness.peers.deviation import Mutant
from harness.peers.footprint import observed
from harness.peers.peer import PeerServer
from harness.play.context import Context
from harness.play.expect import Barrier, Blocked, ControlFailed, Inapplicable, Inconclusive, Stop
from harness.play.fixture import played, visiting
from harness.targets.target import Target
from harness.wire.annotation import Span
from harness.wire.journal import Event
from harness.wire.transport import NotSpoken, Unreachable

TRIPS = 3
"""Round trips that the probe measures."""
LIMITS = ("max_frame_size", "channel_max", "idle_time_out", "offered_capabilities", "desired_capabilities")
"""What an open tells of its container beside its name and its properties."""


class Amqp10:
    """The dialect of document 1-0."""

    document = "1-0"

    def __init__(self) -> None:
        self._layers: WeakKeyDictionary[Target, Layers] = WeakKeyDictionary()

    def session(self, target: Target, context: Context) -> AbstractContextManager[Container]:
        """A `Container` for one scenario."""
        return played(self._container(target, context), self.document)

    def _container(self, target: Target, context: Context) -> Container:
        layers = self._layers.setdefault(target, Layers())
        return Container(
            lambda: target.connect(self.document),
            target.endpoint(),
            context,
            self.document,
            layers,
            lambda: target.secure_port(self.document),
        )

    def _visit(
        self, target: Target, within: float, barrier: Barrier | None = None
    ) -> AbstractContextManager[Container]:
        """A container to look at for `within` seconds.

        Its name is its own: some brokers let in one container of a name, and other workers look as well.
        """
        return visiting(
            lambda context: self._container(target, context), target, within, f"probe-{token_hex(4)}", barrier
        )

    def probe(self, target: Target, within: float = 30.0) -> Banner:
        """Open one connection and keep the shortest round trip of a few sessions begun, as many as it allows.

        None of them is ended: there are brokers that leave one end in a thousand without an answer. Raises
        NotSpoken when the target answers with the protocol header of another protocol.
        """
        trips, met = [0.0], None
        try:
            with self._visit(target, within) as container:
                try:
                    trips = list(_trips(container, target))
                except Stop as failure:
                    met = _barrier(failure, container)
                told = container.newest.link.partner or Open()
                breaches = tuple(container.context.breaches)
        except OtherHeader as failure:
            raise _not_opened(target, failure, spoken=_is_ours(failure.header)) from None
        except Stop as failure:
            raise _not_opened(target, failure) from None
        facts = _facts(told)
        product, version = (str(facts.get(name, "")) for name in ("product", "version"))
        return Banner(product, version, facts, min(trips, default=0.0), breaches, met)

    def serves(self, target: Target, within: float = 15.0, barrier: Barrier | None = None) -> None:
        """Open a connection and begin a session."""
        try:
            with self._visit(target, within, barrier) as container:
                connection = container.connection()
                connection.beats()
                connection.begin()
        except Blocked:
            return  # as far as ever
        except Stop as failure:
            raise Unreachable(f"{target.name} no longer serves a new client: {failure}") from None

    def remove(self, target: Target, context: Context, entities: Iterable[tuple[str, str]]) -> list[str]:
        """Nothing is left to remove: what is named by a scenario goes with its connection."""
        del target, context, entities
        return []

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


def _trips(container: Container, target: Target) -> Iterator[float]:
    """Open a connection, and as many sessions as it allows: how long each took, in seconds."""
    connection = _let_in(container, target)
    connection.open()
    connection.beats()  # one that has just started may answer later than it bears silence
    with suppress(Inconclusive):  # no channel is left
        for _ in range(TRIPS):
            began = connection.link.now()
            connection.begin()
            yield connection.link.now() - began


def _barrier(failure: Stop, container: Container) -> Barrier:
    """What a target that speaks the protocol does not get over. Raises the failure where it is none.

    Who ends a connection may die, or may not want us: that breaks no rule. Who has broken one before is
    judged by that. Raises OverBudget where the target talks without end.
    """
    if not isinstance(failure, ControlFailed) or failure.what not in STEPS:
        raise failure
    link, breaches = container.newest.link, container.context.breaches
    # Who does not begin with a protocol header does not speak it.
    spoken = any(isinstance(each, Header) for each in link.received())
    rule = breaches[0].rule if breaches else STEPS[failure.what].rule
    if isinstance(failure, OtherHeader) or not spoken or not rule:
        raise failure
    if not breaches and (link.ended is not None or link.heard_close):
        raise failure
    link.listen(container.context.patience.quiet)
    return barrier(failure.what, failure.actual, breaches)


def _let_in(container: Container, target: Target) -> AmqpConnection:
    """A connection on which an open is due. Raises Unreachable where our mechanism is not offered."""
    try:
        connection, offered = container.offered()
    except Inapplicable:
        return container.negotiated()
    wanted = connection.endpoint.mechanism
    listed = " ".join(map(str, offered.sasl_server_mechanisms)).encode("unicode_escape").decode()
    if listed and not sasl.offers(offered, wanted):
        raise Unreachable(f"{target.name} does not offer the SASL mechanism {wanted}, only {listed}")
    connection.authenticate()
    connection.exchange_headers()
    return connection


def _is_ours(header: Header) -> bool:
    """Whether a header is one of AMQP 1.0, whatever layer it opens."""
    return header.version == Header(PROTOCOL_HEADER).version


def _not_opened(target: Target, failure: Stop, spoken: bool = True) -> Unreachable:
    hint = "; it speaks TLS (amqps://)" if target.answers_tls() else _hint(failure)
    sentence = f"{target.name} does not open an AMQP 1.0 connection: {failure}{hint}"
    return Unreachable(sentence) if spoken else NotSpoken(sentence)


def _hint(failure: Stop) -> str:
    """What a user may have got wrong."""
    refused = isinstance(failure, ControlFailed) and failure.what == "sasl-init"
    return "; are user and password right?" if refused else ""


def _facts(told: Open) -> dict[str, Any]:
    """What an open tells of its container, as plain values."""
    properties: Any = told.properties
    pairs = properties.pairs if isinstance(properties, Map) else ()
    facts = {str(key): _plain(value) for key, value in pairs}
    limits = {name.replace("_", "-"): _plain(getattr(told, name)) for name in LIMITS}
    return facts | {"container-id": _plain(told.carried("container_id"))} | limits


def _plain(value: Any) -> Any:
    """A value without the type system's own classes."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, int) else str(value)


DIALECT = Amqp10()
