"""A packet capture read: the connections in it, each with what went either way, and what is missing.

The file is pcapng (draft-ietf-opsawg-pcapng), its packets Ethernet with IPv4 and TCP; packets of other kinds
and blocks that say something else are passed over. Nothing is held but what the open connections have said.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path
from typing import BinaryIO

from harness.dialect import documents, of
from harness.wire.journal import Direction
from harness.wire.transcript import Gap, Piece

LARGEST = 16 << 20
"""Octets of one block; ours have less than 70 000."""
MOST = 256 << 20
"""Octets that all open connections together may have said."""
SWEEP, QUIET = 1000, 60.0
"""So often, in packets, what ended on one side and was quiet for so many seconds is taken for over."""
AHEAD = 64
"""Packets that may come before one that is missing; then it is taken for lost."""

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_FIN, _SYN, _RST, _ACK = 0x01, 0x02, 0x04, 0x10
_ETHERNET, _IPV4, _TCP = 1, b"\x08\x00", 6
PORTS = (5672,)
"""Where servers listen."""
_ABOUT = re.compile(
    r"[^;]*; (?:outside any test|(?:rule [^,]+, )?test (?P<test>.*));"
    r" (?P<name>\S+) opened, (?P<protocol>\S+)"
)
_CAPPED = re.compile(r"\[the evidence holds the first (\d+) of (\d+) octets, then zeros\]")


@cache
def _protocols() -> Mapping[bytes, str]:
    """Give the protocol of each header that a connection can begin with, by its document's prefix."""
    return {header: each for each in documents() for header in of(each, "wire.frames").HEADERS}


def _protocol_of(octets: bytes) -> str:
    return next((protocol for header, protocol in _protocols().items() if octets.startswith(header)), "")


class CaptureError(Exception):
    """A file cannot be read as a capture; the message is one sentence."""


@dataclass
class Connection:
    """What was captured of a connection, its `pieces` in seconds from the first; `protocol` if known."""

    name: str
    protocol: str = ""
    test: str | None = None
    pieces: list[Piece] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Packet:
    at: float
    source: tuple[IPv4Address, int]
    target: tuple[IPv4Address, int]
    sequence: int
    flags: int
    octets: bytes
    missing: int
    comment: str


@dataclass(slots=True)
class _Side:
    """One direction of a connection: the number its next octet has, and what has come before its turn."""

    due: int | None = None
    early: dict[int, tuple[float, bytes, int, bool]] = field(default_factory=dict)
    filled: int = 0
    at: float = 0.0


@dataclass(slots=True)
class _Flow:
    connection: Connection
    client: tuple[IPv4Address, int]
    sides: dict[Direction, _Side] = field(default_factory=lambda: {way: _Side() for way in Direction})
    ended: set[Direction] = field(default_factory=set)
    last: float = 0.0
    size: int = 0

    def take(self, packet: _Packet) -> None:
        """Put what a packet brings where it belongs in its direction."""
        self.last = packet.at
        way = Direction.SENT if packet.source == self.client else Direction.RECEIVED
        side = self.sides[way]
        if packet.flags & _SYN:
            side.due = (packet.sequence + 1) % 2**32
            return
        if side.due is None:  # the capture began later than the connection
            side.due = packet.sequence
            self._put(packet.at, way, Gap())
        # One without octets also says how many there were before it.
        if packet.octets or packet.missing or packet.sequence not in side.early:
            ends = bool(packet.flags & _FIN)  # which has a number of its own
            side.early[packet.sequence] = (packet.at, *self._captured(side, packet), ends)
            self._follow(way, side, patient=len(side.early) <= AHEAD)
        if packet.flags & (_FIN | _RST):
            self.ended |= {way} if packet.flags & _FIN else set(Direction)

    def _captured(self, side: _Side, packet: _Packet) -> tuple[bytes, int]:
        """Give what of a packet is true, and how many octets of it are not: those that fill up a frame."""
        capped = _CAPPED.search(packet.comment)
        if capped is None:
            return packet.octets, packet.missing
        kept, whole = int(capped[1]), int(capped[2])
        true = packet.octets[: max(kept - side.filled, 0)]
        side.filled += len(packet.octets)
        if side.filled >= whole:
            side.filled = 0
        return true, len(packet.octets) - len(true)

    def _follow(self, way: Direction, side: _Side, patient: bool) -> None:
        """Take what is next in order; a gap is taken for one if nobody is patient any more."""
        while side.early:
            assert side.due is not None
            due = side.due
            first = min(side.early, key=lambda number: (number - due + 2**31) % 2**32)
            ahead = (first - due + 2**31) % 2**32 - 2**31
            if ahead > 0 and patient:
                return
            at, octets, missing, ends = side.early.pop(first)
            if ahead > 0:
                self._put(at, way, Gap(ahead))
            whole = len(octets) + missing
            seen = min(max(-ahead, 0), whole)  # sent again
            if octets[seen:]:
                self._put(at, way, octets[seen:])
            if missing:
                self._put(at, way, Gap(min(missing, whole - seen)))
            side.due = (first + whole + ends) % 2**32 if whole + ends > -ahead else due

    def _put(self, at: float, way: Direction, octets: bytes | Gap) -> None:
        side, pieces = self.sides[way], self.connection.pieces
        side.at = at = max(at, side.at)
        if isinstance(octets, Gap):
            if pieces and pieces[-1][1] is way and isinstance(before := pieces[-1][2], Gap):
                octets = Gap(before.octets + octets.octets if before.octets and octets.octets else 0)
                pieces.pop()
        elif not self.connection.protocol and way is Direction.SENT:
            self.connection.protocol = _protocol_of(octets)
        self.size += 0 if isinstance(octets, Gap) else len(octets)
        pieces.append((at, way, octets))

    def finish(self) -> Connection:
        """Give the connection, with a gap where something never came; what was waited for is in its time."""
        for way, side in self.sides.items():
            self._follow(way, side, patient=False)
        self.connection.pieces.sort(key=lambda piece: piece[0])
        return self.connection


class _Flows:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: dict[frozenset[tuple[IPv4Address, int]], _Flow] = {}
        self._count = self._held = 0

    def take(self, packet: _Packet) -> Iterator[Connection]:
        """Take a packet; yields the connections that are over then. Raises CaptureError."""
        ends = frozenset((packet.source, packet.target))
        opens = bool(packet.flags & _SYN) and not packet.flags & _ACK
        if opens and ends in self._open:  # the same ports, used again
            yield self._over(ends)
        if ends not in self._open:
            if not packet.flags & _SYN and not packet.octets and not packet.missing:
                return  # the last acknowledgement of one that is over
            self._count += 1
            self._open[ends] = _begun(packet, opens, self._count)
        flow = self._open[ends]
        before = flow.size
        flow.take(packet)
        self._held += flow.size - before
        if self._held > MOST:
            raise CaptureError(f"{self._path}: its open connections hold more than {MOST >> 20} MiB")
        if flow.ended == set(Direction):
            yield self._over(ends)

    def quiet(self, at: float) -> Iterator[Connection]:
        """Give the connections that one side has ended and nobody used for long."""
        for ends, flow in list(self._open.items()):
            if flow.ended and at - flow.last > QUIET:
                yield self._over(ends)

    def rest(self) -> Iterator[Connection]:
        for ends in list(self._open):
            yield self._over(ends)

    def _over(self, ends: frozenset[tuple[IPv4Address, int]]) -> Connection:
        flow = self._open.pop(ends)
        self._held -= flow.size
        return flow.finish()


def read_capture(path: Path) -> Iterator[Connection]:
    """Give the connections of a capture, each when it is over. Raises CaptureError."""
    flows = _Flows(path)
    try:
        with path.open("rb") as file:
            for number, packet in enumerate(_packets(_blocks(file, path), path)):
                yield from flows.take(packet)
                if number % SWEEP == 0:
                    yield from flows.quiet(packet.at)
    except OSError as failure:
        raise CaptureError(f"{path}: {failure.strerror}") from None
    yield from flows.rest()


def _begun(packet: _Packet, opens: bool, number: int) -> _Flow:
    about = _ABOUT.fullmatch(packet.comment)
    name = about["name"] if about else f"connection {number}"
    from_client = opens or (packet.target[1] in PORTS and not packet.flags & _SYN)
    client = packet.source if from_client else packet.target
    return _Flow(
        Connection(name, about["protocol"] if about else "", about["test"] if about else None), client
    )


# -- the file ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    kind: int
    body: bytes
    order: str


def _blocks(file: BinaryIO, path: Path) -> Iterator[_Block]:
    at, order = 0, ""
    while head := file.read(12):
        if len(head) < 12:
            raise CaptureError(f"{path}: the file ends within a block, at octet {at}")
        if head[:4] == b"\x0a\x0d\x0d\x0a":
            order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(head[8:], "")
        if not order:
            raise CaptureError(f"{path}: this is no pcapng file")
        kind, length = struct.unpack(f"{order}II", head[:8])
        if length % 4 or not 12 <= length <= LARGEST:
            raise CaptureError(f"{path}: a block of {length} octets, at octet {at}")
        rest = file.read(length - 12)
        block = head[8:] + rest
        if len(rest) < length - 12:
            raise CaptureError(f"{path}: the file ends within a block, at octet {at}")
        if block[-4:] != head[4:8]:
            raise CaptureError(f"{path}: the two lengths of a block differ, at octet {at}")
        yield _Block(kind, block[:-4], order)
        at += length


def _packets(blocks: Iterator[_Block], path: Path) -> Iterator[_Packet]:
    interfaces: list[tuple[int, float]] = []
    began: float | None = None
    for block in blocks:
        try:
            if block.kind == _SECTION:
                interfaces = []
            elif block.kind == _INTERFACE:
                link, _ = struct.unpack_from(f"{block.order}HH", block.body)
                interfaces.append((link, _resolution(block)))
            elif block.kind == _PACKET:
                number, high, low, kept, length = struct.unpack_from(f"{block.order}IIIII", block.body)
                link, unit = interfaces[number]
                at = (high << 32 | low) * unit
                began = at if began is None else began
                frame, behind = block.body[20 : 20 + kept], 20 + kept + -kept % 4
                if len(frame) < kept or length < kept:
                    raise CaptureError(
                        f"{path}: a packet of {length} octets, of which there are {len(frame)}"
                    )
                packet = _tcp(frame, at - began, _comment(block, behind)) if link == _ETHERNET else None
                if packet is not None:
                    yield packet
        except (struct.error, IndexError):
            raise CaptureError(
                f"{path}: a block of type {block.kind} is cut short, or of no interface"
            ) from None


def _options(block: _Block, at: int) -> Iterator[tuple[int, bytes]]:
    while at + 4 <= len(block.body):
        code, length = struct.unpack_from(f"{block.order}HH", block.body, at)
        if not code:
            return
        yield code, block.body[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4


def _resolution(block: _Block) -> float:
    """Seconds of one unit of time at an interface."""
    told = next((value[0] for code, value in _options(block, 8) if code == 9 and value), 6)
    return 2.0 ** -(told & 0x7F) if told & 0x80 else 10.0**-told


def _comment(block: _Block, at: int) -> str:
    return next((value.decode("utf-8", "replace") for code, value in _options(block, at) if code == 1), "")


def _tcp(frame: bytes, at: float, comment: str) -> _Packet | None:
    if len(frame) < 34 or frame[12:14] != _IPV4 or frame[14] >> 4 != 4 or frame[23] != _TCP:
        return None
    start = 14 + (frame[14] & 0x0F) * 4
    if int.from_bytes(frame[20:22]) & 0x3FFF or len(frame) < start + 20:  # a fragment
        return None
    source, target, sequence = struct.unpack_from("!HHI", frame, start)
    data = start + (frame[start + 12] >> 4) * 4
    length = max(14 + int.from_bytes(frame[16:18]) - data, 0)
    octets = frame[data : data + length]
    return _Packet(
        at,
        (IPv4Address(frame[26:30]), source),
        (IPv4Address(frame[30:34]), target),
        sequence,
        frame[start + 13],
        octets,
        length - len(octets),
        comment,
    )
