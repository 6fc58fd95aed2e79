"""Faults that are read all the same: what is noted of them, and that the exchange goes on."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1 import leniency
from harness.amqp0_9_1.client import Link
from harness.amqp0_9_1.frames import BODY, HEADER, PROTOCOL_HEADER, Frame, RawFrame, content_frames
from harness.amqp0_9_1.outcomes import Received, Silence, Unreadable
from harness.amqp0_9_1.vocabulary import Basic, Connection, Queue
from harness.journal import Breached
from harness.leniency import Leniency
from harness.tests.test_client import Kept, link, octets
from scenarios.registry import checks
from spec.catalogue import catalogue
from spec.rules import Party

ALL = [each for each in vars(leniency).values() if isinstance(each, Leniency)]
START = Connection.Start(0, 9, {}, b"PLAIN", b"en_US")


def greeted(*lines: bytes, header: bytes = PROTOCOL_HEADER) -> tuple[Link, Kept]:
    """A client that has sent a protocol header to one who says these lines."""
    client, kept, _ = link(*lines)
    client.send_octets(header)
    return client, kept


def broken(kept: Kept) -> list[str]:
    return [each.rule for each in kept.events if isinstance(each, Breached)]


@pytest.mark.parametrize(
    "rule", sorted({each.rule for each in ALL} | {each.rule for each in leniency.STEPS.values()})
)
def test_what_is_borne_counts_against_a_rule_that_is_checked(rule: str) -> None:
    assert catalogue()[rule].judged in (Party.SERVER, Party.PEER)
    assert checks().of(rule)


def test_a_step_on_another_channel_is_taken_as_on_channel_zero_and_once() -> None:
    client, kept = greeted(octets(3, START), octets(0, START))
    assert client.next(0, 1.0) == Received(0, START)
    assert isinstance(client.next(0, 1.0), Silence)
    assert broken(kept) == [leniency.ON_A_CHANNEL.rule, leniency.TWICE.rule]


def test_a_frame_of_an_undefined_type_is_passed_over() -> None:
    client, kept = greeted(RawFrame(7, 0, b"hello").encode() + octets(0, START))
    assert client.next(0, 1.0) == Received(0, START)
    assert broken(kept) == [leniency.UNDEFINED_TYPE.rule]


def test_behind_a_wrong_end_nothing_is_read() -> None:
    client, kept = greeted(octets(0, START)[:-1] + b"\x00" + octets(0, START))
    assert client.next(0, 1.0) == Unreadable("octets that are no frame")
    assert broken(kept) == [leniency.WRONG_END.rule]


def test_who_was_asked_for_another_protocol_breaks_no_rule_of_ours() -> None:
    other = octets(0, START.replace(version_major=8, version_minor=0))
    client, kept = greeted(other, header=b"AMQP\x01\x01\x08\x00")
    assert isinstance(client.next(0, 1.0), Received)
    assert broken(kept) == []


@pytest.mark.parametrize("answered", [1, 2])
def test_a_second_open_may_be_answered_a_third_answer_is_one_too_many(answered: int) -> None:
    client, kept = greeted(*[octets(0, Connection.OpenOk())] * (answered + 1))
    for _ in range(answered):
        client.send(0, Connection.Open("/"))
    seen = [client.next(0, 1.0) for _ in range(answered + 1)]
    assert [isinstance(each, Received) for each in seen] == [True] * answered + [False]
    assert broken(kept) == [leniency.TWICE.rule]


def test_a_content_whose_header_names_another_class_comes_whole() -> None:
    method, header, body = content_frames(1, Basic.GetOk(1), Basic.Properties(priority=3), b"octets", 0)
    wrong = Frame(HEADER, 1, Queue.Declare.spec.class_index.to_bytes(2) + header.payload[2:])
    assert body.type == BODY
    client, kept = greeted(method.encode() + wrong.encode() + body.encode())
    seen = client.next(1, 1.0)
    assert isinstance(seen, Received)
    assert (seen.properties, seen.body) == (Basic.Properties(priority=3), b"octets")
    assert broken(kept) == [leniency.ANOTHER_CLASS.rule]
