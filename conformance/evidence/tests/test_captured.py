"""What captures hold, however their packets come, and what is no capture."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from conformance.evidence.capture import write_capture
from conformance.evidence.captured import CaptureError, Connection, read_capture
from conformance.evidence.tests.test_capture import BIG, UNITS, conversation
from conformance.render.tests.samples import lines_of
from harness.wire.journal import Direction
from harness.wire.transcript import Gap

SENT, RECEIVED = Direction.SENT, Direction.RECEIVED


@pytest.fixture
def octets(tmp_path: Path) -> bytes:
    path = tmp_path / "capture.pcapng"
    write_capture(lines_of(conversation(), "t"), path, started=1_700_000_000.0)
    return path.read_bytes()


def blocks(octets: bytes) -> list[bytes]:
    """Give the blocks of a capture in little order."""
    found = []
    while octets:
        length = struct.unpack_from("<I", octets, 4)[0]
        found.append(octets[:length])
        octets = octets[length:]
    return found


def read(octets: bytes, folder: Path) -> list[Connection]:
    path = folder / "again.pcapng"
    path.write_bytes(octets)
    return sorted(read_capture(path), key=lambda each: each.name)


def said(connection: Connection, way: Direction) -> list[bytes | Gap]:
    return [octets for _, direction, octets in connection.pieces if direction is way]


def test_what_was_written_is_read(octets: bytes, tmp_path: Path) -> None:
    one, other = read(octets, tmp_path)
    assert [(each.name, each.protocol, each.test) for each in (one, other)] == [
        ("c1", "0-9-1", "t"),
        ("c2", "0-9-1", "t"),
    ]
    assert said(other, SENT) == [UNITS[0][1]]
    assert said(other, RECEIVED) == [UNITS[1][1]]
    assert said(one, RECEIVED)[:-1] == [unit for way, unit, _ in UNITS if way is RECEIVED]
    capped = said(one, SENT)[-3:-1]
    assert capped == [BIG[:20], Gap(len(BIG) - 20)], "what only fills up a frame was not captured"
    times = [at for at, _, _ in one.pieces]
    assert times[0] == pytest.approx(0.01)
    assert times == sorted(times)


def data_of_c1(octets: bytes) -> list[int]:
    """Give the places, among the blocks, of what the server of the first connection said."""
    return [
        number
        for number, block in enumerate(blocks(octets))
        if b"received: " in block and block[58:62] == IPv4Address("198.18.0.1").packed
    ]


def test_packets_may_come_in_another_order_or_twice(octets: bytes, tmp_path: Path) -> None:
    whole = [said(each, RECEIVED) for each in read(octets, tmp_path)]
    shuffled = blocks(octets)
    first, second, third, *_ = data_of_c1(octets)
    shuffled[second], shuffled[third] = shuffled[third], shuffled[second]
    shuffled.insert(third + 1, shuffled[first])
    assert [said(each, RECEIVED) for each in read(b"".join(shuffled), tmp_path)] == whole


def test_a_packet_that_never_came_is_a_gap(octets: bytes, tmp_path: Path) -> None:
    torn = blocks(octets)
    _, second, *_ = data_of_c1(octets)
    one, _ = read(b"".join(torn[:second] + torn[second + 1 :]), tmp_path)
    whole, _ = read(octets, tmp_path)
    missing = said(whole, RECEIVED)[1]
    assert isinstance(missing, bytes)
    assert said(one, RECEIVED) == [said(whole, RECEIVED)[0], Gap(len(missing)), *said(whole, RECEIVED)[2:]]
    assert [at for at, _, _ in one.pieces] == sorted(at for at, _, _ in one.pieces)


def test_a_capture_that_begins_amid_a_connection_begins_with_gaps(octets: bytes, tmp_path: Path) -> None:
    late = blocks(octets)
    first, *_ = data_of_c1(octets)
    _, one = read(b"".join(late[:2] + late[first:]), tmp_path)
    assert one.name == "connection 1"
    for way in (SENT, RECEIVED):
        assert said(one, way)[0] == Gap()
    assert one.protocol == ""


def big_endian(block: bytes) -> bytes:
    """Give a block without options, in the other order of octets."""
    kind, length = struct.unpack_from("<II", block)
    if kind == 0x0A0D0D0A:
        body = struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1)
    elif kind == 1:
        body = struct.pack(">HHI", 1, 0, 0)
    else:
        head = struct.unpack_from("<IIIII", block, 8)
        body = struct.pack(">IIIII", *head) + block[28 : 28 + head[3] + -head[3] % 4]
    del length
    return struct.pack(">II", kind, len(body) + 12) + body + struct.pack(">I", len(body) + 12)


def test_a_section_may_be_in_the_other_order(octets: bytes, tmp_path: Path) -> None:
    swapped = b"".join(big_endian(block) for block in blocks(octets))
    one, *_ = read(swapped, tmp_path)
    assert one.protocol == "0-9-1", "by what it says first, where no comment tells"
    assert said(one, SENT)[0] == UNITS[0][1]


def test_what_is_not_kept_of_a_packet_is_a_gap(octets: bytes, tmp_path: Path) -> None:
    snapped = blocks(octets)
    first, *_ = data_of_c1(octets)
    head = struct.unpack_from("<IIIII", snapped[first], 8)
    packet = snapped[first][28 : 28 + head[3] - 6]
    body = struct.pack("<IIIII", *head[:3], len(packet), head[4]) + packet + bytes(-len(packet) % 4)
    snapped[first] = struct.pack("<II", 6, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
    one, *_ = read(b"".join(snapped), tmp_path)
    assert said(one, RECEIVED)[:2] == [UNITS[1][1][:-6], Gap(6)]


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda octets: b"not a capture" + octets, "this is no pcapng file"),
        (lambda octets: octets[4:], "this is no pcapng file"),
        (lambda octets: octets[:-5], "the file ends within a block, at octet "),
        (lambda octets: octets + b"\x06\0\0\0", "the file ends within a block, at octet "),
        (lambda octets: octets[:-4] + bytes(4), "the two lengths of a block differ, at octet "),
        (lambda octets: octets[:4] + bytes(4) + octets[8:], "a block of 0 octets, at octet 0"),
        (lambda octets: octets[: len(blocks(octets)[0])] + blocks(octets)[2], "of no interface"),
    ],
)  # fmt: skip
def test_what_is_no_capture_is_refused_in_one_sentence(
    harm: object, sentence: str, octets: bytes, tmp_path: Path
) -> None:
    assert callable(harm)
    with pytest.raises(CaptureError) as refused:
        read(harm(octets), tmp_path)
    assert sentence in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="No such file"):
        list(read_capture(tmp_path / "none.pcapng"))


def test_what_is_held_is_bounded(octets: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.evidence.captured.MOST", 100)
    with pytest.raises(CaptureError, match="open connections hold more"):
        read(octets, tmp_path)
