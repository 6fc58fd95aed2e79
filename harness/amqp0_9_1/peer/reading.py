"""Payloads to events: methods and content headers, with what is wrong about them as an event too."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from harness.amqp0_9_1.peer.events import ContentHeaderReceived, IllegalFieldName, Undecodable, UnknownMethod
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.field_names import is_legal, names
from harness.amqp0_9_1.wire.field_tables import decode_value
from harness.amqp0_9_1.wire.fields import attribute, field_spans, property_spans
from harness.amqp0_9_1.wire.vocabulary import CODEC
from harness.peers.events import Event
from harness.wire.annotation import Span
from harness.wire.units import DecodeError
from spec.grammar.amqp0_9_1.members import contested

_TABLES = {
    method: [attribute(field.name) for field in method.fields if field.type == "table"]
    for method in CODEC.methods.values()
}


def legal_names(value: object) -> bool:
    """Say whether every field name in a table, at any depth, has the syntax of 4.2.5.5."""
    return all(map(is_legal, names(value)))


def holds_contested_types(payload: bytes, spans: Iterable[Span]) -> bool:
    """Say whether a table has a value whose type practice reads otherwise (prose/4.2.1)."""
    tables = (each for each in spans if isinstance(each.value, Mapping))
    return any(
        not contested().isdisjoint(_tags(payload, each.offset + 4, each.offset + each.length, named=True))
        for each in tables
    )


def _tags(octets: bytes, at: int, end: int, *, named: bool) -> Iterator[str]:
    """Yield the tags of the values in a table, or in an array, where values have no names."""
    while at < end:
        at += 1 + octets[at] if named else 0
        tag = chr(octets[at])
        yield tag
        _, behind = decode_value(octets, at, end)
        if tag in "FA":
            yield from _tags(octets, at + 5, behind, named=tag == "F")
        at = behind


def read_method(
    payload: bytes,
    check_names: bool,
    contested_too: bool = True,
    knows: Callable[[type[Method]], bool] = lambda _: True,
) -> Method | Event:
    """Read a method, an event where it is none; `contested_too` takes contested table types."""
    try:
        method = CODEC.method_class(payload)
    except DecodeError:
        method = None
    if method is None or not knows(method):
        return UnknownMethod(int.from_bytes(payload[:2]), int.from_bytes(payload[2:4]))
    try:
        read = CODEC.decode_method(payload)
    except DecodeError as failure:
        return Undecodable(method, str(failure))
    if not contested_too and holds_contested_types(payload, field_spans(method.fields, payload, 4)):
        return Undecodable(method, "a table holds a type that is none here")
    if check_names:
        for name in _TABLES[method]:
            if not legal_names(getattr(read, name)):
                return IllegalFieldName(method)
    return read


def read_content_header(
    payload: bytes, check_names: bool, contested_too: bool = True
) -> ContentHeaderReceived:
    """Read a content header, what can be of it; `contested_too` takes contested table types."""
    class_index = int.from_bytes(payload[:2])
    weight = int.from_bytes(payload[2:4])
    size = int.from_bytes(payload[4:12])
    properties = None
    legal = True
    if class_index in CODEC.properties and len(payload) >= 14:
        try:
            properties = CODEC.properties[class_index].decode(payload, 12)
            legal = not check_names or legal_names(getattr(properties, "headers", None) or {})
            fields = CODEC.properties[class_index].fields
            if not contested_too and holds_contested_types(payload, property_spans(fields, payload, 12)):
                properties = None
        except DecodeError:
            properties = None
    return ContentHeaderReceived(class_index, weight, size, properties, payload, legal)
