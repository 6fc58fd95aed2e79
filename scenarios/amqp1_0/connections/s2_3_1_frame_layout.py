"""2.3.1 Frame Layout: size, data offset and type of a frame."""

from collections.abc import Callable, Iterator

from harness.amqp1_0.broken.deviations import (
    changes,
    drops,
    follows,
    ignores_garbage,
    is_extended,
    is_unread,
    misframes,
    of_client,
    of_type,
    precedes,
    reframes,
    rejects_frames,
    swaps,
    takes_frames,
)
from harness.amqp1_0.broken.faults import body_behind_header, extended_first, obey_frame
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.link import Said
from harness.amqp1_0.client.outcomes import Refusal, closed, goes_on, refused, silence, stream_ended
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import EMPTY, UNREAD, Passage
from harness.amqp1_0.wire.composites import CLASSES, Composite
from harness.amqp1_0.wire.definitions import has_a_value
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, SASL, WORD, Frame, RawFrame, empty_frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, Open, SaslMechanisms
from harness.amqp1_0.wire.types import Ulong
from harness.play.watching import Found, Gaps, came, went
from harness.wire.units import Garbage, Header
from scenarios.amqp1_0.connections.s2_2_version_negotiation import in_its_layer
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

MALFORMED = "frame: refuses a header that cannot be"
FOREIGN = "frame: refuses a type of no place here"
BEYOND = ((0, 4), (8, 255))
"""Octets behind the header, and an offset in words that lies behind them."""
FARTHEST = 255
FARTHEST_IN_OPEN = 64
"""Words: with such a header, an open still fits into 512 octets."""
IGNORED = "the frame may be ignored as a whole"
ANY_TYPE = "what is done with a type that nobody defines is not said"


def answered_alike(connection: AmqpConnection, *said: Said) -> None:
    """Judge that an open in this form is answered by an open alone, and that the connection goes on."""
    connection.send(*said)
    connection.expect(Open)
    connection.goes_on()


# -- size ----------------------------------------------------------------------------------------------


@watch(
    "1-0/2.3.1.size-covers-frame",
    during="1-0/2.4.2.pipelining-indistinguishable",
    looks_at=came(Garbage, UNREAD),
    counts=came(EMPTY, *CLASSES.values()),
    of_clients=TALK,
)
@broken_by("leaves the size at zero", of_client(misframes(Open, size=0)), Role.CLIENT)
@broken_by("counts the header alone and half of the body", misframes(Open, size=12))
@broken_by("leaves the size at zero", misframes(Open, size=0))
@broken_by("has a data offset of one word", misframes(Open, doff=1))
@broken_by("has a data offset beyond its open", misframes(Open, doff=255))
def every_size_covers_its_frame(each: Passage) -> Found:
    """From size to size the server's stream divides into frames with a valid header and a whole body."""
    unit = each.unit
    # A type that nobody defines is another rule's matter, and so is what the value means.
    whole = isinstance(unit, Frame) and (unit.type not in (AMQP, SASL) or has_a_value(unit))
    return whole or f"no whole frame at {each.at:.4f} s"


@scenario("1-0/2.3.1.size-too-small")
@broken_by("goes deaf", drops(MALFORMED))
@broken_by("takes no notice", ignores_garbage())
def a_size_below_the_header_ends_the_connection(container: Container) -> None:
    """A frame header with SIZE 0, 4 or 7 is answered by a close with an error."""
    container.connection().fence()
    for size in (0, 4, 7):
        container.connection().gives_up_on(RawFrame(size=size), *refused(Refusal.OPENED))


# -- data offset ---------------------------------------------------------------------------------------


def signed_offset(raw: bytes, _: Frame) -> bytes:
    """Takes the highest bit of DOFF for no part of the number."""
    return raw[(raw[4] & 0x7F) * WORD :]


@scenario("1-0/2.3.1.data-offset-locates-body")
@broken_by("reads the body behind the frame header", swaps(body=body_behind_header))
@broken_by("reads the extended header for the body", swaps(body=extended_first))
@broken_by("takes the offset for a signed number", swaps(body=signed_offset))
@broken_by("knows no offset but 2", rejects_frames(is_extended, AmqpError.DECODE_ERROR))
def the_body_begins_where_the_offset_says(container: Container) -> None:
    """Opens with DOFF 3 and 64 are answered like one with DOFF 2, and a begin with DOFF 255 as well.

    The begin is left out where the server does not take frames of that size.
    """
    container.connection().fence()
    for offset in (3, FARTHEST_IN_OPEN):
        connection = container.negotiated()
        said = connection.the_open().encode()
        answered_alike(connection, Frame(AMQP, 0, said, bytes(offset * WORD - 8)))
    last = Frame(AMQP, 0, the_begin().encode(), bytes(FARTHEST * WORD - 8))
    connection = container.connection()
    if connection.partner.max_frame_size >= len(last.encode()):
        connection.tries(last, Begin)


@scenario("1-0/2.3.1.data-offset-too-small")
@broken_by("takes no notice", drops(MALFORMED))
@broken_by("does not see it", ignores_garbage())
def an_offset_within_the_header_ends_the_connection(container: Container) -> None:
    """An empty frame is taken; with DOFF 0 or 1 it is answered by a close with an error."""
    connection = container.connection()
    connection.send(empty_frame())
    connection.fence()
    for offset in (0, 1):
        container.connection().gives_up_on(RawFrame(doff=offset), *refused(Refusal.OPENED))


@scenario("1-0/2.3.1.data-offset-beyond-frame")
@broken_by("takes no notice", drops(MALFORMED))
@broken_by("does not see it", ignores_garbage())
def an_offset_beyond_the_frame_is_not_passed_over(container: Container) -> None:
    """DOFF 4 in 8 octets and DOFF 255 in 16 are answered by a close with an error.

    A server that waits for what the offset promises takes the begin that follows for a part of it.
    """
    container.connection().fence()
    for octets, offset in BEYOND:
        connection = container.connection()
        connection.send(RawFrame(bytes(octets), doff=offset))
        connection.gives_up(
            *refused(Refusal.OPENED),
            silence().under("a server may wait for the octets that the offset promises"),
        )


# -- type ----------------------------------------------------------------------------------------------


@watch(
    "1-0/2.3.1.type-names-layer",
    during="1-0/2.2.supported-version-proceeds",
    looks_at=came(Header, Frame) + went(Header),
    whole=True,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("sends its open as a SASL frame", of_client(reframes(Open, type=SASL)), Role.CLIENT)
@broken_by("sends its open as a SASL frame", reframes(Open, type=SASL))
@broken_by("offers mechanisms in an AMQP frame", reframes(SaslMechanisms, type=AMQP))
@broken_by("sends frames of a type that nobody defines", reframes(Open, type=2))
@broken_by("begins with a frame of an unknown type", precedes(Open, Frame(7, 0, b"?")))
@broken_by("has frames of an unknown type behind its open", follows(Open, Frame(7, 0, b"?")))
def every_type_is_that_of_its_layer(seen: list[Passage]) -> Iterator[Found]:
    """Behind the header of AMQP the server sends frames of type 0, behind that of SASL of type 1."""
    return in_its_layer(seen, type_that_is_due)


def type_that_is_due(each: Passage, due: int) -> Found:
    if not isinstance(each.unit, Frame):
        return None
    return each.unit.type == due or f"type {each.unit.type} where {due} is due, at {each.at:.4f} s"


def is_of_type(number: int, kind: type[Composite]) -> Callable[[Frame], bool]:
    """Say whether a frame of this type has the body of such a performative."""
    descriptor = encode(Ulong(kind.spec.code))
    return lambda frame: frame.type == number and frame.body[1:].startswith(descriptor)


def is_of_unknown_type(kind: type[Composite]) -> Callable[[Frame], bool]:
    return is_of_type(2, kind)


@scenario("1-0/2.3.1.unknown-type-not-obeyed")
@broken_by("takes type 2 for an AMQP frame", takes_frames(of_type(2), type=AMQP))
@broken_by("takes type 255 for an AMQP frame", takes_frames(of_type(255), type=AMQP))
@broken_by("obeys a frame of whatever type", changes(FOREIGN, obey_frame, answer=None))
@broken_by("obeys an open of whatever type", takes_frames(is_of_unknown_type(Open), type=AMQP))
def a_frame_of_no_known_type_is_not_obeyed(container: Container) -> None:
    """A close is answered by a close; one in a frame of type 2 or 255 by one with an error, or not at all.

    An open in such a frame is not answered by an open alone.
    """
    container.connection().fence().ask(Close(), Close)
    for unknown in (2, 255):
        connection = container.connection()
        connection.send(RawFrame(Close().encode(), type=unknown))
        connection.gives_up(closed(), stream_ended().recorded(ANY_TYPE), goes_on().recorded(ANY_TYPE))
    unopened = container.negotiated()
    unopened.send(RawFrame(unopened.the_open().encode(), type=2))
    unopened.refuses(closed(), stream_ended().recorded(ANY_TYPE), silence().recorded(ANY_TYPE))


def is_open_as_sasl(frame: Frame) -> bool:
    """Say whether it is an AMQP performative in a frame of type 1."""
    return frame.type == SASL and is_unread(frame)


@scenario("1-0/2.3.1.sasl-frame-not-obeyed", slow=True)
@broken_by("takes it for an AMQP frame", takes_frames(is_open_as_sasl, type=AMQP))
@broken_by("obeys a frame of whatever type", changes(FOREIGN, obey_frame, answer=None))
@broken_by("obeys it once it is open", takes_frames(is_of_type(SASL, Close), type=AMQP))
def an_open_in_a_sasl_frame_is_not_obeyed(container: Container) -> None:
    """Open and close in a frame of type 0 are answered; in one of type 1 each ends all, or is ignored."""
    container.connection().ask(Close(), Close)
    connection = container.negotiated()
    connection.send(RawFrame(connection.the_open().encode(), type=SASL))
    connection.refuses(closed() | stream_ended(), silence().recorded(IGNORED))
    opened = container.connection()
    opened.send(RawFrame(Close().encode(), type=SASL))
    opened.gives_up(closed() | stream_ended(), goes_on().recorded(IGNORED))
