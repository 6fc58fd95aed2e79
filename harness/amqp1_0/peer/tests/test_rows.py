"""The tables of the 1.0 peer as data, the words that change them, and what their mutants show."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from harness.amqp1_0.broken import faults
from harness.amqp1_0.broken.deviations import Fault, changes, drops, inserts, swaps
from harness.amqp1_0.broken.loose import Row
from harness.amqp1_0.peer import TABLES, Peer
from harness.amqp1_0.peer.events import ConnectionState, EmptyFrame, ForeignType, InvalidOpen, SendingError
from harness.amqp1_0.peer.tests import dialogue as amqp1_0_dialogue
from harness.amqp1_0.peer.tests import test_deliveries as test_amqp1_0_peer_deliveries
from harness.amqp1_0.peer.tests import test_facilities as test_amqp1_0_peer_facilities
from harness.amqp1_0.peer.tests import test_idle as test_amqp1_0_peer_idle
from harness.amqp1_0.peer.tests import test_links as test_amqp1_0_peer_links
from harness.amqp1_0.peer.tests import test_negotiation as test_amqp1_0_peer_negotiation
from harness.amqp1_0.peer.tests import test_peer as test_amqp1_0_peer
from harness.amqp1_0.peer.tests import test_resuming as test_amqp1_0_peer_resuming
from harness.amqp1_0.peer.tests import test_sessions as test_amqp1_0_peer_sessions
from harness.amqp1_0.peer.tests import test_states as test_amqp1_0_peer_states
from harness.amqp1_0.peer.tests import test_states_of_sessions as test_amqp1_0_peer_states_of_sessions
from harness.amqp1_0.peer.tests.dialogue import EMPTY, HEADER, Client
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import Frame, amqp_frame
from harness.amqp1_0.wire.performatives import Begin, Close, Open
from harness.dialect import dialect
from harness.peers.rows import always

MODULES = (
    test_amqp1_0_peer,
    test_amqp1_0_peer_states,
    test_amqp1_0_peer_states_of_sessions,
    test_amqp1_0_peer_idle,
    test_amqp1_0_peer_negotiation,
    test_amqp1_0_peer_sessions,
    test_amqp1_0_peer_links,
    test_amqp1_0_peer_deliveries,
    test_amqp1_0_peer_facilities,
    test_amqp1_0_peer_resuming,
)
BAD = Frame(0, 0, encode(None))


def dialogues() -> Iterator[Any]:
    """Every test of the tables, once for each of its parameters."""
    for module in MODULES:
        yield from _of_module(module)


def _of_module(module: ModuleType) -> Iterator[Any]:
    for name, test in vars(module).items():
        if not name.startswith("test_"):
            continue
        marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        if not marks:
            yield test
            continue
        (mark,) = marks
        names, values = mark.args
        for value in values:
            yield partial(test, *(value if isinstance(names, tuple) else (value,)))


def test_every_row_is_taken_by_a_dialogue() -> None:
    amqp1_0_dialogue.TAKEN.clear()
    for dialogue in dialogues():
        dialogue()
    assert [row.name for row in TABLES if row.name not in amqp1_0_dialogue.TAKEN] == []


def test_mutants_are_many_have_names_of_their_own_and_make_tables() -> None:
    found = list(dialect("1-0").proof.mutants())
    assert len({each.name for each in found}) == len(found) > 300
    assert all(each.change.change(TABLES).rows != TABLES.rows for each in found)


# -- words ---------------------------------------------------------------------------------------------


def faulty(fault: Fault, opened: bool = True) -> Client:
    return Client(Peer(rows=fault.change(TABLES)), opened)


def test_rows_are_dropped_changed_and_inserted() -> None:
    assert faulty(drops("close: is answered")).peer.closed is None
    client = faulty(drops("close: is answered"))
    client.send(Close())
    assert client.listen() == []
    client = faulty(changes("close: is answered", answer=faults.saying(Begin(), Close())))
    client.send(Close())
    assert client.listen() == [Begin(), Close()]
    mute = Row("fault", ConnectionState.OPENED, EmptyFrame, answer=faults.saying(Close()))
    assert faulty(inserts("empty frame: means nothing", mute)).ask(EMPTY) == Close()
    assert faulty(faults.replies("close: is answered")).listen() == []


def test_what_is_done_before_all_else() -> None:
    client = faulty(faults.does(ConnectionState.OPENED, Close, says=(EMPTY,)))
    assert client.ask(Close()) == EMPTY
    assert client.peer.state is ConnectionState.OPENED
    take = faults.does(ConnectionState.HDR_EXCH, InvalidOpen, always, faults.take_open)
    client = faulty(take, opened=False)
    client.send(HEADER, Open())
    assert isinstance(client.listen()[-1], Open)
    client = faulty(faults.does(ConnectionState.OPENED, ForeignType, always, faults.obey_frame))
    assert client.ask(Frame(7, 0, Close().encode())) == Close()
    client = faulty(faults.does(ConnectionState.OPENED, Open, always, faults.open_again))
    assert isinstance(client.ask(Open("again")), Open)


def test_fields_forms_and_places_are_changed() -> None:
    client = faulty(faults.says(Open, container_id=lambda old: old.upper()), opened=False)
    client.send(HEADER, Open("me"))
    assert client.listen()[-1].container_id.isupper()
    client = faulty(faults.says(Close, error=None))
    assert client.ask(BAD) == Close()
    client = faulty(faults.together(faults.places(Close, 3), faults.places(Frame, 5)), opened=False)
    client.send(HEADER, Open("me", idle_time_out=1000))
    client.listen()
    client.peer.tick(0.0)
    client.peer.tick(0.6)
    client.send(Close())
    assert [each.channel for each in client.frames() if isinstance(each, Frame)] == [5, 3]
    client = faulty(faults.spells(Close, lambda _: b"\x40"))
    client.send(Close())
    assert client.frames()[0] == Frame(0, 0, b"\x40")


def test_writing() -> None:
    behind = faults.does(ConnectionState.OPENED, SendingError, always, faults.writing(EMPTY.encode()))
    assert EMPTY in _listened(faulty(behind), BAD)
    instead = faults.writing(EMPTY.encode(), behind=False)
    assert _listened(faulty(changes("OPENED: S:CLOSE because of an error", effects=(instead,))), BAD) == [
        EMPTY
    ]


def _listened(client: Client, said: Any) -> list[Any]:
    client.send(said)
    return client.listen()


def test_faults_of_more_than_one_row() -> None:
    client = faulty(faults.ENDS_WITHOUT_CLOSE)
    assert _listened(client, BAD) == []
    assert client.peer.closed == "fin"
    client = faulty(faults.NEVER_GIVES_UP)
    client.condition(BAD)
    client.wait(1000.0)
    assert client.peer.closed is None
    assert _listened(faulty(faults.TALKS_BEHIND_ITS_CLOSE), BAD)[-1] == EMPTY
    client = Client(Peer(rows=faults.KEEPS_A_CLOSED_CONNECTION_ALIVE.change(TABLES)), idle_time_out=1000)
    client.condition(BAD)
    assert EMPTY in client.wait(1.0)
    client = Client(Peer(rows=faults.KEEPS_ALIVE_WHAT_BOTH_HAVE_CLOSED.change(TABLES)), idle_time_out=1000)
    assert client.ask(Close()) == Close()
    assert EMPTY in client.wait(1.0)
    client = faulty(faults.EMPTY_FRAME_BEFORE_OPEN, opened=False)
    client.send(HEADER)
    assert client.listen() == [HEADER, EMPTY]
    client = faulty(changes("END: TCP Close", effects=(faults.stop_reading, faults.reset)))
    assert client.ask(Close()) == Close()
    assert client.peer.closed == "rst"


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ({"body": faults.body_behind_header}, Frame(0, 0, Close().encode(), bytes(4))),
        ({"body": faults.extended_first}, Frame(0, 0, b"", Close().encode().ljust(8, b"\x40"))),
        ({"channel": faults.swapped_channel}, amqp_frame(1, Begin(None, 0, 1, 1))),
    ],
)
def test_strategies_that_are_wrong(strategy: dict[str, Any], said: Frame) -> None:
    right, wrong = Client(), faulty(swaps(**strategy))
    assert _listened(right, said) != _listened(wrong, said)


def test_segments() -> None:
    client = faulty(swaps(cut=faults.whole_frames_of_segment))
    client.send(EMPTY.encode() + amqp_frame(0, Close()).encode()[:10], amqp_frame(0, Close()).encode()[10:])
    assert client.listen() != [Close()]
    client = faulty(swaps(cut=faults.by_segments))
    octets = amqp_frame(0, Close()).encode()
    client.send(octets[:10], octets[10:])
    assert client.listen() != [Close()]
