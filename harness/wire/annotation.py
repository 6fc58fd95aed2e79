"""What explaining octets takes in any protocol: fields with their octets, and text that can be shown."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from harness.wire.reader import Reader

LONGEST = 80
"""Characters of a value that are shown, and items of one that has many."""

Unit = TypeVar("Unit")


class Span(NamedTuple):
    """A field and the octets it stands in; bits that share an octet share its span."""

    offset: int
    length: int
    name: str
    value: Any


def alone(reader: Reader[Unit], octets: bytes) -> Unit | None:
    """The one unit that these octets are; None where they are less or more."""
    units = list(reader.feed(octets))
    return units[0][1] if len(units) == 1 and not reader.pending else None


def short(text: str, longest: int = LONGEST) -> str:
    """A text without control characters, cut to a bounded length."""
    shown = "".join(map(_visible, text[: longest + 1]))
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}..."


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
