"""What holds of any protocol's stream: cut alike in all pieces, passed on whole, kept without passwords."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from harness.peers.fakes import Recorder
from harness.peers.peer import PeerConnection
from harness.trials.fuzz import Draws
from harness.wire.annotation import Span
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
    """Cut a stream at once and in pieces: the same units but for the octets of a `last` one, none lost."""
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


def explained(
    data: bytes, says: Callable[[bytes], str], annotate: Callable[[bytes], Iterable[Span]], shared: bool
) -> None:
    """Check that octets are put in one short line and explained one by one; some may be `shared`."""
    line = says(data)
    assert line.isprintable()
    assert len(line) < 3000
    behind, last = 0, (0, 0)
    for span in annotate(data):
        place = span.offset, span.length
        assert span.offset == behind or (shared and place == last)
        assert str(span.value).isprintable()
        assert len(str(span.value)) < 300
        last, behind = place, span.offset + span.length
    assert behind == len(data)


def carried(
    between: PeerConnection, inner: Recorder, pieces: Iterable[tuple[bool, bytes]]
) -> tuple[bytes, bytes, bytes]:
    """Carry pieces past an interposer, each from the client or not; return what was sent, said and heard."""
    sent = said = heard = b""
    for by_client, piece in pieces:
        if by_client:
            between.receive(piece)
            sent += piece
        else:
            inner.said += piece
            said += piece
            heard += between.take()
    heard += between.take()
    between.hang_up()
    return sent, said, heard + between.take()


def passed_on(begun: Reader[Unit], given: bytes, passed: bytes) -> None:
    """Check that what was given is passed on; only a unit that is not complete may be waited for."""
    assert given.startswith(passed)
    list(begun.feed(given[len(passed) :]))
    assert not begun.broken
    assert len(begun.rest()) == len(given) - len(passed)


def only_blanks(blank: Callable[[bytes], bytes], data: bytes) -> None:
    """Check that blanking keeps the length, and that blanking again changes nothing."""
    blanked = blank(data)
    assert len(blanked) == len(data)
    assert blank(blanked) == blanked


def damaged_around(draws: Draws, octets: bytes, kept: range) -> bytes:
    """Change some of the octets, which hold SECRET; the secret stays, and those at the places `kept`."""
    secret = octets.index(SECRET)
    fast = {*kept, *range(secret, secret + len(SECRET))}
    changeable = [place for place in range(len(octets)) if place not in fast]
    changed = bytearray(octets)
    for _ in range(draws.number() % 4):
        changed[draws.one_of(changeable)] = draws.number()
    return bytes(changed)
