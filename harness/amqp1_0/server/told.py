"""What a client tells of itself: a second witness, beside the octets that it sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the client tells it, `token` being its name for it; what it does not tell is None.

    Of a body of data `size`, `crc32` and `text` are told, of another `value` or `sequence`, as the contract
    writes values.
    """

    token: str
    size: int | None = None
    crc32: int | None = None
    text: str | None = None
    value: Any = None
    sequence: Any = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    header: Mapping[str, Any] = field(default_factory=dict)
    application: Any = None
    annotations: Any = None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Message:
        return cls(**{name: told[name] for name in cls.__slots__ if name in told})
