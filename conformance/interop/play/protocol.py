"""What measuring legs needs of a protocol: how messages are written and read, and an end at the broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from conformance.interop.outcomes import Form
from conformance.interop.play.passing import Content, Ended, Stream
from harness.shims.contract import Shim


class BrokerEnded(Exception):
    """The broker refused what our own end did, or is gone; `why` is what it said, if it did."""

    def __init__(self, text: str, why: Ended | None = None) -> None:
        super().__init__(text)
        self.why = why


@dataclass(frozen=True, slots=True)
class Login:
    """As whom a broker is used."""

    user: str
    password: str
    virtual_host: str
    mechanism: str = "PLAIN"


class OwnEnd(Protocol):
    """Our own frame-level end at a broker; every method raises BrokerEnded."""

    product: str
    version: str

    def place(self, name: str) -> str:
        """Make a queue, and give the address by which clients reach it."""

    def listen(self, name: str, kept: bool = True) -> None:
        """Take what comes to a queue from now on, by `take`, or away."""

    def remove(self, name: str) -> None:
        """Remove a queue."""

    def ready(self, name: str) -> bool:
        """Say whether a message waits in a queue."""

    def publish(self, name: str, form: Form) -> None:
        """Publish a message to a queue, octet by octet."""

    def take(self, within: float) -> Content | None:
        """Take the next message of the queue that is listened to."""

    def turn_back(self, name: str) -> None:
        """Get a message and give it back."""

    def close(self) -> None:
        """Close the socket."""


class Talk(Protocol):
    """How a shim is told to send, to get and to echo; every method raises Refused and ShimLost."""

    def send(self, message: Mapping[str, Any], address: str, **how: Any) -> Any:
        """Have it send a message to a queue."""

    def get(self, address: str, settled: bool, within: float) -> Mapping[str, Any] | None:
        """Have it get a message from a queue; None for none."""

    def echo(self, token: str, address: str) -> None:
        """Have it send a message again."""

    def settle(self, token: str) -> None:
        """Have it accept a message."""

    def fence(self, address: str) -> None:
        """Have it wait until the broker has heeded all that it has sent; the queue is empty."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One protocol."""

    name: str
    stream: Callable[[], Stream]
    own: Callable[[tuple[str, int], Login], OwnEnd]
    talk: Callable[[Shim, Mapping[str, Any]], Talk]
    form: Callable[[Mapping[str, Any]], Form]
    spelled: Callable[[Mapping[str, Any], bytes], Form]
    readings: Callable[[Form], Sequence[dict[str, Any]]]
    unroutable: str
    """An address that nobody has and that can be sent to all the same; empty where there is none."""
    key: Callable[[Form, Mapping[str, Any], bool], str]
    asked: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """What is asked for, with the types that the protocol has where a case has none."""


HOMES = {"0-9-1": "amqp0_9_1", "1-0": "amqp1_0"}


def wire(protocol: str) -> Wire:
    """Give what a protocol needs."""
    found: Wire = import_module(f"conformance.interop.{HOMES[protocol]}.wire").WIRE
    return found
