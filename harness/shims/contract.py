"""What a shim is told and answers; `ci/clients/README.md` explains every command and value.

A shim holds one client library, does what it is told by lines of JSON, and judges nothing.
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
    """A client did not do what it was told; `native` is what its library calls the reason.

    Where the server closed something, `level` says what (connection, channel, session, link), and `code` is
    the reply code or the condition that the library tells.
    """

    def __init__(
        self, kind: Kind, text: str, native: str = "", level: str = "", code: int | str = ""
    ) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text
        self.native = native
        self.level = level
        self.code = code

    @property
    def told(self) -> str:
        """What happened by the client's account, in words that are the same in every run."""
        return " ".join(str(each) for each in (self.kind, self.level, self.code, self.native) if each)


class ShimLost(Exception):
    """A shim ended, `hangs`, or does not keep the contract; the message is one sentence."""

    def __init__(self, message: str, hangs: bool = False) -> None:
        super().__init__(message)
        self.hangs = hangs


class Shim(Protocol):
    """A client that can be told what to do, in this process or as a program of its own."""

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Carry out a command and give what is told back. Raises Refused, or ShimLost."""


def filled(size: int) -> bytes:
    """Give a body of so many octets, of which the one at i is i mod 251."""
    pattern = bytes(range(251))
    return (pattern * (size // len(pattern) + 1))[:size]


def body(told: str | Mapping[str, int | str]) -> bytes:
    """Give the octets of a message by what `send` was told: a text, {"fill": n}, or {"bin": hex}."""
    if isinstance(told, str):
        return told.encode()
    return bytes.fromhex(str(told["bin"])) if "bin" in told else filled(int(told["fill"]))
