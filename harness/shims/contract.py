"""What a shim is told and answers. A shim holds one client library, does what it is told, judges nothing.

It reads one JSON object a line, `{"id": 7, "do": "open", "within": 5.0, "on": "c0"}`, and answers each with
one: `{"id": 7, "ok": {…}}`, or `{"id": 7, "error": {"kind": …, "native": …, "text": …}}`. `within` are the
seconds that the library is told as its own time-out, where it has one. The end of what it reads ends it; what
it writes to stderr is kept as a log. It retries nothing and sleeps never, and has the library's own recovery
off.

- `hello`: contract, library, version, language, protocol.
- `connect` to host, port with user, password, vhost: `on`, the connection's name.
- `open` a channel `on` a connection: `on`, the channel's name.
- `call` a method ("queue.declare") `on` a channel, with its `args` as the document names them: `reply`.
- `send` a message `on` a channel: exchange, key, body, properties. A body is a text, or `{"fill": n}`: n
  octets, of which the one at i is i mod 251.
- `get` a message `on` a channel from a queue: `message` with size and crc32, or null.
- `close` what is called `on`, and wait for the answer.
- `reset`: drop all sockets and forget everything.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

CONTRACT = 1
LONGEST = 16 << 20
"""Octets of one line."""


class Kind(StrEnum):
    """Why a command was not carried out."""

    CLOSED = "closed"
    """The server closed the channel or the connection."""
    LOST = "lost"
    """The socket is gone without a close."""
    LOCAL = "local"
    """The library refused it before anything was sent, or gave the connection up by itself."""
    TIMEOUT = "timeout"
    """The library gave up waiting."""
    UNSUPPORTED = "unsupported"
    """The library has no way to do it."""
    UNKNOWN = "unknown"
    """The shim has no such command."""
    INTERNAL = "internal"
    """The shim itself fell over."""


class Refused(Exception):
    """A client did not do what it was told; `native` is what its library calls the reason."""

    def __init__(self, kind: Kind, text: str, native: str = "") -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text
        self.native = native


class ShimLost(Exception):
    """A shim ended, hangs, or does not keep the contract; the message is one sentence."""


class Shim(Protocol):
    """A client that can be told what to do, in this process or as a program of its own."""

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Carry out a command and give what is told back. Raises Refused, or ShimLost."""


def body(told: str | Mapping[str, int]) -> bytes:
    """Give the octets of a message by what `send` was told."""
    if isinstance(told, str):
        return told.encode()
    pattern = bytes(range(251))
    return (pattern * (told["fill"] // len(pattern) + 1))[: told["fill"]]
