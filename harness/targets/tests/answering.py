"""Ports that answer something else than a broker does."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread


@contextmanager
def server(answer: Callable[[bytes], bytes | None]) -> Iterator[str]:
    """Serve a port that gives each connection's first octets an answer; None closes, empty says nothing."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection:
            try:
                said = answer(connection.recv(4096))
                if said is not None:
                    connection.sendall(said)
                    connection.recv(4096)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            Thread(target=serve, args=(connection,), daemon=True).start()

    Thread(target=accept, daemon=True).start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
