"""Idle timeouts in both directions, on virtual time (2.4.5)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from harness.amqp1_0.broken.deviations import swaps
from harness.amqp1_0.peer import TABLES, Peer
from harness.amqp1_0.peer.tests.dialogue import EMPTY, HEADER, SASL, Client, peer
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import Frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, Flow, Open

BAD = Frame(0, 0, encode(None))


def test_silence_longer_than_the_threshold_closes_with_a_reason() -> None:
    client = Client()
    assert client.wait(9.9) == []
    (close,) = client.wait(0.2)
    assert close.error.condition == AmqpError.RESOURCE_LIMIT_EXCEEDED
    assert client.wait(2.8) == []
    assert client.peer.closed is None
    client.wait(0.3)
    assert client.peer.closed == "fin"


@pytest.mark.parametrize("said", [EMPTY, Flow(0, 1, 0, 1), BAD])
def test_the_time_begins_anew_with_every_frame(said: Any) -> None:
    client = Client()
    client.begin()
    if said is BAD:
        client = Client(peer(foreign_type="ignore"))
        said = Frame(7, 0, b"?")
    for _ in range(5):
        assert client.wait(9.0) == []
        client.send(said)
    assert client.wait(9.9) == []
    assert len(client.wait(0.2)) == 1


def test_octets_that_are_no_whole_frame_do_not_count() -> None:
    client = Client()
    for octet in EMPTY.encode()[:7]:
        client.send(bytes((octet,)))
        client.wait(1.0)
    assert isinstance(client.wait(3.1)[0], Close)


def test_no_threshold_no_end() -> None:
    client = Client(peer(idle_time_out=0))
    assert client.peer.next_timer() is not None  # the time is asked for once
    assert client.wait(1e6) == []
    assert client.peer.next_timer() is None
    assert client.ask(Close()) == Close()


def test_silence_before_the_open() -> None:
    for said, heard in (((), 0), ((SASL,), 2), ((HEADER,), 1)):
        client = Client(opened=False)
        client.send(*said)
        assert len(client.listen()) == heard
        answer = client.wait(10.1)
        assert bool(answer) is (said == (HEADER,))
        client.wait(3.0)
        assert client.peer.closed == "fin"


def gaps(client: Client, seconds: float) -> list[float]:
    """The times between empty frames."""
    times, client_time = [], client.now
    while client.now < client_time + seconds:
        times += [client.now for each in client.wait(0.05) if each == EMPTY]
        client.send(EMPTY)
    return [round(later - earlier, 2) for earlier, later in pairwise(times)]


@pytest.mark.parametrize(("choices", "gap"), [({}, 0.5), ({"keep_alive_at": 0.2}, 0.2)])
def test_empty_frames_are_sent_in_time(choices: dict[str, Any], gap: float) -> None:
    found = gaps(Client(peer(**choices), idle_time_out=1000), 5.0)
    assert len(found) > 5
    assert max(found) <= gap + 0.05


def test_what_is_said_anyway_is_traffic_too() -> None:
    client = Client(idle_time_out=1000)
    client.wait(0.0)
    for channel in range(10):
        assert client.wait(0.4) == []
        client.send(Begin(None, 0, 1, 1), channel=channel)
        assert isinstance(client.hear(), Begin)


def test_none_is_sent_unasked_nor_behind_a_close() -> None:
    for stated in (None, 0):
        client = Client(idle_time_out=stated)
        assert client.wait(9.0) == []
    client = Client(idle_time_out=1000)
    client.condition(BAD)
    assert client.wait(2.9) == []


def test_a_flow_may_do() -> None:
    client = Client(peer(keep_alive="flow"), idle_time_out=1000)
    assert client.wait(0.6) == [EMPTY]
    client.begin()
    (flow,) = client.wait(0.6)
    assert isinstance(flow, Flow)
    assert flow.handle is None
    assert client.ask(Close()) == Close()


def test_a_time_too_short_is_refused_with_a_reason() -> None:
    client = Client(opened=False)
    client.send(HEADER)
    assert client.condition(Open("me", idle_time_out=9)) == AmqpError.NOT_IMPLEMENTED
    client.send(Close())
    assert client.listen() == []
    assert Client(idle_time_out=10).wait(0.005) == [EMPTY]
    assert len(Client(peer(shortest_idle=0), idle_time_out=1).wait(0.1)) > 100


def test_the_threshold_is_the_policys() -> None:
    client = Client(peer(idle_threshold=3))
    assert client.wait(14.9) == []
    assert isinstance(client.wait(0.2)[0], Close)


def test_who_got_no_time_for_too_long_says_so() -> None:
    client = Client(idle_time_out=1000)
    client.wait(0.0)
    client.peer.tick(5.0)
    assert client.hear().error.condition == AmqpError.RESOURCE_LIMIT_EXCEEDED
    client = Client(peer(late="ignore"), idle_time_out=1000)
    client.wait(0.0)
    client.peer.tick(5.0)
    assert client.hear() == EMPTY


def test_who_got_no_time_right_behind_a_frame_of_its_own_is_late_too() -> None:
    client = Client(idle_time_out=1000)
    client.wait(0.0)
    client.peer.tick(0.5)
    client.peer.tick(5.0)
    empty, close = client.listen()
    assert empty == EMPTY
    assert close.error.condition == AmqpError.RESOURCE_LIMIT_EXCEEDED


def test_keep_alive_is_told_where_it_is_off() -> None:
    assert peer().use("keep-alive") == {}
    assert Peer(rows=swaps(keep_alive=lambda: False).change(TABLES)).use("keep-alive") == {"kept-alive": ""}
