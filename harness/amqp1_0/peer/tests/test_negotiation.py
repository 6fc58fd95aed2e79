"""Protocol headers and the SASL layer of the 1.0 reference peer (2.2)."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.peer.tests.dialogue import EMPTY, HEADER, SASL, Client, peer
from harness.amqp1_0.wire.frames import SASL as SASL_TYPE
from harness.amqp1_0.wire.frames import Frame
from harness.amqp1_0.wire.performatives import (
    Close,
    Open,
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from harness.wire.units import Header

OPEN = Open("me")


@pytest.mark.parametrize(
    "octets",
    [b"AMQP\x00\x01\x01\x00", b"AMQP\x00\x02\x00\x00", b"AMQP\x01\x01\x00\x00", b"AMQP\x02\x01\x00\x00"],
)
def test_another_header_is_answered_with_ours_and_the_end(octets: bytes) -> None:
    client = Client(opened=False)
    client.send(octets, OPEN)
    assert client.listen() == [HEADER]
    assert client.peer.closed == "fin"
    client.send(bytes(64))
    assert client.peer.closed == "fin"


@pytest.mark.parametrize("octets", [b"GET / HTTP/1.1\r\n", b"AMQ\x00", b"\x00\x00\x00\x08", OPEN.encode()])
def test_what_is_no_header_is_answered_with_ours_at_once(octets: bytes) -> None:
    client = Client(opened=False)
    client.send(octets)
    assert client.listen() == [HEADER]
    assert client.peer.closed == "fin"


def test_the_offered_id_is_one_that_is_accepted() -> None:
    foreign = b"AMQP\xff\x01\x00\x00"
    given: list[tuple[dict[str, Any], Any]] = [
        ({"offered_id": "sasl"}, SASL),
        ({"layers": "sasl"}, SASL),
        ({"layers": "bare"}, HEADER),
        ({"layers": "bare", "offered_id": "sasl"}, HEADER),
    ]
    for choices, ours in given:
        client = Client(peer(**choices), opened=False)
        client.send(foreign)
        assert client.listen() == [ours]
        again = Client(peer(**choices), opened=False)
        again.send(ours)
        assert again.listen()[0] == ours
        assert again.peer.closed is None


def test_a_required_layer_is_asked_for() -> None:
    client = Client(peer(layers="sasl"), opened=False)
    client.send(HEADER, OPEN)
    assert client.listen() == [SASL]
    assert client.peer.closed == "fin"
    client = Client(peer(layers="sasl"), opened=False)
    assert client.log_in() == 0
    client.send(HEADER, OPEN)
    assert [type(each) for each in client.listen()] == [Header, Open]
    client = Client(peer(layers="bare"), opened=False)
    client.send(SASL)
    assert client.listen() == [HEADER]


@pytest.mark.parametrize(
    ("init", "code"),
    [
        (SaslInit("PLAIN", b"\0guest\0guest"), 0),
        (SaslInit("PLAIN", b"\0guest\0wrong"), 1),
        (SaslInit("PLAIN", b"guest"), 1),
        (SaslInit("ANONYMOUS"), 0),
        (SaslInit("EXTERNAL", b""), 0),
        (SaslInit("EXTERNAL", b"guest"), 0),
        (SaslInit("EXTERNAL", b"somebody"), 1),
        (SaslInit("SCRAM", b"x"), 1),
    ],
)
def test_mechanisms(init: SaslInit, code: int) -> None:
    client = Client(opened=False)
    assert client.log_in(init) == code
    assert client.peer.closed == ("fin" if code else None)


def test_plain_without_a_response_is_asked_for_it() -> None:
    for response, code in ((b"\0guest\0guest", 0), (b"\0guest\0", 1)):
        client = Client(opened=False)
        client.send(SASL, SaslInit("PLAIN"))
        assert isinstance(client.listen()[-1], SaslChallenge)
        outcome = client.ask(SaslResponse(response))
        assert outcome == SaslOutcome(code)
        assert client.peer.user == ("" if code else "guest")
        client.send(HEADER, OPEN)
        assert [type(each) for each in client.listen()] == ([] if code else [Header, Open])


def test_the_layer_can_be_pipelined_octet_by_octet_and_named_once() -> None:
    parts = (SASL, SaslInit("ANONYMOUS"), HEADER, OPEN, Close())
    kinds = [Header, SaslMechanisms, SaslOutcome, Header, Open, Close]
    client = Client(opened=False)
    client.send(*parts)
    assert [type(each) for each in client.listen()] == kinds
    octets = b"".join(
        each.octets if isinstance(each, Header) else Frame(frame.type, 0, frame.body).encode()
        for each, frame in ((each, _framed(each)) for each in parts)
    )
    for size in (1, 3, len(octets)):
        client = Client(opened=False)
        for start in range(0, len(octets), size):
            client.send(octets[start : start + size])
        assert [type(each) for each in client.listen()] == kinds
    client = Client(opened=False)
    client.log_in()
    client.send(SASL)
    assert client.listen() == [HEADER]
    assert client.peer.closed == "fin"


def _framed(part: Any) -> Frame:
    sasl = isinstance(part, SaslInit)
    return Frame(SASL_TYPE if sasl else 0, 0, b"" if isinstance(part, Header) else part.encode())


@pytest.mark.parametrize("said", [OPEN, EMPTY, HEADER, SaslInit(), SaslOutcome(0), b"\0\0\0\0", bytes(600)])
def test_anything_else_in_the_layer_ends_it(said: Any) -> None:
    client = Client(opened=False)
    client.send(SASL)
    client.listen()
    client.send(said)
    assert client.listen() == []
    assert client.peer.closed == "fin"


def test_a_layer_may_be_opened_at_once() -> None:
    client = Client(peer(header="at once", open="first"), opened=False)
    assert client.hear() == SASL
    client.send(SASL)
    assert isinstance(client.hear(), SaslMechanisms)
    client.send(SaslInit("ANONYMOUS"))
    assert [type(each) for each in client.listen()] == [SaslOutcome, Header, Open]
    client = Client(peer(header="at once"), opened=False)
    client.send(HEADER, OPEN)
    assert client.listen() == [SASL]
    assert client.peer.closed == "fin"
