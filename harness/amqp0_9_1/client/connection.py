"""Connections as a scenario uses them; what it says on their channels is in `channel`."""

from __future__ import annotations

from typing import Any, Self

from harness.amqp0_9_1.client.channel import Conversation
from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.client.outcomes import Observation, Received
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, HEARTBEAT, PROTOCOL_HEADER, Frame, RawFrame
from harness.amqp0_9_1.wire.vocabulary import REPLY_SUCCESS, Channel, Connection, Exchange, Queue
from harness.play.context import Context
from harness.play.expect import NotRun, Outcome
from harness.targets.target import Endpoint
from harness.wire.sasl import mechanism

LOCALE = "en_US"


class AmqpConnection:
    """A connection: the steps of its handshake one by one, then channels."""

    def __init__(self, link: Link, context: Context, endpoint: Endpoint) -> None:
        self.link = link
        self.context = context
        self.endpoint = endpoint
        self.start = Connection.Start()
        self.tune = Connection.Tune()
        self.opened = False
        self._channels = 0
        self._channel_max = 0

    # -- sending and expecting -------------------------------------------------------------------------

    def send(self, *methods: Method) -> None:
        for method in methods:
            self.link.send(0, method)

    def send_octets(self, octets: bytes) -> None:
        self.link.send_octets(octets)

    def send_frames(self, *frames: Frame | RawFrame) -> None:
        """Send frames, malformed ones included, in one piece."""
        self.link.send_frames(frames)

    def heartbeat(self, channel: int = 0) -> None:
        self.send_frames(Frame(HEARTBEAT, channel, b""))

    def expect(self, *outcomes: Outcome | type[Method], acknowledge: bool = True) -> Observation:
        """Judge the next observation on channel 0; a Close is answered if we `acknowledge`. Raises Unmet."""
        return self.link.expect(0, *outcomes, acknowledge=acknowledge)

    def tries(self, what: Method | bytes, *outcomes: Outcome | type[Method]) -> Observation:
        """Send a method on channel 0, or octets, and judge what comes next there. Raises Unmet."""
        self.send_octets(what) if isinstance(what, bytes) else self.send(what)
        return self.expect(*outcomes)

    def control(self, what: str, *methods: type[Method]) -> Any:
        """Take the next method on channel 0, which must be one of these. Raises ControlFailed."""
        seen = self.link.next(0, self.context.due(what, self.context.patience.close))
        if isinstance(seen, Received) and isinstance(seen.method, methods):
            return seen.method
        self.link.acknowledge_close(seen)
        raise self.link.failed(what, seen)

    # -- the handshake, step by step -------------------------------------------------------------------

    def begin(self) -> None:
        """Send the protocol header; the server answers with Start."""
        self.send_octets(PROTOCOL_HEADER)
        self.start = self.control("the protocol header", Connection.Start)

    def start_ok(self, **changes: Any) -> Connection.StartOk:
        """Give a Start-Ok with good credentials, altered as given."""
        given = Connection.StartOk(
            client_properties={"product": "amqp-conformance", "information": "conformance test"},
            mechanism=self.endpoint.mechanism,
            response=mechanism(self.endpoint.mechanism).response(self.endpoint.user, self.endpoint.password),
            locale=LOCALE,
        )
        return given.replace(**changes)

    def authenticate(self, start_ok: Connection.StartOk | None = None) -> None:
        """Log in; the server answers with Tune, by some mechanisms only after a Secure."""
        method = start_ok or self.start_ok()
        self.send(method)
        answer = self.control("connection.start-ok", Connection.Tune, Connection.Secure)
        if isinstance(answer, Connection.Secure):
            self.send(self.secure_ok(method))
            answer = self.control("connection.secure-ok", Connection.Tune)
        self.tune = answer

    def secure_ok(self, start_ok: Connection.StartOk) -> Connection.SecureOk:
        """Answer a challenge; a mechanism that said all at once (PLAIN) says it again."""
        answer = mechanism(start_ok.mechanism).answer
        if answer is None:
            return Connection.SecureOk(start_ok.response)
        return Connection.SecureOk(answer(self.endpoint.user, self.endpoint.password))

    def tune_ok(self, **changes: Any) -> Connection.TuneOk:
        """Give a Tune-Ok to what was proposed, frame-min-size at least, no heartbeats, altered as given."""
        size = max(self.tune.frame_max, FRAME_MIN_SIZE) if self.tune.frame_max else 0
        given = Connection.TuneOk(self.tune.channel_max, size, heartbeat=0)
        return given.replace(**changes)

    def open(self, tune_ok: Connection.TuneOk | None = None) -> None:
        """Send Tune-Ok and Open; the server answers with Open-Ok."""
        agreed = tune_ok or self.tune_ok()
        self.send(agreed)
        self.send(Connection.Open(self.endpoint.virtual_host))
        self.control("connection.open", Connection.OpenOk)
        self.link.frame_max, self._channel_max = agreed.frame_max, agreed.channel_max
        self.opened = True

    def opens(self, tune_ok: Connection.TuneOk, *outcomes: Outcome | type[Method]) -> Observation:
        """Send Tune-Ok and Open, and judge what comes next. Raises Unmet."""
        self.send(tune_ok)
        return self.tries(Connection.Open(self.endpoint.virtual_host), *outcomes)

    # -- use -------------------------------------------------------------------------------------------

    def channel(self, number: int | None = None) -> AmqpChannel:
        """Open a channel (the next free number, unless given). Raises NotRun beyond channel-max."""
        channel = self.unopened(number)
        if 0 < self._channel_max < channel.number:
            raise NotRun(f"channel {channel.number} is beyond the agreed channel-max of {self._channel_max}")
        channel.ask(Channel.Open())
        return channel

    def unopened(self, number: int | None = None) -> AmqpChannel:
        """Give a channel that has not been opened yet (the next free number, unless given)."""
        self._channels = number if number is not None else self._channels + 1
        return AmqpChannel(self, self._channels)

    @property
    def usable(self) -> bool:
        return self.opened and not self.link.over and self.link.ended is None

    def close(self) -> None:
        """End the connection by the handshake if it is open, in any case close the socket."""
        try:
            if self.usable:
                self.opened = False
                self.send(Connection.Close(REPLY_SUCCESS, "done"))
                self._drain()
        finally:
            self.link.finish()

    def shake_hands(self) -> None:
        """End the connection by the handshake and leave the socket open. Raises ControlFailed."""
        self.opened = False
        self.send(Connection.Close(REPLY_SUCCESS, "done"))
        self.control("connection.close", Connection.CloseOk)

    def _drain(self) -> None:
        until = self.link.now() + self.context.patience.answer
        while (left := until - self.link.now()) > 0:
            seen = self.link.next(0, left)
            if isinstance(seen, Received) and isinstance(seen.method, Connection.Close):
                self.link.acknowledge_close(seen)
            if not isinstance(seen, Received) or isinstance(
                seen.method, Connection.CloseOk | Connection.Close
            ):
                return

    def drop(self) -> None:
        """Close the socket without a word."""
        self.opened = False
        self.link.finish()


class AmqpChannel(Conversation):
    """A channel of a connection."""

    def __init__(self, connection: AmqpConnection, number: int) -> None:
        super().__init__(connection.link, connection.context, number)
        self.connection = connection

    def misses(self, kind: str) -> Self:
        """Make sure that a "queue" or "exchange" nobody declared is not found, on a channel of its own.

        It gives this channel. The control for "it is there": a server that finds everything would pass that
        as well.
        """
        asked: dict[str, Method] = {
            "queue": Queue.Declare(self.new_name(kind), passive=True),
            "exchange": Exchange.Declare(self.new_name(kind), "direct", passive=True),
        }
        channel = self.connection.channel()
        channel.ask(asked[kind], Channel.Close)
        channel.send(Channel.CloseOk())
        return self
