"""What a leg came to, as data: one line of a folder's `interop.jsonl` each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from hashlib import sha256
from typing import Any

CAP = 256
"""Octets of a message that are kept in a line; of longer ones also length and hash."""


class Outcome(StrEnum):
    """What happened to a value on a leg, the best first."""

    SAME = "same"
    WIDENED = "widened"
    """The same value, in another type; of a decimal, with another scale."""
    UNSUPPORTED = "unsupported"
    """The library has no way to do it."""
    UNTRIED = "untried"
    """An earlier leg has left nothing to try."""
    CHANGED = "changed"
    REFUSED = "refused"
    """The library refused it by itself, and says so."""
    CLOSED = "closed"
    """The broker closed the channel, the link or the connection."""
    LOST = "lost"
    """Nothing came, or the socket is gone."""
    CRASHED = "crashed"
    """The shim ended, hangs or fell over."""
    CONTRADICTED = "contradicted"
    """What was played is not what the legs let expect."""

    @property
    def fails(self) -> bool:
        """True where a value did not arrive as it was sent, and nobody said beforehand that it cannot."""
        return self not in (Outcome.SAME, Outcome.WIDENED, Outcome.UNSUPPORTED, Outcome.UNTRIED)


SYMBOLS: Mapping[Outcome, str] = {
    Outcome.SAME: "✓",
    Outcome.WIDENED: "≈",
    Outcome.UNSUPPORTED: "–",
    Outcome.UNTRIED: "·",
    Outcome.CHANGED: "≠",
    Outcome.REFUSED: "✗",
    Outcome.CLOSED: "⊘",
    Outcome.LOST: "∅",
    Outcome.CRASHED: "☠",
    Outcome.CONTRADICTED: "‼",
}
MEANINGS: Mapping[Outcome, str] = {
    Outcome.SAME: "the same value in the same type",
    Outcome.WIDENED: "the same value in another type, or of another scale",
    Outcome.UNSUPPORTED: "the library has no way to do it",
    Outcome.UNTRIED: "an earlier leg has left nothing to try",
    Outcome.CHANGED: "another value",
    Outcome.REFUSED: "the library refused it",
    Outcome.CLOSED: "the broker closed the channel, link or connection",
    Outcome.LOST: "nothing came",
    Outcome.CRASHED: "the client's program ended, hung or fell over",
    Outcome.CONTRADICTED: "what was played is not what the legs let expect",
}
RANK = {outcome: rank for rank, outcome in enumerate(Outcome)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Give the worst of these; what is left where there is none is untried."""
    return max(outcomes, key=RANK.__getitem__, default=Outcome.UNTRIED)


class Stage(StrEnum):
    """The legs of a message, and what was played to prove them."""

    SEND = "send"
    BROKER = "broker"
    RECEIVE = "receive"
    PLAYED = "played"


@dataclass(frozen=True, slots=True)
class Octets:
    """What was seen on a wire, as it is kept in a line."""

    hex: str
    length: int
    sha256: str

    @classmethod
    def of(cls, octets: bytes) -> Octets:
        """Cap the octets; the hash is of all of them."""
        return cls(octets[:CAP].hex(), len(octets), sha256(octets).hexdigest())


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of one case; `client` is empty for a leg of the broker, `other` who sent what was played.

    `form` names what went in (of a leg to send: what came out), `after` what came out. `kind` and `native`
    are the client's own words for a refusal.
    """

    protocol: str
    client: str
    client_version: str
    broker: str
    broker_version: str
    case: str
    leg: Stage
    outcome: Outcome
    detail: str = ""
    form: str = ""
    after: str = ""
    asked: Any = None
    told: Any = None
    octets: Octets | None = None
    octets_after: Octets | None = None
    kind: str = ""
    native: str = ""
    other: str = ""

    @property
    def fails(self) -> bool:
        """True of a leg on which a value was lost; of a pair that was played, if it contradicts its legs."""
        return self.outcome.fails and (self.leg is not Stage.PLAYED or self.outcome is Outcome.CONTRADICTED)

    def line(self) -> dict[str, Any]:
        """Give what stands in the line: who, where and what, and all else that is not empty."""
        given = asdict(self)
        kept = {each.name: given[each.name] for each in fields(self) if given[each.name] != each.default}
        return {**kept, "outcome": str(self.outcome), "leg": str(self.leg)}

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Leg:
        """Read a line back."""
        given = dict(line)
        for name in ("octets", "octets_after"):
            if name in given:
                given[name] = Octets(**given[name])
        return cls(**given | {"leg": Stage(given["leg"]), "outcome": Outcome(given["outcome"])})


@dataclass(frozen=True, slots=True)
class Finding:
    """What comparing came to: an outcome, and where and how values differ."""

    outcome: Outcome = Outcome.SAME
    detail: str = ""

    def joined(self, other: Finding) -> Finding:
        """Give the worse of both, with what both say."""
        both = "; ".join(filter(None, (self.detail, other.detail)))
        return Finding(worst((self.outcome, other.outcome)), both)


@dataclass(frozen=True, slots=True)
class Form:
    """A message as it is on a wire: what stands before its body, and the body.

    In 0-9-1 the head is property flags and properties; in 1.0 there is none, and the body holds all sections.
    """

    head: bytes
    body: bytes = b""

    @property
    def octets(self) -> bytes:
        return self.head + self.body
