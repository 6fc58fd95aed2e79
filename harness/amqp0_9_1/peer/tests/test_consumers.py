from harness.amqp0_9_1.peer.tests.dialogue import Client, delivered, peer, queue_with
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Queue


def test_consumers_get_what_there_is_and_what_comes() -> None:
    client = queue_with(b"1")
    client.send(Basic.Consume("q", "t"))
    answer, delivery = client.listen()
    assert answer == Basic.ConsumeOk("t")
    assert delivery.method == Basic.Deliver("t", 1, False, "", "q")
    client.publish(body=b"2")
    assert client.hear().method.delivery_tag == 2
    assert client.count() == (0, 1)


def test_no_ack_consumers_need_no_acknowledgement() -> None:
    client = queue_with(b"1", b"2")
    client.send(Basic.Qos(0, 1), Basic.Consume("q", "t", no_ack=True))
    assert client.bodies() == [b"1", b"2"]
    client.ask(Channel.Close())
    assert client.count() == (0, 0)


def test_no_wait_consumers_and_cancels() -> None:
    client = queue_with(b"1")
    client.send(Basic.Consume("q", "t", no_wait=True))
    assert client.hear().body == b"1"
    client.send(Basic.Cancel("t", no_wait=True))
    client.publish(body=b"2")
    assert client.listen() == []


def test_tags_are_generated_and_differ() -> None:
    client = queue_with()
    tags = {client.ask(Basic.Consume("q")).consumer_tag for _ in range(3)}
    assert len(tags) == 3
    assert "" not in tags


def test_tags_are_local_to_a_channel() -> None:
    client = queue_with()
    assert client.ask(Basic.Consume("q", "t"), 1) == Basic.ConsumeOk("t")
    assert client.ask(Basic.Consume("q", "t"), 2) == Basic.ConsumeOk("t")
    assert client.is_refused(Basic.Consume("q", "t")) == (530, "connection")


def test_cancel_of_a_tag_of_another_channel_by_policy() -> None:
    client = queue_with()
    client.ask(Basic.Consume("q", "t"), 2)
    assert client.is_refused(Basic.Cancel("t")) == (530, "connection")
    client = queue_with(foreign_consumer_tag="ignore")
    client.ask(Basic.Consume("q", "t"), 2)
    assert client.ask(Basic.Cancel("t")) == Basic.CancelOk("t")
    assert client.count() == (0, 1)
    assert client.ask(Basic.Cancel("none")) == Basic.CancelOk("none")


def test_cancel_ends_deliveries_but_not_those_made() -> None:
    client = queue_with(b"1")
    client.send(Basic.Consume("q", "t"))
    client.listen()
    assert client.ask(Basic.Cancel("t")) == Basic.CancelOk("t")
    client.publish(body=b"2")
    client.send(Basic.Ack(1))
    assert client.listen() == []
    assert client.count() == (1, 0)


def test_cancel_after_the_queue_is_gone() -> None:
    client = queue_with()
    client.ask(Basic.Consume("q", "t"))
    client.ask(Queue.Delete("q"), 2)
    assert client.ask(Basic.Cancel("t")) == Basic.CancelOk("t")
    client = queue_with(cancel_without_queue="silence")
    client.ask(Basic.Consume("q", "t"))
    client.ask(Queue.Delete("q"), 2)
    client.send(Basic.Cancel("t"))
    assert client.listen() == []
    assert client.ask(Basic.Cancel("t")) == Basic.CancelOk("t")


def test_exclusive_consumers() -> None:
    client = queue_with()
    client.ask(Basic.Consume("q", "t"))
    assert client.is_refused(Basic.Consume("q", "u", exclusive=True), channel=2) == (403, "channel")
    client.ask(Basic.Cancel("t"))
    assert client.ask(Basic.Consume("q", "t", exclusive=True)) == Basic.ConsumeOk("t")
    assert client.is_refused(Basic.Consume("q", "u"), channel=2) == (403, "channel")
    assert client.is_refused(Basic.Get("q"), channel=2) == (403, "channel")


def test_no_local_consumers_leave_own_messages_to_others() -> None:
    server = peer()
    client, other = Client(server), Client(server)
    client.declare()
    client.ask(Basic.Consume("q", "t", no_local=True))
    client.publish(body=b"own")
    other.publish(body=b"other")
    assert client.bodies() == [b"other"]
    assert other.get().body == b"own"


def test_consumers_take_turns() -> None:
    client = queue_with()
    for tag in ("a", "b", "c"):
        client.ask(Basic.Consume("q", tag))
    for number in b"123456":
        client.publish(body=bytes([number]))
    assert delivered(client) == [(tag, bytes([n])) for tag, n in zip("abcabc", b"123456", strict=True)]


def test_prefetch_count_of_a_channel() -> None:
    client = queue_with(b"1", b"2", b"3")
    assert client.ask(Basic.Qos(0, 2)) == Basic.QosOk()
    client.send(Basic.Consume("q", "t"))
    assert client.bodies() == [b"1", b"2"]
    client.send(Basic.Ack(1))
    assert client.bodies() == [b"3"]
    client.publish(body=b"4")
    assert client.listen() == []
    client.send(Basic.Qos(0, 0))
    assert client.bodies() == [b"4"]


def test_the_window_of_a_channel_is_its_own() -> None:
    client = queue_with(b"1", b"2", b"3")
    client.ask(Basic.Qos(0, 1), 1)
    client.send(Basic.Consume("q", "t"), channel=1)
    client.send(Basic.Consume("q", "u"), channel=2)
    assert delivered(client) == [("t", b"1"), ("u", b"2"), ("u", b"3")]


def test_prefetch_count_of_the_connection() -> None:
    client = queue_with(b"1", b"2", b"3")
    assert client.ask(Basic.Qos(0, 2, True)) == Basic.QosOk()
    client.send(Basic.Consume("q", "t"), channel=1)
    client.send(Basic.Consume("q", "u"), channel=2)
    assert client.bodies() == [b"1", b"2"]
    client.send(Basic.Ack(1))
    assert client.bodies() == [b"3"]
    client.publish(body=b"4")
    client.send(Basic.Qos(0, 0, True))
    assert client.bodies() == [b"4"]


def test_prefetch_size_limits_only_what_is_sent_in_advance() -> None:
    client = queue_with(b"12345", b"6", b"7")
    client.ask(Basic.Qos(3, 0))
    client.send(Basic.Consume("q", "t"))
    assert client.bodies() == [b"12345"]
    client.send(Basic.Ack(1))
    assert client.bodies() == [b"6", b"7"]
    client.publish(body=b"890")
    assert client.listen() == []
    client.send(Basic.Reject(2, False), Basic.Ack(3))
    assert client.bodies() == [b"890"]


def test_get_does_not_fill_the_window() -> None:
    client = queue_with(b"1", b"2")
    client.get()
    client.ask(Basic.Qos(0, 1))
    client.send(Basic.Consume("q", "t"))
    assert client.bodies() == [b"2"]


def test_a_client_that_does_not_read_gets_no_more_until_it_does() -> None:
    server = peer()
    client, slow = Client(server), Client(server)
    client.declare()
    slow.ask(Basic.Consume("q", "t", no_ack=True))
    for _ in range(20):
        client.publish(body=bytes(1 << 20))
    waiting, _ = client.count() or (0, 0)
    assert 0 < waiting < 20
    assert len(slow.bodies()) == 20 - waiting
    assert sum(map(len, iter(slow.bodies, []))) == waiting
