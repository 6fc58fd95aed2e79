"""Deviations of 1.0 peers: every word changes what is seen, and touches what it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.amqp0_9_1.client.tests.test_client import Kept
from harness.amqp1_0.broken.deviations import (
    Interposer,
    answers,
    changes,
    drops,
    ends_by,
    ends_stream,
    ends_with,
    follows,
    forwards,
    ignores,
    ignores_frames,
    ignores_garbage,
    is_empty,
    misframes,
    moves_frames,
    of_type,
    offers_header,
    precedes,
    reframes,
    rejects,
    rejects_frames,
    replaces,
    respells,
    rewrites,
    takes_any_header,
    takes_frames,
    withholds,
    withholds_frames,
)
from harness.amqp1_0.broken.footprint import units
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.outcomes import (
    Refusal,
    closed,
    header,
    refused,
    stream_ended,
)
from harness.amqp1_0.client.tests.test_container import DIALECT, MISMATCHED, container
from harness.amqp1_0.peer import TABLES, Peer
from harness.amqp1_0.wire.frames import (
    PROTOCOL_HEADER,
    RawFrame,
    empty_frame,
)
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Begin,
    Close,
    ConnectionError_,
    Error,
    Open,
)
from harness.amqp1_0.wire.types import Raw, Symbol
from harness.dialect import dialect
from harness.peers.footprint import used
from harness.play.context import Context
from harness.play.expect import Stop
from harness.targets.embedded import EmbeddedTarget, ServedTarget
from harness.targets.target import Target
from harness.tests.proxied import ProxiedTarget
from harness.wire.journal import Expected


def plays_header(connection: AmqpConnection) -> Any:
    connection.send(PROTOCOL_HEADER)
    return connection.expect(header())


def plays_mismatch(connection: AmqpConnection) -> Any:
    connection.send(MISMATCHED, connection.the_open())
    return connection.until_end()


def plays_open(connection: AmqpConnection) -> Any:
    connection.exchange_headers()
    connection.open()
    connection.fence()
    connection.send(Close())
    return connection.until_end()


def plays_garbage(connection: AmqpConnection) -> Any:
    connection.exchange_headers()
    connection.open()
    connection.send(RawFrame(size=4))
    return connection.gives_up(*refused(Refusal.OPENED))


def plays_empty(connection: AmqpConnection) -> Any:
    connection.exchange_headers()
    connection.open(idle_time_out=100)
    connection.send(empty_frame(1))
    return (connection.goes_on(), [each.unit for each in connection.listen(1.0)])


def plays_type(connection: AmqpConnection) -> Any:
    connection.exchange_headers()
    connection.open()
    connection.send(RawFrame(Close().encode(), type=2))
    return connection.gives_up(closed())


WORDS: list[tuple[object, Callable[[AmqpConnection], Any]]] = [
    (rewrites(Open, container_id=None), plays_open),
    (respells(Open, lambda sent: sent.sent_as(descriptor=Symbol("amqp:open:list"))), plays_open),
    (respells(Open, lambda sent: Raw(b"\x40")), plays_open),
    (replaces(Open, Begin(None, 0, 1, 1)), plays_open),
    (withholds(Close), plays_open),
    (precedes(Open, empty_frame()), plays_open),
    (follows(Close, empty_frame()), plays_open),
    (reframes(Close, channel=1), plays_open),
    (reframes(Open, extended=bytes(4)), plays_open),
    (misframes(Open, size=7), plays_open),
    (moves_frames(is_empty, channel=1), plays_empty),
    (withholds_frames(is_empty), plays_empty),
    (ends_stream(Close), plays_open),
    (ends_stream(Close, how="rst"), plays_open),
    (ends_with(b"more"), plays_open),
    (ends_by("rst"), plays_open),
    (ends_by("never"), plays_open),
    (ignores(Close), plays_open),
    (answers(Close, Close(Error("x:y"))), plays_open),
    (rejects(Begin, AmqpError.NOT_ALLOWED), plays_open),
    (forwards(Open, container_id=None), plays_open),
    (takes_frames(of_type(2), type=0), plays_type),
    (ignores_frames(lambda frame: frame.channel == 0 and bool(frame.body)), plays_open),
    (ignores_garbage(), plays_garbage),
    (rejects_frames(is_empty, ConnectionError_.FRAMING_ERROR), plays_empty),
    (offers_header(b"AMQP\0\0\x09\x01", when=lambda sent: sent.protocol_id == 0), plays_header),
    (takes_any_header(), plays_mismatch),
]


def outcome(play: Callable[[AmqpConnection], Any], target: Target) -> tuple[str, list[str]]:
    kept = Kept()
    context = Context(kept, "test")
    result = ""
    try:
        with DIALECT.speaker.session(target, context) as fixture:
            connection = fixture.secured()
            try:
                result = repr(play(connection))
            except Stop as stop:
                result = str(stop)
            finally:
                connection.drop()
    except Stop as stop:
        result += f" and {stop}"
    told = [repr(event) for event in kept.events]
    return result, told


@pytest.mark.parametrize(("change", "play"), WORDS)
def test_every_word_changes_what_is_seen_and_touches_the_footprint(
    change: object, play: Callable[[AmqpConnection], Any]
) -> None:
    assert outcome(play, EmbeddedTarget(change)) != outcome(play, EmbeddedTarget())
    clean, kept = EmbeddedTarget(), Kept()
    with DIALECT.speaker.session(clean, Context(kept, "test")) as fixture:
        play(fixture.secured())
    peer = clean.peer("1-0")
    assert isinstance(peer, Peer)
    assert DIALECT.proof.touches(change, DIALECT.proof.footprint(peer, kept.events))


def test_an_interposer_without_rules_changes_nothing() -> None:
    for _, play in WORDS:
        assert outcome(play, EmbeddedTarget(Interposer())) == outcome(play, EmbeddedTarget())


def test_interposers_work_before_a_server_behind_tcp() -> None:
    with ServedTarget() as served:
        for change, expected in ((Interposer(), "close without error"), (withholds(Close), "stream ended")):
            with ProxiedTarget(served, change) as proxied, container(target=proxied) as (fixture, events):
                connection = fixture.connection()
                connection.send(Close())
                connection.expect(Close, stream_ended())
                (decided,) = [event for event in events if isinstance(event, Expected)]
                assert decided.actual.startswith(expected)


def test_a_fault_is_in_the_tables_and_touches_where_its_row_was_taken() -> None:
    row = next(each.name for each in TABLES if each.event is Open)
    for fault in (drops(row), changes(row, answer=None)):
        assert DIALECT.proof.touches(fault, used({row}, [], units))
        assert not DIALECT.proof.touches(fault, used({"another row"}, [], units))
    mutants = list(DIALECT.proof.mutants())
    assert len({each.name for each in mutants}) == len(mutants) > 2 * len(TABLES.rows)


def test_a_change_of_another_protocol_leaves_the_peer_alone() -> None:
    for name, fake in dialect("0-9-1").proof.fakes.items():
        assert isinstance(DIALECT.proof.peer(fake), Peer), name
    for change in (drops("no such row"), *DIALECT.proof.fakes.values()):
        assert type(dialect("0-9-1").proof.peer(change)).__module__ == "harness.amqp0_9_1.peer"
