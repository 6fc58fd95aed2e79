"""Wireshark, with the dissector made from the grammar, reads a run of AMQP/Fast as we do, field by field."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.tests.test_capture import tshark
from conformance.tests.commands import command
from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.dissector import WRITTEN, ambiguous
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Frame, FrameReader
from harness.amqp_fast.wire.vocabulary import COMMANDS, GRAMMAR, MessageHead
from spec.readers.amqp_fast import Field

FIELDS = sorted(
    {(field.name, field.type) for each in GRAMMAR.commands for field in each.fields if field.type != "table"}
)
SHOWS = ("-X", f"lua_script:{WRITTEN}", "-Y", "amqpfast")
MOST = 16 << 20
Row = dict[str, str]


def told(name: str, kind: str) -> str:
    """Give the dissector's name of a field."""
    return f"amqpfast.{name.replace('-', '_')}" + (f"_{kind}" if name in ambiguous(GRAMMAR) else "")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all rules, all of it captured."""
    folder = tmp_path_factory.mktemp("run") / "run"
    done = command("run", "document:fast", "--target", "embedded", "--capture", "all", "--output", folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def rows(run: Path) -> list[Row]:
    """What the dissector says of each packet that ends a frame, field by field."""
    fields = ["amqpfast.command", "amqpfast.message.body_size", *(told(*each) for each in FIELDS)]
    asked = ["tcp.payload", "tcp.srcport", *fields]
    wanted = [word for name in asked for word in ("-e", name)]
    found = tshark(run / "capture.pcapng", *SHOWS, *wanted)
    # Octets of which there are none are told so.
    clear = ([value.replace("<MISSING>", "") for value in row] for row in found)
    return [dict(zip(asked, row, strict=True)) for row in clear if len(row) == len(asked)]


def frame_in(octets: bytes) -> Frame | None:
    """Give the frame that these octets are, if they are one whose command can be read."""
    units = [unit for _, unit in FrameReader(limit=MOST).feed(octets)]
    (unit,) = units if len(units) == 1 else (None,)
    return unit if isinstance(unit, Frame) and command_of(unit) is not None else None


def ours(frame: Frame) -> Row:
    """Say of a frame what the dissector is asked for, but texts that need not be printed alike."""
    said = frame.command()
    fields = dict(_told(said))
    return {"amqpfast.command": str(said.code), **fields}


def _told(said: Command) -> Iterator[tuple[str, str]]:
    for each in said.fields:
        if each.type != "table":
            yield told(each.name, each.type), _shown(each, getattr(said, each.name.replace("-", "_")))


def _shown(field: Field, value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex() if field.type == "longstr" else value.decode("ascii", "replace")
    return str(int(value))


def by_server(row: Row) -> bool:
    return row["tcp.srcport"] == "5672"


def is_plain(text: str) -> bool:
    """Say whether a text is printed as it is."""
    return text.isascii() and text.isprintable() and not set(text) & set('\\|,"')


def exchanged(run: Path) -> Iterator[dict[str, Any]]:
    lines = map(json.loads, (run / "events.jsonl").read_text(encoding="utf-8").splitlines())
    return (each for each in lines if each["event"] == "octets")


def test_every_command_and_field_is_named_as_we_read_it(rows: list[Row]) -> None:
    wrong, seen, behind_nonsense = [], set(), 0
    for row in rows:
        frame = frame_in(bytes.fromhex(row["tcp.payload"]))
        if frame is None:
            continue
        if not by_server(row) and not row["amqpfast.command"]:
            behind_nonsense += 1  # that we have said: nobody knows where frames begin there
            continue
        seen.add(frame.type)
        expected = {name: value for name, value in ours(frame).items() if is_plain(value)}
        found = {name: row[name] for name in expected}
        wrong += [(row["tcp.payload"], expected, found)] if found != expected else []
    assert wrong == []
    assert seen == COMMANDS.keys()
    assert behind_nonsense < 5


def test_all_that_the_server_says_is_seen(run: Path, rows: list[Row]) -> None:
    said = {each["octets"] for each in exchanged(run) if each["direction"] == "received"}
    seen = {row["tcp.payload"] for row in rows}
    assert {octets for octets in said - seen if frame_in(bytes.fromhex(octets)) is not None} == set()


def test_the_header_of_a_message_is_read_where_one_begins(rows: list[Row]) -> None:
    heads = 0
    for row in rows:
        frame = frame_in(bytes.fromhex(row["tcp.payload"]))
        if frame is not None and by_server(row) and row["amqpfast.message.body_size"]:
            head, _ = MessageHead.decode(frame.fragment)
            assert row["amqpfast.message.body_size"] == str(head.body_size)
            heads += 1
    assert heads > 500


def test_nothing_that_the_server_says_is_malformed(run: Path) -> None:
    query = "(_ws.malformed || _ws.lua.error) && tcp.srcport == 5672"
    found = tshark(run / "capture.pcapng", *SHOWS[:2], "-Y", query, "-e", "frame.number", "-e", "tcp.payload")
    assert [row for row in found if any(bytes.fromhex(row[1]))] == []


def test_streams_of_other_protocols_keep_their_dissector(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    rules = ("0-9-1/channel.open.state", "1-0/2.4.3.close-answered", "fast/3.2.7.unasked-ping-unanswered")
    command("run", *rules, "--target", "embedded", "--capture", "all", "--output", folder)
    wanted = ("-Y", "tcp.len > 0", "-e", "frame.protocols", "-e", "tcp.stream")
    named = {row[0].rpartition(":")[2] for row in tshark(folder / "capture.pcapng", *SHOWS[:2], *wanted)}
    assert {"amqp", "amqpfast"} <= named <= {"amqp", "amqpfast", "tcp"}
