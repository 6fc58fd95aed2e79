"""2.5 Sessions, of clients: ending."""

from harness.amqp1_0.broken.deviations import ends_stream, ignores, of_client, replaces
from harness.amqp1_0.client.outcomes import ended_well, session_ended
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.wire.performatives import AmqpError, Close, End, Error
from scenarios.registry import broken_by, scenario
from spec.rules import Role

OURS = Error(AmqpError.INTERNAL_ERROR, "the client ends because of an error")


def _is_ended(client: Client, condition: str) -> None:
    session = client.session()
    session.sender()
    session.connection.hear_out()
    session.server_ends(condition)
    session.expect(ended_well(), session_ended().recorded("the answer may have an error of its own"))
    session.connection.works_on()


@scenario("1-0/2.5.2.end-answered", role=Role.CLIENT)
@broken_by("does not answer", ignores(End), Role.CLIENT)
@broken_by("closes the connection instead", of_client(replaces(End, Close())), Role.CLIENT)
@broken_by("ends the stream instead", of_client(ends_stream(End)), Role.CLIENT)
def a_client_answers_an_end(client: Client) -> None:
    """An end of the server's is answered by an end; another session can be begun on the connection."""
    _is_ended(client, "")


@scenario("1-0/2.5.2.end-with-error-answered", role=Role.CLIENT)
@broken_by("does not answer", ignores(End), Role.CLIENT)
@broken_by("answers with a close", of_client(replaces(End, Close(OURS))), Role.CLIENT)
def a_client_answers_an_end_with_an_error(client: Client) -> None:
    """An end with an error is answered by an end; another session can be begun on the connection."""
    _is_ended(client, AmqpError.INTERNAL_ERROR)
