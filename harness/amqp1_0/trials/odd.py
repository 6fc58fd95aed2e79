"""Odd values, performatives and frames, made of a fuzzer's octets: valid with strange values, or not."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from harness.amqp1_0.wire.composites import CLASSES, Composite
from harness.amqp1_0.wire.encoding import array
from harness.amqp1_0.wire.frames import (
    AMQP,
    PROTOCOL_HEADER,
    SASL,
    SASL_HEADER,
    TLS_HEADER,
    Frame,
    RawFrame,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.generated import CONSTRUCTORS, GRAMMAR
from harness.amqp1_0.wire.types import (
    DECIMALS,
    NUMBERS,
    Array,
    As,
    Char,
    Described,
    Map,
    Raw,
    Symbol,
    Uint,
    Ulong,
)
from harness.trials.fuzz import Draws
from spec.readers.amqp1_0 import Field

PERFORMATIVES: Sequence[type[Composite]] = tuple(
    CLASSES[each.name] for each in GRAMMAR.composites if "frame" in each.provides
)
SASL_PERFORMATIVES: Sequence[type[Composite]] = tuple(
    CLASSES[each.name] for each in GRAMMAR.composites if "sasl-frame" in each.provides
)
CODES = tuple(CONSTRUCTORS)
LEAVES: Sequence[Any] = (
    None, True, False, *(NUMBERS[name](number) for name, number in (
        ("ubyte", 255), ("ushort", 65535), ("uint", 0), ("uint", 1), ("uint", 0xFFFFFFFF), ("ulong", 0),
        ("ulong", 1 << 63), ("byte", -128), ("short", -1), ("int", -1), ("int", 1 << 30), ("long", 0),
        ("long", -1), ("long", 1 << 62), ("float", 1.5), ("double", "nan"), ("double", 1e300),
    )),
    *(kind(bytes(width)) for kind, width in zip(DECIMALS.values(), (4, 8, 16), strict=True)),
    Char("\U0010ffff"), NUMBERS["timestamp"](-1), UUID(int=1), b"", b"\xff" * 300, "", "é" * 200, Symbol(""),
    Symbol("amqp:open:list"), Symbol("x" * 300),
)  # fmt: skip
DEEPEST = 3


def value(draws: Draws, depth: int = 0) -> Any:
    """Make a value of any type, in any encoding, sometimes one that does not exist."""
    choice = draws.number()
    if choice < 200 or depth == DEEPEST:
        return LEAVES[choice % len(LEAVES)]
    few = range(choice % 4)
    if choice < 212:
        return tuple(value(draws, depth + 1) for _ in few)
    if choice < 224:
        return Map([(value(draws, depth + 1), value(draws, depth + 1)) for _ in few])
    if choice < 232:
        return array("symbol", [draws.one_of(("a", "x" * 300))] * len(few))
    if choice < 240:
        return Described(value(draws, depth + 1), value(draws, depth + 1))
    if choice < 248:
        lie = draws.one_of((None, 0, 255, len(few)))
        return As(draws.one_of(CODES), draws.piece()[:250], lie, draws.one_of((None, 0, 255)))
    return Raw(draws.piece()) if choice < 252 else Array(0x40, (None,) * 9)


def field(draws: Draws, each: Field) -> Any:
    """Make a value that fits a field, or one that does not."""
    choice = draws.number()
    if choice < 96:
        return None
    if choice >= 224:
        return value(draws)
    kind = GRAMMAR.elementary(each.type)
    if kind == "*":
        kinds = [each for each in GRAMMAR.providing(each.requires or "") if each.name in CLASSES]
        return composite(draws, CLASSES[draws.one_of(kinds).name]) if kinds else "q"
    if each.type in CLASSES:
        return composite(draws, CLASSES[each.type])
    likely: dict[str, Sequence[Any]] = {
        "boolean": (False, True),
        "string": ("q", "", "a name"),
        "symbol": (Symbol("a"), Symbol("amqp:not-found")),
        "binary": (b"", b"\0\0\0\1"),
        "map": (Map(), Map([(Symbol("a"), Uint(1))]), Map([("a", value(draws, DEEPEST))])),
    }
    if kind in likely:
        return draws.one_of(likely[kind])
    return NUMBERS[kind](draws.number() % 8)


def composite(draws: Draws, kind: type[Composite]) -> Composite:
    """Make a composite with any values in its fields, written in any way."""
    made = kind.of(tuple(field(draws, each) for each in kind.spec.fields), Ulong(kind.spec.code))
    how = draws.number()
    if how < 208:
        return made
    if how < 224:
        return made.sent_as(descriptor=Symbol(kind.spec.descriptor))
    if how < 240:
        return made.sent_as(width=how % 20)
    return made.sent_as(unknown=(value(draws),))


def channel(draws: Draws) -> int:
    """Choose a channel's number, mostly one of the first."""
    return draws.one_of((0, 0, 1, 1, 2, 3, 65535))


def malformed(draws: Draws) -> RawFrame:
    """Make a frame of which any part may lie."""
    body = composite(draws, draws.one_of(PERFORMATIVES)).encode() if draws.flag() else draws.piece()
    size = draws.one_of((None, None, None, 0, 7, 8, 0xFFFFFFFF, 1 << 20, len(body) + 9))
    doff = draws.one_of((None, None, 0, 1, 3, 255))
    kind = draws.one_of((AMQP, AMQP, SASL, 2, 255))
    return RawFrame(body, channel(draws), kind, bytes(draws.number() % 3 * 4), size, doff)


def unit(draws: Draws) -> bytes:
    """Make one unit on the wire: a performative, empty frame, SASL, header, malformed frame or any octets."""
    choice = draws.number()
    if choice < 160:
        made = composite(draws, draws.one_of(PERFORMATIVES))
        return amqp_frame(channel(draws), made, draws.piece() if choice & 1 else b"").encode()
    if choice < 176:
        return empty_frame(channel(draws)).encode()
    if choice < 192:
        return sasl_frame(composite(draws, draws.one_of(SASL_PERFORMATIVES))).encode()
    if choice < 208:
        return draws.one_of((PROTOCOL_HEADER, SASL_HEADER, TLS_HEADER, b"AMQP\0\1\0\1"))
    if choice < 216:
        return Frame(AMQP, channel(draws), draws.piece(), bytes(8)).encode()
    return malformed(draws).encode() if choice < 248 else draws.piece()
