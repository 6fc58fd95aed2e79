"""Connections and channels as a scenario uses them.

Methods come in two kinds. *Controls* (`ask`, `declare_queue`, `deliveries`, …) do what must work for a rule
to be judged at all; when they fail the scenario ends as an error of its set-up. `expect` and `stays_quiet`
judge the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.client.outcomes import Closed, Observation, Received, Silence, answered, signature
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, HEARTBEAT, PROTOCOL_HEADER, Frame, RawFrame
from harness.amqp0_9_1.wire.vocabulary import (
    CODEC,
    REPLY_SUCCESS,
    Basic,
    Channel,
    Connection,
    Exchange,
    Queue,
)
from harness.play.context import Context
from harness.play.expect import ControlFailed, NotRun, Outcome
from harness.targets.target import Endpoint
from harness.wire.sasl import mechanism
from harness.wire.transport import End

ASYNCHRONOUS = (Basic.Deliver, Basic.Return)
LOCALE = "en_US"
FENCE = Exchange.Declare("amq.direct", "direct", passive=True)
QUIET = replace(answered(Exchange.DeclareOk), says="nothing before exchange.declare-ok")
"""What is legal behind the fence where nothing was due before it."""


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

    def send(self, method: Method) -> None:
        """Send a method on channel 0."""
        self.link.send(0, method)

    def send_octets(self, octets: bytes) -> None:
        self.link.send_octets(octets)

    def send_frames(self, *frames: Frame | RawFrame) -> None:
        """Send frames, malformed ones included, in one piece."""
        self.link.send_frames(frames)

    def heartbeat(self, channel: int = 0) -> None:
        """Send a heartbeat, on channel 0 where it belongs."""
        self.send_frames(Frame(HEARTBEAT, channel, b""))

    def expect(self, *outcomes: Outcome | type[Method], acknowledge: bool = True) -> Observation:
        """Judge the next observation on channel 0; a Close is answered if we `acknowledge`. Raises Unmet."""
        return self.link.expect(0, *outcomes, acknowledge=acknowledge)

    def tries(self, method: Method, *outcomes: Outcome | type[Method]) -> Observation:
        """Send a method on channel 0 and judge what comes next there. Raises Unmet."""
        self.send(method)
        return self.expect(*outcomes)

    def control(self, what: str, *methods: type[Method]) -> Any:
        """Take the next method on channel 0, which must be one of these. Raises ControlFailed."""
        seen = self.link.next(0, self.context.due(what, self.context.patience.close))
        if isinstance(seen, Received) and isinstance(seen.method, methods):
            return seen.method
        self.link.acknowledge_close(seen)
        raise self.context.failed(what, signature(seen), lost=seen == Closed(End.RST))

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
        """Give a Tune-Ok that accepts what the server proposed, without heartbeats, altered as given.

        Less than the document's minimum is nothing that can be agreed upon.
        """
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

    # -- use -------------------------------------------------------------------------------------------

    def channel(self, number: int | None = None) -> AmqpChannel:
        """Open a channel (the next free number, unless given).

        Raises NotRun where the agreed channel-max does not reach so far.
        """
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
        """End the connection by the handshake and leave the socket open, whatever the server does with it.

        Raises ControlFailed.
        """
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


class AmqpChannel:
    """A channel of a connection."""

    def __init__(self, connection: AmqpConnection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.context = connection.context
        self._link = connection.link

    # -- sending and judging ---------------------------------------------------------------------------

    def send(self, method: Method) -> None:
        """Send a method without content."""
        self._link.send(self.number, method)

    def publish(
        self, body: bytes | str, *, exchange: str = "", key: str = "", mandatory: bool = False,
        immediate: bool = False, **properties: Any,
    ) -> None:  # fmt: skip
        """Publish a message; `properties` are those of basic content."""
        octets = body.encode() if isinstance(body, str) else body
        method = Basic.Publish(exchange, key, mandatory, immediate)
        self._link.send(self.number, method, Basic.Properties(**properties), octets)

    def expect(self, *outcomes: Outcome | type[Method]) -> Any:
        """Judge the next observation on this channel and return its method, if it is one. Raises Unmet."""
        seen = self.observe(*outcomes)
        return seen.method if isinstance(seen, Received) else seen

    def tries(self, method: Method, *outcomes: Outcome | type[Method]) -> Any:
        """Send a method and judge what comes next, as `expect` does. Raises Unmet."""
        self.send(method)
        return self.expect(*outcomes)

    def observe(self, *outcomes: Outcome | type[Method]) -> Observation:
        """Judge as `expect` does, and return the observation, a message with its content. Raises Unmet."""
        return self._link.expect(self.number, *outcomes)

    def expect_answer(self, *outcomes: Outcome | type[Method]) -> Any:
        """Judge as `expect` does, with deliveries and returns that come first put aside. Raises Unmet."""
        self._set_aside_content()
        return self.expect(*outcomes)

    def stays_quiet(self) -> None:
        """Judge that nothing has come on this channel: the answer to a later method must be the first.

        Raises Unmet. The fence is a passive declare of an exchange that every broker pre-declares; methods
        on one channel are processed in order (4.7).
        """
        self.send(FENCE)
        self.expect(QUIET)

    def got_nothing(self) -> None:
        """Judge that nothing has come on this channel up to now, where no fence can be sent any more.

        Raises Unmet. Something else must have made sure that what was due has arrived.
        """
        seen = self._link.next(self.number, 0.0)
        came = not isinstance(seen, Silence | Closed)
        self._link.judged("nothing more on the channel", signature(seen), not came)

    # -- controls --------------------------------------------------------------------------------------

    def ask(self, method: Method, *answers: type[Method]) -> Any:
        """Send a method and return its answer as the document's <response> names it. Raises ControlFailed.

        Deliveries and returns that come first stay where they are.
        """
        names = [f"{method.spec.class_name}.{name}" for name in method.spec.responses]
        legal = answers or tuple(CODEC.methods[name] for name in names)
        self.send(method)
        self._set_aside_content(method.full_name)
        return self.control(method.full_name, *legal)

    def control(self, what: str, *methods: type[Method]) -> Any:
        """Take the next method, which must be one of these. Raises ControlFailed."""
        return self._control(what, methods).method

    def coming(self, *methods: type[Method]) -> Any:
        """Give the next method, one of these; it stays to be taken when its content is complete.

        Raises ControlFailed.
        """
        method = self._link.coming(self.number, self.context.patience.due)
        return method if isinstance(method, methods) else self.control("what came before", *methods)

    def _control(self, what: str, methods: Sequence[type[Method]]) -> Received:
        seen = self._link.next(self.number, self.context.due(what, self.context.patience.due))
        if isinstance(seen, Received) and isinstance(seen.method, tuple(methods)):
            return seen
        self._link.acknowledge_close(seen)
        raise self.context.failed(what, signature(seen), lost=seen == Closed(End.RST))

    def _set_aside_content(self, what: str = "") -> None:
        # Look for the first observation that is not content, then put what was skipped behind it.
        skipped: list[Observation] = []
        while True:
            seen = self._link.next(self.number, self.context.due(what, self.context.patience.answer))
            if isinstance(seen, Received) and isinstance(seen.method, ASYNCHRONOUS):
                skipped.append(seen)
                continue
            self._link.put_back(self.number, [seen, *skipped])
            return

    def fence(self) -> None:
        """Wait until everything sent on this channel so far has been processed."""
        self.ask(FENCE)

    def settle(self) -> None:
        """Leave the server a moment for what it does behind its answers, such as writing to disk.

        Raises ControlFailed when something comes meanwhile.
        """
        seen = self._link.next(self.number, self.context.patience.quiet)
        if not isinstance(seen, Silence):
            raise ControlFailed("waiting", signature(seen), lost=seen == Closed(End.RST))

    def new_name(self, kind: str) -> str:
        """Give a name of its own for a "queue" or an "exchange"; it is removed when the scenario ends."""
        return self.context.name(kind, self._link.name, self._link.now())

    def remember(self, kind: str, name: str) -> None:
        """Keep a name that the server made: it too is removed when the scenario ends."""
        self.context.remember(kind, name, self._link.name, self._link.now())

    def misses(self, kind: str) -> None:
        """Make sure that a "queue" or "exchange" nobody declared is not found, on a channel of its own.

        The control for "it is there": a server that finds everything would pass that as well.
        """
        asked: dict[str, Method] = {
            "queue": Queue.Declare(self.new_name(kind), passive=True),
            "exchange": Exchange.Declare(self.new_name(kind), "direct", passive=True),
        }
        channel = self.connection.channel()
        channel.ask(asked[kind], Channel.Close)
        channel.send(Channel.CloseOk())

    def declare_queue(self, name: str | None = None, **flags: Any) -> str:
        """Declare a queue under a name of its own and return the name."""
        queue = self.new_name("queue") if name is None else name
        self.ask(Queue.Declare(queue, **flags))
        return queue

    def declare_exchange(self, kind: str = "direct", **flags: Any) -> str:
        """Declare an exchange under a name of its own and return the name."""
        exchange = self.new_name("exchange")
        self.ask(Exchange.Declare(exchange, kind, **flags))
        return exchange

    def bind(self, queue: str, exchange: str, key: str = "") -> None:
        self.ask(Queue.Bind(queue, exchange, key))

    def consume(self, queue: str, **flags: Any) -> str:
        """Start a consumer and return its tag."""
        return str(self.ask(Basic.Consume(queue, **flags)).consumer_tag)

    def deliveries(self, count: int) -> list[Received]:
        """Take the next `count` deliveries. Raises ControlFailed when one is missing or other things come."""
        return [self._control(f"delivery {n + 1} of {count}", [Basic.Deliver]) for n in range(count)]

    def arrived(self) -> list[Received]:
        """Give the deliveries and returns that came and were put aside, or left; waits for nothing."""
        came: list[Received] = []
        while isinstance(seen := self._link.next(self.number, 0.0), Received):
            if not isinstance(seen.method, ASYNCHRONOUS):
                self._link.put_back(self.number, [seen])
                break
            came.append(seen)
        return came

    def drain(self, queue: str) -> list[bytes]:
        """Get all messages that are ready in the queue; returns their bodies."""
        bodies: list[bytes] = []
        while seen := self.get(queue):
            bodies.append(seen.body)
        return bodies

    def get(self, queue: str, *, no_ack: bool = True) -> Received | None:
        """Get one message; None when the queue is empty."""
        self.send(Basic.Get(queue, no_ack))
        self._set_aside_content()
        seen = self._control("basic.get", [Basic.GetOk, Basic.GetEmpty])
        return seen if isinstance(seen.method, Basic.GetOk) else None

    def depth(self, queue: str) -> int:
        """Count the messages that are ready in the queue."""
        return int(self.ask(Queue.Declare(queue, passive=True)).message_count)

    def close(self) -> None:
        """Close the channel by the handshake."""
        self.ask(Channel.Close(REPLY_SUCCESS, "done"))
