"""2.6 Links, of clients: detaching, and credit."""

from harness.amqp1_0.broken.deviations import forwards, ignores, rewrites
from harness.amqp1_0.client.outcomes import answered, fields
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.wire.performatives import Detach, Flow, LinkError, Transfer
from scenarios.registry import broken_by, scenario
from spec.rules import Role

FEW = 2
"""Messages that the server takes."""


@scenario("1-0/2.6.4.detach-answered", role=Role.CLIENT)
@broken_by("does not answer", ignores(Detach), Role.CLIENT)
def a_client_answers_a_detach(client: Client) -> None:
    """A detach of the server's, of a link on which the client sends and of another, is answered."""
    session = client.session()
    for link in (session.sender(), session.receiver(credit=1)):
        session.connection.hear_out()
        link.server_detaches(closed=False)
        link.expect(answered(Detach))


@scenario("1-0/2.6.6.close-answered", role=Role.CLIENT)
@broken_by("does not answer", ignores(Detach), Role.CLIENT)
@broken_by("only detaches", forwards(Detach, closed=None), Role.CLIENT)
def a_client_answers_a_detach_that_closes(client: Client) -> None:
    """A detach that closes, without and with an error, is answered by one that closes."""
    session = client.session()
    for condition in ("", LinkError.DETACH_FORCED):
        sender = session.sender()
        session.connection.hear_out()
        sender.server_detaches(condition)
        sender.expect(fields(Detach, closed=True))


@scenario("1-0/2.6.7.credit-is-used-up", role=Role.CLIENT)
@broken_by("knows no credit", rewrites(Flow, link_credit=100), Role.CLIENT)
def a_client_sends_no_more_than_the_credit(client: Client) -> None:
    """With credit for two messages, of five that are handed over the client sends two."""
    sender = client.session(rewrites(Flow, link_credit=FEW)).sender()
    sender.hands_over(count=5)
    for _ in range(FEW):
        sender.expect(Transfer)
    sender.connection.sends_no(Transfer)
