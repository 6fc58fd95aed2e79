"""What a protocol gives to those above the harness: one object per document prefix.

Nothing above `harness/` knows a protocol; it asks the registry for the dialect of a rule's document.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from harness.peers.proof import Proof
from harness.play.hosting import Host
from harness.play.speaker import Speaker
from harness.wire.annotation import Span
from harness.wire.transport import Unreachable
from spec.applicability import optional, protocol
from spec.rules import Role


@dataclass(frozen=True, slots=True)
class Dialect:
    """One protocol: how it is spoken, to servers and as the `host` of clients, proved and read.

    `names` are those of what is said by the numbers it has on the wire, `codes` those of what an end says of
    itself; both stand in scripts, which have no document beside them.
    """

    speaker: Speaker[Any]
    proof: Proof[Any, Any]
    annotate: Callable[[bytes], Iterator[Span]]
    names: Mapping[str, str]
    codes: Mapping[str, str]
    host: Host[Any] | None = None

    def towards(self, role: Role) -> Speaker[Any] | Host[Any]:
        """Give how it is spoken with a target in a role. Raises Unreachable where none can be judged."""
        if role is Role.SERVER:
            return self.speaker
        if self.host is None:
            raise Unreachable(f"no client of {self.speaker.name} can be judged yet")
        return self.host


HOMES = {"0-9-1": "harness.amqp0_9_1", "1-0": "harness.amqp1_0", "fast": "harness.amqp_fast"}
"""The folder of each protocol, by the prefix of the document that defines it."""


def dialect(document: str) -> Dialect:
    """Return the dialect for the rules of a document, by its prefix. Raises KeyError for an unknown one.

    For a document about what only some products promise, the reference peer serves what that document adds.
    """
    home = of(document, "dialect")
    found: Dialect = home.ADDING[document] if document in optional() else home.DIALECT
    return found


def of(document: str, module: str) -> Any:
    """Import `module` from the folder of a document's protocol. Raises KeyError for an unknown document."""
    return import_module(f"{HOMES[protocol(document)]}.{module}")


def documents() -> tuple[str, ...]:
    """List the prefixes of the documents whose protocol is spoken here."""
    return tuple(HOMES)
