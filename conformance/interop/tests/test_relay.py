"""The tap between a client and a broker."""

from __future__ import annotations

import socket

import pytest

from conformance.interop.play.passing import Ended, Stream
from conformance.interop.play.relay import Relay


class Deaf(Stream):
    """Sees nothing in what passes."""

    def feed(self, octets: bytes):  # type: ignore[no-untyped-def]
        del octets
        return iter(())


@pytest.mark.parametrize("past", [False, True])
def test_only_the_end_of_the_present_connection_counts(past: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker, Relay(broker.getsockname()[:2], Deaf) as relay:
        with socket.create_connection(("127.0.0.1", relay.port)) as client:
            served, _ = broker.accept()
            client.sendall(b"?")
            assert served.recv(1) == b"?"
            if past:
                relay.forget()
            served.close()
            assert client.recv(1) == b""
        assert isinstance(relay.ended(), Ended) is not past
