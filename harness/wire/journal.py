"""What the harness reports while it talks: the exchange as typed events.

The harness knows no files. Whoever runs a scenario passes a `Journal`; the run writes these events as
evidence, tests keep them in a list.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Protocol


class Direction(StrEnum):
    """Which way octets went, seen from the harness: what a client under test sends is received."""

    SENT = "sent"
    RECEIVED = "received"


# By themselves, for what is asked of every frame: to look a member up in its class costs more than a call.
SENT, RECEIVED = Direction.SENT, Direction.RECEIVED


class Kept(Enum):
    """How much is kept of what goes over the wire; all else that is reported is kept in any case."""

    NOTHING = "no octets: nobody asks for them"
    OCTETS = "octets"
    EXPLAINED = "octets, each piece with a line that explains it"


class Grade(StrEnum):
    """How an observation stands to what was expected."""

    PREFERRED = "preferred"
    """The outcome the document asks for."""
    TOLERATED = "tolerated"
    """Legal under a reading, but not the preferred outcome."""
    RECORDED = "recorded"
    """One of several equal outcomes; which one is the finding."""
    UNMET = "unmet"
    """None of the legal outcomes."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection was opened to `endpoint`, speaking `protocol` (the document's prefix, "0-9-1")."""

    at: float
    connection: str
    endpoint: str
    protocol: str


@dataclass(frozen=True, slots=True)
class Octets:
    """One frame (or protocol header, or undecodable rest) on the wire.

    `at` is in seconds on the connection's clock since the run began. `octets` are blanked where they carry
    credentials; `says` is a line that explains them (`queue.declare channel=1 …`).
    """

    at: float
    connection: str
    direction: Direction
    octets: bytes
    says: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The connection ended: `by` "target" or "harness", `how` "fin" or "rst"."""

    at: float
    connection: str
    by: str
    how: str


@dataclass(frozen=True, slots=True)
class Declared:
    """An entity of this name may exist on the target from now on; written before it is declared."""

    at: float
    connection: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Expected:
    """An expectation was decided: the legal outcomes, what came, and how it counts.

    `frame` is the number of `Octets` and `Ended` events on that connection when it was decided (so the
    deciding one is the last of them), `waited` how long it took in seconds.
    """

    at: float
    connection: str
    outcomes: tuple[str, ...]
    actual: str
    grade: Grade
    reading: str
    frame: int
    waited: float


@dataclass(frozen=True, slots=True)
class Noted:
    """A fact worth keeping that no expectation covers (a count reached, which reading was seen)."""

    at: float
    connection: str
    text: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What passive rules saw on one finished connection: how many occasions each had, and its violations."""

    at: float
    connection: str
    occasions: Mapping[str, int]
    violations: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Breached:
    """The peer broke `rule`: `what` was seen, and how it was read; no `connection` for the probe."""

    at: float
    connection: str
    rule: str
    what: str


@dataclass(frozen=True, slots=True)
class Given:
    """A `facility` of the target was used: the `values` it gave, without passwords."""

    facility: str
    values: Mapping[str, str]


Event = Given | Opened | Octets | Ended | Declared | Expected | Noted | Seen | Breached


class Journal(Protocol):
    """Receives the events of an exchange in order."""

    def write(self, event: Event) -> None:
        """Keep `event`; must not fail for what a peer has sent."""


class Unkept:
    """A journal of which nothing is kept."""

    def write(self, event: Event) -> None: ...
