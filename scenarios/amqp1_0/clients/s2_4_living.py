"""2.2 and 2.4 of clients: headers that differ, empty frames, silence, and the end."""

from functools import partial
from itertools import pairwise
from typing import Final

from harness.amqp1_0.broken.deviations import (
    Interposer,
    ends_stream,
    follows,
    forwards,
    ignores,
    ignores_frames,
    is_empty,
    moves_frames,
    of_client,
    offers_header,
    on_channels,
    replaces,
    rewrites,
)
from harness.amqp1_0.broken.provocations import falls_silent
from harness.amqp1_0.client.outcomes import (
    HeaderReceived,
    Observation,
    answered,
    closed,
    closed_without_error,
    ended_or_closed,
    header_name,
    session_ended,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.server.client import Client, JudgedConnection
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, PROTOCOL_HEADER, Frame, empty_frame
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    ConnectionError_,
    Detach,
    End,
    Error,
    Open,
    SaslInit,
    SessionError,
    Transfer,
)
from harness.play.watching import Enough, Found, Gaps, State, came
from harness.shims.contract import Kind
from harness.wire.journal import Direction
from harness.wire.units import Garbage, Header
from scenarios.amqp1_0.clients.s2_3_frames import HANGS_UP, told
from scenarios.amqp1_0.connections.s2_2_version_negotiation import NEWER, OTHER_VERSIONS, VERSION, opens_amqp
from scenarios.amqp1_0.definitions.s2_8_15_what_is_refused import called
from scenarios.amqp1_0.definitions.s2_8_16_to_18_levels import ANOTHER, NOWHERE
from scenarios.amqp1_0.grammar.clients import lives
from scenarios.amqp1_0.talk import TALK, names_elsewhere
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

NOISE: Final = Frame(AMQP, 0, b"\0")
"""What no client can decode."""
AN_ERROR = "the answer may have an error of its own"
GIVEN_UP = "a client that has given a connection up is not let live for it: it may end the stream later"
STATED, WATCHED = 1.0, 2.5
"""Seconds: what our server requires, and for how long the client is listened to."""
ON_ITS_WAY = 0.25
"""Seconds that a frame may take which is sent in time."""
HALF = "what is stated should be half of what is acted on (2.4.5)"
REASON = Error(AmqpError.INTERNAL_ERROR, "a reason")


@watch(
    "1-0/2.2.header-layout",
    during=TALK,
    looks_at=came(Header, Frame, Garbage),
    start=State,
    gap=Gaps.STOPS,
    role=Role.CLIENT,
)
@broken_by("writes the name in lower case", of_client(offers_header(b"amqp\x00\x01\x00\x00")), Role.CLIENT)
@broken_by("begins with the version that does not exist", of_client(offers_header(NEWER)), Role.CLIENT)
def clients_headers_have_their_form(_: State, each: Passage) -> Found | Enough:
    """Every header of the client is one of 1.0.0, and what comes first is one; it need not wait for ours."""
    unit = each.unit
    if isinstance(unit, Header):
        return unit.version == VERSION or f"{header_name(unit)} at {each.at:.4f} s"
    return Enough("no header of eight octets" if isinstance(unit, Garbage) else None)


@scenario("1-0/2.2.mismatch-closes", role=Role.CLIENT)
@broken_by("takes every header for its own", offers_header(PROTOCOL_HEADER, opens_amqp), Role.CLIENT)
def a_client_ends_its_stream_where_headers_differ(client: Client) -> None:
    """To a server that answers with 1.1.0, 2.0.0, 0.0.0 or 1.0.1, and stays, the client's stream ends."""
    lives(client)
    for other in OTHER_VERSIONS:
        connection = client.connecting(offers_header(other, opens_amqp))
        noticed = connection.refused is not None and connection.refused.kind is not Kind.TIMEOUT
        later = (silence().under(GIVEN_UP),) if noticed else ()
        connection.hold(partial(_behind_all, connection), (stream_ended(), *later))


def _behind_all(connection: JudgedConnection, _: object, patience: float) -> Observation:
    """Give how the stream ends, whatever comes before."""
    return connection.link.next_but((HeaderReceived, Composite), patience)


def with_empty_frames(channel: int) -> Interposer:
    """Sends an empty frame behind its open, begin, attach and transfer."""
    empty = empty_frame(channel)
    return follows(Open, empty) + follows(Begin, empty) + follows(Attach, empty) + follows(Transfer, empty)


def breaks_down_at(channel: int) -> Interposer:
    """Takes an empty frame, on a channel as high, for something that it cannot decode."""
    meets = lambda it: is_empty(it) and on_channels(channel)(it)  # noqa: E731
    return moves_frames(meets, body=b"\0")


@scenario("1-0/2.4.5.empty-frames-handled", role=Role.CLIENT)
@broken_by("cannot bear them", breaks_down_at(0), Role.CLIENT)
@broken_by("cannot bear them on other channels", breaks_down_at(1), Role.CLIENT)
def a_client_bears_empty_frames_on_every_channel(client: Client) -> None:
    """With empty frames of the server on channel 0, and on the highest of the client's, all goes as ever."""
    highest = lives(client).opened.channel_max
    for channel in (0, highest):
        with client.works("all goes as ever"):
            lives(client, with_empty_frames(channel))


@scenario("1-0/2.4.5.empty-frames-mean-nothing", role=Role.CLIENT)
@broken_by("cannot bear them", breaks_down_at(0), Role.CLIENT)
def empty_frames_mean_nothing_to_a_client(client: Client) -> None:
    """With empty frames between the server's performatives all goes as ever."""
    lives(client)
    with client.works("all goes as ever"):
        lives(client, with_empty_frames(0))


# -- silence -------------------------------------------------------------------------------------------


@scenario("1-0/2.4.5.idle-closes-gracefully", slow=True, role=Role.CLIENT)
@broken_by("ends the stream without a close", HANGS_UP, Role.CLIENT)
@broken_by("does not say why", of_client(rewrites(Close, error=None)), Role.CLIENT)
def a_client_closes_what_is_idle_with_an_error(client: Client) -> None:
    """A client that requires frames every 500 ms hears none behind an attach: it closes with an error."""
    client.session(idle=500).receiver()
    session = client.session(falls_silent(Attach), idle=500)
    session.receiver()
    connection = session.connection
    connection.hold(
        lambda passed, _: connection.link.next_but(passed, 3 * STATED),
        (closed(), stream_ended().under("a peer may close its socket where nothing is heard")),
    )


@scenario("1-0/2.7.1.idle-time-out-honoured", slow=True, role=Role.CLIENT)
@broken_by("sends nothing in time", ignores_frames(is_empty), Role.CLIENT)
def a_client_sends_frames_within_the_idle_time_out(client: Client) -> None:
    """To a server that requires frames every 1000 ms no gap between those of the client is longer."""
    connection = client.connection(rewrites(Open, idle_time_out=int(1000 * STATED)))
    began = connection.link.now()
    connection.lives(WATCHED)
    connection.link.hear()
    heard = (each.at for each in connection.link.transcript if each.direction is Direction.RECEIVED)
    times = [began, *(at for at in heard if at > began), began + WATCHED]
    longest = max(later - earlier for earlier, later in pairwise(times))
    legal = HALF if longest <= 2 * STATED else ""
    client.judge("no gap above 1 s", "a longer gap", longest <= STATED + ON_ITS_WAY, legal)


# -- the end -------------------------------------------------------------------------------------------


@scenario("1-0/2.4.3.close-on-any-channel", role=Role.CLIENT)
@broken_by("has no close but on channel 0", ignores(Close), Role.CLIENT)
def a_client_hears_a_close_on_every_channel(client: Client) -> None:
    """A close on channel 1, and on the highest of the client's, is answered by a close."""
    highest = client.connection().opened.channel_max
    for channel in {min(1, highest), highest}:
        connection = told(client, Frame(AMQP, channel, Close().encode()))
        connection.expect(closed_without_error(), closed().recorded(AN_ERROR))


@scenario("1-0/2.7.9.close-without-error", role=Role.CLIENT)
@broken_by("ends the stream instead", of_client(ends_stream(Close)), Role.CLIENT)
def a_client_answers_a_close_in_either_form(client: Client) -> None:
    """A close that is an empty list, and one of a list of one null, is answered by a close."""
    for width in (0, 1):
        told(client, Close().sent_as(width=width)).expect(closed_without_error(), closed().recorded(AN_ERROR))


@scenario("1-0/2.7.9.close-with-error-answered", role=Role.CLIENT)
@broken_by("ends the stream instead", of_client(ends_stream(Close)), Role.CLIENT)
def a_client_answers_a_close_with_an_error(client: Client) -> None:
    """A close with an error is answered by a close, as one without."""
    told(client, Close(REASON)).expect(closed_without_error(), closed().recorded(AN_ERROR))


@scenario("1-0/2.4.6.frames-after-close-ignored", role=Role.CLIENT)
@broken_by("answers a begin", of_client(replaces(Close, Begin(0, 0, 1, 1))), Role.CLIENT)
def a_client_ignores_what_follows_the_close(client: Client) -> None:
    """A close and a begin at once: the client answers by a close alone."""
    connection = told(client, Close(), Begin(None, 0, 1, 1))
    connection.expect(closed_without_error(), closed().recorded(AN_ERROR))
    connection.sends_no(Begin)


@scenario("1-0/2.4.4.simultaneous-close", role=Role.CLIENT)
@broken_by("closes two times", of_client(follows(Close, Close())), Role.CLIENT)
def a_client_closes_once_where_closes_cross(client: Client) -> None:
    """The server closes while the client is told to: one close comes."""
    connection = told(client, Close(REASON))
    connection.closes()
    connection.expect(answered(Close))
    connection.sends_no(Close)


@scenario("1-0/2.8.17.unattached-handle-detach", role=Role.CLIENT)
@broken_by("passes over it", ignores(End), Role.CLIENT)
def a_client_calls_a_detach_of_no_link_so(client: Client) -> None:
    """A detach for a handle without a link ends its session by unattached-handle."""
    session = client.session()
    session.connection.hear_out()
    session.says(Detach(NOWHERE, True))
    session.expect(session_ended(SessionError.UNATTACHED_HANDLE), ended_or_closed().under(ANOTHER))


@scenario("1-0/2.8.17.unattached-handle-transfer", role=Role.CLIENT)
@broken_by("passes over it", ignores(End), Role.CLIENT)
def a_client_calls_a_transfer_on_no_link_so(client: Client) -> None:
    """A transfer for a handle without a link ends its session by unattached-handle."""
    session = client.session()
    session.connection.hear_out()
    session.says(Transfer(NOWHERE, 0, b"t", 0))
    session.expect(session_ended(SessionError.UNATTACHED_HANDLE), ended_or_closed().under(ANOTHER))


@scenario("1-0/2.8.15.not-allowed", role=Role.CLIENT)
@broken_by("passes over it", ignores(Detach), Role.CLIENT)
def a_client_does_not_allow_a_transfer_against_the_direction(client: Client) -> None:
    """A transfer of the server's on a link on which the client sends is refused with not-allowed."""
    sender = client.session().sender()
    sender.connection.hear_out()
    sender.session.says(Transfer(sender.server_handle, 0, b"t", 0))
    fitting, any_other = called(AmqpError.NOT_ALLOWED)
    sender.session.expect(fitting, any_other)


@scenario("1-0/2.8.16.redirect-hostname", role=Role.CLIENT)
@broken_by("forgets the name", forwards(Open, hostname="forgotten"), Role.CLIENT)
@broken_by("does not tell SASL", forwards(SaslInit, hostname=None), Role.CLIENT)
def a_client_that_is_redirected_names_the_host(client: Client) -> None:
    """Behind a redirect, the client or its application goes there and names the host of the info map."""
    elsewhere = client.server()
    host, port = elsewhere.place
    info = {"hostname": "elsewhere", "network-host": host, "port": port}
    client.connecting(follows(Open, Close(Error(ConnectionError_.REDIRECT, "go there", info))))
    names_elsewhere(client, elsewhere)
