"""Field tables between octets and the typed values of shims, letter by letter.

Two letters are read in two ways: `s` is a short string in the document and a signed short in its errata, `l`
unsigned in the document and signed in the errata. What cannot be told apart is read in both.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LETTERS: Mapping[str, tuple[str, str]] = {
    "i8": ("b", ">b"), "u8": ("B", ">B"), "i16": ("U", ">h"), "u16": ("u", ">H"), "i32": ("I", ">i"),
    "u32": ("i", ">I"), "i64": ("L", ">q"), "u64": ("l", ">Q"), "time": ("T", ">Q"),
}  # fmt: skip
NUMBERS = {letter: (kind, code) for kind, (letter, code) in LETTERS.items()}
ERRATA: Mapping[str, tuple[str, str]] = {"s": ("i16", ">h"), "l": ("i64", ">q")}
"""What these letters mean to those who follow the errata."""
FLOATS = {"f": ("f32", 4), "d": ("f64", 8)}
DEEPEST = 64


class Unread(ValueError):
    """Octets that are no table; the message says why."""


def encode(value: Any) -> bytes:
    """Encode a value behind its letter, by the letters of the document. Raises ValueError."""
    match value:
        case None:
            return b"V"
        case bool():
            return b"t" + bytes((value,))
        case int():
            return encode({"i32" if -(1 << 31) <= value < 1 << 31 else "i64": str(value)})
        case str():
            return b"S" + _long(value.encode())
    (kind, held), *_ = value.items()
    if kind in LETTERS:
        letter, code = LETTERS[kind]
        return letter.encode() + struct.pack(code, int(held))
    if kind in ("f32", "f64"):
        return (b"f" if kind == "f32" else b"d") + bytes.fromhex(held)
    if kind not in _WRITTEN:
        raise ValueError(f"0-9-1 has no {kind}")
    return _WRITTEN[kind](held)


def table(fields: Sequence[Any]) -> bytes:
    """Encode the fields of a table in their order, behind their length."""
    return _long(b"".join(_short(name) + encode(value) for name, value in fields))


def _long(octets: bytes) -> bytes:
    return struct.pack(">I", len(octets)) + octets


def _short(text: str) -> bytes:
    return bytes((len(text.encode()),)) + text.encode()


_WRITTEN: Mapping[str, Callable[[Any], bytes]] = {
    "dec": lambda held: b"D" + struct.pack(">BI", int(held[0]), int(held[1]) & 0xFFFFFFFF),
    "bin": lambda held: b"S" + _long(bytes.fromhex(held)),
    "short": lambda held: b"s" + _short(held),
    "list": lambda held: b"A" + _long(b"".join(map(encode, held))),
    "map": lambda held: b"F" + table(held),
}


class Reader:
    """Reads values from octets; `errata` says how the two letters are read.

    A long string is told as a text where it is one, else, or where `binary`, by its octets.
    """

    def __init__(self, octets: bytes, errata: bool = False, binary: bool = False) -> None:
        self.octets, self.at, self._binary = octets, 0, binary
        self._numbers = {**NUMBERS, **ERRATA} if errata else NUMBERS

    def take(self, count: int) -> bytes:
        """Take so many octets. Raises Unread."""
        taken = self.octets[self.at : self.at + count]
        if len(taken) < count:
            raise Unread(f"{count - len(taken)} octets are missing at {self.at}")
        self.at += count
        return taken

    def long(self) -> bytes:
        return self.take(int.from_bytes(self.take(4)))

    def short(self) -> str:
        return self.take(self.take(1)[0]).decode("utf-8", "surrogateescape")

    def table(self, depth: int = 0) -> Any:
        """Read a table. Raises Unread."""
        end = self._end(depth)
        fields = []
        while self.at < end:
            fields.append([self.short(), self.value(depth + 1)])
        self._reached(end)
        return {"map": fields}

    def value(self, depth: int = 0) -> Any:
        """Read a value behind its letter. Raises Unread."""
        letter = chr(self.take(1)[0])
        if letter in self._numbers:
            kind, code = self._numbers[letter]
            return {kind: str(struct.unpack(code, self.take(struct.calcsize(code)))[0])}
        if letter in FLOATS:
            kind, size = FLOATS[letter]
            return {kind: self.take(size).hex()}
        match letter:
            case "V":
                return None
            case "t":
                return self.take(1) != b"\0"
            case "s":
                return {"short": self.short()}
            case "S":
                return self._text(self.long())
            case "x":
                return {"bin": self.long().hex()}
            case "D":
                scale, number = struct.unpack(">Bi", self.take(5))
                return {"dec": [scale, str(number)]}
            case "F":
                return self.table(depth)
            case "A":
                return self._list(depth)
        raise Unread(f"no type has the letter {letter!r}")

    def _list(self, depth: int) -> Any:
        end = self._end(depth)
        values = []
        while self.at < end:
            values.append(self.value(depth + 1))
        self._reached(end)
        return {"list": values}

    def _end(self, depth: int) -> int:
        if depth > DEEPEST:
            raise Unread(f"values are nested more than {DEEPEST} deep")
        size = int.from_bytes(self.take(4))
        if self.at + size > len(self.octets):
            raise Unread(f"a length of {size} reaches beyond what holds it")
        return self.at + size

    def _reached(self, end: int) -> None:
        if self.at != end:
            raise Unread(f"what is held reaches {self.at - end} octets beyond its length")

    def _text(self, octets: bytes) -> Any:
        try:
            return {"bin": octets.hex()} if self._binary else octets.decode()
        except UnicodeDecodeError:
            return {"bin": octets.hex()}
