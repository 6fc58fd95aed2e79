"""The run as a packet capture: what was said, carried by a TCP made up for the purpose.

Wireshark dissects AMQP by its port, so every server gets port 5672 and every connection a client address
of its own; the true endpoint, the rule and the harness's reading stand in each packet's comment. The file
is pcapng (draft-ietf-opsawg-pcapng): a section header, one Ethernet interface, enhanced packets.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import BinaryIO

from conformance.evidence.kinds import CappedOctets, Judged, Line, TestStarted
from conformance.evidence.printable import printable
from harness.wire.journal import Direction, Ended, Octets, Opened
from spec.rules import Role

CAPTURE = "capture.pcapng"
"""Its name in a run's folder."""
PORT = 5672
SEGMENT = 60000
"""Octets of payload in one packet; IPv4 has room for 65495."""

_SERVER = IPv4Address("192.0.2.1").packed  # RFC 5737: for documentation
_FIRST_CLIENT = IPv4Address("198.18.0.1")  # RFC 2544: for benchmarks, 131070 addresses
_FIN, _SYN, _RST, _PSH, _ACK = 0x01, 0x02, 0x04, 0x08, 0x10
# Largest segment 65495, window scale 14 (RFC 7323): nobody acknowledges by itself here, and the window
# must hold all that is under way.
_SYN_OPTIONS = struct.pack("!BBHBBBB", 2, 4, 65495, 1, 3, 3, 14)
_COMMENT_LIMIT = 2000


class Captures(StrEnum):
    """Which connections of a run its capture holds."""

    ALL = "all"
    FINDINGS = "findings"
    NONE = "none"

    def of(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Give the lines of those connections, whole."""
        if self is not Captures.FINDINGS:
            return lines if self is Captures.ALL else ()
        found = [
            line.event for line in lines if isinstance(line.event, Judged) and line.event.verdict.finding
        ]
        tests = {each.test for each in found}
        # What everybody's connections show is found on a connection of another test.
        used = {_connection(line) for line in lines if line.test in tests} | {
            each.connection for each in found
        }
        used.discard(None)
        return [line for line in lines if isinstance(line.event, TestStarted) or _connection(line) in used]


def _connection(line: Line) -> str | None:
    return getattr(line.event, "connection", None)


@dataclass(slots=True)
class _Side:
    address: bytes
    port: int
    hardware: bytes
    next_sequence: int


@dataclass(slots=True)
class _Flow:
    number: int
    endpoint: str
    client: _Side = field(init=False)
    server: _Side = field(init=False)

    def __post_init__(self) -> None:
        address, port = (_FIRST_CLIENT + self.number % 131070).packed, 49152 + self.number % 16384
        self.client = _Side(address, port, b"\x02\0\0\0\0\x01", 1000)
        self.server = _Side(_SERVER, PORT, b"\x02\0\0\0\0\x02", 5000)

    def handshake(self) -> Iterator[bytes]:
        yield self._packet(self.client, self.server, _SYN, options=_SYN_OPTIONS)
        yield self._packet(self.server, self.client, _SYN | _ACK, options=_SYN_OPTIONS)
        yield self._packet(self.client, self.server, _ACK)

    def data(self, sent: bool, octets: bytes) -> bytes:
        source, destination = (self.client, self.server) if sent else (self.server, self.client)
        return self._packet(source, destination, _PSH | _ACK, octets)

    def end(self, by_client: bool, reset: bool) -> Iterator[bytes]:
        source, destination = (self.client, self.server) if by_client else (self.server, self.client)
        yield self._packet(source, destination, (_RST if reset else _FIN) | _ACK)
        if not reset:
            yield self._packet(destination, source, _ACK)

    def _packet(
        self, source: _Side, destination: _Side, flags: int, octets: bytes = b"", options: bytes = b""
    ) -> bytes:
        """Give one Ethernet frame (RFC 894) with IPv4 (RFC 791) and TCP (RFC 9293) around `octets`."""
        acknowledged = destination.next_sequence if flags & _ACK else 0
        header = struct.pack(
            "!HHIIBBHHH",
            source.port,
            destination.port,
            source.next_sequence,
            acknowledged,
            (20 + len(options)) // 4 << 4,
            flags,
            0xFFFF,
            0,
            0,
        )
        ends = source.address + destination.address
        segment = header + options + octets
        pseudo = ends + struct.pack("!BBH", 0, 6, len(segment))
        segment = segment[:16] + _checksum(pseudo + segment) + segment[18:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, 6, 0) + ends
        ip = ip[:10] + _checksum(ip) + ip[12:]
        length = len(octets) + bool(flags & (_SYN | _FIN))
        source.next_sequence = (source.next_sequence + length) % 2**32
        return destination.hardware + source.hardware + b"\x08\x00" + ip + segment


def write_capture(lines: Iterable[Line], path: Path, started: float = 0.0, role: Role = Role.SERVER) -> None:
    """Write the exchanges as pcapng from `started` on (since the epoch), octets not kept as zeros."""
    rules: dict[str, str] = {}
    flows: dict[tuple[str, str], _Flow] = {}
    opened = 0
    with path.open("wb") as file:
        _write_head(file)
        for line in lines:
            event = line.event
            if isinstance(event, TestStarted):
                rules[event.test] = event.rule
            if not isinstance(event, Opened | Octets | Ended):
                continue
            key = (line.worker, event.connection)
            if isinstance(event, Opened):  # the name may be used again: then this is another connection
                flows[key], opened = _Flow(opened, event.endpoint), opened + 1
            if key not in flows:
                continue  # its opening was lost with a torn stream; without it nothing can be in step
            about = f"{flows[key].endpoint}; {_told(line, rules)}"
            for packet, comment in _packets(flows[key], event, role):
                _write_packet(file, packet, started + line.wall, f"{about}; {comment}")


def _told(line: Line, rules: dict[str, str]) -> str:
    if line.test is None:
        return "outside any test"
    rule = rules.get(line.test)
    return f"test {line.test}" if rule in (None, line.test) else f"rule {rule}, test {line.test}"


def _packets(flow: _Flow, event: Opened | Octets | Ended, role: Role) -> Iterator[tuple[bytes, str]]:
    connects = role is Role.SERVER  # we do, to a server; to us, a client does
    if isinstance(event, Opened):
        for packet in flow.handshake():
            yield packet, f"{event.connection} opened, {event.protocol}"
    elif isinstance(event, Ended):
        for packet in flow.end((event.by == "harness") is connects, event.how == "rst"):
            yield packet, f"{event.connection} ended by the {event.by} ({event.how})"
    else:
        octets, note = _whole(event)
        for start in range(0, len(octets), SEGMENT):
            by_client = (event.direction is Direction.SENT) is connects
            packet = flow.data(by_client, octets[start : start + SEGMENT])
            yield packet, f"{event.direction}: {event.says}{note}"


def _whole(event: Octets) -> tuple[bytes, str]:
    if not isinstance(event, CappedOctets):
        return event.octets, ""
    note = f" [the evidence holds the first {len(event.octets)} of {event.length} octets, then zeros]"
    return event.octets.ljust(event.length, b"\0"), note


def _checksum(octets: bytes) -> bytes:
    """Give the Internet checksum (RFC 1071): the sum modulo 65535 is the folded one's complement sum."""
    total = int.from_bytes(octets + b"\0" * (len(octets) % 2), "big") % 0xFFFF
    return struct.pack("!H", 0xFFFF - (total or 0xFFFF))


def _write_head(file: BinaryIO) -> None:
    application = _option(4, b"amqp-conformance")
    _write_block(file, 0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + application + _option(0))
    name = _option(2, b"conformance run")
    _write_block(file, 1, struct.pack("<HHI", 1, 0, 0) + name + _option(9, b"\x06") + _option(0))


def _write_packet(file: BinaryIO, packet: bytes, when: float, comment: str) -> None:
    micros = round(when * 1_000_000)
    head = struct.pack("<IIIII", 0, micros >> 32, micros & 0xFFFFFFFF, len(packet), len(packet))
    text = _option(1, printable(comment)[:_COMMENT_LIMIT].encode("utf-8"))
    _write_block(file, 6, head + _padded(packet) + text + _option(0))


def _write_block(file: BinaryIO, kind: int, body: bytes) -> None:
    length = len(body) + 12
    file.write(struct.pack("<II", kind, length) + body + struct.pack("<I", length))


def _option(code: int, value: bytes = b"") -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(octets: bytes) -> bytes:
    return octets + b"\0" * (-len(octets) % 4)
