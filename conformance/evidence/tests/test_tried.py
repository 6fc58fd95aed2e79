"""What was being tried is read off the exchange; octets are written as people do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.evidence.kinds import Judged, Line
from conformance.evidence.octets import hexadecimal, readable, written
from conformance.evidence.tried import clause, tried
from conformance.evidence.verdicts import Verdict
from harness.wire.journal import Declared, Direction, Event, Octets

LEGAL, CAME = "queue.declare-ok", "connection.close 504 (channel-error)"


def deciding(frame: int | None, **more: object) -> Judged:
    values = {"signature": f"{CAME} instead of {LEGAL}", "expected": (LEGAL,), "actual": CAME} | more
    return Judged(test="t", rule="r", verdict=Verdict.FAIL, connection="c", frame=frame, **values)  # type: ignore[arg-type]


def exchange(*sent: str, name: str = "queue-1") -> list[Line]:
    """Give what was sent, all before the answer that decided."""
    events: list[Event] = [Declared(0.0, "c", "queue", name)]
    events += [Octets(0.1, "c", Direction.SENT, b"", says) for says in sent]
    events.append(Octets(0.2, "c", Direction.RECEIVED, b"", CAME))
    events.append(Octets(0.3, "c", Direction.SENT, b"", "channel.close channel=1"))
    return [Line(0.0, "main", number, "t", event) for number, event in enumerate(events, 1)]


@pytest.mark.parametrize(
    ("sent", "what"),
    [
        (
            ("queue.declare channel=1 queue=queue-1", "queue.declare channel=1 queue=queue-1 passive"),
            "queue.declare was tried again (passive)",
        ),
        (
            ("queue.declare channel=1 queue=other", "queue.declare channel=1 queue=queue-1 passive durable"),
            "queue.declare was tried (passive, durable)",
        ),
        (
            ("channel.open channel=1", "basic.qos channel=1 prefetch-size=0 prefetch-count=1"),
            "basic.qos was tried (prefetch-count=1)",
        ),
        (
            (
                "channel.open channel=1",
                "queue.bind channel=1 queue=queue-1 exchange=amq.match arguments={'a': 'b no'} x",
            ),
            "queue.bind was tried (exchange=amq.match)",
        ),
        (
            ("channel.open channel=1", "content body channel=1 of 24 octets"),
            "content body of 24 octets was sent",
        ),
        (
            ("channel.open channel=1", "8 octets that are no frame: frame type 5 is not defined"),
            "8 octets that are no frame were sent",
        ),
        (
            ("open channel=0 container-id=x", "close channel=0"),
            "close was sent",
        ),
        (
            ("open channel=0 container-id=x", "begin channel=1 next-outgoing-id=0 incoming-window=2048"),
            "begin was sent (incoming-window=2048)",
        ),
        (
            ("begin channel=1 handle-max=0", "begin channel=1 handle-max=7 properties={conformance: 'x'}"),
            "begin was sent (handle-max=7)",
        ),
        (
            ("begin channel=1", "frame type=0 channel=1, not decodable: octet 5 of the body"),
            "frame type=0, not decodable was sent",
        ),
    ],
)
def test_it_is_what_was_sent_last_in_words_of_the_document(sent: tuple[str, ...], what: str) -> None:
    lines = exchange(*sent)
    assert tried(deciding(len(sent) + 1), lines) == what
    assert clause(deciding(len(sent) + 1), lines) == f"{CAME} instead of {LEGAL}, while {what}"


def test_one_step_and_what_no_expectation_decided_say_nothing_of_it() -> None:
    lines = exchange("channel.open channel=1", "queue.delete channel=1 queue=queue-1")
    assert tried(deciding(3), lines) != ""
    assert clause(deciding(2), exchange("protocol header")) == ""
    for other in (
        deciding(None),
        deciding(3, signature="silence to the control queue.delete"),
        deciding(3, signature="violated", expected=(), actual=""),
    ):
        assert (tried(other, lines), clause(other, lines)) == ("", "")


def test_a_name_in_a_finding_does_not_hide_what_was_tried() -> None:
    judged = deciding(3, signature="came NAME instead of queue.declare-ok", actual="came queue-1")
    lines = exchange("channel.open channel=1", "queue.declare channel=1 queue=queue-1")
    assert clause(judged, lines) == "came queue-1 instead of queue.declare-ok, while queue.declare was tried"


def test_octets_are_written_with_their_count() -> None:
    assert written(b"kept") == '"kept" (4 octets)'
    assert written(b"\x01\x00\n") == "01 00 0a (3 octets)"
    assert written(b"\xff") == "ff (1 octet)"
    assert written(b"") == '"" (0 octets)'
    assert written(bytes(300)) == f"{' '.join(['00'] * 16)} ... (300 octets)"
    assert written(b"a" * 300) == f'"{"a" * 64}..." (300 octets)'
    assert hexadecimal(b"\x01\x00\x0a") == "01 00 0a"


def test_literals_in_a_line_are_written_so_and_nothing_else_is() -> None:
    assert readable("with the body b'kept' came") == 'with the body "kept" (4 octets) came'
    assert readable(r"response=b'\x00me' x") == "response=00 6d 65 (3 octets) x"
    for same in ("['a.b', 'a.x.y.b']", "sub'tle", "['b', 'c']", r"b'\x'", "no octets at all"):
        assert readable(same) == same


@given(st.text())
def test_whatever_a_peer_said_can_be_read(text: str) -> None:
    assert isinstance(readable(text), str)


@given(st.binary())
def test_what_is_written_has_no_control_character(octets: bytes) -> None:
    assert written(octets).isprintable()
    assert readable(f"came {octets!r}") == f"came {written(octets)}"
