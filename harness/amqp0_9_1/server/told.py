"""What a client tells of itself: a second witness, beside the octets that it sends."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from harness.amqp0_9_1.wire.field_tables import Timestamp


@dataclass(frozen=True, slots=True)
class Message:
    """A message as the client tells it, `token` being its name for it; what it does not tell is None."""

    token: str
    size: int
    crc32: int
    text: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    redelivered: bool | None = None
    exchange: str | None = None
    key: str | None = None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Message:
        return cls(**{name: told[name] for name in cls.__slots__ if name in told})


def plain(told: Any) -> Any:
    """Give a value that a client tells without its type, to be compared with what came."""
    if not isinstance(told, Mapping):
        return told
    ((key, value),) = told.items()
    match key:
        case "f32" | "f64":
            return struct.unpack(">f" if key == "f32" else ">d", bytes.fromhex(value))[0]
        case "dec":
            return Decimal(f"{int(value[1])}E-{int(value[0])}")
        case "time":
            return Timestamp(int(value))
        case "bin":
            return bytes.fromhex(value)
        case "list":
            return [plain(each) for each in value]
        case "map":
            return {plain(name): plain(each) for name, each in value}
        case "short" | "sym" | "char":
            return value
    return int(value)
