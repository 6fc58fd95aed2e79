"""Methods that cannot be read, or stand where they must not; contents and frames out of place."""

from collections.abc import Callable

from harness.amqp0_9_1.broken.deviations import (
    Interposer,
    answers,
    changes,
    drops,
    ignores,
    mends,
    objects,
    serves,
    swallows,
)
from harness.amqp0_9_1.broken.frame_faults import sent_on, sent_whole, unknown, unreadable
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import answered, closed_silently, connection_closed
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.fields import field_spans
from harness.amqp0_9_1.wire.frames import BODY, HEADER, METHOD, ContentHeader, Frame, RawFrame, method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    COMMAND_INVALID,
    FRAME_ERROR,
    NOT_IMPLEMENTED,
    SYNTAX_ERROR,
    UNEXPECTED_FRAME,
    Basic,
    Channel,
    Connection,
    Exchange,
)
from harness.play.expect import Outcome
from scenarios.amqp0_9_1.grammar.calls import (
    AT_ONCE,
    HANDSHAKE,
    UNUSED,
    Call,
    again,
    answers_to,
    given,
    kind,
    of,
    ready,
    works,
)
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.readers.amqp0_9_1 import Method as GrammarMethod

ANOTHER_WAY = (connection_closed() | AT_ONCE).under(
    "4.8.1, 2.3.7: the connection ends, with another code than the one that fits, or without a hand-shake"
)
BEFORE_OPEN = tuple(name for name in HANDSHAKE if name not in ("connection.close", "connection.close-ok"))
UNDEFINED_TYPE = 9
CLOSED = "channel.close: is answered"
NO_CLASS = 0xEFFF
"""The highest class that is reserved for the standard (4.2.4)."""
NO_METHOD = 1000
"""So far behind the highest method of a class that no extension will have it."""


# -- arguments that cannot be read ---------------------------------------------------------------------


def overlong(method: Method) -> bytes:
    """Give the payload in which the length of the first argument that has one reaches beyond the frame."""
    payload = method.encode()
    lengthy = {
        field.name: field.type for field in method.fields if field.type in ("shortstr", "longstr", "table")
    }
    span = next(each for each in field_spans(method.fields, payload, 4) if each.name in lengthy)
    size = 1 if lengthy[span.name] == "shortstr" else 4
    length = b"\xff" if size == 1 else b"\x00\x00\xff\xff"
    return payload[: span.offset] + length + payload[span.offset + size :]


def trailing(method: Method) -> bytes:
    return method.encode() + b"\x00"


def does_not_notice(about: Subject) -> Interposer:
    return swallows(unreadable(kind(about)))


NEXT = {
    "connection.start-ok": Connection.Tune(),
    "connection.secure-ok": Connection.Tune(),
    "connection.open": Connection.OpenOk(),
}


def makes_it_up(about: Subject) -> Interposer:
    """Reads such a method as one without faults; what the handshake needs it has to say itself."""
    if said := NEXT.get(kind(about).full_name):
        return serves(unreadable(kind(about)), said)
    return mends(unreadable(kind(about)), lambda frame: method_frame(frame.channel, kind(about)()))


def is_refused_when(broker: Broker, about: Subject, spoilt: Callable[[Method], bytes]) -> None:
    """Judge that the method is carried out whole, and ends the connection spoilt."""
    call = again(broker, about)
    call.send_payload(spoilt(call.method))
    call.expect(*not_readable(kind(about).spec))


def is_before_open(about: Subject) -> bool:
    """Say whether it is a method of the negotiation, whose end servers delay."""
    return kind(about).full_name in BEFORE_OPEN


def not_readable(method: GrammarMethod) -> tuple[Outcome, ...]:
    """Give what may come of a method that cannot be read: before the connection is open also a silent end."""
    refused = connection_closed(FRAME_ERROR, SYNTAX_ERROR)
    wanted = closed_silently() | refused if method.full_name in BEFORE_OPEN else refused
    return wanted, ANOTHER_WAY


@scenarios_for(of("truncated"), slow=is_before_open)
@broken_by("does not notice it", does_not_notice)
@broken_by("makes up what is missing", makes_it_up)
def method_cut_short_is_refused(broker: Broker, about: Subject) -> None:
    """The method is carried out; in a frame that ends one octet early it ends the connection."""
    is_refused_when(broker, about, lambda method: method.encode()[:-1])


@scenarios_for(of("overlong"), slow=is_before_open)
@broken_by("does not notice it", does_not_notice)
@broken_by("makes up what is missing", makes_it_up)
def argument_longer_than_the_frame_is_refused(broker: Broker, about: Subject) -> None:
    """The method is carried out; with a length that reaches beyond its frame it ends the connection."""
    is_refused_when(broker, about, overlong)


@scenarios_for(of("trailing", "channel.close-ok"), slow=is_before_open)
@broken_by("does not notice it", does_not_notice)
@broken_by("passes over what follows", makes_it_up)
def octets_behind_the_arguments_are_refused(broker: Broker, about: Subject) -> None:
    """The method is carried out; with one octet more in its frame it ends the connection."""
    is_refused_when(broker, about, trailing)


# -- the wrong channel ---------------------------------------------------------------------------------


def is_served(about: Subject, fits: Callable[[int], bool]) -> Interposer:
    """Serves the method as on any channel."""
    success = (*answers_to(kind(about).spec), Channel.FlowOk)[0]
    return serves(sent_whole(kind(about), fits), success())


def is_zero(number: int) -> bool:
    return number == 0


def is_unused(number: int) -> bool:
    return number >= UNUSED


def is_a_channel(number: int) -> bool:
    return number > 0


@scenarios_for(of("channel-zero"))
@broken_by("does not notice it", lambda about: swallows(sent_whole(kind(about), is_zero)))
@broken_by("serves it there", lambda about: is_served(about, is_zero))
def method_on_channel_zero_is_refused(broker: Broker, about: Subject) -> None:
    """The method is carried out on its channel; on channel 0 it ends the connection."""
    call = again(broker, about)
    call.send(number=0)
    call.expect(connection_closed(CHANNEL_ERROR, COMMAND_INVALID), ANOTHER_WAY)


@scenarios_for(of("unopened"))
@broken_by("does not notice it", lambda about: swallows(sent_whole(kind(about), is_unused)))
@broken_by("serves it there", lambda about: is_served(about, is_unused))
@broken_by("goes on waiting when it has closed one", changes(CLOSED, next=ChannelState.CLOSING))
def method_on_a_channel_not_open_is_refused(broker: Broker, about: Subject) -> None:
    """The method is carried out on an open channel; on one nobody has opened it ends the connection.

    So it does on one that was open, and has been closed.
    """
    call = again(broker, about)
    call.send(number=call.number + UNUSED)
    call.expect(connection_closed(CHANNEL_ERROR), ANOTHER_WAY)
    call = ready(broker, about)
    closed = call.connection.channel()
    closed.close()
    call.send(number=closed.number)
    call.expect(connection_closed(CHANNEL_ERROR), ANOTHER_WAY)


@scenarios_for(of("misplaced"))
@broken_by("does not notice it", lambda about: swallows(sent_on(kind(about), is_a_channel)))
@broken_by("serves it there", lambda about: is_served(about, is_a_channel))
def connection_method_on_a_channel_is_refused(broker: Broker, about: Subject) -> None:
    """On an open channel of an open connection, the method ends the connection with 503."""
    channel = broker.channel().fence()
    call = Call(channel.connection, channel.number, kind(about)())
    call.send()
    call.expect(connection_closed(COMMAND_INVALID), ANOTHER_WAY)


# -- what a server does not serve ----------------------------------------------------------------------


@scenarios_for(of("wrong-way"))
@broken_by("does not notice it", lambda about: ignores(kind(about)))
@broken_by("takes it for a question", lambda about: answers(kind(about), Basic.QosOk()))
def method_of_the_server_is_refused(broker: Broker, about: Subject) -> None:
    """A method that only servers send, sent by a client on a channel in use, ends the connection."""
    channel = broker.channel().fence()
    call = Call(channel.connection, channel.number, kind(about)())
    call.send()
    call.expect(connection_closed(COMMAND_INVALID, UNEXPECTED_FRAME, NOT_IMPLEMENTED), ANOTHER_WAY)


def index(about: Subject) -> int:
    return NO_CLASS if about.content is None else about.content.index


def is_taken_for_a_question(about: Subject) -> Interposer:
    return mends(unknown(index(about)), lambda frame: method_frame(frame.channel or 1, Basic.Qos()))


def unknown_is_refused(broker: Broker, about: Subject, method: int) -> None:
    """Use a channel; then judge that a method which does not exist ends the connection."""
    channel = broker.channel().fence()
    number = 0 if index(about) == Connection.Open.spec.class_index else channel.number
    payload = index(about).to_bytes(2) + method.to_bytes(2)
    channel.connection.send_frames(Frame(METHOD, number, payload))
    channel.expect(connection_closed(NOT_IMPLEMENTED, COMMAND_INVALID, FRAME_ERROR), ANOTHER_WAY)


@scenarios_for(of("unknown-method"))
@broken_by("does not notice it", lambda about: swallows(unknown(index(about))))
@broken_by("takes it for another", is_taken_for_a_question)
def method_of_no_index_is_refused(broker: Broker, about: Subject) -> None:
    """On a channel in use, a method of the class with an index that none has ends the connection."""
    highest = max(each.index for each in given(about.content).methods)
    unknown_is_refused(broker, about, highest + NO_METHOD)


@scenarios_for(of("unknown-class"))
@broken_by("does not notice it", lambda about: swallows(unknown(index(about))))
@broken_by("takes it for another", is_taken_for_a_question)
def method_of_no_class_is_refused(broker: Broker, about: Subject) -> None:
    """On a channel in use, a method of a class that does not exist ends the connection."""
    unknown_is_refused(broker, about, 10)


# -- frames and contents -------------------------------------------------------------------------------

HEADER_OF_NOTHING = ContentHeader(Basic.Publish.spec.class_index, 0, Basic.Properties())


def frame_type(about: Subject) -> int:
    return given(about.constant).value


@scenarios_for(of("frame"))
@broken_by("does not notice it", lambda about: swallows(lambda frame: frame.type == frame_type(about)))
@broken_by("says nothing", lambda _: drops("content: refuses a frame out of sequence"))
def content_frame_without_a_method_is_refused(broker: Broker, about: Subject) -> None:
    """On a channel in use, a content frame that no method announced ends the connection with 505."""
    channel = broker.channel().fence()
    payload = HEADER_OF_NOTHING.encode() if frame_type(about) == HEADER else b"body"
    channel.connection.send_frames(Frame(frame_type(about), channel.number, payload))
    channel.expect(connection_closed(UNEXPECTED_FRAME), ANOTHER_WAY)


@scenarios_for(of("undefined-type"))
@broken_by("does not notice it", drops("frame: refuses an undefined type"))
def frame_of_no_type_ends_the_connection(broker: Broker, _: Subject) -> None:
    """On a connection in use, a frame of a type that is not defined ends it without a further octet.

    By the hand-shake as well, with whatever code.
    """
    channel = broker.channel().fence()
    channel.connection.send_frames(RawFrame(UNDEFINED_TYPE, 0))
    handshake = connection_closed().under("2.3.7: an open connection is closed by a hand-shake")
    channel.expect(closed_silently(), handshake)


def published(broker: Broker, about: Subject) -> Call:
    """Give a channel on which a content was taken, and the same method once more without its content."""
    call = ready(broker, about)
    call.succeeds()
    call.channel.send(call.method)
    return call


@scenarios_for(of("content-missing"))
@broken_by("waits for ever", drops("content: a method ends it", "content: refuses a method before its end"))
def method_amid_a_content_is_refused(broker: Broker, about: Subject) -> None:
    """Where a content header is due, another method ends the connection with 505, or is served (4.2.6)."""
    call = published(broker, about)
    call.send(Channel.Flow(active=True))
    given_up = answered(Channel.FlowOk).under("4.2.6: a sender may abort a content")
    call.expect(connection_closed(UNEXPECTED_FRAME), given_up)
    works(broker)


WRONG_CLASS = ContentHeader(Exchange.Declare.spec.class_index, 0, Basic.Properties())
CUT_SHORT = ContentHeader(Basic.Publish.spec.class_index, 0, Basic.Properties(content_type="text/plain"))


def is_sent(payload: bytes, type_: int = HEADER) -> Callable[[Frame], bool]:
    return lambda frame: frame.type == type_ and frame.payload == payload


def as_it_should_be(payload: bytes) -> Interposer:
    return mends(is_sent(payload), lambda frame: Frame(HEADER, frame.channel, HEADER_OF_NOTHING.encode()))


@scenarios_for(of("content-class"))
@broken_by("does not notice it", swallows(is_sent(WRONG_CLASS.encode())))
@broken_by("does not look at the class", as_it_should_be(WRONG_CLASS.encode()))
def content_of_another_class_is_refused(broker: Broker, about: Subject) -> None:
    """A content header of another class than its method's ends the connection with 501 or 505."""
    call = published(broker, about)
    call.connection.send_frames(Frame(HEADER, call.number, WRONG_CLASS.encode()))
    call.expect(connection_closed(FRAME_ERROR, UNEXPECTED_FRAME))


@scenarios_for(of("content-header"))
@broken_by("does not notice it", swallows(is_sent(CUT_SHORT.encode()[:-1])))
@broken_by("makes up what is missing", as_it_should_be(CUT_SHORT.encode()[:-1]))
def content_header_cut_short_is_refused(broker: Broker, about: Subject) -> None:
    """A content header that ends within its last property ends the connection with 505, 501 or 502."""
    call = published(broker, about)
    call.connection.send_frames(Frame(HEADER, call.number, CUT_SHORT.encode()[:-1]))
    call.expect(connection_closed(UNEXPECTED_FRAME, FRAME_ERROR, SYNTAX_ERROR))


TOO_MUCH = b"too much"


@scenarios_for(of("content-body"))
@broken_by("cuts it off", mends(is_sent(TOO_MUCH, BODY), lambda it: Frame(BODY, it.channel, TOO_MUCH[:-1])))
@broken_by("does not notice it", swallows(is_sent(TOO_MUCH, BODY)))
@broken_by("calls it malformed", objects(is_sent(TOO_MUCH, BODY), FRAME_ERROR))
def body_longer_than_announced_is_refused(broker: Broker, about: Subject) -> None:
    """A body with one octet more than its header says ends the connection with 505."""
    call = published(broker, about)
    announced = ContentHeader(call.method.spec.class_index, len(TOO_MUCH) - 1, Basic.Properties())
    call.connection.send_frames(
        Frame(HEADER, call.number, announced.encode()), Frame(BODY, call.number, TOO_MUCH)
    )
    call.expect(connection_closed(UNEXPECTED_FRAME))
