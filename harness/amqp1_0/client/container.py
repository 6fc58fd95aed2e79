"""The fixture of the 1.0 scenarios: the container under test, in the standard's word for a peer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.link import CONNECTION, Link
from harness.amqp1_0.client.outcomes import HeaderReceived
from harness.amqp1_0.client.session import Session
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, SASL_HEADER
from harness.amqp1_0.wire.performatives import SaslMechanisms
from harness.play.context import Context
from harness.play.expect import ControlFailed, Inapplicable, NotRun
from harness.play.fixture import Fixture
from harness.play.link import Closed
from harness.targets.target import Endpoint
from harness.wire.tls import TlsTransport, answer_to_hello, anyone
from harness.wire.transport import End, Transport, Unreachable

SASL, MECHANISMS = "the SASL header", "sasl-mechanisms"
"""What the control of the layer of SASL is called."""
TLS = "the TLS handshake"
"""What the control of the port for TLS is called."""


@dataclass
class Layers:
    """What has been found out about a target, kept over its scenarios: whether it offers SASL."""

    sasl: bool | None = None


class Container(Fixture[AmqpConnection]):
    """The container under test, for one scenario: opens connections, and leaves nothing behind."""

    def __init__(
        self,
        connect: Callable[[], Transport],
        endpoint: Endpoint,
        context: Context,
        protocol: str,
        layers: Layers | None = None,
        secure: Callable[[], Transport] | None = None,
    ) -> None:
        super().__init__(connect, endpoint, context, protocol)
        self.layers = layers or Layers()
        self._secure = secure

    # -- connections -----------------------------------------------------------------------------------

    def socket(self, **endpoint: Any) -> AmqpConnection:
        """Give a connection on which nothing has been said yet; `endpoint` changes user, host, …"""
        return self._over(self._connect(), self._endpoint_with(endpoint))

    def _over(self, transport: Transport, place: Endpoint) -> AmqpConnection:
        self._opened += 1
        link = Link(transport, self.context, self._connection_name(), self._protocol)
        own = f"{self.context.prefix}-c{self._opened}"
        connection = AmqpConnection(link, self.context, place, own)
        self._connections.append(connection)
        return connection

    def hello(self) -> bytes | End | None:
        """Send a ClientHello before all else to the port for TLS; give the answer. Raises ControlFailed."""
        return answer_to_hello(self._secure_socket(), self.context.patience.close)

    def behind_tls(self) -> AmqpConnection:
        """Give a connection to the port for TLS, with that done and nothing said. Raises ControlFailed."""
        try:
            inside = TlsTransport(self._secure_socket(), anyone(), self.endpoint.host)
        except Unreachable as failure:
            raise ControlFailed(TLS, str(failure)) from None
        return self._over(inside, self.endpoint)

    def _secure_socket(self) -> Transport:
        if self._secure is None:
            raise NotRun("the target has no port for TLS")
        try:
            return self._secure()
        except Unreachable as failure:
            raise ControlFailed(TLS, str(failure)) from None

    def offered(self, **endpoint: Any) -> tuple[AmqpConnection, SaslMechanisms]:
        """Give a connection with the server's mechanisms offered. Raises Inapplicable without SASL."""
        connection = self._with_sasl(endpoint)
        if connection is None:
            raise Inapplicable("the target offers no layer of SASL")
        return connection, connection.control(MECHANISMS, SaslMechanisms)

    def secured(self, **endpoint: Any) -> AmqpConnection:
        """Give a connection on which an AMQP header is due: inside SASL, where the target has it."""
        connection = self._with_sasl(endpoint)
        if connection is None:
            return self.socket(**endpoint)
        connection.control(MECHANISMS, SaslMechanisms)
        connection.authenticate()
        return connection

    def negotiated(self, **endpoint: Any) -> AmqpConnection:
        """Give a connection on which layers and headers are done and nothing is opened."""
        connection = self.secured(**endpoint)
        connection.exchange_headers()
        return connection

    def connection(self, **open_fields: Any) -> AmqpConnection:
        """Give a connection ready for use: opened, with these fields in our open."""
        connection = self.negotiated()
        connection.open(**open_fields)
        return connection

    def _with_sasl(self, endpoint: dict[str, Any]) -> AmqpConnection | None:
        if self.layers.sasl is False:
            return None
        connection = self.socket(**endpoint)
        connection.send(SASL_HEADER)
        seen = connection.link.next(CONNECTION, self.context.due(SASL, self.context.patience.close))
        if isinstance(seen, HeaderReceived):
            self.layers.sasl = seen.header.octets != PROTOCOL_HEADER
            if self.layers.sasl:
                connection.take_header(seen.header, SASL_HEADER)
        elif isinstance(seen, Closed) and self.layers.sasl is None:
            # It may have no word for what it does not know; with an AMQP header it will show.
            self.layers.sasl = False
        else:
            raise connection.failed(SASL, seen)
        if self.layers.sasl:
            return connection
        connection.drop()
        return None

    def session(self, **begin_fields: Any) -> Session:
        """Give a session, begun with these fields, on a connection of its own that is kept alive."""
        return self.alive().begin(**begin_fields)

    def alive(self, **open_fields: Any) -> AmqpConnection:
        """Give a connection ready for use that is kept alive, however long an answer takes."""
        connection = self.connection(**open_fields)
        connection.beats()
        return connection

    def lookout(self) -> AmqpConnection:
        """Give a connection in use that has nothing else to do than to wait."""
        return self.connection()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Give the target no time inside. Raises NotRun where it cannot be paused."""
        self.facility("pause")
        try:
            yield
        finally:
            self.facility("resume")

    # -- surroundings ----------------------------------------------------------------------------------

    def stocked(self, *bodies: bytes) -> str:
        """Give an address where these messages stand ready. Raises NotRun, ControlFailed."""
        where = self.address()
        self.session().sender(where).delivers(*bodies)
        return where

    def left(self, address: str, least: int = 0) -> list[bytes]:
        """Take all messages that are at an address, `least` so many are waited for; give their payloads.

        Raises ControlFailed where no link can be attached.
        """
        receiver = self.session().receiver(address)
        deliveries = receiver.rest(least)
        receiver.settles(*deliveries)
        return [each.payload for each in deliveries]

    def address(self) -> str:
        """Give an address that links can be attached to. Raises NotRun when the target has none for us."""
        return self.facility("address")["address"]


def hello_answer(seen: bytes | End | None) -> str:
    """Name what answered a ClientHello in place of TLS, the same in every run."""
    if isinstance(seen, bytes):
        return "a protocol header" if seen.startswith(PROTOCOL_HEADER[:4]) else "octets that are no TLS"
    return "silence" if seen is None else f"the end of the stream ({seen.value})"
