"""Octets explained: one line for a list of frames, every field with its octets for a failure's page.

What a peer wrote is shown without control characters and cut to a bounded length; credentials are blanked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.amqp1_0.client.credentials import SECRET_FIELDS, blank_credentials
from harness.amqp1_0.wire.composites import Composite, choice_name
from harness.amqp1_0.wire.decoding import Form, forms, plain
from harness.amqp1_0.wire.frames import AMQP, FRAME_HEADER, SASL, Frame, FrameReader, Unit
from harness.amqp1_0.wire.generated import CONSTRUCTORS
from harness.amqp1_0.wire.types import Array, Described, Map
from harness.wire.annotation import LONGEST, Span, alone, short
from harness.wire.units import DecodeError, Garbage, Header
from spec.readers.amqp1_0 import Field

__all__ = ["annotate", "blank_credentials", "says"]

_ANY_SIZE = 1 << 33
_EMPTY: Final = {AMQP: "empty frame", SASL: "empty sasl frame"}


def says(octets: bytes, unit: Unit | None = None) -> str:
    """One line about one unit on the wire: `open channel=0 container-id=c max-frame-size=512`.

    `unit` is given where these octets, credentials blanked, have been cut already.
    """
    unit = unit or _one_unit(blank_credentials(octets))
    if isinstance(unit, Header):
        return f"protocol header AMQP {unit.protocol_id} {'-'.join(map(str, unit.version))}"
    if isinstance(unit, Garbage):
        return f"{len(unit.octets)} octets that are no frame: {unit.why}"
    try:
        return _says_frame(unit)
    except DecodeError as failure:
        return f"frame type={unit.type} channel={unit.channel}, not decodable: {_says_failure(failure)}"


def _says_frame(frame: Frame) -> str:
    performative, payload = frame.read()
    # A SASL frame has no channel; one that is not zero is worth seeing.
    channel = "" if frame.type == SASL and not frame.channel else f" channel={frame.channel}"
    if performative is None:
        kind = _EMPTY.get(frame.type, f"empty frame type={frame.type}")
        return f"{kind}{channel}{_says_extended(frame)}"
    behind = f" and {len(payload)} octets of payload" if payload else ""
    words = f"{performative.type_name}{channel}{_says_fields(performative)}{behind}"
    return f"{words}{_says_extended(frame)}{_says_breaches(performative)}"


def _says_extended(frame: Frame) -> str:
    return f" behind {len(frame.extended)} octets of extended header" if frame.extended else ""


def _says_failure(failure: DecodeError) -> str:
    return short(f"octet {failure.offset} of the body: {failure.what}", 2 * LONGEST)


def _says_breaches(performative: Composite) -> str:
    said = "; ".join(f"{breach.field} {breach.what}" for breach in performative.breaches())
    return f", malformed: {short(said, 2 * LONGEST)}" if said else ""


def _says_fields(composite: Composite) -> str:
    words = "".join(
        f" {field.name}={choice_name(field, value) or _says_field(composite, field.name, value)}"
        for field, value in zip(composite.spec.fields, composite.values, strict=True)
        if value is not None
    )
    unknown = len(composite.unknown)
    return f"{words} and {unknown} more element{'s' * (unknown != 1)}" if unknown else words


def _says_field(composite: Composite, name: str, value: Any) -> str:
    if name == SECRET_FIELDS.get(composite.type_name) and isinstance(value, bytes):
        return f"({len(value)} octets withheld)"
    return short(_written(value))


def _written(value: Any) -> str:
    """A value as the document would write it, in bounded time for whatever a peer sent."""
    if isinstance(value, Composite):
        return f"{value.type_name}({_says_fields(value).strip()})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value[: 4 * LONGEST].decode("utf-8", "backslashreplace")
    if isinstance(value, Described):
        return f"{_written(value.descriptor)}:{_written(value.value)}"
    if isinstance(value, Map):
        shown = [f"{_written(key)}: {_written(each)}" for key, each in value.pairs[:LONGEST]]
        return f"{{{', '.join(shown)}}}"
    if isinstance(value, (tuple, Array)):
        items = value if isinstance(value, tuple) else tuple(value)
        return f"[{', '.join(map(_written, items[:LONGEST]))}]"
    return "null" if value is None else str(value)


def _one_unit(octets: bytes) -> Unit:
    unit = alone(FrameReader(limit=_ANY_SIZE), octets)
    return unit or Garbage(octets, "incomplete or more than one frame")


# -- octet by octet ------------------------------------------------------------------------------------


def annotate(octets: bytes) -> Iterator[Span]:
    """Every field of one unit on the wire with offset and length in octets, as far as it can be read.

    The spans follow each other and leave no octet out. Values are numbers, truth values or short text; the
    fields of a composite inside another have its name before their own (`source.address`).
    """
    octets = blank_credentials(octets)
    unit = _one_unit(octets)
    if isinstance(unit, Frame):
        yield from _frame_spans(unit)
    elif isinstance(unit, Header):
        yield Span(0, 4, "name", "AMQP")
        for place, name in enumerate(("protocol-id", "major", "minor", "revision"), start=4):
            yield Span(place, 1, name, unit.octets[place])
    elif unit.delimited:
        yield Span(0, 4, "size", len(octets))
        yield Span(4, 1, "doff", octets[4])
        yield Span(5, len(octets) - 5, "not a frame", unit.why)
    else:
        yield Span(0, len(octets), "not a frame", unit.why)


def _frame_spans(frame: Frame) -> Iterator[Span]:
    start = FRAME_HEADER + len(frame.extended)
    yield Span(0, 4, "size", start + len(frame.body))
    yield Span(4, 1, "doff", start // 4)
    yield Span(5, 1, "type", frame.type)
    yield Span(6, 2, "ignored" if frame.type == SASL else "channel", frame.channel)
    if frame.extended:
        yield Span(FRAME_HEADER, len(frame.extended), "extended header", short(frame.extended.hex()))
    behind, end = start, start + len(frame.body)
    try:
        for offset, length, name, value in _body_spans(frame):
            yield Span(start + offset, length, name, value)
            behind = start + offset + length
    except DecodeError as failure:
        yield Span(behind, end - behind, "not decodable", _says_failure(failure))


def _body_spans(frame: Frame) -> Iterator[Span]:
    performative, payload = frame.read()
    if performative is None:
        return
    form = forms(frame.body)
    yield from _composite_spans(performative, form, "")
    if payload:
        behind = form.offset + form.length
        yield Span(behind, len(payload), "payload", short(_written(payload)))


def _composite_spans(composite: Composite, form: Form, prefix: str) -> Iterator[Span]:
    """Of a described list: the descriptor, the head of the list, then field by field."""
    descriptor, content = form.value.descriptor, form.value.value
    yield Span(
        form.offset,
        descriptor.offset + descriptor.length - form.offset,
        f"{prefix}descriptor",
        f"{short(_written(plain(descriptor)))} ({composite.type_name})",
    )
    items: tuple[Form, ...] = content.value
    first = items[0].offset if items else content.offset + content.length
    how = CONSTRUCTORS[content.code].name
    yield Span(content.offset, first - content.offset, f"{prefix}list", f"{how} of {len(items)}")
    fields = composite.spec.fields
    for place, item in enumerate(items):
        if place >= len(fields):
            yield Span(item.offset, item.length, f"{prefix}element {place}", short(_written(plain(item))))
            continue
        name, value = f"{prefix}{fields[place].name}", composite.values[place]
        if isinstance(value, Composite):
            yield from _composite_spans(value, item, f"{name}.")
        else:
            yield Span(item.offset, item.length, name, _shown(composite, fields[place], value))


def _shown(composite: Composite, field: Field, value: Any) -> Any:
    if choice := choice_name(field, value):
        return f"{_written(value)} ({choice})"
    if isinstance(value, int):
        return value if isinstance(value, bool) else int(value)
    return _says_field(composite, field.name, value)
