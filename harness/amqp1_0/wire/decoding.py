"""Octets to values: strict, and bounded in depth and memory by the octets that are there.

One set of readers serves three views of the same octets: `decode` gives values, `exact` the same with every
encoding spelled out (encoded again it gives the same octets), `forms` says where each value stands.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, NoReturn

from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.generated import CONSTRUCTORS, DESCRIBED, Constructor
from harness.amqp1_0.wire.primitives import WIDTHLESS, Reader, beyond, simple_reader
from harness.amqp1_0.wire.types import Array, As, Described, Map, Symbol, Ubyte, Uint, Ulong, Ushort
from harness.wire.units import DecodeError

MAX_DEPTH: Final = 64
"""Values nested deeper than this are refused: a hostile peer must not exhaust our stack."""
MAX_WIDTHLESS: Final = 256
"""Items an array may have that take no octets: any number of them would fit into ten octets."""

_Seen = Callable[[bytes, int, int, int, Any], Any]
"""Takes the octets, code, start, end and value; gives what is to stand for the value."""


_Parts = Callable[[bytes, int, int, int], tuple[Any, Any, int]]
"""Takes what a reader does, with the offset behind 0x00; gives descriptor, value, and the offset behind."""


class Form(NamedTuple):
    """Where a value stands, from its constructor on; `value` holds forms, but for items of an array."""

    offset: int
    length: int
    code: int
    value: Any


def decode(octets: bytes, at: int = 0, end: int | None = None) -> tuple[Any, int]:
    """Read the value at `at`, at most up to `end`; returns the offset behind too. Raises DecodeError."""
    return _VALUES(octets, at, len(octets) if end is None else min(end, len(octets)), 0)


def decode_described(octets: bytes, at: int, end: int | None = None) -> tuple[Any, Any, int] | None:
    """Read descriptor and value at `at`, and the offset behind; None without one. Raises DecodeError."""
    room = len(octets)
    if end is None or end > room:
        end = room
    return _PARTS(octets, at + 1, end, 0) if at < end and octets[at] == DESCRIBED else None


def decode_whole(octets: bytes) -> Any:
    """Read the value that these octets are. Raises DecodeError, also when something follows it."""
    return _whole(decode(octets), octets)


def exact(octets: bytes) -> Any:
    """Read the value that these octets are, every encoding spelled out with `As`. Raises DecodeError."""
    return _whole(_EXACT(octets, 0, len(octets), 0), octets)


def forms(octets: bytes, at: int = 0, end: int | None = None) -> Form:
    """Tell where the value at `at`, and each value in it, stands. Raises DecodeError."""
    form, _ = _FORMS(octets, at, len(octets) if end is None else min(end, len(octets)), 0)
    return form  # type: ignore[no-any-return]


def plain(view: Any) -> Any:
    """Give the value that an exact view or a form is a view of."""
    if isinstance(view, Described):
        return Described(plain(view.descriptor), plain(view.value))
    if isinstance(view, Array):
        items = tuple(_content(view.constructor, item) for item in view.items)
        return Array(view.constructor, items, tuple(map(plain, view.descriptors)))
    if isinstance(view, As) and type(view.value) is bytes and CONSTRUCTORS[view.code].type != "binary":
        return decode_whole(encode(view))
    return _content(view.code, view.value) if isinstance(view, (As, Form)) else view


def _content(code: int, value: Any) -> Any:
    kind = "" if code == DESCRIBED else CONSTRUCTORS[code].type
    if kind == "list":
        return tuple(map(plain, value))
    if kind == "map":
        return value if isinstance(value, Map) else Map(_pairs([plain(each) for each in value]))
    return plain(value) if kind in ("", "array") else value


def _whole(found: tuple[Any, int], octets: bytes) -> Any:
    value, behind = found
    if behind != len(octets):
        raise DecodeError(behind, f"{len(octets) - behind} octets follow the value")
    return value


def _pairs(items: list[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(items[::2], items[1::2], strict=True)


# -- lists, maps, arrays -------------------------------------------------------------------------------


def _extent(octets: bytes, at: int, end: int, depth: int, kind: str, width: int) -> tuple[int, int, int]:
    """Give where the items of what stands at `at` begin, where they end, and how many there are."""
    if depth >= MAX_DEPTH:
        _too_deep(at)
    inside = at + width
    if inside > end:
        beyond(at, kind)
    size = octets[at] if width == 1 else int.from_bytes(octets[at:inside])
    stop = inside + size
    if stop > end:
        raise DecodeError(at, f"the {kind} reaches {stop - end} octets beyond what holds it")
    if size < width:
        raise DecodeError(at, f"the size of the {kind}, {size}, has no room for its count")
    start = inside + width
    return start, stop, octets[inside] if width == 1 else int.from_bytes(octets[inside:start])


def _too_deep(at: int) -> NoReturn:
    raise DecodeError(at, f"a value is nested more than {MAX_DEPTH} deep")


def _overcounted(at: int, kind: str, count: int, room: int) -> NoReturn:
    # Before anything is read: what cannot be there is not waited for item by item.
    raise DecodeError(at, f"the {kind} counts {count} items, at most {room} fit into it")


def _ends_late(at: int, stop: int, kind: str) -> NoReturn:
    raise DecodeError(at, f"{stop - at} octets follow the last item of the {kind}")


def _compound_reader(made: Constructor, table: list[Reader], finish: Callable[..., Any]) -> Reader:
    kind, width = made.type, made.width

    def read(octets: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
        start, stop, count = _extent(octets, at, end, depth, kind, width)
        if count > stop - start:
            _overcounted(at + width, kind, count, stop - start)
        items: list[Any] = []
        add, place, depth = items.append, start, depth + 1
        for _ in range(count):
            if place >= stop:
                raise DecodeError(place, f"the {kind} counts {count} items and has {len(items)}")
            value, place = table[octets[place]](octets, place + 1, stop, depth)
            add(value)
        if place != stop:
            _ends_late(place, stop, kind)
        return finish(items, at), stop

    return read


_LEAVES: Final = frozenset((str, Symbol, bytes, Ubyte, Ushort, Uint, Ulong, int, bool))


def _refuse_twice(items: list[Any], at: int) -> None:
    """Refuse an odd number of items or a key that occurs twice, types told apart (Part 1, 1.6.23)."""
    if len(items) % 2:
        raise DecodeError(at, f"the map has {len(items)} items: a key without a value")
    met = set()
    for key in items[::2]:
        value = key if type(key) in _LEAVES else plain(key)
        known = (type(value), value) if type(value) in _LEAVES else encode(value)
        if known in met:
            raise DecodeError(at, f"a key occurs twice in the map: {_brief(value)}")
        met.add(known)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _map(items: list[Any], at: int) -> Map:
    _refuse_twice(items, at)
    return Map(_pairs(items))


def _flat_map(items: list[Any], at: int) -> tuple[Any, ...]:
    _refuse_twice(items, at)
    return tuple(items)


def _list(items: list[Any], _at: int) -> tuple[Any, ...]:
    return tuple(items)


@cache
def _widthless(code: int, count: int) -> tuple[Any, ...]:
    # Cached, so that many arrays of nothing in few octets share what they hold.
    return (WIDTHLESS[CONSTRUCTORS[code].name],) * count


def _least(made: Constructor) -> int:
    return made.width * (2 if made.category in ("compound", "array") else 1)


def _array_reader(made: Constructor, value: Reader, bare: Mapping[int, Reader]) -> Reader:
    kind, width = made.type, made.width

    def read(octets: bytes, at: int, end: int, depth: int) -> tuple[Array, int]:
        place, stop, count = _extent(octets, at, end, depth, kind, width)
        descriptors: list[Any] = []
        depth += 1
        while octets[place : place + 1] == _DESCRIBED_OCTET and place < stop:
            if depth >= MAX_DEPTH:
                _too_deep(place)
            depth += 1
            descriptor, place = value(octets, place + 1, stop, depth)
            descriptors.append(descriptor)
        if place >= stop:
            raise DecodeError(place, "an array has no constructor")
        code = octets[place]
        inner = CONSTRUCTORS.get(code)
        if inner is None:
            _unknown(octets, place + 1, stop, depth)
        place += 1
        if not inner.width:
            if count > MAX_WIDTHLESS:
                _overcounted(at, "array", count, MAX_WIDTHLESS)
            items = _widthless(code, count)
        else:
            if count > (room := (stop - place) // _least(inner)):
                _overcounted(at, "array", count, room)
            reader, found = bare[code], []
            for _ in range(count):
                item, place = reader(octets, place, stop, depth)
                found.append(item)
            items = tuple(found)
        if place != stop:
            _ends_late(place, stop, "array")
        return Array(code, items, tuple(descriptors)), stop

    return read


_DESCRIBED_OCTET: Final = bytes((DESCRIBED,))


# -- the three views -----------------------------------------------------------------------------------


def _unknown(octets: bytes, at: int, _end: int, _depth: int) -> NoReturn:
    raise DecodeError(at - 1, f"no type has the constructor {octets[at - 1]:#04x}")


_bare: Final = object.__new__
_put_descriptor, _put_value = (getattr(Described, name).__set__ for name in ("descriptor", "value"))
"""What a frozen dataclass does by names, for each of the values that a message is made of."""


def _view(finish_map: Callable[..., Any], seen: _Seen | None) -> tuple[Reader, _Parts]:
    """Make what reads a value, and what reads the descriptor and the content of a described one."""
    bare: dict[int, Reader] = {}
    table: list[Reader] = [_unknown] * 256

    def value(octets: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
        if at >= end:
            raise DecodeError(at, "a value is missing")
        return table[octets[at]](octets, at + 1, end, depth)

    def parts(octets: bytes, at: int, end: int, depth: int) -> tuple[Any, Any, int]:
        if depth >= MAX_DEPTH:
            _too_deep(at)
        inner = depth + 1
        if at >= end:
            raise DecodeError(at, "a value is missing")
        descriptor, place = table[octets[at]](octets, at + 1, end, inner)
        if place >= end:
            raise DecodeError(place, "a value is missing")
        content, place = table[octets[place]](octets, place + 1, end, inner)
        return descriptor, content, place

    def described(octets: bytes, at: int, end: int, depth: int) -> tuple[Described, int]:
        descriptor, content, place = parts(octets, at, end, depth)
        made = _bare(Described)
        _put_descriptor(made, descriptor)
        _put_value(made, content)
        return made, place

    for code, made in CONSTRUCTORS.items():
        if made.category == "compound":
            bare[code] = _compound_reader(made, table, finish_map if made.type == "map" else _list)
        elif made.category == "array":
            bare[code] = _array_reader(made, value, bare)
        else:
            bare[code] = simple_reader(made)
    bare[DESCRIBED] = described
    for code, reader in bare.items():
        table[code] = reader if seen is None else _seeing(code, reader, seen)
    return value, parts


def _seeing(code: int, reader: Reader, seen: _Seen) -> Reader:
    def read(octets: bytes, at: int, end: int, depth: int) -> tuple[Any, int]:
        value, behind = reader(octets, at, end, depth)
        return seen(octets, code, at - 1, behind, value), behind

    return read


_VALUES, _PARTS = _view(_map, None)


def _form(_octets: bytes, code: int, start: int, end: int, value: Any) -> Form:
    return Form(start, end - start, code, value)


def _spelled(octets: bytes, code: int, start: int, end: int, value: Any) -> Any:
    if code == DESCRIBED:
        return value
    # There are many octets for "not a number", and Python does not keep them apart.
    if isinstance(value, float) and value != value:
        return As(code, octets[start + 1 : end])
    if isinstance(value, Array) and any(isinstance(item, float) and item != item for item in value.items):
        content = start + 1 + 2 * CONSTRUCTORS[code].width
        return As(code, octets[content:end], count=len(value.items))
    return As(code, value)


_EXACT, _ = _view(_flat_map, _spelled)
_FORMS, _ = _view(_flat_map, _form)
