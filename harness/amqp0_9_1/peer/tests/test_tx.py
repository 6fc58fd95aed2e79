from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import Client, peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Tx


def transacted() -> Any:
    client = Client(peer(), channels=2)
    client.declare()
    assert client.ask(Tx.Select()) == Tx.SelectOk()
    return client


@pytest.mark.parametrize("method", [Tx.Commit(), Tx.Rollback()])
def test_channels_must_be_transacted(method: Any) -> None:
    assert Client(peer()).is_refused(method) == (406, "channel")


def test_select_may_be_repeated() -> None:
    client = transacted()
    client.publish()
    assert client.ask(Tx.Select()) == Tx.SelectOk()
    assert client.ask(Tx.Commit()) == Tx.CommitOk()
    assert client.count() == (1, 0)


def test_publications_wait_for_the_commit() -> None:
    client = transacted()
    client.publish(body=b"1")
    client.publish(body=b"2")
    assert client.count() == (0, 0)
    assert client.ask(Tx.Commit()) == Tx.CommitOk()
    assert [client.get(channel=2).body for _ in range(2)] == [b"1", b"2"]
    assert client.ask(Tx.Commit()) == Tx.CommitOk()
    assert client.count() == (0, 0)


def test_deliveries_follow_commit_ok() -> None:
    client = transacted()
    client.ask(Basic.Consume("q", "t"))
    client.publish()
    client.send(Tx.Commit())
    answer, delivery = client.listen()
    assert answer == Tx.CommitOk()
    assert delivery.body == b"x"


def test_rolled_back_publications_are_lost() -> None:
    client = transacted()
    client.publish()
    assert client.ask(Tx.Rollback()) == Tx.RollbackOk()
    assert client.ask(Tx.Commit()) == Tx.CommitOk()
    assert client.count() == (0, 0)


def with_delivery() -> Any:
    client = transacted()
    client.publish(channel=2)
    client.publish(channel=2)
    client.get()
    client.get()
    return client


def test_acknowledgements_wait_for_the_commit() -> None:
    client = with_delivery()
    client.send(Basic.Ack(1))
    client.ask(Channel.Close())
    assert client.count() == (2, 0)
    client = with_delivery()
    client.send(Basic.Ack(2, True))
    client.ask(Tx.Commit())
    client.ask(Channel.Close())
    assert client.count() == (0, 0)


def test_acknowledgements_are_checked_at_once() -> None:
    client = with_delivery()
    client.send(Basic.Ack(1))
    assert client.is_refused(Basic.Ack(1)) == (406, "channel")


def test_rolled_back_acknowledgements_can_be_sent_again_and_nothing_is_redelivered() -> None:
    client = with_delivery()
    client.send(Basic.Ack(1))
    assert client.ask(Tx.Rollback()) == Tx.RollbackOk()
    assert client.get() is None
    client.send(Basic.Ack(1), Basic.Ack(2))
    assert client.ask(Tx.Commit()) == Tx.CommitOk()
    client.ask(Channel.Close())
    assert client.count() == (0, 0)


def test_the_window_stays_filled_until_the_commit() -> None:
    client = transacted()
    client.ask(Basic.Qos(0, 1))
    client.ask(Basic.Consume("q", "t"))
    client.publish(body=b"1", channel=2)
    client.publish(body=b"2", channel=2)
    assert client.bodies() == [b"1"]
    client.send(Basic.Ack(1))
    assert client.listen() == []
    client.send(Tx.Commit())
    assert client.bodies() == [b"2"]


def test_returns_come_with_the_commit() -> None:
    client = transacted()
    client.publish("none", mandatory=True)
    assert client.listen() == []
    client.send(Tx.Commit())
    returned, answer = client.listen()
    assert returned.method.reply_code == 312
    assert answer == Tx.CommitOk()


def test_a_missing_exchange_is_refused_at_once() -> None:
    assert transacted().is_refused(Basic.Publish("none", "q")) == (404, "channel")


def test_a_channel_that_ends_abandons_its_transaction() -> None:
    client = with_delivery()
    client.send(Basic.Ack(1))
    client.publish(body=b"lost")
    client.peer.hang_up()
    assert Client(client.peer.peer).count() == (2, 0)
