"""What a shim of 0-9-1 must be able to do, tried command by command before anybody is judged by it."""

from collections.abc import Callable, Mapping

from harness.amqp0_9_1.server.client import Client, JudgedChannel
from harness.amqp0_9_1.server.told import Message
from harness.amqp0_9_1.wire.vocabulary import Basic
from harness.play.expect import ControlFailed
from harness.shims.contract import filled

LARGE = 300_000
"""Octets of a body that no frame has room for."""


def connects(client: Client) -> str:
    """Have the client open a channel, and close both: the least that makes it worth judging."""
    connection = client.connection()
    connection.channel().close()
    connection.close()
    return "a connection and a channel are opened and closed"


def calls(client: Client) -> str:
    """Have the client call methods, and tell what the replies say."""
    channel = client.connection().channel()
    queue = client.name("queue")
    told = channel.call("queue.declare", queue=queue, exclusive=True)
    channel.call("exchange.declare", exchange=client.name("exchange"), type="direct")
    channel.call("queue.delete", queue=queue)
    return f"queue.declare tells {', '.join(told) or 'nothing'}"


def sends(client: Client) -> str:
    """Have the client send messages and get them."""
    channel = client.connection().channel()
    queue = client.name("queue")
    channel.declares(queue)
    for size in (0, 5):
        _sends(channel, queue, size)
    return "messages are sent and got, with their properties"


def sends_much(client: Client) -> str:
    """Have the client send and get a message that takes many frames."""
    channel = client.connection().channel()
    queue = client.name("queue")
    channel.declares(queue)
    _sends(channel, queue, LARGE)
    return f"a message of {LARGE} octets is sent and got; where only this is broken, it may be the library"


def _sends(channel: JudgedChannel, queue: str, size: int) -> None:
    channel.publish({"fill": size}, key=queue, properties={"content-type": "a/b", "delivery-mode": 1})
    got = channel.get(queue)
    if got is None or got.size != size:
        raise ControlFailed(f"a message of {size} octets", f"{got.size if got else 'no'} octets")
    if got.properties.get("content-type") != "a/b":
        raise ControlFailed("a message with a content-type", "one without, or with another")


def receives(client: Client) -> str:
    """Have the client consume, settle in each way, and stop."""
    connection = client.connection()
    channel = connection.channel()
    queue = client.name("queue")
    channel.declares(queue)
    tag = channel.receive(queue, settled=False)
    done: list[str] = []
    for outcome in ("accept", "reject", "release"):
        channel.publish(outcome, key=queue)
        messages = channel.messages(len(done) + 1)
        if len(messages) <= len(done):
            raise ControlFailed("wait", "no message")
        channel.settle(messages[-1], outcome)
        done.append(outcome)
    channel.stop(tag)
    return f"messages are told, and settled by {', '.join(done)}"


def receives_by_arguments(client: Client) -> str:
    """Have the client consume with an argument of its own."""
    connection = client.connection()
    channel = connection.channel()
    queue = client.name("queue")
    channel.declares(queue)
    channel.tries_to_receive(queue, arguments={"x-priority": 1})
    seen = connection.link.taken(Basic.Consume)
    method = getattr(seen, "method", None)
    if getattr(method, "arguments", {}).get("x-priority") != 1:
        raise ControlFailed("receive with an argument", "a consumer without it")
    return "a consumer is started with arguments"


def echoes(client: Client) -> str:
    """Have the client send a message again: text, boolean and integer headers come back as they were."""
    connection = client.connection()
    channel = connection.channel()
    queue = client.name("queue")
    channel.declares(queue)
    headers = {"map": [["text", "x"], ["truth", True], ["number", 7]]}
    channel.publish("echo", key=queue, properties={"headers": headers})
    message = channel.get(queue)
    if not isinstance(message, Message):
        raise ControlFailed("get", "no message")
    channel.echo(message, queue)
    seen = connection.link.taken(Basic.Publish)
    sent = getattr(getattr(seen, "properties", None), "headers", None)
    if sent != {"text": "x", "truth": True, "number": 7} or getattr(seen, "body", b"") != b"echo":
        raise ControlFailed("echo", f"other headers: {sent}")
    return "a message is sent again as it was got"


def fills(client: Client) -> str:
    """Have the client send a body by its pattern."""
    connection = client.connection()
    channel = connection.channel()
    client.told("send", on=channel.on, exchange="", key="nobody", body={"fill": 600}, properties={})
    seen = connection.link.taken(Basic.Publish)
    if getattr(seen, "body", b"") != filled(600):
        raise ControlFailed("a body of 600 octets by its pattern", "other octets")
    return "octet i is i mod 251"


COMMANDS: Mapping[str, Callable[[Client], str]] = {
    "open, close": connects,
    "call": calls,
    "send, get": sends,
    "send, get much": sends_much,
    "receive, settle": receives,
    "receive by arguments": receives_by_arguments,
    "echo": echoes,
    "fill": fills,
}
"""By what is tried."""
