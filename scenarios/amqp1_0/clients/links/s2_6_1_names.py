"""2.6.1 and 2.7.3, of clients: what the name of a link is unique in."""

from dataclasses import replace

from harness.amqp1_0.broken.deviations import forwards, ignores, rewrites, withholds
from harness.amqp1_0.client.endpoints import message
from harness.amqp1_0.client.outcomes import fields
from harness.amqp1_0.server.client import Client, JudgedConnection, Served
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.server.session import JudgedReceiver
from harness.amqp1_0.wire.performatives import Attach, Detach, Transfer
from harness.amqp1_0.wire.types import Symbol
from harness.play.expect import ControlFailed, Inapplicable
from harness.shims.contract import Refused
from scenarios.amqp1_0.performatives.s2_7_1_open import carries
from scenarios.amqp1_0.talk import CLIENT, arrives
from scenarios.registry import broken_by, scenario

ELSEWHERE = {Symbol("conformance:elsewhere"): True}
"""A property of the links of another server, by which they can be told from those of the first."""


def connected(client: Client, served: Served, container: str) -> JudgedConnection:
    """Have the client connect to a server once more, as this container. Raises ControlFailed."""
    refused, on = client.tries_to_connect(served, container=container)
    if refused is not None:
        raise ControlFailed("connect", refused.told)
    return client.at(served, on)


@scenario("1-0/2.6.1.stolen", role=CLIENT)
@broken_by("leaves the first attached", ignores(Detach), CLIENT)
@broken_by("does not close it", forwards(Detach, closed=None), CLIENT)
@broken_by("has lost the second, too", withholds(Transfer), CLIENT)
def a_link_of_a_client_is_stolen_from_its_first_connection(client: Client) -> None:
    """A receiver is attached on a second connection of the container as well, and a message comes there.

    Our server closes the first with stolen, and the client answers that.
    """
    served, container = client.server(), client.name("container")
    name, address = client.name("link"), client.name("node")
    held = connected(client, served, container).session().receiver(address, name=name)
    session = connected(client, served, container).session()
    other = session.tries_receiver(address, credit=1, name=name)
    if not session.sent(Attach):
        raise Inapplicable("the client attaches no link of a name in use: it can be stolen, and need not be")
    client.judge("a link", getattr(other, "told", ""), not isinstance(other, Refused))
    assert isinstance(other, JudgedReceiver)
    held.expect(fields(Detach, closed=True))
    other.server_sends(message(b"x"))
    arrives(other, "x")


@scenario("1-0/2.7.3.name-per-container", role=CLIENT)
@broken_by(
    "takes all containers for one",
    withholds(Attach, when=carries("properties"), skip=1),
    CLIENT,
)
def links_of_a_client_to_two_containers_have_one_name(client: Client) -> None:
    """Receivers of one name from two servers are attached, and get a message each."""
    other = replace(LENIENT, container_id="another")
    name, address = client.name("link"), client.name("node")
    first, second = client.session(), client.session(rewrites(Attach, properties=ELSEWHERE), policy=other)
    held = first.receiver(address, credit=1, name=name)
    second.receiver(address)  # control: one of another name
    link = second.tries_receiver(address, credit=1, name=name)
    client.judge("a link of the same name", getattr(link, "told", ""), not isinstance(link, Refused))
    assert isinstance(link, JudgedReceiver)
    for receiver in (held, link):
        receiver.server_sends(message(b"x"))
        arrives(receiver, "x")
