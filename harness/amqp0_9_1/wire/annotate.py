"""Octets of AMQP 0-9-1 explained: what a frame says in a line, field by field, and where credentials are."""

from collections.abc import Iterator
from typing import Any

from harness.amqp0_9_1.wire.compiled import Method, Record
from harness.amqp0_9_1.wire.fields import field_spans, property_spans
from harness.amqp0_9_1.wire.frames import (
    BODY,
    FRAME_END,
    HEADER,
    METHOD,
    OVERHEAD,
    Frame,
    FrameReader,
    Unit,
    content_prefix,
)
from harness.amqp0_9_1.wire.vocabulary import CODEC
from harness.wire.annotation import Annotator, Span, readable, short
from harness.wire.units import ANY_SIZE, DecodeError
from spec.readers.amqp0_9_1 import Field

SECRET_FIELDS = {"connection.start-ok": "response", "connection.secure-ok": "response"}
"""Fields that carry credentials (SASL): blanked before anything is kept."""

_MARKS = tuple(CODEC.methods[name].key.to_bytes(4) for name in SECRET_FIELDS)
_BODY_TYPE = bytes((BODY,))


def _says_frame(frame: Frame) -> str:
    if frame.type == METHOD:
        method = frame.method()
        return f"{method.full_name} channel={frame.channel}{_values(method)}"
    if frame.type == HEADER:
        header = frame.content_header()
        size = f"channel={frame.channel} body-size={header.body_size}"
        return f"content header {size}{_values(header.properties)}"
    if frame.type == BODY:
        return f"content body channel={frame.channel} of {len(frame.payload)} octets"
    # A heartbeat has no payload; one that has is worth seeing.
    size = f" of {len(frame.payload)} octets" if frame.payload else ""
    return f"heartbeat channel={frame.channel}{size}"


def _values(record: Record) -> str:
    words = (
        _word(record, field, getattr(record, name))
        for name, field in zip(record.names, record.fields, strict=True)
    )
    return "".join(f" {word}" for word in words if word)


def _word(record: Record, field: Field, value: Any) -> str:
    if isinstance(record, Method) and field.name == SECRET_FIELDS.get(record.full_name):
        return f"{field.name}=({len(value)} octets withheld)"
    if field.type == "bit":
        return field.name if value else ""
    # A number says something even when it is zero, other fields only when there is something in them.
    if value is None or (not value and (field.reserved or not isinstance(value, int))):
        return ""
    return f"{field.name}={_short(value)}"


def _short(value: Any) -> str:
    return short(value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value))


def _frame_spans(frame: Frame) -> Iterator[Span]:
    yield Span(0, 1, "frame type", frame.type)
    yield Span(1, 2, "channel", frame.channel)
    yield Span(3, 4, "size", len(frame.payload))
    yield from readable(7, len(frame.payload), _payload_spans(frame), "payload")
    yield Span(7 + len(frame.payload), 1, "frame-end", FRAME_END)


def _payload_spans(frame: Frame) -> Iterator[Span]:
    for offset, length, name, value in _raw_spans(frame):
        yield Span(offset, length, name, value if isinstance(value, int) else _short(value))


def _raw_spans(frame: Frame) -> Iterator[Span]:
    payload = frame.payload
    if frame.type == METHOD:
        method = CODEC.method_class(payload)
        yield Span(0, 2, "class", f"{method.spec.class_index} ({method.spec.class_name})")
        yield Span(2, 2, "method", f"{method.spec.index} ({method.spec.name})")
        yield from field_spans(method.fields, payload, 4)
    elif frame.type == HEADER:
        content, weight, size = content_prefix(payload)
        yield Span(0, 2, "class", content.class_index)
        yield Span(2, 2, "weight", weight)
        yield Span(4, 8, "body size", size)
        yield from property_spans(content.fields, payload, 12)
    elif payload:
        yield Span(0, len(payload), "body" if frame.type == BODY else "payload", payload)


def blank_credentials(octets: bytes) -> bytes:
    """Replace the SASL response in Start-Ok or Secure-Ok by asterisks; the length stays.

    `octets` may hold several units, whole or not. What is malformed may carry the response anywhere: there
    everything behind the numbers of such a method is blanked.
    """
    # A whole body frame, the only large one, is not searched: its payload begins with a mark or is none.
    if octets[:1] == _BODY_TYPE and int.from_bytes(octets[3:7]) + OVERHEAD == len(octets):
        if octets[7:11] not in _MARKS:
            return octets
    elif not any(mark in octets for mark in _MARKS):
        return octets
    reader = FrameReader(limit=ANY_SIZE)
    units = [_blank_unit(raw, unit) for raw, unit in reader.feed(octets)]
    return b"".join(units) + _blank_loose(reader.rest())


def _blank_unit(raw: bytes, unit: Unit) -> bytes:
    if not isinstance(unit, Frame):
        return _blank_loose(raw)
    if unit.type == BODY and not unit.payload.startswith(_MARKS):
        return raw
    try:
        if unit.type == HEADER:
            unit.content_header()
            return raw
        if unit.type == METHOD:
            return _blank_method(raw, CODEC.method_class(unit.payload))
    except DecodeError:
        # Then the mark alone decides, as it does for a body that begins with it.
        pass
    return _blank_loose(raw[:-1]) + raw[-1:]


def _blank_method(raw: bytes, method: type[Method]) -> bytes:
    secret = SECRET_FIELDS.get(method.full_name)
    # Read to the end: only then is it certain what stands where.
    for span in list(field_spans(method.fields, raw[7:-1], 4)):
        if span.name == secret:
            start, end = 7 + span.offset + 4, 7 + span.offset + span.length
            return raw[:start] + b"*" * (end - start) + raw[end:]
    return raw


def _blank_loose(octets: bytes) -> bytes:
    starts = (place + len(mark) for mark in _MARKS if (place := octets.find(mark)) >= 0)
    start = min(starts, default=len(octets))
    return octets[:start] + b"*" * (len(octets) - start)


ANNOTATOR = Annotator(
    reader=lambda: FrameReader(limit=ANY_SIZE),
    blanked=blank_credentials,
    tells=_says_frame,
    spans=_frame_spans,
    header=lambda header: f"{header.protocol_id}-{'-'.join(map(str, header.version))}",
    id_name="constant",
    body="payload",
)
says, annotate = ANNOTATOR.says, ANNOTATOR.annotate
