"""What a shim of 1.0 must be able to do, tried command by command before anybody is judged by it."""

from collections.abc import Callable, Mapping

from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.session import JudgedReceiver
from harness.amqp1_0.server.told import Message
from harness.amqp1_0.shims.messages import decoded
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.performatives import Accepted, Disposition, Flow, Modified, Rejected, Released
from harness.amqp1_0.wire.types import Described, Ulong
from harness.play.expect import ControlFailed
from harness.shims.contract import filled
from harness.wire.units import DecodeError

LARGE = 300_000
"""Octets of a body that no frame has room for."""
FLOWS = 5
"""Flows among which one must drain."""
OUTCOMES = {"accept": Accepted, "reject": Rejected, "release": Released, "modify": Modified}
VALUE = 0x77
"""The descriptor of a body that is a value (Part 3)."""


def connects(client: Client) -> str:
    """Have the client open a session, and end both: the least that makes it worth judging."""
    connection = client.connection()
    connection.session().end()
    connection.close()
    return "a connection and a session are opened and ended"


def attaches(client: Client) -> str:
    """Have the client attach links in both directions, and detach them."""
    session = client.session()
    session.sender().close()
    receiver = session.receiver(credit=1)
    receiver.credit(2)
    receiver.close()
    return "links are attached, given credit, and closed"


def sends(client: Client) -> str:
    """Have the client send messages, told what becomes of them, and receive them."""
    session = client.session()
    address = client.name("node")
    sender, receiver = session.sender(address), session.receiver(address, credit=10)
    for number, size in enumerate((0, 5, LARGE)):
        outcome = sender.send({"fill": size}, properties={"subject": "a/b"}, header={"durable": True})
        if outcome != "accepted":
            raise ControlFailed("a message that is accepted", f"{outcome} is told")
        if not sender.deliveries()[-1].payload.endswith(filled(size)):
            raise ControlFailed(f"a body of {size} octets by its pattern", "other octets")
        got = _got(receiver, number + 1)
        if got.size != size or got.properties.get("subject") != "a/b":
            raise ControlFailed(f"a message of {size} octets, with a subject", "another one")
    return "messages are sent and received, with their properties; octet i is i mod 251"


def _got(receiver: JudgedReceiver, count: int = 1) -> Message:
    messages = receiver.messages(count)
    if len(messages) < count:
        raise ControlFailed("wait", "no message")
    return messages[count - 1]


def settles(client: Client) -> str:
    """Have the client settle messages in each way."""
    session = client.session()
    receiver = session.receiver(credit=10)
    for outcome, state in OUTCOMES.items():
        receiver.server_sends(message(outcome.encode()))
        found = next((each for each in receiver.messages(10) if each.text == outcome), None)
        if found is None:
            raise ControlFailed("wait", "no message")
        receiver.settle(found, outcome)
        said = session.connection.came(Disposition).performative
        if not isinstance(said.state, state):
            raise ControlFailed(outcome, f"a disposition with {said.state}")
    return f"messages are settled by {', '.join(OUTCOMES)}"


def echoes(client: Client) -> str:
    """Have the client send a message again: a text, a boolean and an integer come back as they were.

    Which types an integer has in a library is for runs with brokers to find.
    """
    session = client.session()
    address = client.name("node")
    receiver, sender = session.receiver(address, credit=1), session.sender(client.name("node"))
    value = ("x", True, -7)
    receiver.server_sends(encode(Described(Ulong(VALUE), value)))
    sender.echo(_got(receiver))
    try:
        sent = [decoded(each.payload)[-1:] for each in sender.deliveries()]
    except DecodeError as failure:
        raise ControlFailed("echo", f"what is no message: {failure}") from None
    if [each.value for sections in sent for each in sections] != [value]:
        raise ControlFailed("echo", "another value")
    return "a message is sent again as it was got"


def drains(client: Client) -> str:
    """Have the client drain a link that has credit left."""
    receiver = client.session().receiver(credit=3)
    receiver.drain()
    if not any(receiver.session.connection.came(Flow).performative.drain for _ in range(FLOWS)):
        raise ControlFailed("drain", f"{FLOWS} flows that drain nothing")
    return "a link is drained"


COMMANDS: Mapping[str, Callable[[Client], str]] = {
    "open, close": connects,
    "attach, credit": attaches,
    "send, wait": sends,
    "settle": settles,
    "echo": echoes,
    "drain": drains,
}
"""By what is tried."""
