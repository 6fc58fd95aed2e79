"""How a connection to a 0-9-1 server is opened for a look at it, and what one that does not open may be."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.leniency import STEPS
from harness.amqp0_9_1.client.outcomes import HeaderReceived, code, signature
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    CONNECTION_FORCED,
    INVALID_PATH,
    NOT_ALLOWED,
    RESOURCE_ERROR,
    Connection,
)
from harness.play.expect import ControlFailed
from harness.play.speaker import Opening
from harness.targets.target import Endpoint, Target
from harness.wire.transport import Unreachable
from harness.wire.units import Garbage, Header

LOG_IN = ("connection.start-ok", "connection.secure-ok")
TRIPS = 3
UNWANTED = (CONNECTION_FORCED, INVALID_PATH, ACCESS_REFUSED, RESOURCE_ERROR, NOT_ALLOWED)
"""Codes that say that a client is not wanted, or not there or not now; others say that it did wrong."""


def trips(broker: Broker, target: Target) -> Iterator[float]:
    """Open a connection and a few channels; yield how long each of these took, in seconds."""
    connection = broker.socket()
    connection.begin()
    _offered(connection.start, connection.endpoint, target)
    connection.authenticate()
    connection.open()
    # A channel-max of 1 is a legal one.
    for _ in range(min(TRIPS, connection.tune.channel_max or TRIPS)):
        began = connection.link.now()
        connection.channel()
        yield connection.link.now() - began


def _offered(start: Connection.Start, endpoint: Endpoint, target: Target) -> None:
    """Make sure that our mechanism is one the server lists, if it lists any. Raises Unreachable."""
    offered = bytes(start.mechanisms).decode("utf-8", "backslashreplace")
    if offered and endpoint.mechanism not in offered.split():
        raise Unreachable(
            f"{target.name} does not offer the SASL mechanism {endpoint.mechanism}, only {offered}"
        )


def told(broker: Broker) -> Mapping[str, Any]:
    return broker.newest.start.server_properties


def speaks(failure: ControlFailed, broker: Broker) -> bool:
    """Say whether a frame or our protocol header has come."""
    return not is_foreign(failure) and any(
        isinstance(each, Frame | Header) or (isinstance(each, Garbage) and each.delimited)
        for each in broker.newest.link.received()
    )


def is_foreign(failure: ControlFailed) -> bool:
    """Say whether the server answered our protocol header with another one."""
    ours = signature(HeaderReceived(Header(PROTOCOL_HEADER)))
    return failure.actual.startswith("protocol header") and failure.actual != ours


def is_free_to_go(failure: ControlFailed, broker: Broker) -> bool:
    """Say whether the target ended the connection, as it may where it does not want us."""
    if failure.actual.startswith("protocol header"):
        return False  # ours, which it refuses and offers
    closed = failure.actual.startswith("connection.close")
    wanted = failure.what in LOG_IN or any(failure.actual.endswith(f" {code(each)}") for each in UNWANTED)
    return (closed and wanted) or (not closed and broker.newest.link.ended is not None)


def refuses_us(failure: ControlFailed) -> bool:
    """Say whether the server ended the connection at log-in, as one does that does not accept us."""
    return failure.what in LOG_IN and failure.actual.startswith(("socket closed", "connection.close"))


OPENING = Opening(trips, told, STEPS, speaks, is_free_to_go, is_foreign, refuses_us)
