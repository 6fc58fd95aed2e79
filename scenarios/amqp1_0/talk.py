"""What a client of 1.0 under test is told to do so that there is something to see of it."""

from harness.amqp1_0.server.client import Client, JudgedConnection
from harness.play.expect import ControlFailed
from spec.rules import Role

TALK = "1-0/2.4.3.close-before-closing"
"""The rule whose scenario for clients has them talk, and so gives watches of clients their occasion."""
CLIENT = Role.CLIENT
"""Whose checks and deviations they are, where `Role` is that of a link."""
SIZES = (0, 24, 300_000)
"""Octets of bodies: none, a few, and more than a frame has room for."""


def talk(client: Client) -> JudgedConnection:
    """Have the client send messages, receive and settle them; give its connection, with no session open."""
    connection = client.connection()
    session = connection.session()
    address = client.name("node")
    sender = session.sender(address)
    for size in SIZES:
        sender.send({"fill": size})
    receiver = session.receiver(address, credit=len(SIZES))
    messages = receiver.messages(len(SIZES))
    if [each.size for each in messages] != list(SIZES):
        raise ControlFailed("receiving", f"{len(messages)} messages")
    for message in messages:
        receiver.settle(message)
    sender.close()
    receiver.close()
    session.end()
    connection.hear_out()
    return connection
