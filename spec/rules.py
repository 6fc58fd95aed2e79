"""The envelope every rule comes in, whatever document and protocol it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from textwrap import shorten

GIST = 110
"""Characters of a rule's text that tell it from others in a list."""


class Level(StrEnum):
    """Strength of a rule after its reading (RFC 2119), strongest first."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"

    def covers(self, other: Level) -> bool:
        """Say whether judging at this level includes rules of level `other` (should covers must)."""
        order = list(Level)
        return order.index(other) <= order.index(self)


class Party(StrEnum):
    """Whom a sentence addresses, or whose reaction is observed."""

    SERVER = "server"
    CLIENT = "client"
    PEER = "peer"
    APPLICATION = "application"


class Role(StrEnum):
    """What is judged: something that is connected to, or something that connects."""

    SERVER = "server"
    CLIENT = "client"


class Testability(StrEnum):
    """How a rule can be judged from outside."""

    __test__ = False
    """For pytest, which takes the name for that of a class of tests."""

    ACTIVE = "active"
    """A scenario provokes the behaviour."""
    PASSIVE = "passive"
    """Every connection of the run is watched for it."""
    CLIENT = "needs a client under test"
    """Only a client's own behaviour shows it; a broker run cannot."""
    UNTESTABLE = "untestable"
    """Nothing on the wire tells obedience from neglect."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule stands: `path` of (element, name) from the root, e.g. (("class", "queue"), …).

    `offset` counts characters from the start of the file: the 0-9-1 XML is one single line. In a text that
    has lines, `line` counts them from 1, and the offset is 0. What follows from the document as a whole and
    from no element of its own has neither.
    """

    path: tuple[tuple[str, str], ...]
    offset: int
    line: int = 0

    def __str__(self) -> str:
        steps = " / ".join(f"{kind} {name}" for kind, name in self.path)
        where = f"line {self.line}" if self.line else f"character {self.offset}" if self.offset else ""
        return f"{steps} ({where})" if where else steps


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence a rule rests upon by more than its place: its line and the hash of its words."""

    section: str
    line: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a peer that breaks several rules: `says` what such a peer does, `rules` are identities."""

    says: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of one document: what it says, whom it binds, and how it is judged.

    `text`, `scenario` and `on_failure` are the document's (`scenario_is_ours` where the document has
    none); everything from `level` on comes from the annotations beside the document. Where the document
    is not copied all of it is ours, and `claims` lead to the sentences; of some rules of the grammar they
    lead to what is said of a field, and else there are none. What is no file at all is told by `source`, with
    title, version and date. `related` are rules about the same thing, of
    this document or another, by their identities. `faults` are those that break this rule together with
    others. `implements` are the methods ("queue.bind") of which it says that they are implemented.
    `capability` is what a server tells that promises it alone, without the rest of its document. `versions`
    are those of the product of which it is said, as a range (">=4.0"); empty means all. A duty of clients may
    be `left_to` their applications: a library sends what it is asked for. `unseen_on_clients` says why
    one that binds both sides can be seen on servers alone.
    """

    id: str
    document: str
    name: str
    section: str
    place: Place
    text: str
    scenario: str
    scenario_is_ours: bool
    on_failure: str | None
    level: Level
    binds: Party
    judged: Party
    testability: Testability
    reason: str
    reading: str
    claims: tuple[Claim, ...] = ()
    related: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    implements: tuple[str, ...] = ()
    source: str = ""
    versions: str = ""
    capability: str = ""
    left_to: Party | None = None
    unseen_on_clients: str = ""

    @property
    def gist(self) -> str:
        """The first words of what it asks, on one line, for lists."""
        return shorten(self.text, GIST, placeholder=" …")

    @property
    def is_in_our_words(self) -> bool:
        """True where `text` is no sentence of the document: told in other words, or made of the grammar."""
        return bool(self.claims or self.source) or self.document.endswith("/grammar")

    @property
    def one_fault(self) -> tuple[str, ...]:
        """For each fault that breaks more than this rule, a sentence that names the others."""
        return tuple(
            f"If it is that a peer {fault.says}, then with this rule it breaks "
            f"{', '.join(each for each in fault.rules if each != self.id)}: one fault, not several."
            for fault in self.faults
        )

    def concerns(self, role: Role) -> bool:
        """Say whether it asks something of those in a role that could be seen on them.

        Of a server that is what is judged on servers, also where clients are bound and its answer shows it;
        of a client what binds clients.
        """
        if role is Role.SERVER:
            return self.judged in (Party.SERVER, Party.PEER) and self.testability is not Testability.CLIENT
        return self.binds in (Party.CLIENT, Party.PEER)

    def beyond(self, role: Role) -> str:
        """Say why no run can judge it on a target in a role; empty when one can."""
        concerns = self.concerns(role)
        if self.testability is Testability.UNTESTABLE or (role is Role.SERVER and not concerns):
            return self.reason or str(self.testability)
        if self.left_to and role is Role.CLIENT:
            return f"a library does what its {self.left_to} asks for: the duty is that of the {self.left_to}"
        if self.unseen_on_clients and role is Role.CLIENT:
            return self.unseen_on_clients
        return "" if concerns else f"it binds the {self.binds}, and a client is judged"

    def named(self, kind: str) -> str | None:
        """Give the name of the element of this `kind` ("class", "method", …) around the rule, if any."""
        return next((name for element, name in self.place.path if element == kind), None)
