"""What can happen to the peer, and the states it can be in: the vocabulary of the tables' first columns.

A row's event is a method class (`Queue.Declare`), one of the classes below, or of harness.peers.events. A row
for a base class (`Method`, `Event`) takes everything derived from it that no earlier row took.
"""

from dataclasses import dataclass

from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.peers.events import Event
from harness.peers.rows import State


class ConnectionState(State):
    """Where a connection stands (2.2.4)."""

    EXPECT_HEADER = "expects the protocol header"
    EXPECT_START_OK = "expects Start-Ok"
    EXPECT_SECURE_OK = "expects Secure-Ok"
    EXPECT_TUNE_OK = "expects Tune-Ok"
    EXPECT_OPEN = "expects Open"
    OPEN = "open"
    CLOSING = "has sent Close, expects Close-Ok"
    CONDEMNED = "will be closed in silence, hears nothing"
    LINGERING = "has sent Close-Ok, leaves the socket to the client"
    CLOSED = "closed"


class ChannelState(State):
    """Where a channel stands (4.2.6, channel class)."""

    UNOPENED = "not open"
    OPEN = "open"
    EXPECT_CONTENT_HEADER = "expects the content header"
    EXPECT_BODY = "expects more of the body"
    CLOSING = "has sent Close, expects Close-Ok"


class GoodHeader(Event):
    """The protocol header of 0-9-1 arrived."""


class BadHeader(Event):
    """The first octets are not a protocol header this peer supports (4.2.2)."""


class OversizedFrame(Event):
    """A frame announces more octets than agreed upon (4.2.3)."""


class UndefinedFrame(Event):
    """The type of a frame is not one of those defined (4.2.3)."""


class BadFrameEnd(Event):
    """The octet behind a payload is not frame-end (4.2.3)."""


@dataclass(slots=True)
class HeartbeatReceived(Event):
    """A heartbeat frame; valid only on channel zero and empty (4.2.7)."""

    channel: int
    size: int


@dataclass(slots=True)
class Misplaced(Event):
    """A frame of the Connection class on another channel than zero (4.2.3)."""

    method: type[Method] | None


@dataclass(slots=True)
class OnChannelZero(Event):
    """A method of another class than Connection on channel zero."""

    method: type[Method] | None


class ContentOnChannelZero(Event):
    """A content frame on channel zero (4.2.6.1)."""


@dataclass(slots=True)
class Undecodable(Event):
    """A method whose arguments cannot be read; `what` says why, with the octet."""

    method: type[Method] | None
    what: str


@dataclass(slots=True)
class UnknownMethod(Event):
    """Class and index that no method has."""

    class_id: int
    method_id: int


@dataclass(slots=True)
class IllegalFieldName(Event):
    """A field table with a name outside the syntax of 4.2.5.5."""

    method: type[Method] | None


@dataclass(slots=True)
class ContentHeaderReceived(Event):
    """A content header; `properties` is None when it could not be read."""

    class_index: int
    weight: int
    size: int
    properties: Properties | None
    payload: bytes
    legal_names: bool


@dataclass(slots=True)
class BodyReceived(Event):
    """A content body frame."""

    octets: bytes


class ContentComplete(Event):
    """The last octet of a content has arrived."""


class Routing(Event):
    """A content goes to its exchange: at once, or when its transaction commits."""


class Delivering(Event):
    """A queue has a message for a consumer."""


class HeartbeatDue(Event):
    """Half a heartbeat interval has passed."""


class ConnectionEnded(Event):
    """A connection is over, whichever side ended it (4.5)."""


class ChannelEnded(Event):
    """A channel is over, whichever side ended it (4.5)."""


class ConsumerGone(Event):
    """A consumer of a queue was cancelled."""


class QueueDeleted(Event):
    """A queue is being deleted."""


class ExchangeDeleted(Event):
    """An exchange is being deleted."""


class Requeued(Event):
    """A delivered message goes back without acknowledgement."""


class Discarded(Event):
    """A delivered message was rejected without requeue."""


class Arriving(Event):
    """A message has come to a queue, and is about to join it."""


class Lengthened(Event):
    """A message was added to a queue."""


class Shortened(Event):
    """A message was taken from a queue."""
