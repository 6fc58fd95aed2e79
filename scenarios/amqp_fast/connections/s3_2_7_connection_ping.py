"""3.2.7 CONNECTION PING Command."""

from harness.amqp_fast.broken.deviations import ignores, rewrites
from harness.amqp_fast.client.outcomes import fields
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.vocabulary import Connection
from scenarios.registry import broken_by, scenario


@scenario("fast/3.2.7.ping-answered")
@broken_by("does not answer", ignores(Connection.Ping))
@broken_by("asks in return", rewrites(Connection.Ping, respond=True))
def ping_that_asks_is_answered(server: Server) -> None:
    """A PING with respond set is answered by one without."""
    server.connection().tries(Connection.Ping(respond=True), fields(Connection.Ping, respond=False))
