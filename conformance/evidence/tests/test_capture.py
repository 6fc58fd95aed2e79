import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.evidence.capture import SEGMENT, Captures, write_capture
from conformance.evidence.kinds import AnyEvent, CappedOctets, Judged, Line, TestStarted
from conformance.evidence.verdicts import Verdict
from conformance.render.tests.samples import RULE, lines_of
from harness.wire.journal import Direction, Ended, Octets, Opened

SENT, RECEIVED = Direction.SENT, Direction.RECEIVED


def short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def method(channel: int, class_: int, number: int, arguments: bytes = b"") -> bytes:
    payload = struct.pack(">HH", class_, number) + arguments
    return frame(1, channel, payload)


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def long(octets: bytes) -> bytes:
    return struct.pack(">I", len(octets)) + octets


BIG = frame(3, 1, b"m" * 150_000)
UNITS: list[tuple[Direction, bytes, str]] = [
    (SENT, b"AMQP\x00\x00\x09\x01", "protocol header"),
    (
        RECEIVED,
        method(0, 10, 10, b"\x00\x09" + long(b"") + long(b"PLAIN") + long(b"en_US")),
        "connection.start",
    ),
    (SENT, method(0, 10, 11, long(b"") + short("PLAIN") + long(b"\0***\0***") + short("en_US")), "start-ok"),
    (RECEIVED, method(0, 10, 30, struct.pack(">HIH", 2047, 131072, 60)), "connection.tune"),
    (SENT, method(0, 10, 31, struct.pack(">HIH", 2047, 131072, 60)), "connection.tune-ok"),
    (SENT, method(0, 10, 40, short("/") + short("") + b"\0"), "connection.open"),
    (RECEIVED, method(0, 10, 41, short("")), "connection.open-ok [red]\x1b[31m\udc80"),
    (SENT, method(1, 20, 10, short("")), "channel.open"),
    (RECEIVED, method(1, 20, 11, long(b"")), "channel.open-ok"),
    (SENT, method(1, 60, 40, b"\0\0" + short("") + short("q") + b"\0"), "basic.publish"),
    (SENT, frame(2, 1, struct.pack(">HHQH", 60, 0, 150_000, 0)), "content header"),
]
AFTER: list[tuple[Direction, bytes, str]] = [
    (SENT, method(0, 10, 50, struct.pack(">H", 200) + short("bye") + b"\0\0\0\0"), "connection.close"),
    (RECEIVED, method(0, 10, 51), "connection.close-ok"),
]


def octets(connection: str, units: Sequence[tuple[Direction, bytes, str]]) -> list[AnyEvent]:
    return [Octets(0.0, connection, *unit) for unit in units]


def conversation() -> list[AnyEvent]:
    """Two connections, interleaved: one with a large, capped frame that ends well, one reset."""
    capped = CappedOctets(0.0, "c1", SENT, BIG[:20], "content body", length=len(BIG), sha256="")
    second: list[AnyEvent] = [Opened(0.0, "c2", "127.0.0.1:5673", "0-9-1"), *octets("c2", UNITS[:2])]
    return [
        TestStarted("t", RULE),
        Opened(0.0, "c1", "127.0.0.1:5673", "0-9-1"),
        *octets("c1", UNITS[:3]),
        *second,
        *octets("c1", UNITS[3:]),
        capped,
        Ended(0.0, "c2", "target", "rst"),
        *octets("c1", AFTER),
        Ended(0.0, "c1", "target", "fin"),
        Ended(0.0, "c1", "harness", "fin"),
    ]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "capture.pcapng"
    write_capture(lines_of(conversation(), "t"), path, started=1_700_000_000.0)
    return path


def blocks(path: Path) -> list[tuple[int, bytes]]:
    content, found = path.read_bytes(), []
    while content:
        kind, length = struct.unpack_from("<II", content)
        assert length % 4 == 0
        assert struct.unpack_from("<I", content, length - 4) == (length,)
        found.append((kind, content[8 : length - 4]))
        content = content[length:]
    return found


def payloads(path: Path) -> list[tuple[int, bytes]]:
    """Give (destination port, payload) of each packet with octets."""
    found = []
    for kind, body in blocks(path):
        if kind == 6:
            packet = body[20 : 20 + struct.unpack_from("<I", body, 12)[0]]
            start = 34 + (packet[46] >> 4) * 4
            if packet[start:]:
                found.append((struct.unpack_from(">H", packet, 36)[0], packet[start:]))
    return found


def test_every_octet_is_in_the_capture(capture: Path) -> None:
    packets = payloads(capture)
    said = [body for _, body in packets if len(body) < 1000]
    expected = [body for _, body, _ in UNITS[:3] + UNITS[:2] + UNITS[3:] + AFTER]
    assert said == expected
    large = [body for _, body in packets if len(body) >= 1000]
    assert b"".join(large) == BIG[:20].ljust(len(BIG), b"\0"), "capped octets are filled up"
    assert max(map(len, large)) == SEGMENT
    assert {port for port, body in packets if body.startswith(b"AMQP")} == {5672}


def test_blocks_are_section_interface_and_packets(capture: Path) -> None:
    kinds = [kind for kind, _ in blocks(capture)]
    assert kinds[:2] == [0x0A0D0D0A, 1]
    assert set(kinds[2:]) == {6}


def test_octets_of_a_connection_whose_opening_was_lost_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "c.pcapng"
    write_capture(lines_of(octets("c1", UNITS)), path)
    assert payloads(path) == []


def tshark(capture: Path, *arguments: str) -> list[list[str]]:
    program = shutil.which("tshark")
    if program is None:
        if os.environ.get("AMQP_CONFORMANCE_REQUIRE_BROKERS"):
            pytest.fail("tshark is required here, but not installed")
        pytest.skip("tshark is not installed")
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    # Two passes, as Wireshark does it: the dissector learns the version 0-9-1 only from the second packet.
    command = [program, "-2", "-r", str(capture), *checks, "-T", "fields", "-E", "separator=|", *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("|") for line in output.splitlines()]


def test_tshark_shows_amqp_for_every_data_packet(capture: Path) -> None:
    rows = tshark(capture, "-Y", "tcp.len > 0", "-e", "frame.protocols", "-e", "tcp.len")
    assert len(rows) == len(UNITS) + 2 + 3 + len(AFTER)
    plain = [
        protocols for protocols, length in rows if not protocols.endswith(":amqp") and int(length) < SEGMENT
    ]
    assert not plain
    reassembled = tshark(capture, "-Y", "tcp.reassembled.length", "-e", "tcp.reassembled.length")
    assert reassembled == [[str(len(BIG))]]


def test_tshark_names_the_methods(capture: Path) -> None:
    rows = tshark(capture, "-Y", "amqp.method.class", "-e", "amqp.method.class", "-e", "amqp.method.method")
    assert ["10", "10"] in rows
    assert len(rows) == len([unit for unit in UNITS if unit[1][0] == 1]) + 1 + len(AFTER)


def test_tshark_has_no_complaint(capture: Path) -> None:
    """No malformed packet, no checksum, no lost segment, no full window; a reset is a reset."""
    # From "note" on; below are chats and the packets' comments.
    complaints = tshark(capture, "-Y", "_ws.expert.severity >= 0x400000", "-e", "_ws.expert.message")
    ends = (
        "(rst),Connection reset (RST)",
        "initiates the connection closing",
        "undergoes the connection closing",
    )
    assert not [row for row in complaints if not row[0].endswith(ends)]
    analysis = "_ws.malformed or tcp.analysis.flags or tcp.checksum.status == 0 or ip.checksum.status == 0"
    assert tshark(capture, "-Y", analysis, "-e", "frame.number") == []


def test_tshark_shows_where_each_packet_belongs(capture: Path) -> None:
    rows = tshark(
        capture, "-Y", "amqp.method.class == 10 and amqp.method.method == 41", "-e", "frame.comment"
    )
    (said,) = (row[0].replace("\\\\", "\\") for row in rows)  # newer versions escape the backslash
    assert said == rf"127.0.0.1:5673; rule {RULE}, test t; received: connection.open-ok [red]\x1b[31m\udc80"


def test_tshark_shows_the_ends_and_the_times(capture: Path) -> None:
    fins = tshark(capture, "-Y", "tcp.flags.fin == 1", "-e", "tcp.srcport")
    assert [row[0] == "5672" for row in fins] == [True, False]
    resets = tshark(capture, "-Y", "tcp.flags.reset == 1", "-e", "tcp.srcport")
    assert resets == [["5672"]]
    times = [float(row[0]) for row in tshark(capture, "-e", "frame.time_epoch")]
    assert times == sorted(times)
    assert times[0] == pytest.approx(1_700_000_000.02)


def said_on(connection: str, test: str, *more: AnyEvent) -> list[Line]:
    opened = Opened(0.0, connection, "peer", "0-9-1")
    return lines_of([TestStarted(test, test), opened, *octets(connection, UNITS[:2]), *more], test)


def connections(held: Sequence[Line]) -> dict[str, int]:
    """Count what is told of each connection."""
    names = [getattr(line.event, "connection", None) for line in held if not isinstance(line.event, Judged)]
    return {name: names.count(name) for name in names if name}


def test_a_capture_holds_the_connections_of_findings_unless_all_or_none_are_asked_for() -> None:
    verdicts = {name: Judged(test=name, rule=name, verdict=Verdict(name)) for name in Verdict}
    lines = [line for name, judged in verdicts.items() for line in said_on(f"of-{name}", name, judged)]
    seen = {f"of-{each}": 3 for each in ("error", "fail", "inconclusive", "warn")}
    assert connections(Captures.FINDINGS.of(lines)) == seen
    assert connections(Captures.ALL.of(lines)) == {f"of-{each}": 3 for each in Verdict}
    assert not Captures.NONE.of(lines)


def test_what_is_found_on_the_connection_of_another_test_keeps_that_connection() -> None:
    passes = Judged(test="lives", rule="lives", verdict=Verdict.PASS)
    watched = Judged(test="watches", rule="watches", verdict=Verdict.FAIL, connection="c1", frame=2)
    lines = [
        *said_on("c1", "lives", passes),
        *said_on("c2", "lives", passes),
        *lines_of([watched], "watches"),
    ]
    assert connections(Captures.FINDINGS.of(lines)) == {"c1": 3}
