"""Fuzz targets can fail, and what fuzzing has found, in plain words."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from random import Random

import pytest

from harness.amqp0_9_1.broken.deviations import Interposed, Interposer, forwards
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.peer import TABLES, Limits, Peer
from harness.amqp0_9_1.peer.tests.dialogue import Client
from harness.amqp0_9_1.trials import odd
from harness.amqp0_9_1.trials.fuzz import TARGETS
from harness.amqp0_9_1.trials.hostile import HostileTransport
from harness.amqp0_9_1.wire.field_tables import As
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Queue
from harness.peers.fakes import Recorder
from harness.play.context import Context
from harness.play.expect import Stop
from harness.targets.description import parse
from harness.targets.target import Endpoint, TargetError, endpoint_of
from harness.trials import fuzz
from harness.trials.fuzz_client import Kept

ALL = {**TARGETS, **fuzz.TARGETS}

# -- the targets can fail ------------------------------------------------------------------------------


def test_a_peer_that_raises_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise KeyError("a defect")

    monkeypatch.setattr(Peer, "meet", broken)
    with pytest.raises(KeyError):
        TARGETS["peer"](b"")


def test_an_interposer_that_loses_octets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interposed, "receive", lambda *_: None)
    heartbeat = bytes((1, 1, 208, 0))  # no rules, one unit, whole
    with pytest.raises(AssertionError):
        TARGETS["interposed"](heartbeat)


def test_the_peer_is_taken_far(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[str] = set()
    monkeypatch.setattr("harness.amqp0_9_1.trials.fuzz.Peer", partial(Peer, taken=taken))
    chosen = Random(1)
    for _ in range(60):
        TARGETS["peer"](chosen.randbytes(1500))
    assert len(taken) > len(TABLES.rows) / 2


def test_octets_make_the_decisions() -> None:
    draws = fuzz.Draws(b"\x01\x02\x03ab\x02cd")
    assert (draws.number(), draws.one_of("xyz"), draws.piece(), draws.flag()) == (1, "z", b"ab\x02", True)
    assert (draws.rest(), bool(draws), draws.number(), draws.piece()) == (b"d", False, 0, b"")
    assert list(fuzz.Draws(b"\x02\x00").cut(b"octets")) == [b"oc", b"tets"]


def test_every_kind_of_unit_is_made() -> None:
    seeds = (bytes((choice, other, *range(200))) for choice in range(0, 256, 8) for other in range(64))
    made = [odd.unit(fuzz.Draws(seed)) for seed in seeds]
    assert {each[0] for each in made if each} >= {1, 8}
    assert any(method_frame(1, Basic.Get()).encode()[7:11] in each for each in made)
    assert any(b"\xce\x02\0" in each for each in made)  # a header frame behind a method


def test_without_atheris_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "atheris", None)
    assert fuzz.main("harness.trials.fuzz", ["endpoint"]) == 2
    assert "[fuzz]" in capsys.readouterr().err


# -- what fuzzing has found ----------------------------------------------------------------------------


def test_the_largest_unsigned_number_is_passed_on() -> None:
    inner = Recorder()
    consume = Basic.Consume("q", arguments={"n": As("l", (1 << 64) - 1)})
    Interposed(forwards(Basic.Consume, no_ack=True), inner).receive(method_frame(1, consume).encode())
    assert b"l" + b"\xff" * 8 in inner.got


def test_what_follows_garbage_is_passed_on_once() -> None:
    inner = Recorder()
    between = Interposed(Interposer(), inner)
    for piece in (b"GET", b" /", b" HTTP"):
        between.receive(piece)
    assert inner.got == b"GET / HTTP"
    heard = b""
    for piece in (b"HTT", b"P/1.1", b" 400"):
        inner.said = piece
        heard += between.take()
    assert heard == b"HTTP/1.1 400"


def test_a_frame_of_an_undefined_type_that_is_cut_short_is_in_the_transcript() -> None:
    cut_short = b"\x00\x00\x00\x00\x00\x00\x00\x00\x00O\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02"
    TARGETS["link"](cut_short + bytes(11) + b"\xd8")


def test_a_client_that_asks_and_never_reads_is_given_up() -> None:
    client = Client(Peer(limits=Limits(unread=1 << 16)))
    for _ in range(100):
        client.publish("nowhere", bytes(1 << 12), mandatory=True)
    assert client.peer.closed
    assert len(client.peer.take()) < 1 << 17


def test_a_broker_is_left_without_a_socket_even_if_cleaning_up_stops() -> None:
    transports: list[HostileTransport] = []

    class Script(HostileTransport):
        def send(self, octets: bytes) -> bool:
            # Agreeable to the first connection, deaf to the one that cleans up.
            return super().send(octets) if self is transports[0] else True

    def connect() -> Script:
        script = Script(fuzz.Draws(b""))
        transports.append(script)
        return script

    broker = Broker(connect, Endpoint("hostile", 0), Context(Kept(), "fuzz"), "0-9-1")
    broker.channel().declare_queue()
    with pytest.raises(Stop):
        broker.leave()
    assert [each.closed for each in transports] == [True, True]


WHOLE = fuzz.DESCRIPTION.decode()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a = " + "{a = " * 5000, "nested too deeply"),
        ("a = " + "9" * 5000, "digits"),
        (WHOLE.replace("within = 60", "within = inf"), "within must be more than 0"),
        (WHOLE.replace("within = 60", "within = nan"), "within must be more than 0"),
        (WHOLE.replace("patience = 5.5", "patience = " + "9" * 400), "patience must be more than 0"),
    ],
    ids=lambda value: value[-30:],
)
def test_a_description_is_refused_in_words(text: str, says: str) -> None:
    with pytest.raises(TargetError, match=says):
        parse(text, "a.toml")


def test_the_seeds_are_valid() -> None:
    assert parse(WHOLE, "a.toml").patience == 5.5
    assert endpoint_of(fuzz.URL.decode()).virtual_host == "a/b"
    client = Client(Peer(), opened=False)
    client.send(PROTOCOL_HEADER, *odd.OPENING, Channel.Open(), Queue.Declare("q"))
    assert len(client.listen()) == 5


BROKE: Mapping[str, tuple[bytes, ...]] = {
    "table": (b"\x01l" + b"\xff" * 8,),
    "description": (b"\0a = " + b"[" * 5000, b"\0a = " + b"9" * 5000),
}
"""Octets that once broke a target; what they stand for is said above."""


@pytest.mark.parametrize(("name", "data"), [(name, data) for name, all_ in BROKE.items() for data in all_])
def test_what_broke_once_does_not_break_again(name: str, data: bytes) -> None:
    ALL[name](data)
