"""Publisher confirms, alarms, log-ins and transactions of the reference peer."""

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import START_OK, Client, peer, queue_with
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Confirm, Connection, Exchange, Queue, Tx

KNOWS = START_OK.replace(client_properties={"capabilities": {"connection.blocked": True}})


def test_publications_are_counted_and_confirmed_once_that_is_asked_for() -> None:
    client = queue_with(b"before", kind=Peer)
    assert client.ask(Confirm.Select()) == Confirm.SelectOk()
    for number in (1, 2):
        client.publish(key="q")
        assert client.hear() == Basic.Ack(number)
    assert client.ask(Confirm.Select()) == Confirm.SelectOk()
    client.publish(key="nowhere")
    assert client.hear() == Basic.Ack(3)


def test_a_channel_confirms_or_has_transactions() -> None:
    for first, second in ((Confirm.Select(), Tx.Select()), (Tx.Select(), Confirm.Select())):
        client = Client(peer(kind=Peer))
        client.ask(first)
        assert client.is_refused(second) == (406, "channel")


def test_who_publishes_in_an_alarm_is_told_once_and_of_its_end() -> None:
    server = peer(kind=Peer)
    client, other = Client(server, start_ok=KNOWS), Client(server)
    server.use("memory-alarm")
    for each in (client, client, other):
        each.publish(key="nowhere")
    assert isinstance(client.hear(), Connection.Blocked)
    server.use("lift-memory-alarm")
    assert client.listen() == [Connection.Unblocked()]
    assert other.listen() == []


@pytest.mark.parametrize(
    ("secret", "answer"), [(b"guest", Connection.UpdateSecretOk), (b"other", Connection.Close)]
)
def test_a_secret_is_renewed_if_it_is_right(secret: bytes, answer: type) -> None:
    assert isinstance(Client(peer(kind=Peer)).ask(Connection.UpdateSecret(secret)), answer)


def test_what_is_rejected_in_a_transaction_waits_for_it() -> None:
    client = queue_with(b"1", kind=Peer)
    client.get()
    client.ask(Tx.Select())
    client.send(Basic.Reject(1, requeue=True))
    assert client.get(channel=2) is None
    assert client.ask(Tx.Commit()) == Tx.CommitOk()
    assert client.get(channel=2).body == b"1"


def test_what_is_missing_is_deleted_and_what_is_not_supported_refused() -> None:
    client = Client(peer(kind=Peer))
    assert client.ask(Exchange.Delete("none")) == Exchange.DeleteOk()
    assert client.ask(Queue.Delete("none")) == Queue.DeleteOk(0)
    assert client.is_refused(Channel.Flow(False)) == (540, "connection")
