"""What a client of 1.0 under test is told to do so that there is something to see of it."""

from harness.amqp1_0.server.client import Client, JudgedConnection, Served
from harness.amqp1_0.server.session import JudgedReceiver, JudgedSender, JudgedSession
from harness.amqp1_0.wire.performatives import Flow, SaslInit, Transfer
from harness.play.expect import ControlFailed
from harness.shims.contract import Refused
from spec.rules import Role

TALK = "1-0/2.4.3.close-before-closing"
"""The rule whose scenario for clients has them talk, and so gives watches of clients their occasion."""
MOMENT = 0.1
"""Seconds for which a client lives that cannot be asked for more."""
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


def hears(session: JudgedSession) -> None:
    """Have the client attach two more links: what our server has said before has reached it with the first.

    What it has said to that has come with the second.
    """
    session.tries_receiver()
    if isinstance(session.tries_receiver(), Refused):
        session.connection.wait(MOMENT)


def stated(receiver: JudgedReceiver) -> Flow:
    """Have the client give credit for one more message, and give the flow by which it does."""
    before = len(receiver.sent(Flow))
    receiver.credit(1)
    while len(receiver.sent(Flow)) <= before:
        receiver.connection.came(Flow)
    said: Flow = receiver.sent(Flow)[-1]
    return said


def comes(sender: JudgedSender, count: int) -> None:
    """Judge that so many transfers come, and not one more."""
    for _ in range(count):
        sender.expect(Transfer)
    sender.connection.sends_no(Transfer)


def arrives(receiver: JudgedReceiver, *texts: str) -> None:
    """Judge that the messages that the client tells of a link are these."""
    told = [each.text for each in receiver.messages(len(texts))]
    # How many it is is not said: what comes behind may be told or not, as a library is quick or slow.
    receiver.client.judge(f"{len(texts)} messages as they were sent", "others", told == list(texts))


def goes_on(session: JudgedSession) -> None:
    """Judge that the session can be used behind what our server has said: a link is attached on it."""
    hears(session)
    refused = session.failure()
    session.client.judge("the session goes on", refused.told if refused else "", refused is None)


def names_elsewhere(client: Client, elsewhere: Served) -> None:
    """Judge that who is redirected `elsewhere` names that host; its application goes where it does not."""
    if not client.came_to(elsewhere):
        client.tries_to_connect(elsewhere, hostname="elsewhere")
    connection = client.at(elsewhere)
    named = connection.opened.hostname
    told = f"an open for {'another' if named else 'no'} host"
    client.judge("an open for elsewhere", told, named == "elsewhere")
    for init in connection.sent(SaslInit):
        asked = init.hostname
        told = f"sasl-init for {'another' if asked else 'no'} host"
        client.judge("sasl-init for elsewhere", told, asked == "elsewhere")
