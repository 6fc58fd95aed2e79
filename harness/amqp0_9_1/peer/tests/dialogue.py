"""A tiny synchronous client over the sans-I/O interface, so that tests of the peer read as dialogues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from harness.amqp0_9_1.peer import TABLES, Limits, Peer, Tables
from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    METHOD,
    PROTOCOL_HEADER,
    Frame,
    FrameReader,
    RawFrame,
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Queue
from harness.wire.units import Header

TAKEN: set[str] = set()
"""Names of the rows taken by every peer made here."""
tables_under_test: list[Tables] = [TABLES]
"""The tables peers are made with; the last one counts."""
LIMITS = Limits()
START_OK = Connection.StartOk({}, "PLAIN", b"\0guest\0guest", "en_US")


def peer(
    limits: Limits = LIMITS, users: dict[str, str] | None = None, kind: type[Peer] = Peer, **choices: Any
) -> Peer:
    """A peer of a `kind` that departs from its default policy in `choices`."""
    tables = tables_under_test[-1] if kind is Peer else kind.right
    return kind(replace(kind.default, **choices), tables, users, limits, TAKEN)


@dataclass
class Message:
    """A method that came with a content."""

    method: Any
    properties: Properties
    body: bytes


class Client:
    """One connection to a peer; if `opened`, with the handshake done and channels 1 to `channels` open."""

    def __init__(
        self,
        server: Peer,
        opened: bool = True,
        channels: int = 1,
        tune: Any = None,
        host: str = "/",
        start_ok: Any = START_OK,
        now: float = 0.0,
    ) -> None:
        self.peer = server.connect(now)
        self.frames: list[Any] = []
        self._reader = FrameReader(limit=1 << 30)
        if opened:
            self.shake_hands(tune or Connection.TuneOk(0, 131072, 0), host, start_ok)
            for number in range(1, channels + 1):
                assert self.ask(Channel.Open(), number) == Channel.OpenOk()

    def shake_hands(self, tune: Any, host: str = "/", start_ok: Any = START_OK) -> None:
        """From protocol header to Open-Ok."""
        self.send(PROTOCOL_HEADER)
        assert isinstance(self.hear(), Connection.Start)
        tuned = self.ask(start_ok)
        if isinstance(tuned, Connection.Secure):
            tuned = self.ask(Connection.SecureOk(start_ok.response))
        assert isinstance(tuned, Connection.Tune)
        self.send(tune)
        assert self.ask(Connection.Open(host)) == Connection.OpenOk()

    def send(self, *parts: Any, channel: int = 1) -> None:
        """Send octets, frames, or methods (those of the connection class on channel zero)."""
        for part in parts:
            if isinstance(part, Method):
                number = 0 if part.spec.class_name == "connection" else channel
                self.peer.receive(method_frame(number, part).encode())
            else:
                self.peer.receive(part if isinstance(part, bytes) else part.encode())

    def publish(
        self, key: str = "q", body: bytes = b"x", exchange: str = "", channel: int = 1, **more: Any
    ) -> None:
        """Publish; `more` are flags of the method and properties of the content."""
        flags = {name: more.pop(name) for name in ("mandatory", "immediate") if name in more}
        method = Basic.Publish(exchange, key, **flags)
        self.send(*content_frames(channel, method, Basic.Properties(**more), body, 4096))

    def listen(self) -> list[Any]:
        """All methods said since last time; those with content as Message."""
        self.frames = [
            unit for _, unit in self._reader.feed(self.peer.take()) if isinstance(unit, (Frame, Header))
        ]
        heard: list[Any] = []
        for frame in self.frames:
            if isinstance(frame, Header):
                heard.append(frame)
            elif frame.type == METHOD:
                heard.append(frame.method())
            elif frame.type == HEADER:
                heard[-1] = Message(heard[-1], frame.content_header().properties, b"")
            elif frame.type == BODY:
                heard[-1].body += frame.payload
            else:
                heard.append(frame)
        return heard

    def hear(self) -> Any:
        """The one thing said since last time."""
        heard = self.listen()
        assert len(heard) == 1, heard
        return heard[0]

    def ask(self, *parts: Any, channel: int = 1) -> Any:
        """Send, and return the one answer; a number at the end is the channel."""
        if isinstance(parts[-1], int):
            parts, channel = parts[:-1], parts[-1]
        self.send(*parts, channel=channel)
        return self.hear()

    def is_refused(self, *parts: Any, channel: int = 1) -> tuple[int, str]:
        """Send, and return code and level of the exception that is the one answer."""
        answer = self.ask(*parts, channel=channel)
        assert isinstance(answer, (Channel.Close, Connection.Close)), answer
        level = "channel" if isinstance(answer, Channel.Close) else "connection"
        if parts and isinstance(parts[-1], Method):
            spec = parts[-1].spec
            assert (answer.class_id, answer.method_id) in ((spec.class_index, spec.index), (0, 0), (60, 40))
        if level == "channel":
            self.send(Channel.CloseOk(), Channel.Open(), channel=channel)
            assert self.hear() == Channel.OpenOk()
        else:
            self.send(Connection.CloseOk())
            assert self.peer.closed == "fin"
        return answer.reply_code, level

    def is_silently_closed(self, *parts: Any) -> bool:
        """Send, and say whether the peer closes without a word."""
        self.send(*parts)
        return self.listen() == [] and self.peer.closed is not None

    def ended(self) -> str | None:
        """How the peer closed, or None."""
        return self.peer.closed

    def bodies(self) -> list[bytes]:
        """The bodies of all messages delivered since last time."""
        return [each.body for each in self.listen() if isinstance(each, Message)]

    def get(self, queue: str = "q", channel: int = 1, no_ack: bool = False) -> Any:
        """Basic.Get: the message, or None when the queue is empty."""
        answer = self.ask(Basic.Get(queue, no_ack), channel)
        assert isinstance(answer, (Message, Basic.GetEmpty)), answer
        return None if isinstance(answer, Basic.GetEmpty) else answer

    def declare(self, name: str = "q", **flags: Any) -> Any:
        """Queue.Declare."""
        return self.ask(Queue.Declare(name, **flags))

    def count(self, name: str = "q") -> tuple[int, int] | None:
        """Messages and consumers of a queue, asked for on a channel of its own; None if there is no queue."""
        self.send(Channel.Open(), Queue.Declare(name, passive=True), channel=99)
        heard = [each for each in self.listen() if not isinstance(each, Message)]
        answer = heard[1]
        if isinstance(answer, Channel.Close):
            assert answer.reply_code == 404
            self.send(Channel.CloseOk(), channel=99)
            return None
        assert self.ask(Channel.Close(), 99) == Channel.CloseOk()
        return answer.message_count, answer.consumer_count


def raw(kind: int, channel: int, payload: bytes = b"", **lies: Any) -> RawFrame:
    """A malformed frame."""
    return RawFrame(kind, channel, payload, **lies)


def queue_with(*bodies: bytes, channels: int = 2, **choices: Any) -> Client:
    """A client whose peer has a queue q with these messages."""
    client = Client(peer(**choices), channels=channels)
    client.declare()
    for body in bodies:
        client.publish(body=body)
    return client


def delivered(client: Client) -> list[tuple[str, bytes]]:
    """Consumer tag and body of all messages delivered since last time."""
    return [(each.method.consumer_tag, each.body) for each in client.listen() if isinstance(each, Message)]
