"""3.1.1 Frame Syntax: the fields of the commands that a server writes."""

from collections.abc import Iterator
from typing import Any

from harness.amqp_fast.broken.deviations import mangles
from harness.amqp_fast.client.transcript import UNREAD, Passage
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import sized
from harness.amqp_fast.wire.vocabulary import Channel, Connection, Handle
from harness.play.watching import Found, came
from scenarios.amqp_fast.talk import DIALOGUE
from scenarios.registry import broken_by, watches_for

WRITTEN: dict[str, type[Command]] = {
    "connection-challenge": Connection.Challenge,
    "connection-tune": Connection.Tune,
    "connection-ping": Connection.Ping,
    "connection-reply": Connection.Reply,
    "connection-close": Connection.Close,
    "channel-reply": Channel.Reply,
    "channel-close": Channel.Close,
    "handle-created": Handle.Created,
    "handle-notify": Handle.Notify,
    "handle-index": Handle.Index,
    "handle-prepare": Handle.Prepare,
    "handle-ready": Handle.Ready,
    "handle-reply": Handle.Reply,
    "handle-close": Handle.Close,
}
SECTION = "/".join(("fast", "3.1.1"))
OCCASIONS = {
    "handle-ready": "fast/2.2.7.prepare-leads-to-ready",
    "handle-prepare": "fast/3.1.1.handle-prepare-read",
}
"""The rule whose scenario gives one; of the others it is the whole dialogue."""
NEVER = {"handle-prepare": "the server prepares no message"}


def subjects() -> Iterator[tuple[str, str]]:
    """Give the rules, with the name of the command that each is about."""
    return ((f"{SECTION}.{name}-written", name) for name in WRITTEN)


def _grows(name: str) -> Any:
    """Write an octet more behind the last field."""
    return mangles(WRITTEN[name], lambda it: _framed(_payload(it) + bytes(1), it))


def _shrinks(name: str) -> Any:
    """Leave the last octet of the fields out."""
    return mangles(WRITTEN[name], lambda it: _framed(_payload(it)[:-1], it))


def _payload(octets: bytes) -> bytes:
    """Give the payload of a frame with a short size."""
    return octets[2 : 1 + int.from_bytes(octets[:2])]


def _framed(payload: bytes, before: bytes) -> bytes:
    """Frame a payload in place of another one; what followed that follows it."""
    return sized(len(payload) + 1) + payload + before[1 + int.from_bytes(before[:2]) :]


@watches_for(
    subjects(),
    during=lambda name: OCCASIONS.get(name, DIALOGUE),
    looks_at=lambda _: came(UNREAD),
    counts=lambda name: came(WRITTEN[name]),
    never=lambda name: NEVER.get(name, ""),
)
@broken_by("writes an octet more", _grows)
@broken_by("leaves the last octet out", _shrinks)
def fields_are_written_as_defined(each: Passage, name: str) -> Found:
    """Behind its type a command has the fields of its definition, in their order, and nothing besides."""
    other = each.unit.type != WRITTEN[name].code  # type: ignore[union-attr]
    return None if other else f"{WRITTEN[name].full_name} has other fields"
