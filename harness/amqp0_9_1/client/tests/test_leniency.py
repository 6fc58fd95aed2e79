"""Faults that are read all the same: what is noted of them, and that the exchange goes on."""

from __future__ import annotations

import pytest

from harness.amqp0_9_1.client import leniency
from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.client.outcomes import Received, Silence, Unreadable
from harness.amqp0_9_1.client.tests.test_client import Kept, link, octets
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    METHOD,
    PROTOCOL_HEADER,
    Frame,
    RawFrame,
    content_frames,
)
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Basic, Channel, Connection, Queue
from harness.play.leniency import Leniency
from harness.wire.journal import Breached
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


def ask(client: Link, *methods: Method, on: int = 1) -> None:
    for each in methods:
        client.send(on, each)


def broken(kept: Kept) -> list[str]:
    return [each.rule for each in kept.events if isinstance(each, Breached)]


@pytest.mark.parametrize(
    "rule", sorted({each.rule for each in ALL} | {each.rule for each in leniency.STEPS.each.values()})
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
    ask(client, Channel.Open(), Basic.Get("queue"))
    seen = client.next(1, 1.0)
    assert isinstance(seen, Received)
    assert (seen.properties, seen.body) == (Basic.Properties(priority=3), b"octets")
    assert broken(kept) == [leniency.ANOTHER_CLASS.rule]


# -- on another channel --------------------------------------------------------------------------------

OPEN, DECLARE, CONSUME = Channel.Open(), Queue.Declare("queue"), Basic.Consume("queue", "tag")
OPEN_OK, DECLARE_OK, CONSUME_OK = Channel.OpenOk(), Queue.DeclareOk("queue"), Basic.ConsumeOk("tag")
MISSING = Channel.Close(NOT_FOUND, "missing", *divmod(Queue.Declare.key, 1 << 16))
DELIVER = tuple(
    each.payload for each in content_frames(0, Basic.Deliver("tag", 1), Basic.Properties(), b"", 0)
)


def delivery(on: int) -> bytes:
    return Frame(METHOD, on, DELIVER[0]).encode() + Frame(HEADER, on, DELIVER[1]).encode()


@pytest.mark.parametrize("on", [0, 2, 9])
@pytest.mark.parametrize(
    ("asked", "came"),
    [((OPEN,), OPEN_OK), ((OPEN, DECLARE), DECLARE_OK), ((OPEN, DECLARE), MISSING)],
    ids=["open-ok", "declare-ok", "close"],
)
def test_what_comes_where_nobody_asked_is_taken_by_the_channel_it_is_due_on(
    asked: tuple[Method, ...], came: Method, on: int
) -> None:
    answered = [OPEN_OK] if came is not OPEN_OK else []
    client, kept = greeted(*(octets(1, each) for each in answered), octets(on, came))
    ask(client, *asked)
    for each in [*answered, came]:
        assert client.next(1, 1.0) == Received(1, each)
    assert broken(kept) == [leniency.ANOTHER_CHANNEL.rule]
    assert client.context.astray == leniency.ANOTHER_CHANNEL.rule


def test_a_delivery_is_taken_by_the_channel_of_its_consumer() -> None:
    client, kept = greeted(octets(1, OPEN_OK), octets(2, OPEN_OK), octets(1, CONSUME_OK), delivery(2))
    ask(client, OPEN, CONSUME)
    ask(client, OPEN, on=2)
    seen = [client.next(1, 1.0) for _ in range(3)]
    assert [getattr(each, "came_on", None) for each in seen] == [None, None, 2]
    assert broken(kept) == [leniency.ANOTHER_CONSUMER.rule]


def test_a_content_whose_frames_come_elsewhere_is_whole() -> None:
    begun, header = Frame(METHOD, 1, DELIVER[0]).encode(), Frame(HEADER, 3, DELIVER[1]).encode()
    client, kept = greeted(begun + header)
    ask(client, OPEN, CONSUME)
    assert client.next(1, 1.0) == Received(1, Basic.Deliver("tag", 1), Basic.Properties(), b"")
    assert broken(kept) == [leniency.CONTENT_ELSEWHERE.rule]


def test_an_answer_in_doubt_is_taken_by_the_channel_that_misses_it_and_then_at_once() -> None:
    client, kept = greeted(octets(1, OPEN_OK), octets(1, OPEN_OK))
    for number in (1, 2):
        ask(client, OPEN, on=number)
    assert [client.next(number, 1.0) for number in (1, 2)] == [Received(number, OPEN_OK) for number in (1, 2)]
    for number in (1, 2):
        ask(client, DECLARE, on=number)
    for number in (1, 2):
        client._dispatch(Frame(METHOD, 1, DECLARE_OK.encode()))
        assert client.next(number, 0.0) == Received(number, DECLARE_OK)
    assert set(broken(kept)) == {leniency.ANOTHER_CHANNEL.rule}


def test_an_answer_twice_is_none_of_a_channel_that_gets_its_own() -> None:
    client, kept = greeted(octets(1, OPEN_OK), octets(1, OPEN_OK), octets(2, OPEN_OK))
    for number in (1, 2):
        ask(client, OPEN, on=number)
    assert [client.next(number, 1.0) for number in (1, 2, 1)] == [
        Received(number, OPEN_OK) for number in (1, 2, 1)
    ]
    assert broken(kept) == []


def test_an_exception_that_blames_what_another_channel_said_is_at_home_where_nobody_misses_it() -> None:
    client, kept = greeted(*(octets(number, each) for number, each in [(1, OPEN_OK), (1, DECLARE_OK)]))
    ask(client, OPEN, DECLARE)
    ask(client, OPEN, Basic.Ack(1), on=2)
    assert [client.next(1, 1.0) for _ in range(2)] == [Received(1, OPEN_OK), Received(1, DECLARE_OK)]
    client._dispatch(Frame(METHOD, 2, MISSING.encode()))
    assert client.next(2, 1.0) == Received(2, MISSING)
    assert broken(kept) == []


def test_where_what_was_sent_cannot_be_read_nothing_is_concluded() -> None:
    client, kept = greeted(octets(1, OPEN_OK))
    begun = Frame(METHOD, 1, OPEN.encode()).encode()
    client.send_octets(begun[:5])
    client.send_octets(begun[5:])
    assert client.next(1, 1.0) == Received(1, OPEN_OK)
    assert broken(kept) == []


def test_what_comes_on_a_channel_before_it_is_used_is_passed_over() -> None:
    client, kept = greeted(octets(1, OPEN_OK))
    assert isinstance(client.next(0, 1.0), Silence)
    ask(client, OPEN)
    assert isinstance(client.next(1, 1.0), Silence)
    assert broken(kept) == [leniency.NO_CHANNEL.rule]


def test_of_two_that_may_be_meant_neither_is_taken() -> None:
    client, kept = greeted(octets(9, DECLARE_OK))
    for number in (1, 2):
        ask(client, OPEN, DECLARE, on=number)
    assert isinstance(client.next(1, 1.0), Silence)
    assert broken(kept) == [leniency.NO_CHANNEL.rule]
    assert client.context.unplaced
