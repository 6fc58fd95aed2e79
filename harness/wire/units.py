"""What any AMQP is made of on the wire beside its own frames: protocol headers, and octets that are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ANY_SIZE: Final = 1 << 33
"""The limit, in octets, of a reader that is to cut whatever there is."""


class DecodeError(ValueError):
    """Octets that are not what the document allows; `offset` counts from the start of what was given."""

    def __init__(self, offset: int, what: str) -> None:
        super().__init__(f"at octet {offset}: {what}")
        self.offset = offset
        self.what = what

    def __reduce__(self) -> tuple[type[DecodeError], tuple[int, str]]:
        return type(self), (self.offset, self.what)


class EncodeError(ValueError):
    """A value that has no encoding in the field or type it was given for."""


@dataclass(frozen=True, slots=True)
class Header:
    """A protocol header as a peer sent it: 8 octets beginning with AMQP."""

    octets: bytes

    @property
    def protocol_id(self) -> int:
        """The layer it opens: 0 AMQP, 2 TLS, 3 SASL; in 0-9-1 the constant zero (4.2.2)."""
        return self.octets[4]

    @property
    def version(self) -> tuple[int, int, int]:
        return self.octets[5], self.octets[6], self.octets[7]


@dataclass(frozen=True, slots=True)
class Garbage:
    """Octets that are no frame, and why; only behind `delimited` ones can anything be read."""

    octets: bytes
    why: str
    delimited: bool = False
