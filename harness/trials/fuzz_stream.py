"""What holds of any protocol's stream: cut alike in all pieces, passed on whole, kept without passwords."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from harness.trials.fuzz import Draws
from harness.wire.reader import Reader

Unit = TypeVar("Unit")

WORD = "swordfish"
SECRET = f"\0{WORD}\0{WORD}".encode()
"""A response of PLAIN with a password in it."""


def cut_alike(
    reader: Callable[[int], Reader[Unit]],
    limit: int,
    stream: bytes,
    sizes: bytes,
    last: Callable[[Unit], bool],
) -> list[tuple[bytes, Unit]]:
    """The units of a stream, which come as well in pieces of these sizes, none of it lost or kept too long.

    How much there is of a `last` unit, behind which nothing is read, depends on the pieces.
    """
    whole, pieces = reader(limit), reader(limit)
    at_once = list(whole.feed(stream))
    in_pieces: list[tuple[bytes, Unit]] = []
    for piece in Draws(sizes).cut(stream):
        in_pieces += pieces.feed(piece)
        assert len(pieces.pending) <= limit + len(piece)
    assert pieces.broken == whole.broken
    good = [each for each in at_once if not last(each[1])]
    assert [each for each in in_pieces if not last(each[1])] == good
    for units, rest in ((at_once, whole.rest()), (in_pieces, pieces.rest())):
        seen = b"".join(raw for raw, _ in units) + rest
        assert stream.startswith(seen)
        assert seen == stream or (whole.broken and len(rest) == limit)
    return at_once


def passed_on(begun: Reader[Unit], given: bytes, passed: bytes) -> None:
    """What was given is passed on; only a unit that is not complete may be waited for."""
    assert given.startswith(passed)
    list(begun.feed(given[len(passed) :]))
    assert not begun.broken
    assert len(begun.rest()) == len(given) - len(passed)


def only_blanks(blank: Callable[[bytes], bytes], data: bytes) -> None:
    """Blanking keeps the length and changes nothing twice."""
    blanked = blank(data)
    assert len(blanked) == len(data)
    assert blank(blanked) == blanked


def damaged_around(draws: Draws, octets: bytes, kept: range) -> bytes:
    """Octets with SECRET in them, some changed; the secret stays, and those at the places `kept`."""
    secret = octets.index(SECRET)
    fast = {*kept, *range(secret, secret + len(SECRET))}
    changeable = [place for place in range(len(octets)) if place not in fast]
    changed = bytearray(octets)
    for _ in range(draws.number() % 4):
        changed[draws.one_of(changeable)] = draws.number()
    return bytes(changed)
