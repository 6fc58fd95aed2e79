"""The words of scripts are those of scenarios, and what is legal by them is legal."""

from __future__ import annotations

import re
from typing import Any

import pytest

from conformance.bug.player import CLOSED
from conformance.bug.reading import READERS
from conformance.bug.words import pattern
from harness.amqp0_9_1.client import outcomes as of_0_9_1
from harness.amqp0_9_1.wire.frames import method_frame
from harness.amqp0_9_1.wire.vocabulary import Channel, Connection, Exchange, Queue
from harness.amqp1_0.client import outcomes as of_1_0
from harness.amqp1_0.wire.frames import amqp_frame
from harness.amqp1_0.wire.performatives import AmqpError, Attach, Begin, Close, Detach, End, Error, Role
from harness.dialect import dialect
from harness.play.sights import Closed, Silence
from harness.wire.transport import End as StreamEnd

CAME_0_9_1 = [
    Queue.DeclareOk("q"),
    Queue.BindOk(),
    Exchange.DeclareOk(),
    Channel.Close(404, "no"),
    Channel.Close(4711, "no"),
    Connection.Close(503, "no"),
    Connection.Close(530, "no"),
]
LEGAL_0_9_1 = [
    of_0_9_1.answered(Queue.DeclareOk),
    of_0_9_1.answered(Queue.BindOk, Exchange.DeclareOk),
    of_0_9_1.channel_closed(404),
    of_0_9_1.channel_closed(),
    of_0_9_1.connection_closed(503, 530),
    of_0_9_1.EXCEPTION,
    of_0_9_1.channel_closed(403) | of_0_9_1.connection_closed(530),
    of_0_9_1.closed_silently() | of_0_9_1.silence(),
]
WRONG = Error(AmqpError.NOT_FOUND, "no")
CAME_1_0 = [
    Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1),
    Attach("a", 0, Role.SENDER),
    Close(),
    Close(WRONG),
    End(WRONG),
    End(),
    Detach(0, error=WRONG),
    Detach(0),
]
LEGAL_1_0 = [
    of_1_0.answered(Begin),
    of_1_0.answered(Attach, Detach, End),
    of_1_0.closed(),
    of_1_0.closed(AmqpError.NOT_FOUND, AmqpError.NOT_ALLOWED),
    of_1_0.closed(AmqpError.NOT_ALLOWED),
    of_1_0.ended_or_closed(),
    of_1_0.ended_or_closed(AmqpError.NOT_FOUND),
    of_1_0.ended_well(),
    of_1_0.closed_without_error(),
    of_1_0.detached() | of_1_0.stream_ended(),
    of_1_0.ended_or_closed() | of_1_0.detached(),
]


def word(document: str, octets: bytes) -> str:
    spoken = dialect(document)
    (seen,) = READERS[document](spoken.names, spoken.codes).feed(octets)
    return str(seen.word)


def agrees(document: str, outcome: Any, seen: Any, told: str) -> None:
    legal = pattern([outcome.says], set(dialect(document).names.values()))
    assert legal is not None, outcome.says

    assert (re.fullmatch(legal, told) is not None) == outcome.matches(seen), (outcome.says, told)


def as_0_9_1(method: Any) -> bytes:
    return method_frame(1, method).encode()


def as_1_0(performative: Any) -> bytes:
    return amqp_frame(1, performative).encode()


SPOKEN: dict[str, tuple[Any, Any, list[Any]]] = {
    "0-9-1": (of_0_9_1, as_0_9_1, CAME_0_9_1),
    "1-0": (of_1_0, as_1_0, CAME_1_0),
}
LEGAL = [("0-9-1", each) for each in LEGAL_0_9_1] + [("1-0", each) for each in LEGAL_1_0]


@pytest.mark.parametrize(("document", "outcome"), LEGAL, ids=lambda each: getattr(each, "says", each))
def test_what_is_legal_is_so_by_its_word(document: str, outcome: Any) -> None:
    outcomes, encoded, known = SPOKEN[document]
    for came in known:
        seen = outcomes.Received(1, came)
        told = word(document, encoded(came))
        assert told == outcomes.signature(seen)
        agrees(document, outcome, seen, told)
    for how in (StreamEnd.FIN, StreamEnd.RST):
        agrees(document, outcome, Closed(how), CLOSED)
    agrees(document, outcome, Silence(3.0), outcomes.signature(Silence(3.0)))


@pytest.mark.parametrize(
    "says",
    [
        "at most 3 unacknowledged messages",
        "queue.declare-ok message-count=2",
        "nothing",
        "no message larger than that",
        "another protocol header than ours",
    ],
)
def test_what_no_word_tells_has_no_pattern(says: str) -> None:
    assert pattern([says], set(dialect("0-9-1").names.values())) is None
