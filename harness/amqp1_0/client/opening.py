"""How a connection to a 1.0 server is opened for a look at it, and what one that does not open may be."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from harness.amqp1_0.client import sasl
from harness.amqp1_0.client.connection import AmqpConnection, OtherHeader
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.leniency import STEPS
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER
from harness.amqp1_0.wire.performatives import Open
from harness.amqp1_0.wire.types import Map
from harness.play.expect import ControlFailed, Inapplicable, Inconclusive
from harness.play.speaker import Opening
from harness.targets.target import Target
from harness.wire.transport import Unreachable
from harness.wire.units import Header

TRIPS = 3
"""Round trips that the probe measures."""
LIMITS = ("max_frame_size", "channel_max", "idle_time_out", "offered_capabilities", "desired_capabilities")
"""What an open tells of its container beside its name and its properties."""


def trips(container: Container, target: Target) -> Iterator[float]:
    """Open a connection, and as many sessions as it allows; yield how long each took, in seconds.

    None of them is ended: there are brokers that leave one end in a thousand without an answer.
    """
    connection = _let_in(container, target)
    connection.open()
    connection.beats()  # one that has just started may answer later than it bears silence
    with suppress(Inconclusive):  # no channel is left
        for _ in range(TRIPS):
            began = connection.link.now()
            connection.begin()
            yield connection.link.now() - began


def _let_in(container: Container, target: Target) -> AmqpConnection:
    """Open a connection up to where an open is due. Raises Unreachable where our mechanism is not offered."""
    try:
        connection, offered = container.offered()
    except Inapplicable:
        return container.negotiated()
    wanted = connection.endpoint.mechanism
    listed = " ".join(map(str, offered.sasl_server_mechanisms)).encode("unicode_escape").decode()
    if listed and not sasl.offers(offered, wanted):
        raise Unreachable(f"{target.name} does not offer the SASL mechanism {wanted}, only {listed}")
    connection.authenticate()
    connection.exchange_headers()
    return connection


def told(container: Container) -> Mapping[str, Any]:
    """Give what the server's open tells of its container, as plain values; nothing if there was none."""
    opening = container.newest.link.partner or Open()
    properties: Any = opening.properties
    pairs = properties.pairs if isinstance(properties, Map) else ()
    facts = {str(key): _plain(value) for key, value in pairs}
    limits = {name.replace("_", "-"): _plain(getattr(opening, name)) for name in LIMITS}
    return facts | {"container-id": _plain(opening.carried("container_id"))} | limits


def _plain(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, int) else str(value)


def speaks(failure: ControlFailed, container: Container) -> bool:
    """Say whether a protocol header has come, and none that answers ours with another one."""
    came = any(isinstance(each, Header) for each in container.newest.link.received())
    return came and not isinstance(failure, OtherHeader)


def is_foreign(failure: ControlFailed) -> bool:
    """Say whether the server answered our protocol header with one that is of no layer of AMQP 1.0."""
    return isinstance(failure, OtherHeader) and failure.header.version != Header(PROTOCOL_HEADER).version


def is_free_to_go(_: ControlFailed, container: Container) -> bool:
    """Say whether the target ended the connection, as it may where it does not want us."""
    link = container.newest.link
    return link.ended is not None or link.heard_close


def refuses_us(failure: ControlFailed) -> bool:
    """Say whether the server's outcome of SASL is against us."""
    return failure.what == "sasl-init"


OPENING = Opening(trips, told, STEPS, speaks, is_free_to_go, is_foreign, refuses_us)
