"""A connection of our own client: handshake, frames, heartbeats, closing. It blocks, by its own clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Protocol, TypeVar

from harness.amqp0_9_1.library.channel import ClientChannel
from harness.amqp0_9_1.library.contents import Content
from harness.amqp0_9_1.library.faults import Fatal, Fault, closed, given_up
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import (
    FRAME_MIN_SIZE,
    HEARTBEAT,
    METHOD,
    OVERHEAD,
    PROTOCOL_HEADER,
    Frame,
    FrameReader,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    COMMAND_INVALID,
    FRAME_ERROR,
    GRAMMAR,
    REPLY_SUCCESS,
    SYNTAX_ERROR,
    Connection,
)
from harness.shims.contract import Kind, Refused
from harness.wire.sasl import MECHANISMS
from harness.wire.transport import End, Transport
from harness.wire.units import DecodeError, EncodeError, Garbage, Header

Due = TypeVar("Due")
ROOM = 131072
"""Octets of a frame where the server sets no limit."""
MOST = 1 << 24
"""Octets of the largest frame that is read at all."""
MOST_CHANNELS = 0xFFFF
"""The highest number of a channel: what is agreed upon where nobody sets a limit must not be zero."""
STRONGEST = ("EXTERNAL", "PLAIN", "AMQPLAIN")
"""Mechanisms, those first that are to be preferred."""
SILENT = 2
"""Intervals of silence after which the server counts as gone (4.2.7)."""


class Phase(Enum):
    """Where a connection stands."""

    OPENING = auto()
    OPEN = auto()
    CLOSING = auto()
    OVER = auto()


class Listener(Protocol):
    """Who is told what happens that nobody asked for."""

    def event(self, event: str, channel: int, **told: Any) -> None:
        """Take an event of a channel, or of the connection (0)."""

    def content(self, event: str, channel: ClientChannel, content: Content) -> None:
        """Take a message that was delivered or returned."""


class ClientConnection:
    """One connection over a transport. `within` are the seconds that an answer may take."""

    def __init__(self, transport: Transport, listener: Listener, within: float) -> None:
        self._transport, self._listener, self._within = transport, listener, within
        self.phase = Phase.OPENING
        self.failure: Refused | None = None
        self.frame_max, self.channel_max = ROOM, 0
        self.heartbeat = 0.0
        self.start, self.tune = Connection.Start(), Connection.Tune()
        self._channels: dict[int, ClientChannel] = {}
        self._reader = FrameReader(limit=MOST)
        self._due: tuple[type[Method], ...] = ()
        self._come: Method | None = None
        self._sent = self._heard = transport.now()

    # -- the handshake ---------------------------------------------------------------------------------

    def begin(self, wanted: str, about: Mapping[str, str], user: str, password: str) -> None:
        """Go up to Tune. Raises Refused."""
        self.send(PROTOCOL_HEADER)
        self.start = self._await(Connection.Start)
        if (self.start.version_major, self.start.version_minor) != (GRAMMAR.major, GRAMMAR.minor):
            raise self.give_up("the server suggests another version")
        offered = _words(self.start.mechanisms)
        chosen = next((each for each in STRONGEST if each in offered and wanted in ("", each)), None)
        if chosen is None:
            raise self.give_up("the server offers no mechanism that is known here")
        locales = _words(self.start.locales)
        locale = "en_US" if "en_US" in locales or not locales else locales[0]
        mechanism = MECHANISMS[chosen]
        self.say(0, Connection.StartOk(dict(about), chosen, mechanism.response(user, password), locale))
        while isinstance(answer := self._await(Connection.Secure, Connection.Tune), Connection.Secure):
            self.say(0, Connection.SecureOk((mechanism.answer or mechanism.response)(user, password)))
        self._tune(answer)

    def _tune(self, tune: Connection.Tune) -> None:
        self.tune = tune
        if 0 < tune.frame_max < FRAME_MIN_SIZE:
            raise self.give_up("the server proposes frames below frame-min-size")

    def open(self, host: str, frame_max: int, channel_max: int, heartbeat: int | None) -> None:
        """Agree and open a virtual host; zero sets no limit of our own. Raises Refused."""
        frames = _lower(_lower(self.tune.frame_max, frame_max), ROOM)
        channels = _lower(self.tune.channel_max, channel_max) or MOST_CHANNELS
        beat = self.tune.heartbeat if heartbeat is None else heartbeat
        self.frame_max, self.channel_max, self.heartbeat = max(frames, FRAME_MIN_SIZE), channels, float(beat)
        self.say(0, Connection.TuneOk(channels, self.frame_max, beat))
        self.say(0, Connection.Open(host))
        self._await(Connection.OpenOk)
        self.phase = Phase.OPEN

    def _await(self, *due: type[Method]) -> Any:
        self._due, self._come = due, None
        try:
            return self.until(lambda: self._come)
        finally:
            self._due = ()

    # -- channels --------------------------------------------------------------------------------------

    def channel(self) -> ClientChannel:
        """Open the lowest free channel. Raises Refused."""
        self.usable()
        number = next(each for each in range(1, 1 << 16) if each not in self._channels)
        if self.channel_max and number > self.channel_max:
            raise given_up("the server allows no more channels")
        self._channels[number] = ClientChannel(self, number)
        self._channels[number].open()
        return self._channels[number]

    def freed(self, channel: ClientChannel) -> None:
        """Have the number of a closed channel free for another."""
        self._channels.pop(channel.number, None)

    # -- saying ----------------------------------------------------------------------------------------

    def usable(self) -> None:
        """Raise Refused where nothing more can be said."""
        if self.failure is not None:
            raise self.failure
        if self.phase is not Phase.OPEN:
            raise given_up("the connection is closed")

    def say(self, channel: int, method: Method) -> None:
        """Send a method. Raises Refused for one that has no encoding."""
        try:
            self.send(method_frame(channel, method).encode())
        except EncodeError as failure:
            raise given_up(str(failure)) from None

    def send(self, octets: bytes) -> None:
        self._sent = self._transport.now()
        self._transport.send(octets)

    def tell(self, event: str, channel: int, **told: Any) -> None:
        self._listener.event(event, channel, **told)

    def tell_content(self, event: str, channel: ClientChannel, content: Content) -> None:
        self._listener.content(event, channel, content)

    # -- ending ----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close by the handshake (2.3.7), then the socket. Raises Refused where none is answered."""
        self.usable()
        self.say(0, Connection.Close(REPLY_SUCCESS, "done"))
        self.phase = Phase.CLOSING
        try:
            self.until(lambda: True if self.phase is Phase.OVER else None)
        finally:
            self.drop()
        if self.failure is not None and self.failure.kind is Kind.LOST:
            raise self.failure

    def drop(self) -> None:
        """Close the socket without a word."""
        self.phase = Phase.OVER
        self._transport.close()

    def give_up(self, why: str) -> Refused:
        """End the connection without a word, and say why."""
        self._over(given_up(why))
        return given_up(why)

    def _over(self, failure: Refused | None) -> None:
        if self.phase is not Phase.OVER:
            if failure is not None:
                self.failure = failure
                self.tell("lost" if failure.kind is not Kind.CLOSED else "closed", 0, **_told(failure))
            self.drop()

    # -- taking ----------------------------------------------------------------------------------------

    def until(self, done: Callable[[], Due | None]) -> Due:
        """Live until something is done. Raises Refused where it never will be."""
        deadline = self._transport.now() + self._within
        while (found := done()) is None:
            if self.failure is not None:
                raise self.failure
            if self.phase is Phase.OVER:
                raise given_up("the connection is closed")
            if not self.live(deadline):
                raise Refused(Kind.TIMEOUT, f"no answer within {self._within:g} s")
        return found

    def live(self, deadline: float) -> bool:
        """Take what comes next; False when `deadline` on the transport's clock has passed, or all is over."""
        if self.phase is Phase.OVER:
            return False
        came = self._transport.receive(min(deadline, self._next_beat()))
        if isinstance(came, End):
            lost = Refused(Kind.LOST, f"the server closed the socket ({came})")
            self._over(lost if self.failure is None else None)
        elif came is not None:
            self._heard = self._transport.now()
            self._take(came)
        self._beat()
        return came is not None or self._transport.now() < deadline

    def _next_beat(self) -> float:
        if not self.heartbeat:
            return float("inf")
        return min(self._sent + self.heartbeat / 2, self._heard + SILENT * self.heartbeat)

    def _beat(self) -> None:
        now = self._transport.now()
        if not self.heartbeat or self.phase is Phase.OVER:
            return
        if now >= self._heard + SILENT * self.heartbeat:
            self._over(Refused(Kind.TIMEOUT, "the server was silent for two intervals"))
        elif now >= self._sent + self.heartbeat / 2:
            self.send(Frame(HEARTBEAT, 0, b"").encode())

    def _take(self, octets: bytes) -> None:
        for _, unit in self._reader.feed(octets):
            if self.phase is Phase.OVER:
                return
            try:
                self._take_unit(unit)
            except Fatal as failure:
                self.give_up(str(failure))
            except Fault as failure:
                self._object(failure)

    def _take_unit(self, unit: Frame | Header | Garbage) -> None:
        if isinstance(unit, Header):
            raise Fatal("the server answers with a protocol header: it speaks another version")
        if isinstance(unit, Garbage):
            if unit.why.startswith("a frame of"):
                raise Fault(FRAME_ERROR, unit.why)
            raise Fatal(unit.why)
        if len(unit.payload) + OVERHEAD > self.frame_max and self.phase is not Phase.OPENING:
            raise Fault(FRAME_ERROR, "a frame above the agreed size")
        if unit.type == HEARTBEAT:
            if unit.payload or unit.channel:
                raise Fault(FRAME_ERROR if unit.payload else COMMAND_INVALID, "no such heartbeat")
        elif unit.channel == 0:
            self._take_of_connection(unit)
        elif self.phase is Phase.OPEN:
            self._take_of_channel(unit)

    def _take_of_channel(self, frame: Frame) -> None:
        if frame.type == METHOD and frame.payload[:2] == Connection.Close.spec.class_index.to_bytes(2):
            raise Fault(COMMAND_INVALID, "a method of connections on another channel than 0")
        channel = self._channels.get(frame.channel)
        if channel is None:
            raise Fault(CHANNEL_ERROR, f"channel {frame.channel} is not open")
        channel.take(frame)

    def _take_of_connection(self, frame: Frame) -> None:
        if frame.type != METHOD:
            raise Fault(CHANNEL_ERROR, "content on channel 0")
        if self.phase is Phase.CLOSING and frame.payload[:4] not in _ENDING:
            return
        try:
            method = frame.method()
        except DecodeError as failure:
            code = COMMAND_INVALID if failure.offset == 0 else SYNTAX_ERROR
            raise Fault(code, str(failure)) from None
        match method:
            case Connection.Close():
                self.say(0, Connection.CloseOk())
                self._over(closed("connection", method.reply_code, method.reply_text))
            case Connection.CloseOk() if self.phase is Phase.CLOSING:
                self._over(None)
            case _ if isinstance(method, self._due):
                self._due, self._come = (), method
            case _:
                raise Fault(COMMAND_INVALID, f"{method.full_name} is not due", *_indices(method))

    def _object(self, fault: Fault) -> None:
        """Close with an exception (4.8.2); before the connection is open, only the socket (2.2.4)."""
        if self.phase is not Phase.OPEN:
            self.give_up(str(fault))
            return
        self.failure = given_up(str(fault))
        self.say(0, Connection.Close(fault.code, str(fault)[:255], fault.class_index, fault.method_index))
        self.phase = Phase.CLOSING
        self.tell("lost", 0, text=str(fault))


_ENDING = (Connection.Close.key.to_bytes(4), Connection.CloseOk.key.to_bytes(4))


def _indices(method: Method) -> tuple[int, int]:
    return method.spec.class_index, method.spec.index


def _told(failure: Refused) -> dict[str, Any]:
    told: dict[str, Any] = {"text": failure.text}
    return told | ({"level": failure.level, "code": failure.code} if failure.level else {})


def _words(told: str | bytes) -> list[str]:
    return (told if isinstance(told, str) else told.decode("utf-8", "replace")).split()


def _lower(one: int, other: int) -> int:
    """Give the lower of two limits, where zero is none."""
    return min(one, other) if one and other else one or other
