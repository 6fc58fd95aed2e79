"""2.3 and 2.8 of clients: frames that cannot be, bodies that are none, and the conditions that fit them."""

from typing import Any, Final

from harness.amqp1_0.broken.deviations import ends_stream, ignores, of_client, rewrites
from harness.amqp1_0.client.outcomes import Refusal, closed, refused, silence, stream_ended
from harness.amqp1_0.server.client import Client, JudgedConnection
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import AMQP, SASL, Frame, RawFrame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, ConnectionError_, Open
from harness.amqp1_0.wire.types import Described, Symbol, Ulong
from harness.play.expect import Inapplicable
from scenarios.amqp1_0.definitions.s2_8_15_amqp_error import cut_short, of_no_type
from scenarios.amqp1_0.grammar.clients import lives
from scenarios.amqp1_0.performatives.s2_7_1_limits import MOST, filled
from scenarios.amqp1_0.performatives.s2_7_1_open import carries
from scenarios.registry import broken_by, scenario
from spec.rules import Role

has_error = carries("error")
QUIET: Final = ignores(Close, when=has_error)
"""Says nothing of what it refuses."""
VAGUE: Final = of_client(rewrites(Close, when=has_error, error=None))
HANGS_UP: Final = of_client(ends_stream(Close, when=has_error))
MAY_WAIT = "a client may wait for the octets that the frame promises"
ANY_TYPE = "what is done with a type that has no place here is not said: it may be ignored"
UNDEFINED = (Ulong(0x19), Symbol("conformance:no-performative:list"))
"""Descriptors that are none of section 2.7."""


def told(client: Client, *said: Any) -> JudgedConnection:
    """Have the server say something to a client in a session, which has said all it had to."""
    connection = client.connection()
    connection.session()
    connection.hear_out()
    connection.says(*said)
    return connection


def is_refused(client: Client, *said: Any, how: Refusal = Refusal.OPENED, conditions: Any = ()) -> None:
    """Judge that a client closes for each of these, where all goes as ever without."""
    lives(client)
    for each in said:
        told(client, each).expect(*refused(how, *conditions))


@scenario("1-0/2.3.1.size-too-small", role=Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_bears_no_size_below_the_header(client: Client) -> None:
    """A frame header with SIZE 0, 4 or 7 is answered by a close with an error."""
    is_refused(client, *(RawFrame(size=size) for size in (0, 4, 7)))


@scenario("1-0/2.3.1.data-offset-too-small", role=Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_bears_no_offset_within_the_header(client: Client) -> None:
    """A frame with DOFF 0 or 1 is answered by a close with an error."""
    is_refused(client, *(RawFrame(doff=offset) for offset in (0, 1)))


@scenario("1-0/2.3.1.data-offset-beyond-frame", role=Role.CLIENT)
@broken_by("hangs up", HANGS_UP, Role.CLIENT)
def a_client_bears_no_offset_beyond_the_frame(client: Client) -> None:
    """DOFF 4 in 8 octets and DOFF 255 in 16 are answered by a close with an error."""
    lives(client)
    for octets, offset in ((0, 4), (8, 255)):
        connection = told(client, RawFrame(bytes(octets), doff=offset))
        connection.expect(*refused(Refusal.OPENED), silence().under(MAY_WAIT))


@scenario("1-0/2.3.2.undefined-performative-refused", role=Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_refuses_a_performative_that_is_not_defined(client: Client) -> None:
    """A described list with the descriptor 0x19, or with an unknown symbol, is answered by a close."""
    is_refused(client, *(Frame(AMQP, 0, encode(Described(each, ()))) for each in UNDEFINED))


@scenario("1-0/2.3.2.bare-value-refused", role=Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_refuses_a_value_without_descriptor(client: Client) -> None:
    """A list without descriptor, or a null, where a performative must stand is answered by a close."""
    bodies = (encode(Begin(None, 0, 1, 1).elements()), encode(None))
    is_refused(client, *(Frame(AMQP, 0, each) for each in bodies))


@scenario("1-0/2.4.3.close-carries-reason", role=Role.CLIENT)
@broken_by("does not say why", VAGUE, Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_that_closes_for_an_error_says_why(client: Client) -> None:
    """A close of the client's because of what cannot be decoded carries an error."""
    is_refused(client, cut_short(), how=Refusal.DEMANDED)


@scenario("1-0/2.8.15.decode-error", role=Role.CLIENT)
@broken_by("gives no reason", VAGUE, Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_calls_what_cannot_be_decoded_so(client: Client) -> None:
    """A list that ends within its last value, and an unknown constructor, are answered by decode-error."""
    conditions = (AmqpError.DECODE_ERROR,)
    is_refused(client, cut_short(), of_no_type(), how=Refusal.CONDITION, conditions=conditions)


@scenario("1-0/2.8.16.framing-error", role=Role.CLIENT)
@broken_by("gives no reason", VAGUE, Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_calls_an_impossible_frame_header_so(client: Client) -> None:
    """A frame header with a SIZE of 4, and one with a DOFF of 1, are answered by framing-error."""
    frames, conditions = (RawFrame(size=4), RawFrame(doff=1)), (ConnectionError_.FRAMING_ERROR,)
    is_refused(client, *frames, how=Refusal.CONDITION, conditions=conditions)


@scenario("1-0/2.4.6.second-open-not-obeyed", role=Role.CLIENT)
@broken_by("hangs up", HANGS_UP, Role.CLIENT)
def a_client_does_not_open_again(client: Client) -> None:
    """A second open of the server's is answered by a close with an error, or not at all."""
    lives(client)
    borne = "figure 2.24 lists any frame as a legal receive in OPENED: it may be ignored"
    connection = told(client, Open("again", max_frame_size=1024))
    connection.expect(*refused(Refusal.OPENED), silence().under(borne))


@scenario("1-0/2.7.1.channel-out-of-range-closes", role=Role.CLIENT)
@broken_by("gives no reason", VAGUE, Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_bears_no_channel_above_its_own(client: Client) -> None:
    """A begin on the channel above the client's channel-max is answered by framing-error."""
    connection = client.connection()
    highest = connection.opened.channel_max
    if highest == 0xFFFF:
        raise Inapplicable("the client allows every channel")
    connection.session()
    connection.hear_out()
    connection.says(Begin(None, 0, 1, 1), channel=highest + 1)
    connection.expect(*refused(Refusal.DEMANDED, ConnectionError_.FRAMING_ERROR))


@scenario("1-0/2.7.1.oversized-frame-closes", role=Role.CLIENT)
@broken_by("gives no reason", VAGUE, Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_bears_no_frame_above_its_limit(client: Client) -> None:
    """A begin in a frame of one octet more than the client accepts is answered by framing-error."""
    connection = client.connection()
    limit = connection.opened.max_frame_size
    if limit > MOST:
        raise Inapplicable("the client states no max-frame-size, or one of more than 16 MiB")
    connection.session()
    connection.hear_out()
    connection.says(filled(Begin(None, 0, 1, 1), limit + 1), channel=1)
    connection.expect(*refused(Refusal.DEMANDED, ConnectionError_.FRAMING_ERROR))


@scenario("1-0/2.3.1.unknown-type-not-obeyed", role=Role.CLIENT)
@broken_by("obeys it all the same", of_client(rewrites(Close, when=has_error, error=None)), Role.CLIENT)
def a_client_obeys_no_frame_of_an_unknown_type(client: Client) -> None:
    """A close in a frame of type 2 or 255 is answered by a close with an error, or not at all."""
    lives(client)
    for unknown in (2, 255):
        connection = told(client, RawFrame(Close().encode(), type=unknown))
        connection.expect(closed(), (stream_ended() | silence()).recorded(ANY_TYPE))


@scenario("1-0/2.3.1.sasl-frame-not-obeyed", role=Role.CLIENT)
@broken_by("obeys it all the same", of_client(rewrites(Close, when=has_error, error=None)), Role.CLIENT)
def a_client_obeys_no_sasl_frame_once_it_is_open(client: Client) -> None:
    """A close in a SASL frame is answered by a close with an error, or not at all."""
    lives(client)
    connection = told(client, RawFrame(Close().encode(), type=SASL))
    connection.expect(closed(), (stream_ended() | silence()).recorded(ANY_TYPE))
