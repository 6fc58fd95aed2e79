"""How a connection of AMQP/Fast is opened for a look at it, and what one that does not open may be."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.wire.tables import Time
from harness.amqp_fast.wire.vocabulary import Connection
from harness.play.expect import ControlFailed
from harness.play.leniency import Step, Steps
from harness.play.speaker import Opening
from harness.targets.target import Target
from harness.wire.transport import Unreachable

TRIPS = 3
"""Round trips that the probe measures."""

STEPS = Steps(
    {
        "the initiation": Step("fast/3.2.2.valid-initiation-challenged", ("CONNECTION CHALLENGE",)),
        "CONNECTION RESPONSE": Step("fast/3.2.4.accepted-by-tune", ("CONNECTION TUNE",)),
        "CONNECTION OPEN": Step("fast/3.2.6.confirm-tag-wanted", ("CONNECTION REPLY",)),
    }
)


def trips(server: Server, target: Target) -> Iterator[float]:
    """Open a connection, and send heartbeats on it; yield how long each took, in seconds."""
    connection = server.begun()
    listed = connection.challenge.mechanisms.split()
    if b"PLAIN" not in listed:
        told = b" ".join(listed).decode("utf-8", "backslashreplace").encode("unicode_escape").decode()
        raise Unreachable(f"{target.name} does not offer the security mechanism PLAIN, only {told}")
    connection.authenticate()
    connection.open()
    for _ in range(TRIPS):
        began = connection.link.now()
        connection.alive()
        yield connection.link.now() - began


def told(server: Server) -> Mapping[str, Any]:
    """Give what the server told of its limits, as plain values; the protocol has no words for its product."""
    connection = server.newest
    options = {name: _plain(value) for name, value in connection.tune.options.items()}
    mechanisms = connection.challenge.mechanisms.decode("utf-8", "backslashreplace")
    return {"mechanisms": mechanisms, "protocol-version": connection.challenge.version} | options


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.seconds if isinstance(value, Time) else value if isinstance(value, int) else str(value)


def speaks(_: ControlFailed, server: Server) -> bool:
    """Say whether a command has come that only this protocol has where it did."""
    return any(isinstance(command_of(each), Connection.Challenge) for each in server.newest.link.received())


def is_foreign(failure: ControlFailed) -> bool:
    """Say whether what came in place of the challenge is nothing of this protocol."""
    return failure.actual.startswith("unreadable")


def is_free_to_go(_: ControlFailed, server: Server) -> bool:
    """Say whether the target ended the connection, as it may where it does not want us."""
    link = server.newest.link
    return link.ended is not None or link.over


def refuses_us(failure: ControlFailed) -> bool:
    """Say whether the server does not accept our credentials."""
    return failure.what == "CONNECTION RESPONSE"


OPENING = Opening(trips, told, STEPS, speaks, is_free_to_go, is_foreign, refuses_us)
