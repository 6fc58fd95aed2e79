"""A channel of our own client: requests and replies, contents, acknowledgements, Close at any time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Protocol, TypeVar

from harness.amqp0_9_1.library.contents import Content
from harness.amqp0_9_1.library.faults import Fault, closed, given_up
from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.amqp0_9_1.wire.frames import BODY, HEADER, METHOD, OVERHEAD, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    COMMAND_INVALID,
    REPLY_SUCCESS,
    SYNTAX_ERROR,
    UNEXPECTED_FRAME,
    Basic,
    Channel,
    Confirm,
)
from harness.shims.contract import Refused
from harness.wire.units import DecodeError, EncodeError

Due = TypeVar("Due")
Said = TypeVar("Said", Method, Properties, Basic.Publish)


class Carrier(Protocol):
    """What a channel needs of its connection."""

    frame_max: int

    def usable(self) -> None: ...

    def say(self, channel: int, method: Method) -> None: ...

    def send(self, octets: bytes) -> None: ...

    def until(self, done: Callable[[], Due | None]) -> Due: ...

    def tell(self, event: str, channel: int, **told: Any) -> None: ...

    def tell_content(self, event: str, channel: ClientChannel, content: Content) -> None: ...

    def freed(self, channel: ClientChannel) -> None: ...


class State(Enum):
    """Where a channel stands."""

    OPEN = auto()
    CLOSING = auto()
    CLOSED = auto()


class ClientChannel:
    """One channel. What the server closes it for is `failure`."""

    def __init__(self, connection: Carrier, number: int) -> None:
        self.connection = connection
        self.number = number
        self.state = State.CLOSED
        self.failure: Refused | None = None
        self.flowing = True
        self.confirmed = False
        """Whether the server confirms what we publish, as only some products do."""
        self.consumers: set[str] = set()
        self._awaited: tuple[type[Method], ...] = ()
        self._replies: deque[tuple[Method, Content | None]] = deque()
        self._content: Content | None = None

    # -- what the client says --------------------------------------------------------------------------

    def ask(self, method: Method, *replies: type[Method]) -> tuple[Any, Content | None]:
        """Call a method and wait for its reply. Raises Refused."""
        self._usable()
        self._awaited = replies
        try:
            self._say(method)
            return self.connection.until(self._reply)
        finally:
            self._awaited = ()

    def say(self, method: Method) -> None:
        """Call a method that has no reply. Raises Refused."""
        self._usable()
        self._say(method)

    def open(self) -> None:
        self.state = State.OPEN
        self.ask(Channel.Open(), Channel.OpenOk)

    def close(self) -> None:
        """Close the channel and wait for Close-Ok. Raises Refused."""
        self._usable()
        self._say(Channel.Close(REPLY_SUCCESS, "done"))
        self.state, self._content = State.CLOSING, None
        self.connection.until(lambda: True if self.state is State.CLOSED else None)

    def publish(self, method: Basic.Publish, properties: Properties, body: bytes) -> None:
        """Publish a message, once the server lets contents flow. Raises Refused."""
        payload = Basic.Properties.class_index.to_bytes(2) + bytes(2) + len(body).to_bytes(8)
        self.publish_as(method, payload + _sendable(properties).encode(), body)

    def publish_as(self, method: Basic.Publish, header: bytes, body: bytes) -> None:
        """Publish a message with this payload of its header frame. Raises Refused."""
        self._usable()
        if not self.flowing:
            self.connection.until(lambda: True if self.flowing else None)
        room = self.connection.frame_max - OVERHEAD
        frames = [method_frame(self.number, _sendable(method)), Frame(HEADER, self.number, header)]
        frames += [Frame(BODY, self.number, body[at : at + room]) for at in range(0, len(body), room)]
        self.connection.send(b"".join(frame.encode() for frame in frames))

    def _say(self, method: Method) -> None:
        self.connection.say(self.number, _sendable(method))

    def _usable(self) -> None:
        self.connection.usable()
        if self.failure is not None:
            raise self.failure
        if self.state is not State.OPEN:
            raise given_up("the channel is closed")

    def _reply(self) -> tuple[Method, Content | None] | None:
        if self.failure is not None:
            raise self.failure
        return self._replies.popleft() if self._replies else None

    # -- what comes ------------------------------------------------------------------------------------

    def take(self, frame: Frame) -> None:
        """Take a frame of this channel. Raises Fault for one that must not come."""
        if self.state is State.CLOSING:
            self._take_while_closing(frame)
        elif self.state is State.CLOSED:
            raise Fault(CHANNEL_ERROR, "a frame on a channel that is not open")
        elif frame.type == METHOD:
            self._take_method(self._read(frame))
        elif self._content is None:
            raise Fault(UNEXPECTED_FRAME, "a content frame without a method before it")
        else:
            self._content.take(frame)
            self._complete()

    def _take_while_closing(self, frame: Frame) -> None:
        """Discard all but Close and Close-Ok (channel.close, rule stability)."""
        if frame.type != METHOD:
            return
        kind = frame.payload[:4]
        if kind == Channel.Close.key.to_bytes(4):
            self._say(Channel.CloseOk())
        elif kind == Channel.CloseOk.key.to_bytes(4):
            self._end()

    @staticmethod
    def _read(frame: Frame) -> Method:
        try:
            return frame.method()
        except DecodeError as failure:
            unknown = failure.offset == 0
            raise Fault(COMMAND_INVALID if unknown else SYNTAX_ERROR, str(failure)) from None

    def _take_method(self, method: Method) -> None:
        if self._content is not None and not isinstance(method, Channel.Close):
            raise Fault(UNEXPECTED_FRAME, "a method within a content", *_indices(method))
        match method:
            case Channel.Close():
                self._say(Channel.CloseOk())
                self.failure = closed("channel", method.reply_code, method.reply_text)
                told = {"level": "channel", "code": method.reply_code, "text": method.reply_text}
                self.connection.tell("closed", self.number, **told)
                self._end()
            case Channel.Flow():
                self.flowing = method.active
                self._say(Channel.FlowOk(method.active))
            case Basic.Deliver() | Basic.Return():
                self._content = Content(method)
            case Basic.Cancel() if method.consumer_tag in self.consumers:
                self.consumers.discard(method.consumer_tag)
                self.connection.tell("cancelled", self.number, tag=method.consumer_tag)
            case Basic.Ack() | Basic.Nack() if self.confirmed:
                pass  # nobody has asked what became of a message
            case _ if isinstance(method, self._awaited):
                self._take_reply(method)
            case _:
                raise Fault(COMMAND_INVALID, f"{method.full_name} is not due", *_indices(method))

    def _take_reply(self, method: Method) -> None:
        self._awaited = ()
        if isinstance(method, Basic.ConsumeOk):
            self.consumers.add(method.consumer_tag)
        self.confirmed |= isinstance(method, Confirm.SelectOk)
        if method.spec.content:
            self._content = Content(method)
        else:
            self._replies.append((method, None))

    def _complete(self) -> None:
        content = self._content
        if content is None or not content.whole:
            return
        self._content = None
        method: Any = content.method
        if isinstance(method, Basic.GetOk):
            self._replies.append((method, content))
        elif isinstance(method, Basic.Return):
            self.connection.tell_content("returned", self, content)
        elif method.consumer_tag not in self.consumers:
            raise Fault(COMMAND_INVALID, "a delivery for nobody", *_indices(method))
        else:
            self.connection.tell_content("message", self, content)

    def _end(self) -> None:
        self.state, self._content = State.CLOSED, None
        self._awaited = ()
        self.consumers.clear()
        self.connection.freed(self)


def _sendable(said: Said) -> Said:
    """Give what can be sent: no string is too long, and no short one has a zero octet. Raises Refused."""
    if any("\0" in each for name in said.names if isinstance(each := getattr(said, name), str)):
        raise given_up("a short string cannot hold a zero octet")
    try:
        said.encode()
    except EncodeError as failure:
        raise given_up(str(failure)) from None
    return said


def _indices(method: Method) -> tuple[int, int]:
    return method.spec.class_index, method.spec.index
