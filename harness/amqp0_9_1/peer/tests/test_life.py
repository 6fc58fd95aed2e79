from typing import Any

from harness.amqp0_9_1.peer.life import DEAD_LETTER_EXCHANGE
from harness.amqp0_9_1.peer.tests.dialogue import Client, peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Exchange, Queue


def two() -> Any:
    server = peer()
    return Client(server, channels=2), Client(server)


def test_exclusive_queues_end_with_their_connection_only() -> None:
    client, other = two()
    client.declare("mine", exclusive=True)
    client.declare("ours")
    client.declare("idle", auto_delete=True)
    client.ask(Channel.Close())
    assert client.count("mine") == (0, 0)
    client.ask(Connection.Close())
    assert other.count("mine") is None
    assert other.count("ours") == other.count("idle") == (0, 0)


def test_what_a_connection_leaves_dead_asks_nobody_to_pause() -> None:
    server = peer(pause_publishers_at=1)
    client, other = Client(server, channels=2), Client(server)
    other.declare("dead")
    other.ask(Queue.Bind("dead", "amq.fanout"))
    client.declare("mine", exclusive=True, arguments={DEAD_LETTER_EXCHANGE: "amq.fanout"})
    client.publish("mine")
    assert client.listen() == [Channel.Flow(False)]
    client.peer.hang_up()
    assert other.listen() == []
    assert other.count("dead") == (1, 0)


def test_an_exception_of_the_connection_ends_its_queues_at_once() -> None:
    client, other = two()
    client.declare("mine", exclusive=True)
    assert client.ask(Connection.Open("/")).reply_code == 503
    assert other.count("mine") is None


def test_auto_delete_queues_end_with_their_last_consumer() -> None:
    for end in (Basic.Cancel("t"), Channel.Close()):
        client, other = two()
        client.declare(auto_delete=True)
        client.ask(Basic.Consume("q", "t"), 1)
        client.ask(Basic.Consume("q", "u"), 2)
        client.ask(Basic.Cancel("u"), 2)
        assert other.count() == (0, 1)
        client.ask(end)
        assert other.count() is None


def test_a_channel_that_ends_gives_back_messages_marked_redelivered() -> None:
    client, other = two()
    client.declare()
    for body in (b"1", b"2", b"3"):
        client.publish(body=body)
    client.send(Basic.Qos(0, 1), Basic.Consume("q", "t"))
    client.listen()
    client.get(channel=2)
    client.ask(Channel.Close())
    assert other.count() == (2, 0)
    got = [other.get() for _ in range(2)]
    assert [(each.body, each.method.redelivered) for each in got] == [(b"1", True), (b"3", False)]
    client.ask(Channel.Close(), 2)
    assert other.get().body == b"2"


def test_a_channel_exception_ends_the_channel_like_a_close() -> None:
    client, other = two()
    client.declare()
    client.publish()
    client.get()
    client.ask(Basic.Ack(9))
    assert other.get().method.redelivered


def test_delivery_tags_start_again_on_a_new_channel() -> None:
    client, _ = two()
    client.declare()
    client.publish()
    client.get()
    client.ask(Channel.Close())
    client.ask(Channel.Open())
    assert client.get().method.delivery_tag == 1


def test_a_deleted_queue_takes_its_consumers_bindings_and_messages_along() -> None:
    client, other = two()
    client.declare()
    client.ask(Queue.Bind("q", "amq.fanout", ""))
    client.ask(Basic.Consume("q", "t"))
    client.publish(body=b"unacknowledged")
    assert client.bodies() == [b"unacknowledged"]
    client.ask(Channel.Flow(False))
    client.publish(body=b"waiting")
    other.ask(Queue.Delete("q"))
    host = other.peer.host
    assert [each.body for each in host.dead_letters] == [b"waiting"]
    other.declare()
    other.publish("", exchange="amq.fanout")
    assert other.count() == (0, 0)
    client.ask(Channel.Close())
    assert other.count() == (0, 0)
    assert [each.body for each in host.dead_letters] == [b"waiting", b"unacknowledged"]


def test_acknowledging_after_the_queue_is_gone_is_no_error() -> None:
    client, other = two()
    client.declare()
    client.publish()
    client.get()
    other.ask(Queue.Delete("q"))
    client.send(Basic.Ack(1))
    assert client.listen() == []


def durable_and_transient(server: Any) -> Any:
    client = Client(server)
    for durable, name in ((True, "durable"), (False, "transient")):
        client.declare(name, durable=durable)
        client.ask(Exchange.Declare(name, "fanout", durable=durable))
    for exchange, queue in (("durable", "durable"), ("transient", "durable"), ("durable", "transient")):
        client.ask(Queue.Bind(queue, exchange, ""))
    client.ask(Queue.Bind("durable", "amq.fanout", ""))
    return client


def test_durable_things_outlive_a_restart() -> None:
    server = peer()
    durable_and_transient(server)
    server.restart()
    client = Client(server)
    assert client.count("durable") == (0, 0)
    assert client.count("transient") is None
    assert client.is_refused(Exchange.Declare("transient", passive=True)) == (404, "channel")
    assert client.ask(Exchange.Declare("amq.topic", passive=True)) == Exchange.DeclareOk()
    for exchange in ("durable", "amq.fanout"):
        client.publish("", exchange=exchange)
    client.publish("durable")
    assert client.count("durable") == (3, 0)


def test_bindings_to_transient_ends_are_gone_after_a_restart() -> None:
    server = peer()
    durable_and_transient(server)
    server.restart()
    client = Client(server)
    client.ask(Exchange.Declare("transient", "fanout"))
    client.declare("transient")
    client.publish("", exchange="transient")
    client.publish("", exchange="durable")
    assert (client.count("durable"), client.count("transient")) == ((1, 0), (0, 0))


def test_predeclared_exchanges_outlive_a_restart_even_if_transient() -> None:
    server = peer(predeclared_durable=False)
    client = Client(server)
    client.declare("q", durable=True)
    client.ask(Queue.Bind("q", "amq.fanout", ""))
    server.restart()
    client = Client(server)
    client.publish("", exchange="amq.fanout")
    assert client.count() == (0, 0)


def test_persistent_messages_in_durable_queues_outlive_a_restart() -> None:
    server = peer()
    client = durable_and_transient(server)
    for number in range(4):
        client.publish("durable", body=bytes([number]), delivery_mode=1 + number % 2)
    client.get("durable", no_ack=True)
    client.get("durable")
    server.restart()
    assert client.ended() == "fin"
    assert client.listen() == []
    client = Client(server)
    got = [client.get("durable") for _ in range(3)]
    assert [(each.body[0], each.method.redelivered) for each in got if each] == [(1, True), (3, False)]


def test_what_comes_in_an_overflow_may_be_held_back_until_a_restart() -> None:
    server = peer(overflow="hold back")
    client = Client(server)
    client.declare(durable=True)
    client.publish(body=b"before", delivery_mode=2)
    server.use("memory-alarm")
    client.publish(body=b"during", delivery_mode=2)
    client.publish(body=b"transient")
    server.use("lift-memory-alarm")
    client.publish(body=b"after", delivery_mode=2)
    assert [client.get(no_ack=True).body for _ in range(2)] == [b"before", b"after"]
    assert client.get() is None
    assert client.count() == (2, 0)
    server.restart()
    client = Client(server)
    assert client.get(no_ack=True).body == b"during"
    assert client.count() == (0, 0)


def test_uncommitted_and_exclusive_things_are_gone_after_a_restart() -> None:
    server = peer()
    client = Client(server)
    client.declare("q", durable=True, exclusive=True)
    server.restart()
    assert Client(server).count() is None


def test_a_restart_may_be_announced() -> None:
    server = peer(restart_notice="close")
    client = Client(server)
    server.restart()
    assert client.hear().reply_code == 320
    assert client.ended() == "fin"
