from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import Client, delivered, peer, queue_with
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Queue


def test_get_delivers_in_order_with_everything_that_was_published() -> None:
    client = queue_with()
    client.publish(body=b"1", content_type="text/plain", headers={"a": [1, {"b": True}]}, priority=3)
    client.publish(body=b"2")
    answer = client.get()
    assert answer.method == Basic.GetOk(1, False, "", "q", 1)
    assert answer.properties.headers == {"a": [1, {"b": True}]}
    assert (answer.properties.content_type, answer.properties.priority) == ("text/plain", 3)
    assert client.get().method == Basic.GetOk(2, False, "", "q", 0)
    assert client.ask(Basic.Get("q")) == Basic.GetEmpty()


def test_get_without_acknowledgement() -> None:
    client = queue_with(b"1")
    assert client.get(no_ack=True).method.delivery_tag == 1
    assert client.is_refused(Basic.Ack(1)) == (406, "channel")
    assert client.get() is None


def test_acknowledging_one_several_and_all() -> None:
    client = queue_with(b"1", b"2", b"3", b"4", b"5")
    client.send(Basic.Qos(0, 5), Basic.Consume("q", "t"))
    client.listen()
    client.send(Basic.Ack(2), Basic.Ack(3, True), Basic.Ack(0, True), Basic.Ack(0, True))
    assert client.listen() == []
    client.ask(Channel.Close())
    assert client.count() == (0, 0)


def test_several_spares_what_follows() -> None:
    client = queue_with(b"1", b"2", b"3")
    for _ in range(3):
        client.get()
    client.send(Basic.Ack(2, True))
    client.ask(Channel.Close())
    assert client.count() == (1, 0)
    assert client.get(channel=2).body == b"3"


@pytest.mark.parametrize(
    "method", [Basic.Ack(9), Basic.Ack(9, True), Basic.Ack(0), Basic.Reject(9, True), Basic.Reject(0)]
)
def test_unknown_tags_are_refused(method: Any) -> None:
    client = queue_with(b"1")
    client.get()
    assert client.is_refused(method) == (406, "channel")


def test_tags_are_good_once_and_on_their_channel_only() -> None:
    client = queue_with(b"1")
    client.get()
    assert client.is_refused(Basic.Ack(1), channel=2) == (406, "channel")
    client.send(Basic.Ack(1))
    assert client.is_refused(Basic.Ack(1)) == (406, "channel")
    assert client.count() == (0, 0)


def test_a_rejected_message_goes_to_another_consumer() -> None:
    client = queue_with()
    client.ask(Basic.Consume("q", "t"), 1)
    client.ask(Basic.Consume("q", "u"), 2)
    client.publish(body=b"1")
    assert delivered(client) == [("t", b"1")]
    client.send(Basic.Reject(1, True), channel=1)
    again = client.hear()
    assert (again.method.consumer_tag, again.method.redelivered) == ("u", True)


def test_a_rejected_message_does_not_come_back_to_its_channel() -> None:
    client = queue_with(b"1", b"2")
    client.get()
    client.send(Basic.Reject(1, True))
    assert client.get().body == b"2"
    assert client.get() is None
    assert client.count() == (1, 0)
    assert client.get(channel=2).body == b"1"
    client.send(Basic.Reject(1, True), channel=2)
    assert client.get() is None
    assert client.get(channel=2) is None


def test_a_rejected_message_may_come_back_or_be_dead_lettered_by_policy() -> None:
    client = queue_with(b"1", rejected="redeliver")
    client.get()
    client.send(Basic.Reject(1, True))
    assert client.get().method.redelivered
    client = queue_with(b"1", rejected="dead-letter")
    client.get()
    client.send(Basic.Reject(1, True))
    assert client.count() == (0, 0)
    assert [each.body for each in client.peer.host.dead_letters] == [b"1"]
    assert client.is_refused(Basic.Ack(1)) == (406, "channel")
    for policy in ("redeliver", "dead-letter"):
        client = queue_with(b"1", rejected=policy)
        client.ask(Basic.Qos(0, 1), channel=1)
        client.send(Basic.Consume("q", "t"), channel=1)
        client.send(Basic.Consume("q", "u"), channel=2)
        client.listen()
        client.send(Basic.Reject(1, True), channel=1)
        assert delivered(client) == [("u", b"1")]


def test_what_is_rejected_without_requeue_may_come_back() -> None:
    client = queue_with(b"1", without_requeue="requeue")
    client.send(Basic.Reject(client.get().method.delivery_tag, requeue=False))
    assert client.get().method.redelivered


def test_rejecting_without_requeue_discards() -> None:
    server = peer()
    client = Client(server)
    client.declare()
    client.publish(body=b"1")
    client.get()
    client.send(Basic.Reject(1, False))
    client.ask(Channel.Close())
    assert client.count() == (0, 0)
    assert [each.body for each in server.virtual_hosts["/"].dead_letters] == [b"1"]


def test_nack_is_no_method_unless_it_is_served() -> None:
    client = queue_with(b"1")
    client.get()
    assert client.is_refused(Basic.Nack(1)) == (540, "connection")


def test_recover_with_requeue() -> None:
    client = queue_with(b"1", b"2", b"3")
    client.get()
    client.get()
    client.send(Basic.Ack(1))
    assert client.ask(Basic.Recover(True)) == Basic.RecoverOk()
    got = [client.get(channel=2) for _ in range(2)]
    assert [(each.body, each.method.redelivered) for each in got] == [(b"2", True), (b"3", False)]


def test_recover_redelivers_after_its_answer() -> None:
    client = queue_with(b"1")
    client.ask(Basic.Qos(0, 1))
    client.send(Basic.Consume("q", "t"), channel=1)
    client.listen()
    client.ask(Basic.Consume("q", "u"), channel=2)
    client.send(Basic.Recover(False))
    answer, delivery = client.listen()
    assert answer == Basic.RecoverOk()
    assert delivery.method == Basic.Deliver("t", 2, True, "", "q")


def test_recover_without_requeue_is_for_the_original_consumer_only() -> None:
    client = queue_with(b"1")
    client.send(Basic.Consume("q", "t"), channel=1)
    client.listen()
    client.ask(Channel.Flow(False), channel=1)
    client.ask(Basic.Consume("q", "u"), channel=2)
    assert client.ask(Basic.Recover(False)) == Basic.RecoverOk()
    client.send(Basic.Cancel("t"))
    _, delivery = client.listen()
    assert delivery.method.consumer_tag == "u"


def test_recover_with_requeue_may_go_to_another_consumer() -> None:
    client = queue_with(b"1")
    client.send(Basic.Consume("q", "t"), channel=1)
    client.listen()
    client.ask(Channel.Flow(False), channel=1)
    client.ask(Basic.Consume("q", "u"), channel=2)
    client.send(Basic.Recover(True))
    answer, delivery = client.listen()
    assert answer == Basic.RecoverOk()
    assert delivery.method.consumer_tag == "u"


@pytest.mark.parametrize("requeue", [True, False])
def test_recover_async_has_no_answer(requeue: Any) -> None:
    client = queue_with(b"1")
    client.send(Basic.Consume("q", "t"))
    client.listen()
    client.send(Basic.RecoverAsync(requeue))
    assert client.hear().method == Basic.Deliver("t", 2, True, "", "q")


@pytest.mark.parametrize("requeue", [True, False])
def test_recover_async_with_and_without_requeue(requeue: Any) -> None:
    client = queue_with(b"1")
    client.send(Basic.Consume("q", "t"), channel=1)
    client.listen()
    client.ask(Channel.Flow(False), channel=1)
    client.ask(Basic.Consume("q", "u"), channel=2)
    client.send(Basic.RecoverAsync(requeue))
    assert delivered(client) == ([("u", b"1")] if requeue else [])


def test_recover_async_may_be_missing() -> None:
    assert queue_with(recover_async="refuse").is_refused(Basic.RecoverAsync(True)) == (540, "connection")


def test_the_original_client_is_preferred_for_redelivery() -> None:
    server = peer()
    client, other = Client(server, channels=2), Client(server)
    client.declare()
    client.publish(body=b"1")
    client.get()
    other.ask(Basic.Consume("q", "o"))
    client.ask(Basic.Consume("q", "t"), 2)
    client.send(Basic.Recover(True))
    assert [type(each).__name__ for each in client.listen()] == ["RecoverOk", "Message"]
    assert other.listen() == []


def test_messages_redelivered_too_often_are_dead_lettered() -> None:
    client = queue_with(b"1", redelivery_limit=3)
    for _ in range(4):
        assert client.get()
        client.ask(Basic.Recover(True))
    assert client.count() == (0, 0)
    assert [each.body for each in client.peer.host.dead_letters] == [b"1"]


def test_priorities_in_two_levels_and_in_ten() -> None:
    for levels, order in ((2, [5, 9, 6, 0, 4, 1]), (10, [9, 6, 5, 4, 1, 0])):
        client = queue_with(priority_levels=levels)
        for priority in (0, 5, 9, 4, 1, 6):
            client.publish(body=bytes([priority]), priority=priority)
        assert [client.get().body[0] for _ in range(6)] == order


def test_order_is_kept_irrespective_of_persistence_and_after_requeue() -> None:
    client = queue_with()
    for number in range(6):
        client.publish(body=bytes([number]), delivery_mode=1 + number % 2)
    for _ in range(3):
        client.get()
    client.send(Basic.Ack(2))
    client.ask(Basic.Recover(True))
    assert [client.get().body[0] for _ in range(5)] == [0, 2, 3, 4, 5]


def test_mandatory_messages_without_queue_are_returned() -> None:
    client = queue_with()
    client.publish("none", body=b"1", mandatory=True, content_type="a")
    answer = client.hear()
    assert (answer.method.reply_code, answer.method.exchange, answer.method.routing_key) == (312, "", "none")
    assert (answer.body, answer.properties.content_type) == (b"1", "a")
    client.publish("q", mandatory=True)
    assert client.listen() == []
    assert client.count() == (1, 0)


def test_immediate_messages_without_ready_consumer_are_returned() -> None:
    client = queue_with()
    client.publish(immediate=True)
    assert client.hear().method.reply_code == 313
    client.ask(Basic.Qos(0, 1))
    client.ask(Basic.Consume("q", "t"))
    client.publish(body=b"1", immediate=True)
    assert client.bodies() == [b"1"]
    client.publish(body=b"2", immediate=True)
    assert client.hear().method.reply_code == 313
    client.declare("p")
    for name in ("q", "p"):
        client.ask(Queue.Bind(name, "amq.fanout", ""))
    client.send(Basic.Ack(1))
    client.publish("", body=b"3", exchange="amq.fanout", immediate=True)
    assert client.bodies() == [b"3"]
    assert client.count("p") == (0, 0)


def test_immediate_may_be_missing() -> None:
    assert queue_with(immediate="refuse").is_refused(Basic.Publish("", "q", immediate=True)) == (
        540,
        "connection",
    )


def test_the_client_that_hangs_up_leaves_its_messages_to_others() -> None:
    server = peer()
    client, other = Client(server), Client(server)
    client.declare()
    other.ask(Basic.Consume("q", "o"))
    other.ask(Channel.Flow(False))
    client.publish(body=b"1")
    client.get()
    other.ask(Channel.Flow(True))
    client.peer.hang_up()
    assert other.hear().method.redelivered
    assert Client(server).ask(Connection.Close()) == Connection.CloseOk()
