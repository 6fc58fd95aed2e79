"""The letters of field types as practice has them, put into those of the grammar."""

from typing import Final

from harness.amqp0_9_1.wire.field_tables import FIXED

LETTERS: Final = {ord("s"): ord("U"), ord("l"): ord("L"), ord("x"): ord("S")}
"""Letters that mean something else than in the grammar, each with the letter that means it there."""
_LONG: Final = frozenset(b"SxFA")
_SIZES: Final = {ord("D"): 5, **{ord(letter): fixed.size for letter, fixed in FIXED.items()}}
_TEXTS, _HEADERS = (0x8000, 0x4000), 0x2000
_FLAGS: Final = 12
"""Where in a content header the flags of its properties stand."""


def in_the_grammar(header: bytes) -> bytes:
    """Give a content header with the letters of its headers table as the grammar has them."""
    octets = bytearray(header)
    flags, at = int.from_bytes(header[_FLAGS : _FLAGS + 2]), _FLAGS + 2
    if not flags & _HEADERS:
        return header
    try:
        for text in _TEXTS:
            at += 1 + octets[at] if flags & text else 0
        _translate(octets, at + 4, at + 4 + int.from_bytes(octets[at : at + 4]), named=True)
    except IndexError:
        return header
    return bytes(octets)


def _translate(octets: bytearray, at: int, end: int, *, named: bool) -> None:
    while at < end:
        at += 1 + octets[at] if named else 0
        letter = octets[at]
        octets[at] = LETTERS.get(letter, letter)
        at += 1
        size = int.from_bytes(octets[at : at + 4])
        if letter in b"FA":
            _translate(octets, at + 4, min(at + 4 + size, end), named=letter == ord("F"))
        at += 4 + size if letter in _LONG else _SIZES.get(octets[at - 1], 0)
