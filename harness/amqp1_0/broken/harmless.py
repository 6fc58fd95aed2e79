"""Differences that matter to nobody: other legal ways of writing the same frames of AMQP 1.0.

None of them may change a verdict. What is malformed passes as it is, and so does what would grow beyond the
smallest frame that every peer takes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from harness.amqp1_0.broken.deviations import Interposer
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.composites import Composite, decode_composite
from harness.amqp1_0.wire.decoding import exact
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, MIN_MAX_FRAME_SIZE, Frame, empty_frame
from harness.amqp1_0.wire.generated import CONSTRUCTORS
from harness.amqp1_0.wire.performatives import Close, Error, Open
from harness.amqp1_0.wire.types import Array, As, Described, Map, Symbol, Ulong
from harness.peers.interposer import Passed, Rule

WIDEST: Mapping[str, int] = {
    made.type: max(
        (code for code, other in CONSTRUCTORS.items() if other.type == made.type),
        key=lambda code: CONSTRUCTORS[code].width,
    )
    for made in CONSTRUCTORS.values()
}
"""The constructor of each type that takes the most room."""


def widened(value: Any) -> Any:
    """Give a value, spelled out by `exact`, in the widest encoding of each part."""
    match value:
        case Described(descriptor, inner):
            return Described(widened(descriptor), widened(inner))
        case As(code, Array() as items):
            inner = CONSTRUCTORS[items.constructor]
            simple = inner.category not in ("compound", "array") and inner.width
            wide = WIDEST[inner.type] if simple else items.constructor
            return As(WIDEST[CONSTRUCTORS[code].type], Array(wide, items.items, items.descriptors))
        case As(code, tuple() as items):
            return As(WIDEST[CONSTRUCTORS[code].type], tuple(map(widened, items)))
        case As(code, inner):
            return As(WIDEST[CONSTRUCTORS[code].type], inner)
    return value


def spelled_out(value: Any) -> Any:
    """Give a composite, and each in it, a symbol for a descriptor: the same meaning (Part 1, 1.4)."""
    return _each(value, lambda it: it.sent_as(descriptor=Symbol(it.spec.descriptor)))


def padded(value: Any) -> Any:
    """Fill a composite, and each in it, with nulls up to its last field: the same meaning (Part 1, 1.4)."""
    return _each(value, lambda it: it if it.unknown else it.sent_as(width=len(it.spec.fields)))


def cut_short(value: Any) -> Any:
    """Take the nulls off the end of a composite, and of each in it."""
    return _each(value, lambda it: it.sent_as(width=0))


def shortest(value: Any) -> Any:
    """Give a composite, and each in it, in its shortest form: with the number, without nulls at its end."""
    return _each(value, lambda it: it.sent_as(width=0, descriptor=Ulong(it.spec.code)))


OTHER_WORDS = "Nein, so geht das nicht. "


def otherwise(description: str | None) -> str:
    """Give other words in as many letters, so that limits on frame size hold as before."""
    size = len(description or OTHER_WORDS)
    return (OTHER_WORDS * (size // len(OTHER_WORDS) + 1))[:size]


def described_otherwise(value: Any) -> Any:
    """Give a composite whose errors say the same in other words."""
    return _each(
        value, lambda it: it.replace(description=otherwise(it.description)) if isinstance(it, Error) else it
    )


def turned(opening: Any) -> Any:
    """Reverse the properties of an open."""
    given = opening.properties
    if not isinstance(opening, Open) or not isinstance(given, Map):
        return opening
    return opening.replace(properties=Map(reversed(given.pairs)))


def _each(value: Any, change: Callable[[Composite], Composite]) -> Any:
    if isinstance(value, Map):
        return Map((key, _each(each, change)) for key, each in value.pairs)
    if not isinstance(value, Composite):
        return value
    inside = {
        name: _each(carried, change)
        for name in value.names
        if isinstance(carried := value.carried(name), Composite | Map)
    }
    return change(value.replace(**inside) if inside else value)


def _written(by: Callable[[Frame], Frame], from_server: bool, kinds: Any = Composite) -> Interposer:
    def act(_: int, frame: Frame) -> Passed:
        changed = by(frame)
        small = len(changed.encode()) <= MIN_MAX_FRAME_SIZE
        return [changed if small else frame], []

    def meets(frame: Frame) -> bool:
        return isinstance(performative_of(frame), kinds)

    return Interposer((Rule(Frame, from_server, act, meets),))


def _respelled(by: Callable[[Any], Any], from_server: bool, kinds: Any = Composite) -> Interposer:
    def write(frame: Frame) -> Frame:
        performative, payload = frame.read()
        return replace(frame, body=encode(by(performative)) + payload)

    return _written(write, from_server, kinds)


def _wide(frame: Frame) -> Frame:
    _, behind = decode_composite(frame.body)
    return replace(frame, body=encode(widened(exact(frame.body[:behind]))) + frame.body[behind:])


def _extended(frame: Frame) -> Frame:
    return frame if frame.extended else replace(frame, extended=b"\x00\x01\x02\x03")


def _empty_frames() -> Interposer:
    def act(_: int, frame: Frame) -> Passed:
        return [empty_frame(), frame], []

    def meets(frame: Frame) -> bool:
        # Not before an open, which comes first, and none is behind a close.
        performative = performative_of(frame)
        return frame.type == AMQP and performative is not None and not isinstance(performative, Open)

    return Interposer((Rule(Frame, True, act, meets),))


def _both(name: str, make: Callable[[bool], Interposer]) -> Iterable[tuple[str, Interposer]]:
    return (name, make(True)), (f"{name}-sent", make(False))


HARMLESS: Mapping[str, Interposer] = {
    "other-order": _respelled(turned, True, Open),
    "other-descriptions": _respelled(described_otherwise, True, Close),
    "empty-frames": _empty_frames(),
    **dict(_both("extended-headers", lambda server: _written(_extended, server))),
    **dict(_both("wide-encodings", lambda server: _written(_wide, server))),
    **dict(_both("symbolic-descriptors", lambda server: _respelled(spelled_out, server))),
    **dict(_both("trailing-nulls", lambda server: _respelled(padded, server))),
    **dict(_both("no-trailing-nulls", lambda server: _respelled(cut_short, server))),
}
"""Interposers by name; the ones that end in `-sent` change what we send."""
OF_CLIENTS: Mapping[str, Interposer] = {}
"""What only clients may do otherwise: all of it can be done by either peer."""
