"""What a 1.0 scenario may expect, held against everything that can be observed."""

from __future__ import annotations

import pytest

from harness.amqp1_0.client.outcomes import (
    EmptyFrame,
    HeaderReceived,
    Received,
    Refusal,
    begun,
    closed,
    closed_without_error,
    ended_or_closed,
    fields,
    header,
    other_header,
    other_id,
    refused,
    session_ended,
    signature,
    silence,
    stream_ended,
)
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, SASL_HEADER
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    ConnectionError_,
    End,
    Error,
    Open,
    SaslOutcome,
)
from harness.amqp1_0.wire.types import As
from harness.play.link import Closed, Silence
from harness.wire.journal import Grade
from harness.wire.transport import End as StreamEnd
from harness.wire.units import Header

OPEN = Open("a-peer")
DECODE = Close(Error(AmqpError.DECODE_ERROR, "because"))

SEEN = {
    "close": Received(0, Close()),
    "decode": Received(0, DECODE),
    "framing": Received(3, Close(Error(ConnectionError_.FRAMING_ERROR))),
    "odd": Received(0, Close(As(0x54, 5))),
    "end": Received(0, End(Error(AmqpError.INVALID_FIELD))),
    "open": Received(0, OPEN),
    "begin": Received(2, Begin(7, 0, 1, 1)),
    "fin": Closed(StreamEnd.FIN),
    "rst": Closed(StreamEnd.RST),
    "silence": Silence(1.0),
    "amqp": HeaderReceived(Header(PROTOCOL_HEADER)),
    "sasl": HeaderReceived(Header(SASL_HEADER)),
}


@pytest.mark.parametrize(
    ("outcome", "which"),
    [
        (closed(), "decode framing odd"),
        (closed(AmqpError.DECODE_ERROR), "decode"),
        (closed(AmqpError.DECODE_ERROR, ConnectionError_.FRAMING_ERROR), "decode framing"),
        (closed_without_error(), "close"),
        (session_ended(), "end"),
        (ended_or_closed(AmqpError.INVALID_FIELD), "end"),
        (ended_or_closed(), "decode framing odd end"),
        (stream_ended(), "fin rst"),
        (silence(), "silence"),
        (begun(7), "begin"),
        (begun(7, on=2), "begin"),
        (begun(7, on=1), ""),
        (begun(6), ""),
        (fields(Open, max_frame_size=0xFFFFFFFF), "open"),
        (fields(Open, max_frame_size=512), ""),
        (header(), "amqp"),
        (other_header(than=PROTOCOL_HEADER), "sasl"),
        (other_id(than=3), "amqp"),
    ],
    ids=lambda each: getattr(each, "says", each),
)
def test_an_outcome_matches_what_it_says(outcome: object, which: str) -> None:
    matches = [name for name, seen in SEEN.items() if outcome.matches(seen)]  # type: ignore[attr-defined]
    assert matches == which.split()


@pytest.mark.parametrize(
    ("how", "preferred", "tolerated"),
    [
        (Refusal.OPENED, "decode", "fin rst"),
        (Refusal.OPENING, "decode", "fin rst"),
        (Refusal.CONDITION, "decode", "framing odd"),
        (Refusal.CONDITION_OPENING, "decode", "framing odd fin rst"),
        (Refusal.DEMANDED, "decode", ""),
        (Refusal.SESSION, "decode", "framing odd end"),
    ],
)
def test_a_refusal_is_graded_as_the_table_has_it(how: Refusal, preferred: str, tolerated: str) -> None:
    ways = refused(how, AmqpError.DECODE_ERROR)
    graded: dict[Grade, list[str]] = {Grade.PREFERRED: [], Grade.TOLERATED: []}
    for name, seen in SEEN.items():
        if fitting := next((way for way in ways if way.matches(seen)), None):
            graded[fitting.grade].append(name)
            assert (fitting.grade is Grade.TOLERATED) is bool(fitting.reading)
    assert graded[Grade.PREFERRED] == preferred.split()
    assert graded[Grade.TOLERATED] == tolerated.split()


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (SEEN["close"], "close without error"),
        (SEEN["framing"], "close amqp:connection:framing-error"),
        (SEEN["odd"], "close with something that is no error"),
        (Received(0, Close(Error())), "close with an error without condition"),
        (Received(0, End(Error("x\n" * 100))), "end " + "x\\n" * 40),
        (Received(0, SaslOutcome(1)), "sasl-outcome auth"),
        (Received(0, SaslOutcome(9)), "sasl-outcome with an undefined code"),
        (HeaderReceived(Header(b"AMQP\0\0\x09\x01")), "protocol header AMQP 0 0-9-1"),
        (EmptyFrame(3), "empty frame"),
        (Closed(StreamEnd.RST), "stream ended (rst)"),
    ],
)
def test_signatures_hold_nothing_that_changes_by_run(seen: Received, says: str) -> None:
    assert signature(seen) == says


@pytest.mark.parametrize(
    ("name", "told"),
    [("amqp-conformance-1a2b-gw0-3-c1-0-2", "…"), ("detect-1a-1-c1-0-0", "…"), ("both", "both")],
)
def test_a_name_that_is_another_each_time_is_in_no_finding(name: str, told: str) -> None:
    assert fields(Attach, name=name).says == f"attach name={told}"
