"""What can happen to the peer, and the states it can be in: the vocabulary of the tables' first columns.

A row's event is the class of a performative that arrived (`Open`, `Begin`), one of `Sending` for what the
peer is about to say, another of the classes below, or one of harness.peers.events. A row for a base class
(`Composite`, `Event`) takes everything derived from it that no earlier row took.
"""

from dataclasses import dataclass
from typing import Protocol

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import Frame
from harness.peers.events import Event
from harness.peers.rows import State


class ConnectionState(State):
    """Where a connection stands: the states of section 2.4.6, in the order of figure 2.24."""

    START = "nothing sent or received"
    HDR_RCVD = "header received, not sent"
    HDR_SENT = "header sent, not received"
    HDR_EXCH = "headers exchanged"
    OPEN_RCVD = "headers exchanged, open received, not sent"
    OPEN_SENT = "headers exchanged, open sent, not received"
    OPEN_PIPE = "header and open sent, nothing received"
    CLOSE_PIPE = "headers exchanged, open and close sent, no open received"
    OC_PIPE = "header, open and close sent, nothing received"
    OPENED = "open"
    CLOSE_RCVD = "close received, not sent"
    CLOSE_SENT = "close sent, not received"
    DISCARDING = "close sent because of an error, not received"
    END = "nothing may be written any more"


class SaslState(State):
    """Where the SASL layer stands, which precedes START of the connection inside it (Part 5)."""

    HDR_SENT = "SASL header sent, not received"
    EXPECT_INIT = "mechanisms sent"
    EXPECT_RESPONSE = "challenge sent"


class SessionState(State):
    """Where a session stands: the states of section 2.5.5."""

    UNMAPPED = "not mapped to a channel"
    BEGIN_SENT = "begin sent, not received"
    BEGIN_RCVD = "begin received, not sent"
    MAPPED = "begins exchanged"
    END_SENT = "end sent, not received"
    END_RCVD = "end received, not sent"
    DISCARDING = "end sent because of an error, not received"


class LinkState(State):
    """Where a link endpoint stands: as sections 2.6.2 to 2.6.6 tell it, which give it no names."""

    DETACHED = "not attached"
    ATTACH_SENT = "attach sent, not received"
    ATTACH_RCVD = "attach received, not sent"
    ATTACHED = "attached"
    DETACH_SENT = "detach sent, not received"
    DETACH_RCVD = "detach received, not sent"
    ERRED = "detach sent because of an error, not received"
    SUSPENDED = "detached, and not closed"


@dataclass(slots=True)
class Entered(Event):
    """The connection has come into its state, by the event `by`; None where an effect led there."""

    by: object = None


# -- what arrives --------------------------------------------------------------------------------------


@dataclass(slots=True)
class HeaderReceived(Event):
    """A protocol header, or what came in its place."""

    octets: bytes


class AmqpHeader(HeaderReceived):
    """AMQP 0 1.0.0."""


class SaslHeader(HeaderReceived):
    """AMQP 3 1.0.0."""


class ForeignHeader(HeaderReceived):
    """Another version, another protocol id, or no protocol header at all."""


@dataclass(slots=True)
class Unacceptable(Event):
    """A frame that is not to be processed; `why` says what is wrong with it."""

    why: str


class Malformed(Unacceptable):
    """A size or a data offset of which no valid frame header can be formed (2.3.1)."""


class Oversized(Unacceptable):
    """A frame announces more octets than the peer accepts (2.7.1)."""


class ChannelOutOfRange(Unacceptable):
    """A frame on a channel above what the peer accepts (2.7.1)."""


class Undecodable(Unacceptable):
    """A body that is no performative at all, or whose fields cannot be decoded (2.3.2)."""


class Undefined(Unacceptable):
    """A described list with a descriptor that is none of section 2.7 (2.3.2)."""


@dataclass(slots=True)
class Invalid(Unacceptable):
    """A performative with a field that is missing, of another type or none of its choices (2.7)."""

    performative: Composite
    missing: bool


class InvalidOpen(Invalid):
    """An open that is so."""


@dataclass(slots=True)
class ForeignType(Unacceptable):
    """A frame whose type is not that of the layer (2.3.1)."""

    frame: Frame


class EmptyFrame(Event):
    """A frame without a body (2.4.5)."""


class StreamEnded(Event):
    """The client's stream ended; the peer can still write."""


# -- what time brings ----------------------------------------------------------------------------------


class TrafficDue(Event):
    """The peer has said nothing for as long as its partner's idle-time-out permits (2.4.5)."""


class TrafficLate(TrafficDue):
    """It has said nothing for so long that the partner's threshold is exceeded: it got no time (2.4.5)."""


# -- what is done to the peer itself -------------------------------------------------------------------


class Node(Protocol):
    """What events know of a node."""

    name: str


@dataclass(slots=True)
class NodeRemoved(Event):
    """Somebody has removed a node."""

    node: Node


class AlarmRaised(Event):
    """No more messages can be taken for now."""

    __slots__ = ()


class AlarmLifted(Event):
    """Messages can be taken again."""

    __slots__ = ()


class OutcomesDue(Event):
    """Outcomes of deliveries have been gathered for long enough (2.7.6)."""


# -- what is about to be said --------------------------------------------------------------------------


@dataclass(slots=True)
class Sending(Event):
    """The peer is about to write these octets. Without a row for it the state does not permit it."""

    octets: bytes


class SendingHeader(Sending):
    """A protocol header."""


class SendingSasl(Sending):
    """A frame of the SASL layer."""


class SendingOpen(Sending):
    """An open."""


class SendingClose(Sending):
    """A close without an error."""


class SendingError(Sending):
    """A close with an error."""


class SendingFrame(Sending):
    """Any other frame."""


class SendingEmpty(SendingFrame):
    """A frame without a body."""


# -- what is about to be said on a session -------------------------------------------------------------


@dataclass(slots=True)
class Saying(Event):
    """The peer is about to say this on a session. Without a row for it the state does not permit it."""

    said: Composite
    payload: bytes = b""


class SayingBegin(Saying):
    """A begin."""


class SayingEnd(Saying):
    """An end."""


class SayingEndError(SayingEnd):
    """An end with an error."""


class SayingFrame(Saying):
    """Anything else."""


class SayingAttach(SayingFrame):
    """An attach."""


class SayingDetach(SayingFrame):
    """A detach."""


class SayingClosing(SayingDetach):
    """A detach that closes the link."""


class SayingDetachError(SayingClosing):
    """A detach with an error."""
