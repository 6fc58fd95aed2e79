"""What a family of rules that the grammar obliges to consists of."""

from __future__ import annotations

from dataclasses import dataclass

from spec.rules import Level, Party, Testability


@dataclass(frozen=True, slots=True)
class Family:
    """Rules of one kind: `name`, `text`, `scenario` and `reason` have places for the words of a subject.

    `most` is the highest level its rules can have; that of the chassis may lower it. `see` are rules of the
    prose about the same, without the prefix of that document.
    """

    key: str
    name: str
    text: str
    scenario: str
    most: Level = Level.MUST
    binds: Party = Party.SERVER
    judged: Party = Party.SERVER
    testability: Testability = Testability.ACTIVE
    reason: str = ""
    reading: str = ""
    error: str = ""
    see: tuple[str, ...] = ()
