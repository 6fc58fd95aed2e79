"""What a TCP connection is to the harness, however early it ends; over real sockets."""

from __future__ import annotations

import select
import socket
import struct
import time
from typing import Any

import pytest

from harness.wire.transport import End, TcpTransport

SECONDS = 30.0
"""At most, for what is on its way on the loopback address."""


def test_one_that_is_reset_before_anybody_looks_is_a_connection_that_was_reset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = socket.create_connection
    with socket.create_server(("127.0.0.1", 0)) as server:

        def reset(*arguments: Any, **more: Any) -> socket.socket:
            ours = connect(*arguments, **more)
            theirs, _ = server.accept()
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            theirs.close()
            looking = select.poll()
            looking.register(ours, 0)
            assert looking.poll(SECONDS * 1000)
            return ours

        monkeypatch.setattr(socket, "create_connection", reset)
        transport = TcpTransport("127.0.0.1", server.getsockname()[1], time.monotonic())
        assert transport.local
        assert transport.receive(SECONDS) is End.RST
        transport.close()


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_loopback_is_local(host: str, family: socket.AddressFamily) -> None:
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError as failure:
        pytest.skip(f"{host} is not there: {failure}")
    with server:
        transport = TcpTransport(host, server.getsockname()[1], time.monotonic())
        assert transport.local
        transport.close()
