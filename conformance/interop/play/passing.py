"""What is seen passing on a wire, whatever its protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from conformance.interop.outcomes import Form


@dataclass(frozen=True, slots=True)
class Content:
    """A message that passed; `again`: the broker says that it was delivered before; `tag` settles it."""

    form: Form
    again: bool | None = None
    returned: bool = False
    tag: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """A peer that closes a connection or what runs on it, and its reason."""

    level: str
    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.level} closed: {self.code} {self.text}".strip()


Seen = Content | Ended


class Stream(Protocol):
    """One direction of a connection."""

    def feed(self, octets: bytes) -> Iterator[Seen]:
        """Take octets, and give what is complete with them."""
