"""Two codecs, written from the document by people who had not read each other's: they agree octet for octet.

The other one is in `second`. Where the document allows two encodings both read either.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp_fast.tests.second import codec, stream
from harness.amqp_fast.tests.second.types import first
from harness.amqp_fast.wire.commands import Command, Record
from harness.amqp_fast.wire.frames import Frame, FrameReader, Initiation, frame
from harness.amqp_fast.wire.tables import Table, Time
from harness.amqp_fast.wire.vocabulary import COMMANDS, MessageHead
from harness.wire.units import DecodeError, Garbage

# The other one takes only what the document lets a field be called (907).
NAMES = st.from_regex(r"\A[A-Za-z$#][A-Za-z$#0-9_]{0,20}\Z")
VALUES = st.one_of(
    st.binary(max_size=40),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 2**32 - 1).map(Time),
    st.builds(
        lambda digits, places: Decimal(digits).scaleb(-places), st.integers(0, 2**32 - 1), st.integers(0, 9)
    ),
)
TABLES = st.lists(st.tuples(NAMES, VALUES), max_size=5)
FIELDS: Mapping[str, st.SearchStrategy[Any]] = {
    "octet": st.integers(0, 255),
    "short": st.integers(0, 0xFFFF),
    "long": st.integers(0, 0xFFFFFFFF),
    "bit": st.booleans(),
    "shortstr": st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40),
    "longstr": st.binary(max_size=300),
    "table": TABLES,
}


def records(kind: type[Record]) -> st.SearchStrategy[Record]:
    """Make records of a kind with any values that the document allows."""
    return st.builds(
        kind, **{name: FIELDS[each.type] for name, each in zip(kind.names, kind.fields, strict=True)}
    )


def told(record: Record) -> dict[str, Any]:
    """Give a record's fields as the other codec takes them."""
    return {name: _given(getattr(record, name)) for name in record.names}


def _given(value: Any) -> Any:
    pairs = value.pairs if isinstance(value, Table) else value
    if not isinstance(pairs, list | tuple):
        return value
    return [(name, codec.Time(each.seconds) if isinstance(each, Time) else each) for name, each in pairs]


def same(ours: Any, theirs: Any) -> bool:
    """Say whether two decoded values are one."""
    if isinstance(ours, Table):
        read = {name.decode(): _ours(value) for name, value in first(theirs).items()}
        return dict(ours) == read and len(ours.pairs) == len(theirs)
    return bool(ours == theirs)


def _ours(value: Any) -> Any:
    return Time(value.seconds) if isinstance(value, codec.Time) else value


def name_of(kind: type[Command]) -> str:
    return kind.full_name.lower().replace(" ", "-")


@pytest.mark.parametrize("kind", COMMANDS.values(), ids=lambda kind: kind.full_name)
@given(data=st.data())
def test_both_write_and_read_every_command_alike(kind: type[Command], data: st.DataObject) -> None:
    command = data.draw(records(kind))
    assert isinstance(command, Command)
    ours, theirs = frame(command).encode(), codec.encode(name_of(kind), **told(command))
    assert ours == theirs
    name, fields = codec.decode(ours)
    (read,) = (unit for _, unit in FrameReader().feed(theirs + bytes(_size(command))))
    assert isinstance(read, Frame)
    assert name == name_of(type(read.command()))
    assert all(same(getattr(read.command(), each), fields[each]) for each in kind.names)


def _size(command: Command) -> int:
    """Give the size of the fragment that is to follow a command, for a reader that wants it whole."""
    carried = command.spec.fragment and not getattr(command, "out_of_band", False)
    return min(getattr(command, "fragment_size", 0), FrameReader().limit) if carried else 0


@given(records(MessageHead), st.binary(max_size=20))
def test_both_write_and_read_the_header_of_a_message_alike(head: Record, body: bytes) -> None:
    ours, theirs = head.encode(), codec.encode_header(**told(head))
    assert ours == theirs
    read, behind = MessageHead.decode(theirs + body)
    fields, size = codec.decode_header(ours + body)
    assert behind == size == len(ours)
    assert all(same(getattr(read, each), fields[each]) for each in MessageHead.names)


@given(st.binary(max_size=40))
def test_both_find_the_same_octets_no_command(payload: bytes) -> None:
    octets = frame_of(payload)
    try:
        name, _ = codec.decode(octets)
    except ValueError:
        name = ""
    unit = next((unit for _, unit in FrameReader().feed(octets)), Garbage(octets, "none"))
    try:
        ours = name_of(type(unit.command())) if isinstance(unit, Frame) else ""
    except DecodeError:
        ours = ""
    # The other one looks at names of fields and at text, which ours leaves to whoever reads them.
    assert ours == name or (name == "" and ours != "" and b"\0" in payload + b"\0")


def frame_of(payload: bytes) -> bytes:
    """Put octets in a frame, whatever they are."""
    return (len(payload) + 1).to_bytes(2) + payload + b"\xce"


@given(
    st.lists(st.sampled_from(list(COMMANDS.values())).flatmap(records), max_size=6),
    st.integers(1, 50),
    st.data(),
)
def test_both_cut_a_stream_alike(commands: list[Record], piece: int, data: st.DataObject) -> None:
    said: list[Frame] = []
    for command in commands:
        assert isinstance(command, Command)
        fragment = data.draw(st.binary(min_size=1, max_size=60)) if command.spec.fragment else b""
        if fragment:
            command = command.replace(fragment_size=len(fragment), **_in_band(command))
        said.append(frame(command, fragment))
    octets = Initiation().encode() + b"".join(each.encode() for each in said)
    ours, theirs = FrameReader(initiated=False), stream.Splitter(initiation=True)
    cut: list[object] = []
    other: list[object] = []
    for start in range(0, len(octets), piece):
        cut += (unit for _, unit in ours.feed(octets[start : start + piece]))
        other += theirs.feed(octets[start : start + piece])
    names = [name_of(type(each.command())) for each in cut if isinstance(each, Frame)]
    assert names == [each.name for each in other if isinstance(each, stream.Command)]
    carried = b"".join(each.fragment for each in cut if isinstance(each, Frame))
    assert carried == b"".join(each.octets for each in other if isinstance(each, stream.Fragment))


def _in_band(command: Command) -> dict[str, bool]:
    return {"out_of_band": False} if "out_of_band" in command.names else {}
