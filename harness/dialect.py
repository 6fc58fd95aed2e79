"""What a protocol gives to those above the harness: one object per document prefix.

Nothing above `harness/` knows a protocol; it asks the registry for the dialect of a rule's document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar

from harness.peers.deviation import Mutant
from harness.peers.peer import PeerServer
from harness.play.context import Context
from harness.play.expect import Barrier, Stop
from harness.targets.target import Target
from harness.wire.annotation import Span
from harness.wire.journal import Breached, Event


@dataclass(frozen=True, slots=True)
class Banner:
    """What a target says of itself: product and version as it names them, and all it told.

    `round_trip` is the shortest measured, in seconds. A target that breaks rules when a connection is opened
    is hampered: `breaches` are the faults that were read all the same, `barrier` is where it goes no further.
    """

    product: str
    version: str
    properties: Mapping[str, Any]
    round_trip: float
    breaches: tuple[Breached, ...] = ()
    barrier: Barrier | None = None


Visitor = TypeVar("Visitor")


class Broken(Exception):
    """A facility of a target is not what its description promises; the message is one sentence."""


Look = Callable[[Target, Mapping[str, str], float], str]
"""Uses what a facility of a started target gave, within so many seconds, and says what was seen.

Raises Broken, or Unreachable when the target does not answer at all.
"""


class Dialect(Protocol):
    """One protocol, as the runner needs it."""

    document: str

    def session(self, target: Target, context: Context) -> AbstractContextManager[Any]:
        """The fixture handed to a scenario of this document; on exit nothing of it is left on the target."""
        ...

    def probe(self, target: Target, within: float = 30.0) -> Banner:
        """Open and close one connection in `within` seconds, and say what was found.

        Raises Unreachable with one sentence where nothing listens, where what answers does not speak the
        protocol or lets nobody in, and where it talks without end.
        """
        ...

    def serves(self, target: Target, within: float = 15.0, barrier: Barrier | None = None) -> None:
        """Make sure that a new client is served in `within` seconds, up to the `barrier` the probe met.

        Raises Unreachable with one sentence if not.
        """
        ...

    def remove(self, target: Target, context: Context, entities: Iterable[tuple[str, str]]) -> list[str]:
        """Delete entities by kind and name; returns a sentence for each that could not be removed."""
        ...

    def promises(self) -> Mapping[str, Look]:
        """By facility, how this protocol sees whether it does what it is for; without those it cannot see."""
        ...

    def policies(self) -> Mapping[str, object]:
        """The legal variants of the reference peer by name: no scenario may fail on any of them."""
        ...

    def harmless(self) -> Mapping[str, Any]:
        """Interposers that change nothing that matters, by name: none may change a verdict."""
        ...

    def fakes(self) -> Mapping[str, object]:
        """Changes that put a peer which knows no rule in the reference peer's place, by what it does."""
        ...

    def mutants(self) -> Iterable[Mutant[object]]:
        """Mechanical mutants of the reference peer's tables."""
        ...

    def footprint(self, peer: PeerServer, events: Iterable[Event]) -> Any:
        """What an exchange used of a clean reference peer."""
        ...

    def touches(self, change: object, footprint: Any) -> bool:
        """Whether a deviation's change, or one of `policies`, could show in an exchange of this footprint."""
        ...

    def annotate(self, octets: bytes) -> Iterator[Span]:
        """The fields of one unit on the wire."""
        ...

    def reference_peer(self, change: object = None, policy: object = None) -> PeerServer:
        """A fresh reference peer; `change` is that of a deviation, `policy` one of `policies`."""
        ...


def tried(
    visit: Callable[[Target, float], AbstractContextManager[Visitor]],
    look: Callable[[Visitor, Mapping[str, str]], str],
) -> Look:
    """A look at what a facility gave, by one who `visit`s the target for it."""

    def tries(target: Target, given: Mapping[str, str], within: float) -> str:
        try:
            with visit(target, within) as visitor:
                return look(visitor, given)
        except Stop as failure:
            raise Broken(str(failure)) from None
        except KeyError as failure:
            raise Broken(f"it returns no {failure.args[0]}, which checks need") from None

    return tries


_HOMES = {"0-9-1": "harness.amqp0_9_1", "1-0": "harness.amqp1_0"}


def protocol(document: str) -> str:
    """The prefix of the document that defines the protocol: `0-9-1/grammar` is about that of `0-9-1`."""
    return document.partition("/")[0]


def dialect(document: str) -> Dialect:
    """The dialect of the rules of a document, by its prefix. Raises KeyError for an unknown one."""
    return of(document, "dialect").DIALECT  # type: ignore[no-any-return]


def of(document: str, module: str) -> Any:
    """A module that every protocol has, by its name in the folder of the protocol. Raises as `dialect`."""
    return import_module(f"{_HOMES[protocol(document)]}.{module}")


def documents() -> tuple[str, ...]:
    """The prefixes of the documents whose protocol is spoken here."""
    return tuple(_HOMES)
