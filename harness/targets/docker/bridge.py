"""How octets reach a broker in a container: over the engine's bridge where we see it, else through its proxy.

The proxy stands behind every port published on the loopback interface. It opens a connection before the
broker has, and swallows resets: rules about the end of a connection would be judged by what the proxy does.
"""

import socket
from collections.abc import Mapping
from typing import Any

from harness.wire.transport import End, TcpTransport


def bridged(networks: Mapping[str, Mapping[str, Any]]) -> str:
    """Give the address of a container on a bridge of this machine; empty where it has none surely reached.

    `networks` are those of the engine's description of it. An engine without root, or in a virtual machine,
    has bridges that we do not see: their addresses may be another machine's here. Hence the bridge's own
    address must be the one from which we would speak.
    """
    for network in networks.values():
        address, gateway = network.get("IPAddress"), network.get("Gateway")
        if address and gateway and _from(address) == gateway:
            return str(address)
    return ""


def _from(address: str) -> str:
    """Give our own address in a connection to `address`; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((address, 1))
        except OSError:
            return ""
        return str(asking.getsockname()[0])


class BridgedTransport(TcpTransport):
    """A TCP connection over a bridge of this machine, where no segment is lost or late."""

    @property
    def local(self) -> bool:
        """True: it never leaves the machine."""
        return True


class ProxiedTransport:
    """A TCP connection through the engine's proxy: how the broker ended its side cannot be told for sure.

    So it is neither `HalfClosing` nor local: a reset may have destroyed what the broker had said.
    """

    local = False

    def __init__(self, host: str, port: int, started: float) -> None:
        self._carrier = TcpTransport(host, port, started)
        self.endpoint = self._carrier.endpoint

    def now(self) -> float:
        return self._carrier.now()

    def send(self, octets: bytes) -> bool:
        return self._carrier.send(octets)

    def outgoing(self) -> int:
        """Count the octets sent that the proxy has not acknowledged."""
        return self._carrier.outgoing()

    def receive(self, deadline: float) -> bytes | End | None:
        """Receive as over TCP; the end is the proxy's."""
        return self._carrier.receive(deadline)

    def close(self, reset: bool = False) -> None:
        self._carrier.close(reset)
