"""Our octets beside those of pamqp, for every method, content headers and tables.

Its dialect differs from the document, so that these stay out of the comparison: table types `s` (it means
a signed short), `l` (signed), `x` (octets, unknown to the document) and `U` (unknown to it); integers and
floats take other types when none is asked for; names are sorted; an empty text property is left out;
longlong is signed; timestamps beyond 2106 are taken for milliseconds.
"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pamqp.commands
import pamqp.frame
import pamqp.header
import pamqp.heartbeat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp0_9_1.wire.field_tables import As
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    PROTOCOL_HEADER,
    ContentHeader,
    Frame,
    FrameReader,
)
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic, Queue
from harness.tests.streams import brief, thorough, unsigned
from harness.wire.tests.wire import of_type, short_text
from harness.wire.units import Header

names = st.text("abcXYZ019-_.:", max_size=100)
common_leaves = st.one_of(
    st.booleans(),
    st.none(),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.integers(65536, (1 << 31) - 1),
    st.integers(-(1 << 31), -32769),
    st.builds(lambda number, places: Decimal(number).scaleb(-places), unsigned(31), st.integers(0, 20)),
)
common_tables = st.dictionaries(
    st.text("abcxyz-", max_size=20),
    st.recursive(
        common_leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(names, inner, max_size=3).map(lambda table: dict(sorted(table.items())))
        ),
        max_leaves=6,
    ),
    max_size=4,
).map(lambda table: dict(sorted(table.items())))
common = {**of_type, "shortstr": names, "longstr": names, "table": common_tables, "longlong": unsigned(63)}


def plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.filterwarnings("ignore:This command is deprecated")
@pytest.mark.parametrize("name", sorted(CODEC.methods))
def test_every_method_is_written_and_read_as_by_pamqp(name: str) -> None:
    kind = CODEC.methods[name]
    theirs: Any = pamqp.commands.INDEX_MAPPING[kind.key]
    # It has the fields in the same order under other names; what is reserved keeps its own value.
    pairs = list(zip(kind.fields, kind.names, theirs.__slots__, strict=True))

    @brief
    @given(
        st.fixed_dictionaries({each: common[field.type] for field, each, _ in pairs if not field.reserved})
    )
    def agrees(values: dict[str, Any]) -> None:
        other = theirs()
        for field, ours, its in pairs:
            if field.reserved:
                values[ours] = getattr(other, its)
            setattr(other, its, values[ours])
        method = kind(**values)
        octets = Frame(METHOD, 1, method.encode()).encode()
        assert octets == pamqp.frame.marshal(other, 1)
        used, channel, read = pamqp.frame.unmarshal(octets)
        assert (used, channel, type(read)) == (len(octets), 1, theirs)
        assert [getattr(read, its) for *_, its in pairs] == [values[ours] for _, ours, _ in pairs]
        again = CODEC.decode_method(pamqp.frame.marshal(other, 1)[7:-1])
        assert [plain(getattr(again, ours)) for _, ours, _ in pairs] == [values[each] for _, each, _ in pairs]

    agrees()


@thorough
@given(
    st.fixed_dictionaries(
        {
            name: st.none()
            | (
                st.integers(1, 2)
                if field.name == "delivery-mode"
                else unsigned(32)
                if field.type == "timestamp"
                else short_text.filter(bool)
                if field.type == "shortstr"
                else common[field.type]
            )
            for name, field in zip(Basic.Properties.names, Basic.Properties.fields, strict=True)
            if name != "reserved"
        }
    ),
    unsigned(63),
)
def test_content_headers_are_written_and_read_as_by_pamqp(values: dict[str, Any], size: int) -> None:
    theirs = {("message_type" if name == "type" else name): value for name, value in values.items()}
    if values["timestamp"] is not None:
        theirs["timestamp"] = datetime.fromtimestamp(values["timestamp"], tz=UTC)
    header = ContentHeader(60, size, Basic.Properties(**values))
    other = pamqp.header.ContentHeader(0, size, pamqp.commands.Basic.Properties(**theirs))
    octets = Frame(HEADER, 1, header.encode()).encode()
    assert octets == pamqp.frame.marshal(other, 1)
    _, _, read = pamqp.frame.unmarshal(octets)
    assert isinstance(read, pamqp.header.ContentHeader)
    assert read.body_size == size
    assert {name: getattr(read.properties, name) for name in theirs} == theirs
    assert ContentHeader.decode(octets[7:-1]) == header


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("b", -5),
        ("B", 200),
        ("u", 65535),
        ("I", 7),
        ("i", 1 << 31),
        ("L", -7),
        ("l", 7),
        ("f", 0.5),
        ("d", 0.1),
    ],
)
def test_types_that_pamqp_means_alike_are_read_alike(tag: str, value: Any) -> None:
    octets = Frame(METHOD, 1, Queue.Declare("q", arguments={"k": As(tag, value)}).encode()).encode()
    _, _, read = pamqp.frame.unmarshal(octets)
    assert isinstance(read, pamqp.commands.Queue.Declare)
    assert read.arguments == {"k": value}


def test_heartbeat_and_protocol_header_are_pamqps() -> None:
    assert Frame(HEARTBEAT, 0, b"").encode() == pamqp.heartbeat.Heartbeat.marshal()
    assert pamqp.header.ProtocolHeader().marshal() == PROTOCOL_HEADER
    [(_, unit)] = FrameReader().feed(pamqp.header.ProtocolHeader(1, 2, 3).marshal())
    assert isinstance(unit, Header)
    assert unit.version == (1, 2, 3)
    assert pamqp.frame.unmarshal(Frame(BODY, 7, b"x").encode())[:2] == (9, 7)
