"""Wireshark reads the capture of a run of AMQP 1.0 as we do: each frame, and the fields that rules use."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.tests.test_capture import tshark
from conformance.tests.commands import command
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.frames import AMQP, Frame, FrameReader
from harness.amqp1_0.wire.generated import attribute

RULES = ("1-0/2.5.6*", "1-0/2.6*", "1-0/2.7.5*", "1-0/2.7.6*", "1-0/2.7.7*")
FIELDS = (
    "handle", "delivery-id", "delivery-count", "link-credit", "next-incoming-id", "next-outgoing-id",
    "incoming-window", "outgoing-window", "first", "last", "settled", "more", "aborted", "role", "closed",
)  # fmt: skip
"""Fields of performatives of which the dissector has the value in a field of its own."""
MOST = 16 << 20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with links, credit, transfers and dispositions, all of it captured."""
    folder = tmp_path_factory.mktemp("run") / "run"
    done = command("run", *RULES, "--target", "embedded", "--capture", "all", "--output", folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def rows(run: Path) -> list[list[str]]:
    """What the dissector says of each frame of the run: its octets, performative, channel and fields."""
    told = [f"amqp.performative.arguments.{camel(name)}" for name in FIELDS]
    asked = ["tcp.payload", "amqp.performative", "amqp.channel", *told]
    wanted = [word for name in asked for word in ("-e", name)]
    return tshark(run / "capture.pcapng", "-Y", "amqp.performative", *wanted)


def camel(name: str) -> str:
    first, *rest = name.split("-")
    return first + "".join(map(str.capitalize, rest))


def frame_in(octets: bytes) -> Frame | None:
    """Give the AMQP frame with a performative that these octets are, if they are one."""
    unit = next((unit for _, unit in FrameReader(limit=MOST).feed(octets)), None)
    amqp = isinstance(unit, Frame) and unit.type == AMQP and performative_of(unit) is not None
    return unit if amqp and isinstance(unit, Frame) else None


def as_ours(octets: str) -> list[str]:
    """Say of a frame what the dissector is asked for."""
    frame = frame_in(bytes.fromhex(octets))
    said = performative_of(frame)
    assert frame is not None
    assert said is not None
    values = [said.carried(name) if name in said.names else None for name in map(attribute, FIELDS)]
    return [octets, str(said.spec.code), str(frame.channel), *map(shown, values)]


def shown(value: Any) -> str:
    return "" if value is None else str(int(value))


def test_the_dissector_sees_every_frame_of_the_run(run: Path, rows: list[list[str]]) -> None:
    lines = map(json.loads, (run / "events.jsonl").read_text(encoding="utf-8").splitlines())
    sent_or_received = (bytes.fromhex(each["octets"]) for each in lines if each["event"] == "octets")
    frames = [octets.hex() for octets in sent_or_received if frame_in(octets) is not None]
    assert Counter(row[0] for row in rows) == Counter(frames)
    assert {int(row[1]) for row in rows} == set(range(0x10, 0x19)), "all nine performatives"


def test_every_field_is_what_the_dissector_makes_of_it(rows: list[list[str]]) -> None:
    assert len(rows) > 1000
    assert [row for row in rows if row != as_ours(row[0])] == []
