"""Direct replies of the peer that serves the extensions."""

from harness.amqp0_9_1.peer.tests.dialogue import Client, Message, peer, queue_with
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Queue

REPLIES = "amq.rabbitmq.reply-to"


def asked(client: Client) -> str:
    """Consume replies and publish a request; the name that it comes with."""
    assert client.ask(Basic.Consume(REPLIES, "r", no_ack=True)) == Basic.ConsumeOk("r")
    client.publish(reply_to=REPLIES, message_id="1")
    request = client.get(no_ack=True, channel=2)
    assert request.properties.message_id == "1"
    return str(request.properties.reply_to)


def test_a_reply_comes_by_the_name_that_a_request_was_given() -> None:
    client = queue_with(kind=Peer)
    name = asked(client)
    assert name.startswith(f"{REPLIES}.")
    client.publish(name, b"reply", channel=2)
    reply = client.hear()
    assert isinstance(reply, Message)
    assert (reply.method.consumer_tag, reply.body) == ("r", b"reply")


def test_replies_are_not_acknowledged_and_consumed_once() -> None:
    client = Client(peer(kind=Peer))
    assert client.is_refused(Basic.Consume(REPLIES)) == (406, "channel")
    client.ask(Basic.Consume(REPLIES, no_ack=True))
    assert client.is_refused(Basic.Consume(REPLIES, no_ack=True)) == (406, "channel")


def test_a_request_wants_a_consumer_of_replies_on_its_channel() -> None:
    client = queue_with(kind=Peer)
    client.ask(Basic.Consume(REPLIES, no_ack=True), 2)
    client.publish(reply_to="mine")
    assert client.get().properties.reply_to == "mine"
    client.publish(reply_to=REPLIES)
    refused = client.hear()
    assert isinstance(refused, Channel.Close)
    assert refused.reply_code == 406


def test_names_of_replies_are_there_as_long_as_their_consumer() -> None:
    client = queue_with(kind=Peer)
    name = asked(client)
    for each in (REPLIES, name):
        for passive in (True, False):
            assert client.ask(Queue.Declare(each, passive=passive), 2) == Queue.DeclareOk(each, 0, 1)
        assert client.ask(Queue.Delete(each), 2) == Queue.DeleteOk(0)
    client.ask(Basic.Cancel("r"))
    for passive in (True, False):
        assert client.is_refused(Queue.Declare(name, passive=passive)) == (404, "channel")


def test_a_mandatory_reply_may_be_returned_as_well() -> None:
    for routed, heard in ((True, ["deliver"]), (False, ["return", "deliver"])):
        client = queue_with(kind=Peer, replies_count_as_routed=routed)
        client.publish(asked(client), b"reply", mandatory=True)
        assert sorted(each.method.spec.name for each in client.listen()) == sorted(heard)
