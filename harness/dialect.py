"""What a protocol gives to those above the harness: one object per document prefix.

Nothing above `harness/` knows a protocol; it asks the registry for the dialect of a rule's document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from harness.context import Context
from harness.journal import Event
from harness.peer import PeerServer
from harness.target import Target


class Field(Protocol):
    """A field of a unit on the wire, with the octets it stands in."""

    @property
    def offset(self) -> int:
        """First octet."""
        ...

    @property
    def length(self) -> int:
        """Number of octets."""
        ...

    @property
    def name(self) -> str:
        """The document's name of the field."""
        ...

    @property
    def value(self) -> Any:
        """Its value."""
        ...


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement beside a peer's, in microseconds for one call."""

    what: str
    ours: float
    peer: str
    theirs: float


class Mutant(Protocol):
    """A mechanical mutant of the reference peer."""

    @property
    def name(self) -> str:
        """Stable identity."""
        ...

    @property
    def change(self) -> object:
        """What makes the peer this mutant."""
        ...


@dataclass(frozen=True, slots=True)
class Banner:
    """What a target says of itself: product and version as it names them, and all it told.

    `round_trip` is the shortest measured, in seconds.
    """

    product: str
    version: str
    properties: Mapping[str, Any]
    round_trip: float


class Dialect(Protocol):
    """One protocol, as the runner needs it."""

    document: str

    def session(self, target: Target, context: Context) -> AbstractContextManager[Any]:
        """The fixture handed to a scenario of this document; on exit nothing of it is left on the target."""
        ...

    def probe(self, target: Target, within: float = 30.0) -> Banner:
        """Open and close one connection in `within` seconds; Unreachable with one sentence otherwise."""
        ...

    def serves(self, target: Target, within: float = 15.0) -> None:
        """Make sure that a new client is served in `within` seconds; Unreachable with one sentence if not."""
        ...

    def remove(self, target: Target, context: Context, entities: Iterable[tuple[str, str]]) -> list[str]:
        """Delete entities by kind and name; returns a sentence for each that could not be removed."""
        ...

    def policies(self) -> Mapping[str, object]:
        """The legal variants of the reference peer by name: no scenario may fail on any of them."""
        ...

    def benchmarks(self) -> Iterator[Figure]:
        """Our codec beside another one, measured now."""
        ...

    def fakes(self) -> Mapping[str, object]:
        """Changes that put a peer which knows no rule in the reference peer's place, by what it does."""
        ...

    def mutants(self) -> Iterable[Mutant]:
        """Mechanical mutants of the reference peer's tables."""
        ...

    def footprint(self, peer: PeerServer, events: Iterable[Event]) -> Any:
        """What an exchange used of a clean reference peer."""
        ...

    def touches(self, change: object, footprint: Any) -> bool:
        """Whether a deviation's change could show in an exchange with this footprint."""
        ...

    def annotate(self, octets: bytes) -> Iterator[Field]:
        """The fields of one unit on the wire."""
        ...

    def reference_peer(self, change: object = None, policy: object = None) -> PeerServer:
        """A fresh reference peer; `change` is that of a deviation, `policy` one of `policies`."""
        ...


_DIALECTS = {"0-9-1": "harness.amqp0_9_1.dialect"}


def dialect(document: str) -> Dialect:
    """The dialect of the rules of a document, by its prefix. Raises KeyError for an unknown one."""
    module = import_module(_DIALECTS[document])
    return module.DIALECT  # type: ignore[no-any-return]


def documents() -> tuple[str, ...]:
    """The prefixes of the documents whose protocol is spoken here."""
    return tuple(_DIALECTS)
