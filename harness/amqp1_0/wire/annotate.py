"""Octets of AMQP 1.0 explained: what a frame says in a line, and field by field.

The fields of a composite inside another have its name before their own (`source.address`).
"""

from collections.abc import Iterator
from typing import Any, Final

from harness.amqp1_0.client.credentials import SECRET_FIELDS, blank_credentials
from harness.amqp1_0.wire.composites import Composite, choice_name
from harness.amqp1_0.wire.decoding import Form, forms, plain
from harness.amqp1_0.wire.frames import AMQP, FRAME_HEADER, SASL, Frame, FrameReader
from harness.amqp1_0.wire.generated import CONSTRUCTORS
from harness.amqp1_0.wire.types import Array, Described, Map
from harness.wire.annotation import LONGEST, Annotator, Span, no_frame, readable, short
from harness.wire.units import ANY_SIZE, Garbage
from spec.readers.amqp1_0 import Field

_EMPTY: Final = {AMQP: "empty frame", SASL: "empty sasl frame"}


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


# -- octet by octet ------------------------------------------------------------------------------------


def _strange(garbage: Garbage) -> Iterator[Span]:
    if not garbage.delimited:
        yield from no_frame(garbage)
        return
    yield Span(0, 4, "size", len(garbage.octets))
    yield Span(4, 1, "doff", garbage.octets[4])
    yield Span(5, len(garbage.octets) - 5, "not a frame", garbage.why)


def _frame_spans(frame: Frame) -> Iterator[Span]:
    start = FRAME_HEADER + len(frame.extended)
    yield Span(0, 4, "size", start + len(frame.body))
    yield Span(4, 1, "doff", start // 4)
    yield Span(5, 1, "type", frame.type)
    yield Span(6, 2, "ignored" if frame.type == SASL else "channel", frame.channel)
    if frame.extended:
        yield Span(FRAME_HEADER, len(frame.extended), "extended header", short(frame.extended.hex()))
    yield from readable(start, len(frame.body), _body_spans(frame), "body")


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


ANNOTATOR = Annotator(
    reader=lambda: FrameReader(limit=ANY_SIZE),
    blanked=blank_credentials,
    tells=_says_frame,
    spans=_frame_spans,
    header=lambda header: f"{header.protocol_id} {'-'.join(map(str, header.version))}",
    id_name="protocol-id",
    body="body",
    strange=_strange,
)
says, annotate = ANNOTATOR.says, ANNOTATOR.annotate
