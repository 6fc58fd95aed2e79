from typing import Any

import pytest

from harness.amqp0_9_1.peer import Limits
from harness.amqp0_9_1.peer.policy import Level, Refusal
from harness.amqp0_9_1.peer.tests.dialogue import Client, peer
from harness.amqp0_9_1.wire.field_tables import As
from harness.amqp0_9_1.wire.vocabulary import SYNTAX_ERROR, Basic, Exchange, Queue

USES = [
    Queue.Bind("q", "amq.direct", "k"),
    Queue.Unbind("q", "amq.direct", "k"),
    Queue.Purge("q"),
    Queue.Delete("q"),
    Basic.Get("q"),
    Basic.Consume("q"),
]


def level_of(use: Any) -> Any:
    return "connection" if isinstance(use, Queue.Unbind) else "channel"


def client_with(name: Any = "q", **declared: Any) -> Any:
    client = Client(peer())
    assert client.declare(name, **declared) == Queue.DeclareOk(name, 0, 0)
    return client


def test_a_new_queue_is_bound_to_the_default_exchange_by_its_name() -> None:
    client = client_with()
    client.publish("q")
    assert client.get().body == b"x"


def test_names_are_generated_and_differ() -> None:
    client = Client(peer())
    names = {client.declare("").queue for _ in range(3)}
    assert len(names) == 3
    assert all(client.ask(Queue.Declare(name)).queue == name for name in names)
    client.publish(sorted(names)[0])
    assert client.get(sorted(names)[0])


def test_counts_of_ready_messages_and_active_consumers() -> None:
    client = client_with()
    client.publish()
    client.publish()
    client.get()
    assert client.declare() == Queue.DeclareOk("q", 1, 0)
    client.send(Basic.Consume("q", "t"))
    client.listen()
    assert client.declare() == Queue.DeclareOk("q", 0, 1)


def test_declaring_the_same_again_is_confirmed() -> None:
    client = client_with(durable=True, exclusive=True, auto_delete=True, arguments={"a": 1})
    same = Queue.Declare("q", durable=True, exclusive=True, auto_delete=True, arguments={"a": 1})
    assert client.ask(same) == Queue.DeclareOk("q", 0, 0)
    assert client.ask(same.replace(auto_delete=False)) == Queue.DeclareOk("q", 0, 0)
    client.send(same.replace(no_wait=True), same.replace(queue="p", no_wait=True))
    assert client.listen() == []
    assert client.count("p") == (0, 0)


@pytest.mark.parametrize("change", [{"durable": True}, {"exclusive": True}, {"arguments": {"a": 1}}])
def test_declaring_it_otherwise_is_refused(change: Any) -> None:
    assert client_with().is_refused(Queue.Declare("q").replace(**change)) == (406, "channel")


def test_another_auto_delete_may_be_refused() -> None:
    client = Client(peer(auto_delete_mismatch="refuse"))
    client.declare()
    assert client.is_refused(Queue.Declare("q", auto_delete=True)) == (406, "channel")


def test_passive_checks_only_the_name() -> None:
    client = client_with()
    assert client.ask(Queue.Declare("q", passive=True, durable=True)) == Queue.DeclareOk("q", 0, 0)
    assert client.ask(Queue.Declare("", passive=True)) == Queue.DeclareOk("q", 0, 0)
    assert client.is_refused(Queue.Declare("p", passive=True, no_wait=True)) == (404, "channel")
    assert client.is_refused(Queue.Declare("", passive=True)) == (404, "channel")


def test_passive_with_no_wait_may_have_no_effect() -> None:
    client = Client(peer(passive_no_wait="silence"))
    client.send(Queue.Declare("p", passive=True, no_wait=True))
    assert client.listen() == []
    assert client.is_refused(Queue.Declare("p", passive=True)) == (404, "channel")


@pytest.mark.parametrize("name", ["a b", "a/b", "é", "x" * 128])
def test_illegal_names_are_refused(name: Any) -> None:
    assert Client(peer()).is_refused(Queue.Declare(name)) == (406, "channel")


def test_names_may_be_as_long_as_the_policy_says() -> None:
    client_with("x" * 127)
    assert Client(peer(name_limit=255)).declare("x" * 255).queue == "x" * 255


def test_reserved_names_are_refused_unless_they_exist() -> None:
    client = Client(peer())
    assert client.is_refused(Queue.Declare("amq.new")) == (403, "channel")
    assert client.is_refused(Queue.Declare("amq.new", passive=True)) == (404, "channel")
    generated = client.declare("").queue
    assert client.declare(generated).queue == generated


def test_there_are_limits() -> None:
    client = Client(peer(Limits(entities=7)))
    for name in "abcdefg":
        client.declare(name)
    for key in "hijklmn":
        client.ask(Queue.Bind("a", "amq.direct", key))
    assert client.ask(Queue.Bind("a", "amq.direct", "h")) == Queue.BindOk()
    assert client.is_refused(Queue.Bind("a", "amq.direct", "o")) == (506, "connection")
    client = Client(peer(Limits(entities=2)))
    client.declare("a")
    client.declare("b")
    assert client.is_refused(Queue.Declare("c")) == (506, "connection")
    client = Client(peer(Limits(entities=2)))
    client.declare("a")
    client.ask(Basic.Consume("a"))
    client.ask(Basic.Consume("a"))
    assert client.is_refused(Basic.Consume("a")) == (506, "connection")


@pytest.mark.parametrize("use", USES)
def test_queues_that_do_not_exist_are_refused(use: Any) -> None:
    assert Client(peer()).is_refused(use) == (404, level_of(use))


@pytest.mark.parametrize("use", [*USES, Queue.Declare("q"), Queue.Declare("q", passive=True)])
def test_exclusive_queues_are_locked_to_their_connection(use: Any) -> None:
    server = peer()
    owner, stranger = Client(server, channels=2), Client(server)
    owner.declare("q", exclusive=True)
    owner.ask(Queue.Bind("q", "amq.direct", "k"))
    owner.ask(use.replace(exclusive=True) if isinstance(use, Queue.Declare) else use, channel=2)
    owner.declare("q", exclusive=True)
    assert stranger.is_refused(use) == (405, level_of(use))


def test_anyone_may_publish_to_an_exclusive_queue() -> None:
    server = peer()
    owner, stranger = Client(server), Client(server)
    owner.declare("q", exclusive=True)
    stranger.publish()
    assert owner.get().body == b"x"


@pytest.mark.parametrize("use", USES)
def test_a_blank_name_is_the_queue_declared_last(use: Any) -> None:
    client = client_with()
    client.ask(Queue.Bind("q", "amq.direct", "k"))
    answer = client.ask(use.replace(queue=""))
    assert "Close" not in type(answer).__name__
    assert Client(peer()).is_refused(use.replace(queue="")) == (404, level_of(use))


def test_every_declare_makes_its_queue_the_current_one() -> None:
    client = client_with()
    generated = client.declare("").queue
    for declare in (Queue.Declare(generated), Queue.Declare("q"), Queue.Declare("q", passive=True)):
        name = client.ask(declare).queue
        client.ask(Queue.Bind("", "amq.direct", f"key of {name}"))
        assert client.ask(Queue.Declare("", passive=True)).queue == name
        client.declare("other")
    client.declare("")
    assert client.ask(Queue.Declare("", passive=True)).queue.startswith("amq.gen-")
    client.ask(Queue.Delete(""))
    client.declare("p")
    client.ask(Queue.Declare("q", passive=True))
    assert client.ask(Queue.Declare("", passive=True)).queue == "q"


def test_a_blank_name_without_a_queue_by_policy() -> None:
    choices: dict[str, Any] = {
        "current_queue_unknown": Refusal(SYNTAX_ERROR),
        "unbind_failure": Level.CHANNEL,
    }
    for use in USES:
        assert Client(peer(**choices)).is_refused(use.replace(queue="")) == (502, "connection")
    choices["current_queue_unknown"] = Refusal(SYNTAX_ERROR, Level.CHANNEL)
    for use in USES:
        assert Client(peer(**choices)).is_refused(use.replace(queue="")) == (502, "channel")


def test_binding_twice_is_one_binding() -> None:
    client = client_with()
    for _ in range(2):
        assert client.ask(Queue.Bind("q", "amq.direct", "k")) == Queue.BindOk()
    client.publish("k", exchange="amq.direct")
    assert client.count() == (1, 0)
    client.send(Queue.Bind("q", "amq.direct", "m", no_wait=True))
    assert client.ask(Queue.Unbind("q", "amq.direct", "k")) == Queue.UnbindOk()
    client.publish("k", exchange="amq.direct")
    assert client.count() == (1, 0)
    client.publish("m", exchange="amq.direct")
    assert client.count() == (2, 0)


def test_bindings_with_different_arguments_are_different() -> None:
    client = client_with()
    client.ask(Queue.Bind("q", "amq.headers", "", arguments={"a": 1}))
    client.ask(Queue.Bind("q", "amq.headers", "", arguments={"a": 2}))
    client.ask(Queue.Unbind("q", "amq.headers", "", arguments={"a": 1}))
    for value in (1, 2):
        client.publish("", exchange="amq.headers", headers={"a": value})
    assert client.get().properties.headers == {"a": 2}
    assert client.get() is None


def test_blank_queue_and_key_bind_by_the_queue_name() -> None:
    client = client_with()
    client.ask(Queue.Bind("", "amq.direct", ""))
    client.ask(Queue.Bind("q", "amq.direct", ""))
    client.publish("q", exchange="amq.direct")
    client.publish("", exchange="amq.direct")
    assert client.count() == (2, 0)


def test_the_default_exchange_can_be_bound_and_unbound() -> None:
    client = client_with()
    assert client.ask(Queue.Bind("q", "", "k")) == Queue.BindOk()
    client.publish("k")
    assert client.get()
    assert client.ask(Queue.Unbind("q", "", "k")) == Queue.UnbindOk()
    client.publish("k")
    assert client.get() is None


def test_exchanges_that_do_not_exist_are_refused() -> None:
    assert client_with().is_refused(Queue.Bind("q", "none", "k")) == (404, "channel")
    assert client_with().is_refused(Queue.Unbind("q", "none", "k")) == (404, "connection")


def test_unbinding_what_is_not_bound_by_policy() -> None:
    assert client_with().ask(Queue.Unbind("q", "amq.direct", "k")) == Queue.UnbindOk()
    client = Client(peer(missing_binding="refuse", unbind_failure=Level.CHANNEL))
    client.declare()
    assert client.is_refused(Queue.Unbind("q", "amq.direct", "k")) == (404, "channel")
    assert client.is_refused(Queue.Unbind("p", "amq.direct", "k")) == (404, "channel")
    assert client.is_refused(Queue.Unbind("q", "none", "k")) == (404, "channel")


def test_unbinding_from_the_default_exchange_by_policy() -> None:
    assert client_with().ask(Queue.Unbind("q", "", "q")) == Queue.UnbindOk()
    client = Client(peer(default_unbind=Refusal(530)))
    client.declare()
    assert client.is_refused(Queue.Unbind("q", "", "q")) == (530, "connection")


def test_contested_types_by_policy() -> None:
    for value in (As("l", 1), As("U", 1), {"inner": As("L", 1)}, [As("s", "text")]):
        bind = Queue.Bind("q", "amq.direct", "k", arguments={"plain": 1, "contested": value})
        assert client_with().ask(bind) == Queue.BindOk()
        client = Client(peer(contested_types="refuse"))
        client.declare()
        client.ask(Queue.Bind("q", "amq.direct", "k", arguments={"plain": [1], "inner": {"plain": "too"}}))
        assert client.is_refused(bind) == (501, "connection")
        other = Client(peer(contested_types="refuse"))
        other.publish(headers={"contested": value})
        assert other.hear().reply_code == 501


def test_purge_spares_what_awaits_acknowledgement() -> None:
    client = client_with()
    for body in (b"1", b"2", b"3"):
        client.publish(body=body)
    assert client.get().body == b"1"
    assert client.ask(Queue.Purge("q")) == Queue.PurgeOk(2)
    assert client.get() is None
    client.ask(Basic.Recover(True))
    assert client.get().body == b"1"
    client.send(Queue.Purge("q", no_wait=True))
    assert client.listen() == []


def test_delete_counts_messages() -> None:
    client = client_with()
    client.publish()
    assert client.ask(Queue.Delete("q")) == Queue.DeleteOk(1)
    assert client.count() is None
    client.declare()
    client.send(Queue.Delete("q", no_wait=True))
    assert client.listen() == []
    assert client.count() is None


def test_if_unused_and_if_empty_spare_the_queue() -> None:
    client = client_with()
    client.publish()
    assert client.is_refused(Queue.Delete("q", if_empty=True)) == (406, "channel")
    client.get()
    assert client.is_refused(Queue.Delete("q", if_empty=True)) == (406, "channel")
    client.ask(Queue.Purge("q"))
    client.ask(Basic.Consume("q", "t"))
    assert client.is_refused(Queue.Delete("q", if_unused=True)) == (406, "channel")
    assert client.ask(Queue.Delete("q", if_unused=True, if_empty=True)) == Queue.DeleteOk(0)


def test_unacknowledged_messages_may_not_count() -> None:
    client = Client(peer(unacknowledged_count_as_messages=False))
    client.declare()
    client.publish()
    client.get()
    assert client.ask(Queue.Delete("q", if_empty=True)) == Queue.DeleteOk(0)


def test_a_new_queue_of_the_same_name_has_no_old_bindings() -> None:
    client = client_with()
    client.ask(Queue.Bind("q", "amq.fanout", ""))
    client.ask(Queue.Delete("q"))
    client.declare()
    client.publish("", exchange="amq.fanout")
    assert client.get() is None
    assert client.ask(Exchange.Declare("amq.fanout", passive=True)) == Exchange.DeclareOk()
