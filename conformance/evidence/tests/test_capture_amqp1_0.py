"""Wireshark reads the capture of a run of all of 1.0 as we do: each frame, and the fields that rules use.

Some frames are not compared: the suite sends what is wrong, or has a form that the dissector does not know.
`why_not_compared` says which they are; all that the server sends is compared.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conformance.evidence.tests.test_capture import tshark
from conformance.tests.commands import command
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, Frame, FrameReader
from harness.amqp1_0.wire.generated import attribute

RULES = ("document:1-0", "document:1-0/grammar")
PLAIN = b"\x00\x53"
"""How a performative begins that is named by a number of one octet. The dissector takes the octet behind for
the code, whatever form the descriptor has."""
FIELDS = (
    "handle", "delivery-id", "delivery-count", "link-credit", "next-incoming-id", "next-outgoing-id",
    "incoming-window", "outgoing-window", "first", "last", "settled", "more", "aborted", "role", "closed",
)  # fmt: skip
"""Fields of performatives of which the dissector has the value in a field of its own."""
MOST = 16 << 20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all rules, all of it captured."""
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


def why_not_compared(octets: bytes) -> str:
    """Say why the fields of a frame cannot be compared; empty where they can."""
    frame = frame_in(octets)
    said = performative_of(frame)
    if not any(octets):
        return "zeros, which stand for octets that were not kept"
    if frame is None or said is None:
        return "not to be decoded"
    if not frame.body.startswith(PLAIN):
        return "named otherwise than by one octet"
    values = [value for value in compared(said) if value is not None]
    return "" if all(isinstance(value, int) for value in values) else "a field of another type"


def compared(said: Composite) -> list[object]:
    """Give the values of those fields of a performative that the dissector is asked for."""
    return [said.carried(name) if name in said.names else None for name in map(attribute, FIELDS)]


def as_ours(octets: str) -> list[str]:
    """Say of a frame what the dissector is asked for."""
    frame = frame_in(bytes.fromhex(octets))
    said = performative_of(frame)
    assert frame is not None
    assert said is not None
    return [octets, str(said.spec.code), str(frame.channel), *map(shown, compared(said))]


def shown(value: Any) -> str:
    return "" if value is None else str(int(value))


def exchanged(run: Path) -> list[tuple[str, str]]:
    """Give direction and octets of all that went over the wire."""
    lines = map(json.loads, (run / "events.jsonl").read_text(encoding="utf-8").splitlines())
    return [(each["direction"], each["octets"]) for each in lines if each["event"] == "octets"]


def test_the_dissector_sees_every_frame_of_the_run(run: Path, rows: list[list[str]]) -> None:
    frames = [octets for _, octets in exchanged(run) if frame_in(bytes.fromhex(octets)) is not None]
    seen = [row[0] for row in rows if frame_in(bytes.fromhex(row[0])) is not None]
    assert Counter(seen) == Counter(frames)
    assert {int(row[1]) for row in rows} >= set(range(0x10, 0x19)), "all nine performatives"


def test_every_field_is_what_the_dissector_makes_of_it(rows: list[list[str]]) -> None:
    readable = [row for row in rows if not why_not_compared(bytes.fromhex(row[0]))]
    assert len(readable) > 8000
    assert [row for row in readable if row != as_ours(row[0])] == []


def test_what_is_not_compared_the_suite_has_sent_on_purpose(run: Path, rows: list[list[str]]) -> None:
    left_out = {row[0]: why for row in rows if (why := why_not_compared(bytes.fromhex(row[0])))}
    received = {octets for direction, octets in exchanged(run) if direction == "received"}
    assert not received.intersection(left_out)
    assert len(left_out) < len(rows) / 50
    assert set(left_out.values()) == {
        "zeros, which stand for octets that were not kept",
        "not to be decoded",
        "named otherwise than by one octet",
        "a field of another type",
    }
