"""Octets of AMQP/Fast explained: what a unit says in a line, field by field, and where credentials are."""

from collections.abc import Iterator
from typing import Any

from harness.amqp_fast.wire.commands import Record, spans
from harness.amqp_fast.wire.frames import FRAME_END, Frame, FrameReader, Initiation, Unit
from harness.amqp_fast.wire.tables import Table, Time, table_spans
from harness.amqp_fast.wire.vocabulary import COMMANDS, Connection
from harness.wire.annotation import Annotator, Span, readable, short
from harness.wire.units import ANY_SIZE, DecodeError

_MARKS = (b"PASSWORD", b"LOGIN")
"""Names of fields that carry credentials (3.2.4.1)."""


def _tells(unit: Initiation | Frame) -> str:
    if isinstance(unit, Initiation):
        return f"initiation protocol-id={unit.protocol_id} protocol-version={unit.version}"
    command = unit.command()
    carried = f" and a fragment of {len(unit.fragment)} octets" if unit.fragment else ""
    return f"{command.full_name}{_values(command)}{carried}"


def _values(record: Record) -> str:
    words = (
        _word(field.name, field.type, getattr(record, name))
        for name, field in zip(record.names, record.fields, strict=True)
    )
    return "".join(f" {word}" for word in words if word)


def _word(name: str, kind: str, value: Any) -> str:
    if kind == "bit":
        return name if value else ""
    # A number says something even when it is zero, other fields only when there is something in them.
    return f"{name}={_short(value)}" if value or isinstance(value, int) else ""


def _short(value: Any) -> str:
    if isinstance(value, Table):
        return short(", ".join(f"{name}={_short(each)}" for name, each in value.pairs))
    if isinstance(value, Time):
        return f"{value.seconds} s"
    return short(value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value))


def _spans(unit: Initiation | Frame) -> Iterator[Span]:
    if isinstance(unit, Initiation):
        yield Span(0, 1, "protocol-id", unit.protocol_id)
        yield Span(1, 1, "protocol-version", unit.version)
    else:
        yield from _frame_spans(unit)


def _frame_spans(unit: Frame) -> Iterator[Span]:
    start = 6 if unit.long else 2
    yield Span(0, start, "size", len(unit.payload) + 1)
    yield from readable(start, len(unit.payload), _payload_spans(unit), "command")
    behind = start + len(unit.payload)
    yield Span(behind, 1, "command-end", FRAME_END)
    if unit.fragment:
        yield Span(behind + 1, len(unit.fragment), "fragment", _short(unit.fragment))


def _payload_spans(unit: Frame) -> Iterator[Span]:
    code = unit.payload[0]
    kind = COMMANDS.get(code)
    if kind is None:
        raise DecodeError(0, f"no command has the code {code}")
    yield Span(0, 1, "command", f"{code} ({kind.full_name})")
    for each in spans(kind.fields, unit.payload, 1):
        yield each if isinstance(each.value, int) else each._replace(value=_short(each.value))
    unit.command()


def blank_credentials(octets: bytes) -> bytes:
    """Replace what CONNECTION RESPONSE tells of the client by asterisks; the length stays.

    `octets` may hold several units, whole or not. The values of its table are blanked; where it is malformed,
    or the names of credentials stand elsewhere, everything behind them.
    """
    if Connection.Response.code not in octets and not any(mark in octets for mark in _MARKS):
        return octets
    reader = FrameReader(limit=ANY_SIZE, initiated=None)
    units = [_blank_unit(raw, unit) for raw, unit in reader.feed(octets)]
    return b"".join(units) + _blank_loose(reader.rest())


def _blank_unit(raw: bytes, unit: Unit) -> bytes:
    if not isinstance(unit, Frame) or unit.type != Connection.Response.code:
        return _blank_loose(raw)
    start = 6 if unit.long else 2
    try:
        unit.command()
        blanked = bytearray(raw)
        for each in _response(unit):
            blanked[start + each.offset : start + each.offset + each.length] = b"*" * each.length
        return bytes(blanked)
    except DecodeError:
        # A mechanism that is longer than the frame hides nothing: what stands there is taken for credentials.
        named = unit.payload[1] if len(unit.payload) > 1 else 0
        behind = start + 2 + (named if named < len(unit.payload) - 1 else 0)
        return raw[:behind] + b"*" * (len(raw) - 1 - behind) + raw[-1:]


def _response(unit: Frame) -> Iterator[Span]:
    """Find where the values of the table of responses stand in the payload, without types and lengths."""
    mechanism = Connection.Response.fields[:1]
    (at,) = (1 + each.length for each in spans(mechanism, unit.payload, 1))
    for each in list(table_spans(unit.payload, at))[1:]:
        named = each.offset + 1 + unit.payload[each.offset]
        head = 3 if unit.payload[named : named + 1] == b"S" else 1
        yield Span(named + head, each.offset + each.length - named - head, each.name, None)


def _blank_loose(octets: bytes) -> bytes:
    starts = (place + len(mark) for mark in _MARKS if (place := octets.find(mark)) >= 0)
    start = min(starts, default=len(octets))
    return octets[:start] + b"*" * (len(octets) - start)


ANNOTATOR: Annotator[Initiation | Frame] = Annotator(
    reader=lambda: FrameReader(limit=ANY_SIZE, initiated=None),
    blanked=blank_credentials,
    tells=_tells,
    spans=_spans,
    body="command",
)
says, annotate = ANNOTATOR.says, ANNOTATOR.annotate
