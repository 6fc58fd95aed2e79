"""From rows of frames back to an exchange: the terminal's own words, and a capture that stays small."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.explanation import Explanation
from conformance.evidence.kinds import CappedOctets
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.render.rendering import load
from harness.wire.journal import Ended, Octets, Opened
from reports.compare.exchanges import AFTER, CAPTURE, OPENING, UNITS, capture, explained, lines_of, wanted
from reports.model.findings import Finding
from reports.model.single import rows_in
from reports.site.tests.sites import real_run
from spec.catalogue import catalogue

RULE = catalogue().rules[0]


def row(
    number: int, kind: str, says: str = "basic.ack", octets: bytes | None = b"ack", **more: Any
) -> dict[str, Any]:
    return {
        "rule": RULE.id, "run": "r", "connection": "c", "number": number, "test": "t", "worker": "main",
        "wall": number / 100, "at": number / 100, "kind": kind, "says": says, "protocol": None,
        "octets": octets, "length": None if octets is None else len(octets), "sha256": None,
    } | more  # fmt: skip


def rows_of(units: int, protocol: str = "0-9-1", **more: Any) -> list[dict[str, Any]]:
    opened = row(0, "opened", "127.0.0.1:5672", None, protocol=protocol)
    sent = [row(number, "sent" if number % 2 else "received", **more) for number in range(1, units)]
    return [opened, *sent, row(units, "ended", "target fin", None)]


def finding(**changes: Any) -> Finding:
    facts: dict[str, Any] = {
        "test": "t",
        "run": "r",
        "connection": "c",
        "frame": 3,
        "exchange": RULE.id,
        "folder": "runs/a b",
    }
    return replace(Finding(test="t", rule=RULE.id, verdict=Verdict.FAIL), **facts | changes)


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Read the blocks of a pcapng file: their type and what is in them."""
    content, start = path.read_bytes(), 0
    while start < len(content):
        kind, length = struct.unpack_from("<II", content, start)
        yield kind, content[start + 8 : start + length - 4]
        start += length


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_run(
        tmp_path_factory.mktemp("real") / "run", "0-9-1/queue.purge*", "0-9-1/domain.*", "0-9-1/basic.ack*"
    )


def test_a_finding_is_explained_as_the_terminal_explains_it(run: Path) -> None:
    report, rows = load(run), rows_in(run)
    by_connection: dict[str, list[Any]] = {}
    for each in rows.frames:
        by_connection.setdefault(each["connection"], []).append(each)
    ours: dict[str, Explanation] = {}
    for each in rows.verdicts:
        found = Finding.of(each, folder=str(run))
        lines = lines_of(by_connection.get(found.connection or "", []))
        ours[found.rule] = explained(found, catalogue()[found.rule], lines)
    framed = 0
    for result in report.results:
        theirs = report.explained(result.deciding)
        assert theirs is not None
        mine = ours[result.rule]
        assert (mine.facts, mine.frames, mine.replay) == (theirs.facts, theirs.frames, theirs.replay)
        framed += bool(theirs.frames)
    assert framed >= 5
    assert len(report.results) == len(ours)


def test_rows_in_any_order_are_the_events_that_were_written(run: Path) -> None:
    rows = [each for each in rows_in(run).frames if each["connection"] == "main.3.1"]
    written = [
        line.event
        for line in read(run)
        if isinstance(line.event, Opened | Octets | Ended) and line.event.connection == "main.3.1"
    ]
    assert written
    assert [line.event for line in lines_of(reversed(rows))] == written


def test_the_deciding_frame_is_marked_and_its_octets_are_shown() -> None:
    told = explained(finding(), RULE, lines_of(rows_of(6, protocol="x-1")))
    assert [(each.number, each.deciding) for each in told.frames] == [(1, False), (2, False), (3, True)]
    assert told.frames[-1].parts[0].octets == b"ack".hex(" ")


def test_a_protocol_nobody_here_speaks_is_shown_in_octets_alone() -> None:
    for protocol in ("x-1", "", None):
        rows = rows_of(4)
        rows[0]["protocol"] = protocol
        assert all(each.parts for each in explained(finding(), RULE, lines_of(rows)).frames)


def test_when_it_was_decided_is_told_where_the_tables_know_it() -> None:
    lines = lines_of(rows_of(6))
    facts = dict(explained(finding(decided_at=1.5, waited=0.25), RULE, lines).facts)
    assert facts["when"] == "1.5000 s into the run, after waiting 0.2500 s"
    assert "when" not in dict(explained(finding(), RULE, lines).facts)


def test_a_finding_without_a_connection_wants_no_frames() -> None:
    assert wanted(finding(connection=None)) is None
    assert wanted(finding(exchange=None)) is None
    assert wanted(finding()) == (RULE.id, "r", "c")
    assert explained(finding(connection=None), RULE, []).frames == ()


def test_a_capped_frame_keeps_its_whole_length_and_hash() -> None:
    rows = rows_of(3)
    rows[1] |= {"length": 5000, "sha256": "ab" * 32}
    event = lines_of(rows)[1].event
    assert isinstance(event, CappedOctets)
    assert (event.length, event.sha256, event.octets) == (5000, "ab" * 32, b"ack")


def test_a_capture_holds_the_exchange_and_says_where_it_went(tmp_path: Path) -> None:
    told = capture(finding(), lines_of(rows_of(6)), tmp_path / "a.pcapng", 1_700_000_000.0)
    assert told is not None
    assert (told.units, told.kept) == (6, 6)
    found = list(blocks(tmp_path / "a.pcapng"))
    assert found[0][0] == 0x0A0D0D0A
    packets = [body for kind, body in found if kind == 6]
    assert len(packets) == 3 + 5 + 2  # the handshake, five units, the end and its acknowledgement
    assert all(b"127.0.0.1:5672" in body for body in packets)
    assert all(RULE.id.encode() in body for body in packets)


def test_of_a_long_connection_the_beginning_and_the_decision_are_kept(tmp_path: Path) -> None:
    lines = lines_of(rows_of(5 * UNITS))
    told = capture(finding(frame=3 * UNITS), lines, tmp_path / "a.pcapng")
    assert told is not None
    assert (told.units, told.kept) == (5 * UNITS, OPENING + UNITS)
    assert 3 * UNITS + AFTER - UNITS > OPENING
    packets = sum(kind == 6 for kind, _ in blocks(tmp_path / "a.pcapng"))
    assert packets == 3 + OPENING + UNITS


def test_what_is_too_large_is_not_captured(tmp_path: Path) -> None:
    rows = rows_of(3)
    rows[2] |= {"length": CAPTURE, "sha256": "00" * 32}
    assert capture(finding(), lines_of(rows), tmp_path / "a.pcapng") is None
    assert not (tmp_path / "a.pcapng").exists()


def test_without_its_opening_nothing_is_captured(tmp_path: Path) -> None:
    assert capture(finding(), lines_of(rows_of(3)[1:]), tmp_path / "a.pcapng") is None
