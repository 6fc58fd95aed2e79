"""3.1.2: a connection belongs to one virtual host."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.connection import AmqpConnection
from harness.amqp0_9_1.deviations import answers, drops, ignores
from harness.amqp0_9_1.outcomes import answered, closed_silently, connection_closed
from harness.amqp0_9_1.vocabulary import Connection
from scenarios.registry import broken_by, scenario


@scenario("0-9-1/prose/3.1.2.one-virtual-host", slow=True)
@broken_by("opens again", answers(Connection.Open, Connection.OpenOk(), skip=1))
@broken_by("passes over it", ignores(Connection.Open, skip=1))
def open_connection_cannot_be_opened_again(broker: Broker) -> None:
    """A second Open on a connection ends it, by an exception or at once."""
    connection = broker.connection()
    connection.send(Connection.Open(connection.endpoint.virtual_host))
    connection.expect(connection_closed() | closed_silently())


@scenario(
    "0-9-1/prose/3.1.2.authorization-per-virtual-host", needs={"restricted-user", "second-vhost"}, slow=True
)
@broken_by("lets everybody in", drops("connection.open: refuses a virtual host the user may not use"))
def rights_on_virtual_hosts_are_recorded(broker: Broker) -> None:
    """Whether each of two users may open each of two virtual hosts."""
    stranger, elsewhere = broker.facility("restricted-user"), broker.facility("second-vhost")
    for who, user in (("we", {}), ("a user without rights", stranger)):
        for where, host in (("our virtual host", {}), ("another one", elsewhere)):
            allowed = "may" if may_open(broker.socket(**user | host)) else "may not"
            broker.note(f"{who} {allowed} open {where}")


def may_open(connection: AmqpConnection) -> bool:
    """Log in and open the virtual host; both outcomes are legal."""
    connection.begin()
    connection.authenticate()
    connection.send(connection.tune_ok())
    connection.send(Connection.Open(connection.endpoint.virtual_host))
    wanted = answered(Connection.OpenOk) | connection_closed() | closed_silently()
    return getattr(connection.expect(wanted.recorded()), "method", None) == Connection.OpenOk()
