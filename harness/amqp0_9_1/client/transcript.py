"""All that went over a connection of 0-9-1, sorted for the watches."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from harness.amqp0_9_1.client import leniency
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    OVERHEAD,
    Frame,
    FrameReader,
    Unit,
    begins_a_unit,
)
from harness.amqp0_9_1.wire.vocabulary import CODEC
from harness.wire import transcript
from harness.wire.journal import RECEIVED, SENT
from harness.wire.transcript import Gap, Piece, Sort, sort
from harness.wire.units import DecodeError, Garbage

Passage: TypeAlias = transcript.Passage[Unit]
"""One unit on the wire."""
Framed: TypeAlias = transcript.Passage[Frame]
"""One that is known to be a frame."""

LIMIT = 16 << 20
"""Octets that a unit may announce: more is no size, but something else."""
ZERO, ABOVE = "channel 0", "a channel above 0"
READ, UNREAD = "a method that can be read", "a method that cannot be read"
FOREIGN = "octets that begin a connection and are no frame: they belong to another protocol (4.2.2)"


class Contents:
    """The content frames that came on a channel behind a method, up to the next method; `at` in seconds."""

    __slots__ = ("at", "bodies", "headers", "kinds", "method")

    def __init__(self, at: float, method: Method | None) -> None:
        self.at, self.method = at, method
        self.kinds = b""
        """Their types, in order, an octet each."""
        self.headers: list[bytes] = []
        """The payloads of the headers."""
        self.bodies: list[int] = []
        """The lengths of the payloads of the rest."""

    @property
    def announced(self) -> int:
        """The body size that the header says."""
        return int.from_bytes(self.headers[0][4:12])


CONTENTS = sort(RECEIVED, Contents)
_HEADER, _BODY = bytes((HEADER,)), bytes((BODY,))
_WAYS = {True: RECEIVED, False: SENT}
_OTHERS = {
    (kind, received, zero): sort(way, Frame, kind, ZERO if zero else ABOVE)
    for kind in (HEADER, BODY, HEARTBEAT)
    for received, way in _WAYS.items()
    for zero in (True, False)
}
"""The sorts of frames with no method, by type, way and channel."""
_METHODS: dict[tuple[type[object], bool, bool, bool], Sort] = {}
"""Those of methods, as they were asked for."""


def _of_method(kind: type[object], received: bool, unread: bool, zero: bool) -> Sort:
    found = sort(_WAYS[received], Frame, METHOD, kind, UNREAD if unread else READ, ZERO if zero else ABOVE)
    _METHODS[kind, received, unread, zero] = found
    return found


class Transcript(transcript.Transcript):
    """All that went over a connection; its methods are read once for all watches."""

    def sorted(self) -> tuple[list[Sort], list[Any]]:
        """Give the sorts of all passages, and the passages; server content frames together are `Contents`.

        They come when the next method does. What stands behind a gap belongs to a method that is unknown.
        """
        begun, whole = False, True
        latest: dict[int, Contents] = {}
        sorts: list[Sort] = []
        passages: list[Any] = []
        for each in self:
            unit = each.unit
            received = each.direction is RECEIVED
            if not isinstance(unit, Frame):
                foreign = isinstance(unit, Garbage) and received and not begun
                sorts.append(sort(each.direction, FOREIGN if foreign else type(unit)))
                passages.append(each)
                if isinstance(unit, Gap) and received:
                    begun, whole = True, False
                    latest.clear()
                continue
            begun = begun or received
            kind, channel = unit.type, unit.channel
            if kind == METHOD:
                method = unit.decoded or readable(unit)
                each.said = said = method or _nearly(unit)
                if received:
                    group = latest.get(channel)
                    if group is not None and group.kinds:
                        sorts.append(CONTENTS)
                        passages.append(group)
                        group = None
                    if group is None:
                        latest[channel] = Contents(each.at, method)
                    else:
                        group.at, group.method = each.at, method
                of = type(said), received, method is None, not channel
                sorts.append(_METHODS.get(of) or _of_method(*of))
            else:
                sorts.append(_OTHERS[kind, received, not channel])
                if received and kind != HEARTBEAT:
                    group = latest.get(channel)
                    if group is None and whole:
                        group = latest[channel] = Contents(each.at, None)
                    if group is not None:
                        if kind == HEADER:
                            group.kinds += _HEADER
                            group.headers.append(unit.payload)
                        else:
                            group.kinds += _BODY
                            group.bodies.append(len(unit.payload))
            passages.append(each)
        rest = [group for group in latest.values() if group.kinds]
        return sorts + [CONTENTS] * len(rest), passages + rest


def transcript_of(pieces: Iterable[Piece]) -> Transcript:
    """Give the transcript of a connection, by whatever means it was recorded."""
    passages, rest = transcript.cut(
        pieces, lambda: FrameReader(limit=LIMIT, strange=leniency.STRANGE), _is_content
    )
    if rest and not begins_a_unit(rest):
        passages.append(cut_short(passages[-1].at, rest))
    return Transcript(passages)


def _is_content(begun: bytes, missing: int) -> bool:
    """Say whether a content frame begins so and ends after `missing` more octets."""
    whole = int.from_bytes(begun[3:7]) + OVERHEAD == len(begun) + missing
    return whole and len(begun) >= OVERHEAD - 1 and begun[0] in (HEADER, BODY)


def cut_short(at: float, rest: bytes, number: int = 0) -> Passage:
    """Give what would have been passed over, had it come whole before the end, `at` in seconds."""
    garbage = Garbage(rest, "a frame of an undefined type, cut short")
    return transcript.Passage(at, RECEIVED, garbage, number)


def readable(unit: object) -> Method | None:
    if not isinstance(unit, Frame) or unit.type != METHOD:
        return None
    try:
        return unit.method()
    except DecodeError:
        return None


def _nearly(frame: Frame) -> Method | None:
    found = leniency.read_step(frame.payload)
    return None if found is None else found[0]


def unreadable(unit: Frame) -> str:
    """Say why what a method or header frame holds cannot be read; empty where it can."""
    try:
        unit.method() if unit.type == METHOD else unit.content_header()
    except DecodeError as failure:
        return str(failure)
    return ""


def is_known(payload: bytes) -> bool:
    """Say whether class and method at the beginning of a method frame's payload are those of a method."""
    try:
        CODEC.method_class(payload)
    except DecodeError:
        return False
    return True
