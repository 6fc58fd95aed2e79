"""The tables as data, and what they say about themselves."""

import pytest

from harness.amqp0_9_1.peer import TABLES, Peer
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.tests import dialogue as peer_dialogue
from harness.amqp0_9_1.peer.tests.dialogue import Client
from harness.amqp0_9_1.peer.turn import OWN, ChannelRow
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic, Channel, Queue
from harness.peers.rows import always
from harness.tests.peer_tests import dialogues

CREATES = "queue.declare: creates it"
MISSING = "queue.declare: passive refuses one that does not exist"


def test_every_row_is_taken_by_a_dialogue() -> None:
    peer_dialogue.TAKEN.clear()
    for dialogue in dialogues():
        dialogue()
    assert [row.name for row in TABLES if row.name not in peer_dialogue.TAKEN] == []


def test_every_method_a_client_sends_has_rows_of_its_own() -> None:
    served = {
        each for row in TABLES for each in (row.event if isinstance(row.event, tuple) else (row.event,))
    }
    for method in CODEC.methods.values():
        if "server" in method.spec.chassis and method.full_name in OWN:
            assert method in served, method.full_name


def test_names_are_unique_and_found() -> None:
    assert len({row.name for row in TABLES}) == len(TABLES.rows)
    assert TABLES[CREATES].event is Queue.Declare
    with pytest.raises(KeyError, match="no row has the name"):
        TABLES["no such row"]
    with pytest.raises(ValueError, match="two rows"):
        TABLES.inserting(CREATES, TABLES[CREATES])


def test_tables_are_changed_by_making_new_ones() -> None:
    dropped = TABLES.without(CREATES)
    assert len(dropped.rows) == len(TABLES.rows) - 1
    assert Client(Peer(rows=dropped)).is_refused(Queue.Declare("q")) == (503, "connection")
    assert Client(Peer()).declare().queue == "q"


def test_a_row_can_be_given_another_answer_condition_or_state() -> None:
    lenient = TABLES.replacing(MISSING, answer=TABLES[CREATES].answer)
    assert Client(Peer(rows=lenient)).declare(passive=True) == Queue.DeclareOk("q", 0, 0)
    strict = TABLES.replacing(MISSING, condition=always)
    assert Client(Peer(rows=strict)).is_refused(Queue.Declare("q")) == (404, "channel")
    deaf = TABLES.replacing("channel.open: is answered", next=ChannelState.CLOSING)
    client = Client(Peer(rows=deaf))
    client.send(Queue.Declare("q"))
    assert client.listen() == []


def test_a_row_can_be_put_before_another() -> None:
    row = ChannelRow("fault: says nothing to Get", ChannelState.OPEN, Basic.Get)
    client = Client(Peer(rows=TABLES.inserting("basic.get: answers that the queue is empty", row)))
    client.declare()
    client.send(Basic.Get("q"))
    assert client.listen() == []


def test_strategies_can_be_swapped() -> None:
    client = Client(Peer(rows=TABLES.swapping(redelivered=lambda entry: False)))
    client.declare()
    client.publish()
    client.get()
    client.ask(Basic.Recover(True))
    assert not client.get().method.redelivered
    client = Client(Peer(rows=TABLES.routing(direct=lambda binding, message: False)))
    client.declare()
    client.publish()
    assert client.get() is None
    assert Client(Peer(rows=TABLES.without("method: refuses one that clients do not send"))).ask(
        Channel.Open(), 2
    )
