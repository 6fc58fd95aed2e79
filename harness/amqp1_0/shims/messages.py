"""Messages (Part 3) as a shim is told them and tells them: sections, of which the body is one or several."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final
from zlib import crc32

from harness.amqp1_0.shims.values import Json, map_of, told_of, value_of
from harness.amqp1_0.wire.decoding import decode
from harness.amqp1_0.wire.encoding import encode, typed
from harness.amqp1_0.wire.types import Described, Map, Symbol, Ulong
from harness.shims import contract

HEADER, ANNOTATIONS, PROPERTIES, APPLICATION, DATA, SEQUENCE, VALUE = 0x70, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77
"""Descriptors of sections."""
_SYMBOLS: Final[Mapping[str, int]] = {
    "amqp:header:list": HEADER, "amqp:message-annotations:map": ANNOTATIONS,
    "amqp:properties:list": PROPERTIES, "amqp:application-properties:map": APPLICATION,
    "amqp:data:binary": DATA, "amqp:amqp-sequence:list": SEQUENCE, "amqp:amqp-value:*": VALUE,
}  # fmt: skip
LONGEST = 1024
"""Octets of a body that are told as a text."""
_LISTS: Final[Mapping[int, Mapping[str, str]]] = {
    HEADER: {
        "durable": "boolean", "priority": "ubyte", "ttl": "uint",
        "first-acquirer": "boolean", "delivery-count": "uint",
    },
    PROPERTIES: {
        "message-id": "*", "user-id": "binary", "to": "*", "subject": "string", "reply-to": "*",
        "correlation-id": "*", "content-type": "symbol", "content-encoding": "symbol",
        "absolute-expiry-time": "timestamp", "creation-time": "timestamp", "group-id": "string",
        "group-sequence": "uint", "reply-to-group-id": "string",
    },
}  # fmt: skip
"""Fields of the sections that are lists, with their types."""
_NAMES: Final[Mapping[str, int]] = {
    "header": HEADER, "annotations": ANNOTATIONS, "properties": PROPERTIES, "application": APPLICATION,
}  # fmt: skip

Sections = tuple[Described, ...]


def message(body: Json, **others: Json) -> Sections:
    """Give the sections of a message that is told by its body, and by what else is in it."""
    given = {_NAMES[name]: told for name, told in others.items() if told is not None}
    sections = [_section(code, given[code]) for code in sorted(given)]
    return (*sections, *_body(body))


def encoded(sections: Iterable[Described]) -> bytes:
    """Give the octets of a message."""
    return b"".join(encode(each) for each in sections)


def decoded(octets: bytes) -> Sections:
    """Cut a message into its sections. Raises DecodeError where it is none."""
    found: list[Described] = []
    while octets:
        value, behind = decode(octets)
        found.append(value if isinstance(value, Described) else Described(None, value))
        octets = octets[behind:]
    return tuple(found)


def told(octets: bytes, sections: Sections) -> dict[str, Json]:
    """Tell a message that came in these octets."""
    says: dict[str, Json] = {}
    data = [each.value for each in sections if _code(each) == DATA]
    for each in sections:
        match _code(each):
            case 0x70 | 0x73 as code:
                says["header" if code == HEADER else "properties"] = _fields(code, each.value)
            case 0x72 | 0x74 as code:
                says["annotations" if code == ANNOTATIONS else "application"] = told_of(each.value)
            case 0x76:
                says.setdefault("sequence", []).extend(told_of(one) for one in each.value)
            case 0x77:
                says["value"] = told_of(each.value)
    if data or not ({"value", "sequence"} & says.keys()):
        # A message without a body is none; its octets are told.
        says |= _told_data(b"".join(data) if data else octets)
    return says


def _told_data(body: bytes) -> dict[str, Json]:
    says: dict[str, Json] = {"size": len(body), "crc32": crc32(body)}
    if len(body) <= LONGEST:
        with suppress(UnicodeDecodeError):
            says["text"] = body.decode()
    return says


def _code(section: Described) -> int:
    named = section.descriptor
    return int(named) if isinstance(named, int) else _SYMBOLS.get(str(named), 0)


def _body(body: Json) -> Sections:
    if isinstance(body, Mapping) and "value" in body:
        return (Described(Ulong(VALUE), value_of(body["value"])),)
    if isinstance(body, Mapping) and "sequence" in body:
        return (Described(Ulong(SEQUENCE), tuple(value_of(each) for each in body["sequence"])),)
    return (Described(Ulong(DATA), contract.body(body)),)


def _section(code: int, given: Json) -> Described:
    if code not in _LISTS:
        made = map_of(given)
        keys = [
            (Symbol(key) if code == ANNOTATIONS and type(key) is str else key, v) for key, v in made.pairs
        ]
        return Described(Ulong(code), Map(keys))
    fields = _LISTS[code]
    values = [_typed(kind, value_of(given[name])) if name in given else None for name, kind in fields.items()]
    while values and values[-1] is None:
        values.pop()
    return Described(Ulong(code), tuple(values))


def _typed(kind: str, value: Any) -> Any:
    return None if value is None else typed(kind, value)


def _fields(code: int, items: tuple[Any, ...]) -> dict[str, Json]:
    named = zip(_LISTS[code], items, strict=False)
    return {name: told_of(value) for name, value in named if value is not None}
