"""Values of 1.0 between octets and the typed values of shims, every encoding by its constructor."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

NUMBERS: Mapping[str, tuple[int, str]] = {
    "u8": (0x50, ">B"), "u16": (0x60, ">H"), "u32": (0x70, ">I"), "u64": (0x80, ">Q"), "i8": (0x51, ">b"),
    "i16": (0x61, ">h"), "i32": (0x71, ">i"), "i64": (0x81, ">q"), "time": (0x83, ">q"),
}  # fmt: skip
COMPACT: Mapping[int, tuple[str, str]] = {
    0x52: ("u32", ">B"),
    0x53: ("u64", ">B"),
    0x54: ("i32", ">b"),
    0x55: ("i64", ">b"),
}
BITS: Mapping[str, tuple[int, int]] = {
    "f32": (0x72, 4), "f64": (0x82, 8), "d32": (0x74, 4), "d64": (0x84, 8), "d128": (0x94, 16),
}  # fmt: skip
READ_NUMBERS = {code: (kind, form) for kind, (code, form) in NUMBERS.items()} | dict(COMPACT)
READ_BITS = {code: (kind, size) for kind, (code, size) in BITS.items()}
EMPTY: Mapping[int, Any] = {
    0x40: None, 0x41: True, 0x42: False, 0x43: {"u32": "0"}, 0x44: {"u64": "0"}, 0x45: {"list": []},
}  # fmt: skip
OCTETS = {0xA0: "bin", 0xB0: "bin", 0xA1: "text", 0xB1: "text", 0xA3: "sym", 0xB3: "sym"}
LISTS, MAPS, ARRAYS = (0xC0, 0xD0), (0xC1, 0xD1), (0xE0, 0xF0)
DEEPEST = 64


class Unread(ValueError):
    """Octets that are no value; the message says why."""


# -- written -------------------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """Encode a value behind its constructor, in the widest encoding of its type. Raises ValueError."""
    code, octets = _written(value)
    return bytes((code,)) + octets if code else octets


def _written(value: Any) -> tuple[int, bytes]:
    match value:
        case None:
            return 0x40, b""
        case bool():
            return 0x41 if value else 0x42, b""
        case int():
            return _written({"i32" if -(1 << 31) <= value < 1 << 31 else "i64": str(value)})
        case str():
            return 0xB1, _sized(value.encode())
    (kind, held), *_ = value.items()
    if kind in NUMBERS:
        code, form = NUMBERS[kind]
        return code, struct.pack(form, int(held))
    if kind in BITS:
        return BITS[kind][0], bytes.fromhex(held)
    if kind not in _WRITERS:
        raise ValueError(f"1.0 has no {kind}")
    return _WRITERS[kind](held)


def _sized(octets: bytes) -> bytes:
    return len(octets).to_bytes(4) + octets


def _compound(code: int, items: Sequence[Any]) -> tuple[int, bytes]:
    octets = b"".join(map(encode, items))
    return code, _sized(len(items).to_bytes(4) + octets)


def _array(held: Sequence[Any]) -> tuple[int, bytes]:
    kind, values = held
    items = [_item(kind, each) for each in values]
    code = items[0][0] if items else _item(kind, _ANY.get(kind, "0"))[0]
    octets = bytes((code,)) + b"".join(each for _, each in items)
    return 0xF0, _sized(len(items).to_bytes(4) + octets)


_ANY: Mapping[str, Any] = {
    "text": "",
    "null": None,
    "bool": False,
    "list": [],
    "map": [],
    "bin": "",
    "sym": "",
}


def _item(kind: str, value: Any) -> tuple[int, bytes]:
    if kind == "bool":
        return 0x56, bytes((value,))
    return _written(value if kind in ("text", "null") else {kind: value})


_WRITERS: Mapping[str, Callable[[Any], tuple[int, bytes]]] = {
    "bin": lambda held: (0xB0, _sized(bytes.fromhex(held))),
    "sym": lambda held: (0xB3, _sized(held.encode("ascii"))),
    "char": lambda held: (0x73, held.encode("utf-32-be")),
    "uuid": lambda held: (0x98, UUID(held).bytes),
    "list": lambda held: _compound(0xD0, held),
    "map": lambda held: _compound(0xD1, [each for pair in held for each in pair]),
    "array": _array,
    "desc": lambda held: (0, b"\x00" + encode(held[0]) + encode(held[1])),
}


# -- read ----------------------------------------------------------------------------------------------


class Reader:
    """Reads values from octets."""

    def __init__(self, octets: bytes, at: int = 0) -> None:
        self.octets, self.at = octets, at

    def take(self, count: int) -> bytes:
        """Take so many octets. Raises Unread."""
        taken = self.octets[self.at : self.at + count]
        if len(taken) < count:
            raise Unread(f"{count - len(taken)} octets are missing at {self.at}")
        self.at += count
        return taken

    def value(self, depth: int = 0) -> Any:
        """Read a value behind its constructor. Raises Unread."""
        if depth > DEEPEST:
            raise Unread(f"values are nested more than {DEEPEST} deep")
        code = self.take(1)[0]
        if code == 0:
            return {"desc": [self.value(depth + 1), self.value(depth + 1)]}
        return self._behind(code, depth)

    def binary(self) -> bytes:
        """Read a binary behind its constructor, as it is. Raises Unread."""
        code = self.take(1)[0]
        if OCTETS.get(code) != "bin":
            raise Unread(f"no binary has the constructor {code:#04x}")
        return self.take(self._size(code))

    def count(self) -> int:
        """Read how many values a list or a map holds, and stop before the first. Raises Unread."""
        code = self.take(1)[0]
        if code not in (*LISTS, *MAPS):
            raise Unread(f"nothing that holds values has the constructor {code:#04x}")
        self._size(code)
        return self._size(code)

    def _behind(self, code: int, depth: int) -> Any:
        """Read what stands behind a constructor."""
        if code in EMPTY:
            return EMPTY[code]
        if code in READ_NUMBERS:
            kind, form = READ_NUMBERS[code]
            return {kind: str(struct.unpack(form, self.take(struct.calcsize(form)))[0])}
        if code in READ_BITS:
            kind, size = READ_BITS[code]
            return {kind: self.take(size).hex()}
        if code in OCTETS:
            return _told(OCTETS[code], self.take(self._size(code)))
        if code == 0x56:
            return self.take(1) != b"\0"
        if code == 0x73:
            return {"char": self.take(4).decode("utf-32-be", "replace")}
        if code == 0x98:
            return {"uuid": str(UUID(bytes=self.take(16)))}
        return self._held(code, depth)

    def _size(self, code: int) -> int:
        """Read a length: in one octet where the constructor has an even high digit, else in four."""
        return int.from_bytes(self.take(4 if code & 0x10 else 1))

    def _held(self, code: int, depth: int) -> Any:
        if code not in (*LISTS, *MAPS, *ARRAYS):
            raise Unread(f"no type has the constructor {code:#04x}")
        size = self._size(code)
        end = self.at + size
        if end > len(self.octets):
            raise Unread(f"a length of {size} reaches beyond what holds it")
        count = self._size(code)
        found = self._array(count, depth) if code in ARRAYS else self._items(count, end, depth)
        if self.at != end:
            raise Unread("what is held does not end where its length says")
        if code in MAPS:
            return {"map": [list(pair) for pair in zip(found[::2], found[1::2], strict=True)]}
        return found if code in ARRAYS else {"list": found}

    def _items(self, count: int, end: int, depth: int) -> list[Any]:
        items = []
        for _ in range(count):
            if self.at >= end:
                raise Unread("fewer values are there than are counted")
            items.append(self.value(depth + 1))
        return items

    def _array(self, count: int, depth: int) -> Any:
        code = self.take(1)[0]
        if code == 0:
            descriptor, code = self.value(depth + 1), self.take(1)[0]
            items = [
                {"desc": [descriptor, self._behind(code, depth + 1)]} for _ in range(self._bounded(count))
            ]
            return {"list": items}
        items = [self._behind(code, depth + 1) for _ in range(self._bounded(count))]
        return {"array": [_kind(code), [_bare(each) for each in items]]}

    def _bounded(self, count: int) -> int:
        if count > len(self.octets):
            raise Unread(f"an array counts {count} items, more than there are octets")
        return count


def _bare(value: Any) -> Any:
    return next(iter(value.values())) if isinstance(value, Mapping) else value


def _kind(code: int) -> str:
    """Name the type of the items of an array."""
    if code in READ_NUMBERS:
        return READ_NUMBERS[code][0]
    if code in READ_BITS:
        return READ_BITS[code][0]
    if code in OCTETS:
        return OCTETS[code]
    named = {0x40: "null", 0x41: "bool", 0x42: "bool", 0x56: "bool", 0x73: "char", 0x98: "uuid", 0x45: "list"}
    others = {0x43: "u32", 0x44: "u64", **dict.fromkeys(LISTS, "list"), **dict.fromkeys(MAPS, "map")}
    return (named | others | dict.fromkeys(ARRAYS, "array")).get(code, "?")


def _told(kind: str, octets: bytes) -> Any:
    if kind == "bin":
        return {"bin": octets.hex()}
    text = octets.decode("utf-8", "backslashreplace")
    return text if kind == "text" else {"sym": text}
