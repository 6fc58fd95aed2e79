"""A small server: connections, and what each command of a client does to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from typing import Any

from harness.amqp_fast.tests.second import channel as channels
from harness.amqp_fast.tests.second import handle as handles
from harness.amqp_fast.tests.second.channel import Channel
from harness.amqp_fast.tests.second.codec import encode
from harness.amqp_fast.tests.second.handle import Handle
from harness.amqp_fast.tests.second.refusals import Code, Level, Refusal, unless
from harness.amqp_fast.tests.second.settings import Settings
from harness.amqp_fast.tests.second.store import Host
from harness.amqp_fast.tests.second.stream import Command, Fragment, Initiation, Item, Malformed, Splitter
from harness.amqp_fast.tests.second.types import first

Fields = dict[str, Any]
PROTOCOL_ID, VERSION = 128, 1
LARGEST_OF_NEGOTIATION = 4096
SMALLEST_FRAME_MAX = 1024
MECHANISM = b"PLAIN"
LIMITS = (b"FRAME_MAX", b"CHANNEL_MAX", b"HANDLE_MAX")
NEVER = frozenset(
    {
        "connection-challenge",
        "connection-reply",
        "channel-reply",
        "handle-created",
        "handle-notify",
        "handle-index",
        "handle-reply",
    }
)
"""What a client never says."""


class Server:
    """What connections share."""

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(**settings)
        queues = [name.encode() for name in self.settings.queues]
        self.hosts = {path.encode(): Host(queues) for path in self.settings.paths}
        self.users = {login.encode(): password.encode() for login, password in self.settings.users.items()}
        self.clients: set[bytes] = set()

    def connect(self) -> Connection:
        """Accept a connection."""
        return Connection(self)


class State(Enum):
    """How far a connection is."""

    BEGUN = "begun"
    CHALLENGED = "challenged"
    TUNED = "tuned"
    OPEN = "open"
    CLOSING = "closing"


class Connection:
    """A client's connection: octets in, octets out."""

    host: Host

    def __init__(self, server: Server) -> None:
        self.server = server
        self.out = bytearray()
        self.closed = False
        self.client: Hashable = self
        self._state = State.BEGUN
        self._limits = {name.encode(): value for name, value in server.settings.options().items()}
        self._splitter = Splitter(initiation=True, limit=server.settings.frame_max)
        self._carrier: Command | None = None
        self._channels: dict[int, Channel] = {}
        self._handles: dict[int, Handle] = {}
        self._gone: set[tuple[str, int]] = set()

    @property
    def frame_max(self) -> int:
        """The largest fragment that the client takes."""
        return self._limits[b"FRAME_MAX"]

    def receive(self, octets: bytes) -> bytes:
        """Take what the client says, and give what there is to say."""
        for item in self._splitter.feed(octets):
            if self.closed:
                break
            self._meet(item)
        return self.take()

    def take(self) -> bytes:
        """Give what there is to say, also because of what others did."""
        octets = bytes(self.out)
        self.out.clear()
        return octets

    def lost(self) -> None:
        """The network is closed."""
        self._end()

    def say(self, command: str, **fields: Any) -> None:
        """Say a command."""
        self.out += encode(command, **fields)

    def handles_of(self, channel: Channel) -> list[Handle]:
        """List the handles of a channel."""
        return [handle for handle in self._handles.values() if handle.channel is channel]

    def _meet(self, item: Item) -> None:
        command, self._carrier = self._carrier, None
        match item:
            case Initiation():
                self._initiate(item)
            case Malformed():
                self._refuse(self._fatal(Code.MALFORMED, item.why), {})
            case Command() if item.carries:
                self._carrier = item
            case Command():
                self._obey(item, None)
            case Fragment() if command:
                self._obey(command, item.octets)

    def _initiate(self, item: Initiation) -> None:
        if item.protocol_id != PROTOCOL_ID or item.version < VERSION:
            self.closed = True
            return
        self._state = State.CHALLENGED
        self.say("connection-challenge", version=VERSION, mechanisms=MECHANISM)

    def _obey(self, command: Command, fragment: bytes | None) -> None:
        """Carry a command out, confirm it, and then deliver what became free by it."""
        name, fields = command.name, command.fields
        try:
            if self._state is State.CLOSING:
                self._while_closing(name)
            elif self._is_obeyed(command, fragment) and fields.get("confirm_tag") and name != "handle-browse":
                self._confirm(name.partition("-")[0], fields)
        except Refusal as refusal:
            self._refuse(refusal, fields)
        if self._state is State.OPEN:
            self.host.dispatch()

    def _confirm(self, level: str, fields: Fields) -> None:
        key = {} if level == "connection" else {f"{level}_id": fields[f"{level}_id"]}
        self.say(
            f"{level}-reply", **key, confirm_tag=fields["confirm_tag"], reply_code=Code.OK, reply_text="OK"
        )

    def _is_obeyed(self, command: Command, fragment: bytes | None) -> bool:
        """Carry a command out; False where it is passed over."""
        name, fields = command.name, command.fields
        if name in NEVER:
            raise self._fatal(Code.UNEXPECTED, f"{name} is never expected of a client")
        if name in CONNECTION:
            state, obey = CONNECTION[name]
            if state not in (None, self._state):
                raise self._fatal(Code.UNEXPECTED, f"{name} is not expected now")
            self._is_small(command)
            obey(self, fields)
            return True
        if self._state is not State.OPEN:
            raise self._fatal(Code.UNEXPECTED, f"{name} is not expected before CONNECTION OPEN")
        if name == "channel-open":
            return self._open_channel(fields)
        return (
            self._on_channel(name, fields)
            if "channel_id" in fields
            else self._on_handle(name, fields, fragment)
        )

    def _is_small(self, command: Command) -> None:
        if self._state in (State.CHALLENGED, State.TUNED):
            small = len(command.octets) <= LARGEST_OF_NEGOTIATION or command.name == "connection-open"
            unless(small, Level.NETWORK, Code.MALFORMED, "the command is too large for the negotiation")

    # Connection

    def _respond(self, fields: Fields) -> None:
        answers = first(fields["responses"])
        login, password = answers.get(b"LOGIN"), answers.get(b"PASSWORD")
        understood = (
            fields["mechanism"] == MECHANISM and isinstance(login, bytes) and isinstance(password, bytes)
        )
        unless(understood, Level.CONNECTION, Code.NOT_ALLOWED, "the response is not understood")
        known = isinstance(login, bytes) and self.server.users.get(login) == password
        unless(known, Level.NETWORK, Code.NO_ACCESS, "login and password are wrong")
        self._state = State.TUNED
        self.say("connection-tune", options=self.server.settings.options())

    def _tune(self, fields: Fields) -> None:
        options = first(fields["options"])
        for name, value in options.items():
            known = name in LIMITS or name == b"HEARTBEAT"
            valid = isinstance(value, int) and value >= 0
            unless(valid or not known, *_NOT_ALLOWED, f"{name.decode()} is no number")
        proposed = self.server.settings.options()
        for name in LIMITS:
            limit, most = options.get(name), proposed[name.decode()]
            if isinstance(limit, int):
                unless(not most or 0 < limit <= most, *_NOT_ALLOWED, f"{name.decode()} is at most {most}")
                self._limits[name] = limit
        unless(self.frame_max >= SMALLEST_FRAME_MAX, *_NOT_ALLOWED, "FRAME_MAX is at least 1024")

    def _open(self, fields: Fields) -> None:
        path, name = fields["virtual_path"], fields["client_name"]
        unless(
            path in self.server.hosts, Level.CONNECTION, Code.NO_DESTINATION, "there is no such virtual host"
        )
        unless(name not in self.server.clients, Level.CONNECTION, Code.IN_USE, "the client name is in use")
        self.host = self.server.hosts[path]
        if name:
            self.client = name
            self.server.clients.add(name)
        self._state = State.OPEN

    def _ping(self, fields: Fields) -> None:
        if fields["respond"]:
            self.say("connection-ping")

    def _close(self, fields: Fields) -> None:
        self._end()
        self._say_closed("connection")

    def _while_closing(self, name: str) -> None:
        if name == "connection-close":
            self.closed = True
        else:
            self._say_closed("connection")

    def _end(self) -> None:
        self._release()
        self.closed = True

    def _release(self) -> None:
        if self._state is not State.OPEN:
            return
        for channel in list(self._channels.values()):
            channel.release()
        self._channels, self._handles, self._state = {}, {}, State.CLOSING
        self.host.drop(self)
        if isinstance(self.client, bytes):
            self.server.clients.discard(self.client)
        self.host.dispatch()

    # Channels and handles

    def _open_channel(self, fields: Fields) -> bool:
        number = fields["channel_id"]
        channel = self._channels.get(number)
        if channel:
            unless(channel.closing, Level.CHANNEL, Code.UNEXPECTED, "the channel is open")
            self._say_closed("channel", channel_id=number)
            return False
        unless(number, Level.CONNECTION, Code.NOT_ALLOWED, "a channel's ID is greater than zero")
        full = 0 < self._limits[b"CHANNEL_MAX"] <= len(self._channels)
        unless(not full, Level.CONNECTION, Code.BEYOND_LIMIT, "there are too many channels")
        self._channels[number] = Channel(self, fields)
        return True

    def _on_channel(self, name: str, fields: Fields) -> bool:
        number = fields["channel_id"]
        channel = self._channels.get(number)
        if channel is None:
            late = name == "channel-close" and ("channel", number) in self._gone
            unless(late, Level.CONNECTION, Code.NOT_OPEN, "the channel is not open")
        elif name == "channel-close":
            self._forget_channel(channel)
        elif channel.closing:
            self._say_closed("channel", channel_id=number)
        elif name == "handle-open":
            return self._open_handle(channel, fields)
        else:
            channels.HANDLERS[name](channel, fields)
            return True
        return False

    def _forget_channel(self, channel: Channel) -> None:
        if not channel.closing:
            channel.release()
            self._say_closed("channel", channel_id=channel.id)
        for handle in self.handles_of(channel):
            self._forget_handle(handle)
        del self._channels[channel.id]
        self._gone.add(("channel", channel.id))

    def _open_handle(self, channel: Channel, fields: Fields) -> bool:
        number = fields["handle_id"]
        handle = self._handles.get(number)
        if handle:
            unless(handle.closing, Level.HANDLE, Code.UNEXPECTED, "the handle is open")
            return False
        unless(number, Level.CHANNEL, Code.NOT_ALLOWED, "a handle's ID is not zero")
        full = 0 < self._limits[b"HANDLE_MAX"] <= len(self._handles)
        unless(not full, Level.CHANNEL, Code.BEYOND_LIMIT, "there are too many handles")
        self._handles[number] = Handle(channel, fields)
        return True

    def _on_handle(self, name: str, fields: Fields, fragment: bytes | None) -> bool:
        number = fields["handle_id"]
        handle = self._handles.get(number)
        if handle is None:
            late = name == "handle-close" and ("handle", number) in self._gone
            unless(late, Level.CONNECTION, Code.NOT_OPEN, "the handle is not open")
            return False
        if handle.channel.closing:
            self._say_closed("channel", channel_id=handle.channel.id)
        elif name == "handle-close":
            if not handle.closing:
                handle.channel.release_handle(handle)
                self._say_closed("handle", handle_id=number)
            self._forget_handle(handle)
        elif not handle.closing:
            self._command_handle(handle, name, fields, fragment)
            return True
        return False

    def _command_handle(self, handle: Handle, name: str, fields: Fields, fragment: bytes | None) -> None:
        if name == "handle-send":
            handle.send(fields, fragment)
        elif name == "handle-prepare":
            handle.prepare(fields, fragment or b"")
        else:
            handles.HANDLERS[name](handle, fields)

    def _forget_handle(self, handle: Handle) -> None:
        del self._handles[handle.id]
        self._gone.add(("handle", handle.id))

    # Errors

    def _fatal(self, code: Code, text: str) -> Refusal:
        """While the connection is negotiated, an error closes the network."""
        level = Level.CONNECTION if self._state in (State.OPEN, State.CLOSING) else Level.NETWORK
        return Refusal(level, code, text)

    def _refuse(self, refusal: Refusal, fields: Fields) -> None:
        """Close what the refusal is about; it counts as closed when the client has answered."""
        told = {"reply_code": refusal.code, "reply_text": refusal.text[:255]}
        if refusal.level is Level.NETWORK:
            self._end()
        elif refusal.level is Level.CONNECTION:
            self._release()
            self._state = State.CLOSING
            self.say("connection-close", **told)
        elif refusal.level is Level.HANDLE:
            handle = self._handles[fields["handle_id"]]
            handle.channel.release_handle(handle)
            handle.closing = True
            self.say("handle-close", handle_id=handle.id, **told)
        else:
            channel = self._channel_of(fields)
            channel.release()
            channel.closing = True
            self.say("channel-close", channel_id=channel.id, **told)

    def _channel_of(self, fields: Fields) -> Channel:
        number = fields.get("channel_id")
        return self._handles[fields["handle_id"]].channel if number is None else self._channels[number]

    def _say_closed(self, level: str, **key: int) -> None:
        self.say(f"{level}-close", **key, reply_code=Code.OK, reply_text="OK")


_NOT_ALLOWED = (Level.CONNECTION, Code.NOT_ALLOWED)

CONNECTION: Mapping[str, tuple[State | None, Callable[[Connection, Fields], None]]] = {
    "connection-response": (State.CHALLENGED, Connection._respond),
    "connection-tune": (State.TUNED, Connection._tune),
    "connection-open": (State.TUNED, Connection._open),
    "connection-ping": (None, Connection._ping),
    "connection-close": (None, Connection._close),
}
