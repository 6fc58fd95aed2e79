"""Odd methods, tables, contents and frames, made of a fuzzer's octets: valid with strange values, or not."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.amqp0_9_1.wire.field_tables import As, Timestamp
from harness.amqp0_9_1.wire.fields import FIXED
from harness.amqp0_9_1.wire.frames import (
    BODY,
    FRAME_END,
    HEADER,
    HEARTBEAT,
    METHOD,
    ContentHeader,
    Frame,
    RawFrame,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic, Connection
from harness.trials.fuzz import Draws
from spec.readers.amqp0_9_1 import Field

METHODS: Sequence[type[Method]] = tuple(CODEC.methods[name] for name in sorted(CODEC.methods))
NAMES = ("", "q", "p", "amq.direct", "amq.fanout", "amq.topic", "amq.match", "e", "a b", "#.*", "x" * 255)
TYPES = ("direct", "fanout", "topic", "headers")
FIELD_NAMES = ("a", "b", "x-match", "x-max-length", "1st", "", "product", "x" * 255)
LEAVES: Sequence[Any] = (
    None, True, False, 0, -1, 1 << 62, "any", "all", "", b"\xff", float("nan"), float("-inf"), 1e300,
    Decimal("0.1"), Decimal("4294967295E-255"), Timestamp((1 << 64) - 1), As("l", (1 << 64) - 1),
    As("b", -128), As("B", 255), As("u", 65535), As("U", -1), As("i", 4294967295), As("f", 1.5), As("s", "s"),
)  # fmt: skip
DEEPEST = 3


def value(draws: Draws, depth: int = 0) -> Any:
    choice = draws.number()
    if choice < 224 or depth == DEEPEST:
        return LEAVES[choice % len(LEAVES)]
    if choice < 240:
        return table(draws, depth + 1)
    return [value(draws, depth + 1) for _ in range(choice % 4)]


def table(draws: Draws, depth: int = 0) -> dict[str, Any]:
    return {draws.one_of(FIELD_NAMES): value(draws, depth) for _ in range(draws.number() % 4)}


def field(draws: Draws, kind: str) -> Any:
    if kind == "bit":
        return draws.flag()
    if kind == "shortstr":
        choice = draws.number()
        return TYPES[choice % 4] if choice >= 224 else NAMES[choice % len(NAMES)]
    if kind == "longstr":
        return b"\0guest\0guest" if draws.flag() else draws.piece()
    if kind == "table":
        return table(draws)
    small = draws.number()
    most = (1 << {"B": 8, "H": 16, "I": 32, "Q": 64}[FIXED[kind]]) - 1
    return most - (255 - small) if small >= 240 else small % 8 if small < 200 else small * most // 255


def method(draws: Draws) -> Method:
    """Make any method, with any values in its fields."""
    kind = draws.one_of(METHODS)
    return kind(**{name: field(draws, each.type) for name, each in zip(kind.names, kind.fields, strict=True)})


LIKELY: Mapping[str, Sequence[str]] = {
    "queue": ("q", "q", "p", ""),
    "exchange": ("", "amq.direct", "e", "amq.topic", "amq.match", "f"),
    "type": TYPES,
    "consumer-tag": ("t", "u", ""),
}
SERVED = tuple(
    kind
    for kind in METHODS
    if "server" in kind.spec.chassis and kind.spec.class_name not in ("connection", "channel")
)


def likely(draws: Draws) -> Method:
    """Make a method a client would send, with values that often fit what was sent before."""
    kind = draws.one_of(SERVED)
    return kind(**{n: _likely_value(draws, each) for n, each in zip(kind.names, kind.fields, strict=True)})


def _likely_value(draws: Draws, each: Field) -> Any:
    if each.type == "bit":
        return draws.number() > 160
    if each.type == "shortstr":
        return draws.one_of(LIKELY.get(each.name, ("q", "p", "#", "")))
    if each.type == "table":
        return table(draws) if draws.number() > 224 else {}
    return draws.number() % 6


def properties(draws: Draws) -> Properties:
    """Make properties, each present or not."""
    kind = Basic.Properties
    present = draws.number(2)
    return kind(
        **{
            name: field(draws, each.type)
            for place, (name, each) in enumerate(zip(kind.names, kind.fields, strict=True))
            if present >> place & 1
        }
    )


def content(draws: Draws, channel: int, carrier: Method) -> Iterator[Frame]:
    """Make a method with its content, of the announced size or not."""
    yield method_frame(channel, carrier)
    body = draws.piece()
    lie = draws.number()
    size = len(body) if lie < 200 else lie - 200 if lie < 250 else (1 << 64) - 1
    yield Frame(HEADER, channel, ContentHeader(60, size, properties(draws)).encode())
    yield from (Frame(BODY, channel, part) for part in draws.cut(body))


def malformed(draws: Draws) -> RawFrame:
    """Make a frame of which any part may lie."""
    payload = method(draws).encode() if draws.flag() else draws.piece()
    size = draws.one_of((None, None, 0, 1, 7, 0xFFFFFFFF, 1 << 20, len(payload) + 1))
    end = draws.one_of((bytes((FRAME_END,)), bytes((FRAME_END,)), b"", b"\0"))
    return RawFrame(
        draws.one_of((METHOD, HEADER, BODY, HEARTBEAT, 0, 65)), channel(draws), payload, size, end
    )


def channel(draws: Draws) -> int:
    """Choose a channel's number, mostly one of the first."""
    return draws.one_of((0, 1, 1, 1, 2, 2, 3, 65535))


def unit(draws: Draws) -> bytes:
    """Make one unit on the wire: a method, with content or not, a heartbeat, a malformed frame, octets."""
    choice = draws.number()
    if choice < 144:
        made = method(draws)
        number = 0 if isinstance(made, tuple(_OF_CONNECTION)) and choice & 3 else channel(draws)
        return method_frame(number, made).encode()
    if choice < 208:
        carriers = (Basic.Publish, Basic.Deliver, Basic.GetOk, Basic.Return)
        kind = carriers[choice % 4]
        given = {n: field(draws, f.type) for n, f in zip(kind.names, kind.fields, strict=True)}
        return b"".join(each.encode() for each in content(draws, channel(draws), kind(**given)))
    if choice < 216:
        return Frame(HEARTBEAT, 0, b"").encode()
    return malformed(draws).encode() if choice < 248 else draws.piece()


_OF_CONNECTION = [kind for kind in METHODS if kind.spec.class_name == "connection"]
OPENING = (
    Connection.StartOk({}, "PLAIN", b"\0guest\0guest", "en_US"),
    Connection.TuneOk(0, 4096, 0),
    Connection.Open("/"),
)
"""What a well-behaved client says behind the protocol header."""
