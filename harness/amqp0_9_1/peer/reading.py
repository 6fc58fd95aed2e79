"""Payloads to events: methods and content headers, with what is wrong about them as an event too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from harness.amqp0_9_1.compiled import Method, attribute
from harness.amqp0_9_1.peer.events import (
    ContentHeaderReceived,
    Event,
    IllegalFieldName,
    Undecodable,
    UnknownMethod,
)
from harness.amqp0_9_1.tables import DecodeError
from harness.amqp0_9_1.vocabulary import CODEC

# 4.2.5.5 allows letters, digits, $, # and underlines. The hyphen is needed as well: the document's own
# x-match (3.1.3.4) could not be sent otherwise.
_FIELD_NAME = re.compile(r"[A-Za-z$#][A-Za-z0-9$#_-]{0,127}")

_TABLES = {
    method: [attribute(field.name) for field in method.fields if field.type == "table"]
    for method in CODEC.methods.values()
}


def legal_names(value: Any) -> bool:
    """Whether every field name in a table, at any depth, has the syntax of 4.2.5.5."""
    if isinstance(value, Mapping):
        return all(map(_FIELD_NAME.fullmatch, value)) and _all_legal(value.values())
    return not isinstance(value, list) or _all_legal(value)


def _all_legal(values: Iterable[Any]) -> bool:
    return all(legal_names(each) for each in values if isinstance(each, (dict, list)))


def read_method(payload: bytes, check_names: bool) -> Method | Event:
    """The method in a method frame, or the event that it is none."""
    try:
        method = CODEC.method_class(payload)
    except DecodeError:
        return UnknownMethod(int.from_bytes(payload[:2]), int.from_bytes(payload[2:4]))
    try:
        read = CODEC.decode_method(payload)
    except DecodeError as failure:
        return Undecodable(method, str(failure))
    if check_names:
        for name in _TABLES[method]:
            if not legal_names(getattr(read, name)):
                return IllegalFieldName(method)
    return read


def read_content_header(payload: bytes, check_names: bool) -> ContentHeaderReceived:
    """The content header in a header frame; without properties when they cannot be read."""
    class_index = int.from_bytes(payload[:2])
    weight = int.from_bytes(payload[2:4])
    size = int.from_bytes(payload[4:12])
    properties = None
    legal = True
    if class_index in CODEC.properties and len(payload) >= 14:
        try:
            properties = CODEC.properties[class_index].decode(payload, 12)
            legal = not check_names or legal_names(getattr(properties, "headers", None) or {})
        except DecodeError:
            properties = None
    return ContentHeaderReceived(class_index, weight, size, properties, payload, legal)
