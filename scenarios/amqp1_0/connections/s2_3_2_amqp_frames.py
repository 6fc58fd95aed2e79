"""2.3.2 AMQP Frames: channel, extended header, performative and payload."""

from collections.abc import Callable
from typing import Any, Final

from harness.amqp1_0.broken.deviations import (
    drops,
    follows,
    ignores_frames,
    is_extended,
    is_unread,
    of_client,
    on_channels,
    precedes,
    rejects_frames,
    replaces,
    respells,
    swaps,
    takes_frames,
)
from harness.amqp1_0.broken.faults import extended_first, spells, swapped_channel
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import Refusal, begun, closed, goes_on, refused, stream_ended
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import OF_AMQP, UNREAD, Passage, performative_of
from harness.amqp1_0.wire.composites import CLASSES
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, Frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, Open
from harness.amqp1_0.wire.types import As, Described, Symbol, Ulong
from harness.play.watching import Found, came
from scenarios.amqp1_0.connections.s2_3_1_frame_layout import answered_alike
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

CHANNEL = 0x0102
"""Of two octets that differ."""
UNDEFINED = (Ulong(0x19), Symbol("conformance:no-performative:list"))
"""Descriptors that are none of section 2.7; 0x19 follows the last of them."""
ULONG, LIST32, STR32 = 0x80, 0xD0, 0xB1
"""Codes of the widest encodings of a descriptor, of a list and of a string."""
LIST8 = 0xC0
"""The code of the list that holds a short open."""
UINT, SMALL_UINT, UINT0 = 0x70, 0x52, 0x43
"""Codes of the encodings of a uint, all of which can be zero."""
A_CLOSE = Close().encode()
"""Four octets that are a close wherever they are taken for a body."""


# -- channel -------------------------------------------------------------------------------------------


@scenario("1-0/2.3.2.channel-octets")
@broken_by("reads the lower octet first", swaps(channel=swapped_channel))
@broken_by("knows one channel only", takes_frames(on_channels(1), channel=0))
def the_channel_is_read_in_network_order(container: Container) -> None:
    """A begin on channel 0x0102, or on the highest that is allowed, is answered with that remote-channel."""
    connection = container.connection().fence()
    channel = min(CHANNEL, connection.partner.channel_max)
    if not channel:
        container.inapplicable("the server allows channel 0 only")
    connection.tries(the_begin(), begun(channel), channel=channel)


# -- performative --------------------------------------------------------------------------------------


def no_performative(_: Any) -> Described:
    """Give a described list that section 2.7 does not define."""
    return Described(UNDEFINED[0], ())


@watch(
    "1-0/2.3.2.performative-defined",
    during="1-0/2.4.1.open-answered",
    looks_at=came(UNREAD, on=OF_AMQP),
    counts=came(*CLASSES.values(), on=OF_AMQP),
    of_clients=TALK,
)
@broken_by("sends a performative of its own", of_client(respells(Open, no_performative)), Role.CLIENT)
@broken_by("sends a performative of its own", respells(Open, no_performative))
@broken_by("sends a list without a descriptor", spells(Open, lambda said: encode(said.elements())))
@broken_by("sends a null", replaces(Open, Frame(AMQP, 0, encode(None))))
@broken_by(
    "has one of its own before its open", precedes(Open, Frame(AMQP, 0, encode(no_performative(None))))
)
@broken_by("has one of its own behind its open", follows(Open, Frame(AMQP, 0, encode(no_performative(None)))))
def every_body_begins_with_a_performative(each: Passage) -> Found:
    """Every AMQP frame of the server that is not empty begins with a performative of section 2.7."""
    return f"a body that begins with no performative at {each.at:.4f} s"


@scenario("1-0/2.3.2.undefined-performative-refused", slow=True)
@broken_by("passes over what it does not know", drops("frame: refuses an undefined performative"))
@broken_by("does not see it", ignores_frames(is_unread))
def a_performative_that_is_not_defined_is_refused(container: Container) -> None:
    """A described list with the descriptor 0x19, or with an unknown symbol, is answered by a close."""
    container.connection().fence().ask(Close(), Close)
    for descriptor in UNDEFINED:
        connection = container.connection()
        connection.gives_up_on(Frame(AMQP, 0, encode(Described(descriptor, ()))), *refused(Refusal.OPENED))


@scenario("1-0/2.3.2.bare-value-refused", slow=True)
@broken_by("passes over it", drops("frame: refuses a body that cannot be decoded"))
@broken_by("does not see it", ignores_frames(is_unread))
def a_value_without_descriptor_is_refused(container: Container) -> None:
    """A list without descriptor, or a null, where a performative must stand is answered by a close."""
    container.connection().fence()
    for body in (encode(the_begin().elements()), encode(None)):
        container.connection().gives_up_on(Frame(AMQP, 0, body), *refused(Refusal.OPENED))


def begins(*octets: int) -> Any:
    return lambda frame: frame.body.startswith(bytes(octets))


def ends_in_null(frame: Frame) -> bool:
    return isinstance(performative_of(frame), Open) and frame.body.endswith(encode(None))


def has_a_field(place: int, code: int) -> Any:
    """Match opens of which this field, counted from 0, is written with this code."""

    def has(frame: Frame) -> bool:
        opening = performative_of(frame)
        if not isinstance(opening, Open) or len(opening.elements()) <= place:
            return False
        before = encode(Described(opening.descriptor, As(LIST8, opening.elements()[:place])))
        return frame.body[len(before) :].startswith(bytes((code,)))

    return has


def with_a_zero(code: int) -> Callable[[Open], bytes]:
    """Write an open with an idle-time-out of zero in the encoding of this code."""
    return lambda opening: opening.replace(idle_time_out=As(code, 0)).encode()


ENCODINGS: Final[tuple[Callable[[Open], bytes], ...]] = (
    lambda opening: encode(Described(opening.descriptor, As(LIST32, opening.elements()))),
    lambda opening: encode(Described(As(ULONG, opening.descriptor), opening.elements())),
    lambda opening: opening.sent_as(width=len(opening.names)).encode(),
    lambda opening: opening.replace(container_id=As(STR32, opening.container_id)).encode(),
    *map(with_a_zero, (UINT0, SMALL_UINT, UINT)),
)
"""How an open can be written; each is of a container of its own, which may have one connection at a time."""


@scenario("1-0/2.3.2.encodings-equal")
@broken_by("knows no list32", rejects_frames(begins(0x00, 0x53, 0x10, LIST32), AmqpError.DECODE_ERROR))
@broken_by("knows descriptors of one octet only", rejects_frames(begins(0x00, ULONG), AmqpError.DECODE_ERROR))
@broken_by("takes no null for an absent field", rejects_frames(ends_in_null, AmqpError.INVALID_FIELD))
@broken_by("knows no wide strings", rejects_frames(has_a_field(0, STR32), AmqpError.DECODE_ERROR))
@broken_by("knows no narrow numbers", rejects_frames(has_a_field(4, SMALL_UINT), AmqpError.DECODE_ERROR))
@broken_by("knows no zero of one octet", rejects_frames(has_a_field(4, UINT0), AmqpError.DECODE_ERROR))
@broken_by("knows no wide numbers", rejects_frames(has_a_field(4, UINT), AmqpError.DECODE_ERROR))
def every_encoding_of_an_open_means_the_same(container: Container) -> None:
    """An open as list32, with a descriptor of eight octets, or with all nulls written, is answered alike.

    So is one with its container-id as str32, and one with a zero for its idle-time-out in each of its forms.
    """
    answered_alike(connection := container.negotiated(), connection.the_open())
    for written in ENCODINGS:
        connection = container.negotiated()
        answered_alike(connection, Frame(AMQP, 0, written(connection.the_open())))


# -- extended header and payload -----------------------------------------------------------------------


@scenario("1-0/2.3.2.extended-header-ignored")
@broken_by("reads the extended header for the body", swaps(body=extended_first))
@broken_by("refuses what it has to ignore", rejects_frames(is_extended, AmqpError.NOT_IMPLEMENTED))
def the_extended_header_is_ignored(container: Container) -> None:
    """An open behind an extended header that looks like a close, or is all 0xFF, is answered alike."""
    container.connection().fence()
    for extended in (A_CLOSE, b"\xff" * 64):
        connection = container.negotiated()
        answered_alike(connection, Frame(AMQP, 0, connection.the_open().encode(), extended))


@scenario("1-0/2.3.2.payload-where-none", slow=True)
@broken_by("takes what follows for a close", follows(Open, Close()))
@broken_by("falls silent", ignores_frames(lambda frame: isinstance(performative_of(frame), Open | Begin)))
def octets_behind_an_open_are_no_frame(container: Container) -> None:
    """Whether four octets behind an open, which look like a close, are ignored or refused is recorded."""
    connection = container.negotiated()
    connection.send(Frame(AMQP, 0, connection.the_open().encode() + A_CLOSE))
    connection.refuses(goes_on().recorded(), closed().recorded(), stream_ended().recorded())
