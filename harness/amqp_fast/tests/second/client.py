"""A tiny client: octets in, octets out. It logs in, answers what must be answered, keeps what it hears."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from harness.amqp_fast.tests.second.codec import decode_header, encode, encode_header
from harness.amqp_fast.tests.second.store import QUEUE
from harness.amqp_fast.tests.second.stream import Command, Fragment, Item, Splitter
from harness.amqp_fast.tests.second.types import Text, first

Fields = dict[str, Any]
INITIATION = b"\x80\x01"


@dataclass(frozen=True, slots=True)
class Received:
    """A whole message, and what the last HANDLE NOTIFY said of it."""

    notify: Fields
    header: Fields
    body: bytes

    @property
    def number(self) -> int:
        """Its number."""
        return int(self.notify["message_nbr"])


@dataclass(slots=True)
class _Ready:
    """A message that is prepared: the rest of it goes out when the server is ready."""

    name: Text
    body: bytes
    service: int
    tag: int


class Client:
    """A client's connection."""

    def __init__(
        self,
        login: Text = "guest",
        password: Text = "guest",
        path: Text = "/",
        name: Text = "",
        **tuning: int,
    ) -> None:
        self._login = {"LOGIN": login, "PASSWORD": password}
        self._open: Fields = {"virtual_path": path, "client_name": name}
        self._tuning = tuning
        self._splitter = Splitter()
        self._out = bytearray(INITIATION)
        self._carrier: Command | None = None
        self._parts: dict[int, bytearray] = {}
        self._ready: dict[int, _Ready] = {}
        self._closing: set[tuple[str, int]] = set()
        self.closed = False
        self.frame_max = 1024
        self.heard: list[tuple[str, Fields]] = []
        self.messages: list[Received] = []

    def receive(self, octets: bytes) -> bytes:
        """Take what the server says, and give what there is to say."""
        for item in self._splitter.feed(octets):
            self._meet(item)
        return self.take()

    def take(self) -> bytes:
        """Give what there is to say."""
        octets = bytes(self._out)
        self._out.clear()
        return octets

    def hear(self, name: str) -> list[Fields]:
        """What was heard of these commands, all at once; it is forgotten."""
        found = [fields for each, fields in self.heard if each == name]
        self.heard = [each for each in self.heard if each[0] != name]
        return found

    def replies(self, level: str = "handle") -> list[tuple[int, int]]:
        """The confirmations that came, by tag and code; they are forgotten."""
        return [(each["confirm_tag"], each["reply_code"]) for each in self.hear(f"{level}-reply")]

    def closed_by(self, level: str) -> list[int]:
        """The codes with which something was closed; they are forgotten."""
        return [each["reply_code"] for each in self.hear(f"{level}-close")]

    def read(self) -> list[bytes]:
        """The bodies of the messages that came; they are forgotten."""
        bodies = [message.body for message in self.messages]
        self.messages.clear()
        return bodies

    # What it says

    def say(self, command: str, fragment: bytes = b"", **fields: Any) -> None:
        """Say a command, and the fragment that follows it."""
        if command in ("handle-send", "handle-prepare"):
            fields.setdefault("fragment_size", len(fragment))
        if command.endswith("-close"):
            self._closing.add(_which(command, fields))
        self._out += encode(command, **fields) + fragment

    def open_channel(self, channel: int = 1, **fields: Any) -> None:
        """Open a channel."""
        self.say("channel-open", channel_id=channel, **fields)

    def open_handle(self, handle: int = 1, channel: int = 1, **fields: Any) -> None:
        """Open a handle, for everything where nothing else is said."""
        access = {"producer": True, "consumer": True, "browser": True}
        self.say("handle-open", channel_id=channel, handle_id=handle, **(access | fields))

    def send(
        self,
        name: Text,
        body: bytes,
        handle: int = 1,
        service: int = QUEUE,
        tag: int = 0,
        **header: Any,
    ) -> None:
        """Send a message, in as many fragments as it needs."""
        octets = encode_header(body_size=len(body), **header) + body
        self._send(octets, handle, recovery=False, service_type=service, confirm_tag=tag, dest_name=name)

    def prepare(
        self, name: Text, body: bytes, handle: int = 1, service: int = QUEUE, tag: int = 0, **header: Any
    ) -> None:
        """Prepare a message; when the server is ready, what it lacks is sent."""
        octets = encode_header(body_size=len(body), **header) + body
        digest = hashlib.sha1(body).hexdigest()
        self._ready[handle] = _Ready(name, body, service, tag)
        self.say("handle-prepare", octets[: self.frame_max], handle_id=handle, content_hash=digest)

    def consume(
        self, name: Text, handle: int = 1, service: int = QUEUE, prefetch: int = 10, **fields: Any
    ) -> None:
        """Consume a queue or a topic."""
        self.say(
            "handle-consume",
            handle_id=handle,
            service_type=service,
            prefetch=prefetch,
            dest_name=name,
            **fields,
        )

    def ack(self, number: int, channel: int = 1, tag: int = 0) -> None:
        """Acknowledge all up to this number."""
        self.say("channel-ack", channel_id=channel, confirm_tag=tag, message_nbr=number)

    def _send(self, octets: bytes, handle: int, **fields: Any) -> None:
        starts = range(0, len(octets), self.frame_max) or [0]
        for start in starts:
            fragment, partial = octets[start : start + self.frame_max], start != starts[-1]
            tag = {} if not partial else {"confirm_tag": 0}
            self.say("handle-send", fragment, handle_id=handle, partial=partial, **(fields | tag))

    # What it hears

    def _meet(self, item: Item) -> None:
        carrier, self._carrier = self._carrier, None
        match item:
            case Command() if item.carries:
                self._carrier = item
            case Command():
                self._hear(item.name, item.fields, b"")
            case Fragment() if carrier:
                self._hear(carrier.name, carrier.fields, item.octets)
            case _:
                raise ValueError(f"the server says {item}")

    def _hear(self, name: str, fields: Fields, fragment: bytes) -> None:
        self.heard.append((name, fields))
        match name:
            case "connection-challenge":
                self.say("connection-response", mechanism="PLAIN", responses=self._login)
            case "connection-tune":
                self._tune(fields)
            case "connection-ping" if fields["respond"]:
                self.say("connection-ping")
            case "handle-notify":
                self._notify(fields, fragment)
            case "handle-prepare":
                self._parts[fields["handle_id"]] = bytearray(fragment)
                size = len(fragment) - decode_header(fragment)[1]
                self.say("handle-ready", handle_id=fields["handle_id"], message_size=size)
            case "handle-ready" if fields["handle_id"] in self._ready:
                self._resume(fields["handle_id"], fields["message_size"])
            case "connection-close" | "channel-close" | "handle-close":
                self._close(name, fields)

    def _tune(self, fields: Fields) -> None:
        proposed = first(fields["options"]).get(b"FRAME_MAX")
        self.frame_max = proposed if isinstance(proposed, int) else self.frame_max
        if self._tuning:
            self.say("connection-tune", options=self._tuning)
        self.say("connection-open", confirm_tag=1, **self._open)

    def _notify(self, fields: Fields, fragment: bytes) -> None:
        parts = self._parts.setdefault(fields["handle_id"], bytearray())
        parts += fragment
        if not fields["partial"]:
            octets = bytes(self._parts.pop(fields["handle_id"]))
            header, size = decode_header(octets)
            self.messages.append(Received(fields, header, octets[size:]))

    def _resume(self, handle: int, size: int) -> None:
        ready = self._ready.pop(handle)
        told = {"service_type": ready.service, "confirm_tag": ready.tag, "dest_name": ready.name}
        self._send(ready.body[size:], handle, recovery=True, **told)

    def _close(self, name: str, fields: Fields) -> None:
        which = _which(name, fields)
        if which not in self._closing:
            key = {each: fields[each] for each in ("channel_id", "handle_id") if each in fields}
            self._out += encode(name, reply_code=200, reply_text="OK", **key)
        self._closing.discard(which)
        self.closed |= name == "connection-close"


def _which(command: str, fields: Fields) -> tuple[str, int]:
    return command, int(fields.get("channel_id") or fields.get("handle_id") or 0)
