"""2.2, 2.4.1, 2.4.2, 2.4.6, 2.4.7 of clients: headers and opens, who waits for whom, what comes at once."""

from collections.abc import Callable
from dataclasses import replace
from itertools import dropwhile
from typing import Any, Final

from harness.amqp1_0.broken.deviations import (
    Interposer,
    follows,
    moves_frames,
    of_client,
    offers_header,
    reframes,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.broken.provocations import delays
from harness.amqp1_0.client.outcomes import (
    HeaderReceived,
    Observation,
    Received,
    Refusal,
    answered,
    begun,
    closed,
    closed_without_error,
    refused,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.server.client import Client, JudgedConnection
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.server.link import AT_ANY_TIME
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import (
    AMQP,
    MIN_MAX_FRAME_SIZE,
    PROTOCOL_HEADER,
    Frame,
    Unit,
    amqp_frame,
    empty_frame,
)
from harness.amqp1_0.wire.performatives import Begin, Close, Flow, Open, SaslInit, SaslResponse
from harness.peers.interposer import Rule
from harness.peers.timing import EVERY, writes_on
from harness.play.expect import Inapplicable
from harness.play.link import Silence
from harness.targets.client.ears import knows_no_half_close
from harness.targets.client.target import BeforeServer
from harness.wire.journal import Direction
from harness.wire.units import Header
from scenarios.amqp1_0.clients.connections.s2_1_channels import OPENS_FIRST, forgets_behind, speaks_first
from scenarios.amqp1_0.clients.s2_5_sessions import UNHEARD, begins
from scenarios.amqp1_0.connections.s2_2_version_negotiation import NEWER, opens_amqp
from scenarios.amqp1_0.connections.s2_3_2_amqp_frames import A_CLOSE
from scenarios.amqp1_0.connections.s2_4_1_opening_a_connection import LARGE, is_open, size
from scenarios.amqp1_0.connections.s2_4_3_closing_a_connection import close_on_channel_zero
from scenarios.amqp1_0.grammar.clients import lives
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, scenario

LAYERS = (HeaderReceived, SaslInit, SaslResponse)
"""What a client says before its open."""
Next = Callable[[tuple[type[Any], ...], float], Observation]
"""Gives what a client sends next but for some kinds, within some seconds."""
WRITTEN = 5 * EVERY
"""Seconds in which a server that goes on has said all, and hears of a reset."""
MOMENT = 0.5
"""Seconds in which comes what a client says without waiting for the server."""
APART: Final = delays(Header, MOMENT, when=opens_amqp)
"""Says its header and what follows in one write, apart from what SASL ends with."""
AN_ERROR = "the answer may have an error of its own"
BEFORE_CLOSING = "2.4.3 has every peer write a close before it closes a connection"
WAITS = "whether its stream ends is judged by 1-0/2.2.mismatch-closes"


def behind(connection: JudgedConnection, *passed: type[Any]) -> Next:
    """Give what comes next but for headers, for what belongs to SASL, and for these."""
    return lambda others, patience: connection.link.next_but((*LAYERS, *passed, *others), patience)


def is_header(unit: Unit) -> bool:
    return unit == Header(PROTOCOL_HEADER)


# -- opens ---------------------------------------------------------------------------------------------


@scenario("1-0/2.4.1.open-answered", role=CLIENT)
@broken_by("keeps its open to itself", of_client(withholds(Open)), CLIENT)
def a_client_opens_where_the_server_has(client: Client) -> None:
    """To a server that sends its open with its header the client's open comes."""
    connection = client.connecting(policy=OPENS_FIRST)
    connection.hold(behind(connection), (answered(Open),))


def opens_small(connection: JudgedConnection) -> None:
    """Judge that no open on a connection of the client has more than 512 octets."""
    connection.link.hear()
    sent = (each for each in connection.link.received() if isinstance(each, Frame) and is_open(each))
    small = all(size(each) <= MIN_MAX_FRAME_SIZE for each in sent)
    connection.client.judge("an open of at most 512 octets", "a larger open", small)


@scenario("1-0/2.4.1.frame-size-before-open", role=CLIENT)
@broken_by("sends what it is given", of_client(rewrites(Open, container_id=LARGE.container_id)), CLIENT)
def a_client_sends_no_open_above_512_octets(client: Client) -> None:
    """The open of the client has 512 octets at most, also where it is told to call itself by 512 letters."""
    opens_small(client.connection())
    served = client.server()
    client.tries_to_connect(served, container=LARGE.container_id)
    if client.came_to(served):
        opens_small(client.at(served))


@scenario("1-0/2.4.1.open-on-other-channel-refused", role=CLIENT)
@broken_by("takes it on any channel", moves_frames(is_open, channel=0), CLIENT)
def a_client_refuses_an_open_on_another_channel(client: Client) -> None:
    """The server's open on channel 1 is answered by a close with an error, where all goes as ever without."""
    lives(client)
    connection = client.connecting(reframes(Open, channel=1))
    connection.hold(behind(connection, Open), refused(Refusal.OPENED))


def is_followed(frame: Frame) -> bool:
    return is_open(frame) and bool(frame.read()[1])


TAKEN_FOR_A_CLOSE: Final = Interposer(
    (Rule(Frame, True, lambda _, frame: ([frame, amqp_frame(0, Close())], []), is_followed),)
)


@scenario("1-0/2.3.2.payload-where-none", role=CLIENT)
@broken_by("takes what follows for a close", TAKEN_FOR_A_CLOSE, CLIENT)
def octets_behind_an_open_are_no_frame_to_a_client(client: Client) -> None:
    """Whether four octets behind the server's open, which look like a close, are ignored or refused."""
    lives(client)
    longer = Frame(AMQP, 0, Open("conformance").encode() + A_CLOSE)
    connection = client.connecting(replaces(Open, longer))
    connection.hold(
        behind(connection, Open, Begin),
        (
            silence().recorded("what follows an open is ignored"),
            (closed() | stream_ended()).recorded("what follows an open is refused"),
        ),
    )


@scenario("1-0/2.4.3.close-batched-on-channel-zero", role=CLIENT)
@broken_by("closes on channel 1", of_client(reframes(Close, channel=1)), CLIENT)
def a_client_closes_on_channel_zero_behind_its_open(client: Client) -> None:
    """A server's open without container-id is refused: a close that follows the open is on channel 0."""
    lives(client)
    connection = client.connecting(rewrites(Open, container_id=None))
    nothing = silence() | stream_ended() | answered(Begin)
    connection.hold(
        behind(connection, Open),
        (close_on_channel_zero(), nothing.recorded("no close follows the open at once")),
    )


# -- what comes at once --------------------------------------------------------------------------------


def answers_begins(client: Client) -> bool:
    """Say whether the client answers a begin of the server's, which 1-0/2.5.1.begin-answered wants."""
    connection, _ = begins(client, 0)
    return answered(Begin).matches(connection.link.next_but(AT_ANY_TIME, client.context.patience.answer))


def is_taken_behind_the_open(client: Client, policy: Policy, *meets: BeforeServer) -> None:
    """Judge that an empty frame in one write with the server's open harms nothing, and that a begin there is
    answered where the client answers begins.
    """
    lives(client)
    answers = answers_begins(client)
    with client.works("all goes as ever with an empty frame behind the open"):
        lives(client, follows(Open, empty_frame()), *meets, policy=policy)
    if answers:
        # Channel 0 has the session that we begin at once.
        above = replace(policy, outgoing_channel="highest", channel_max=None)
        connection = client.connecting(UNHEARD + follows(Open, the_begin()), *meets, policy=above)
        connection.hold(_behind_own_begins(connection), (begun(0),))


def _behind_own_begins(connection: JudgedConnection) -> Next:
    """Give what comes next but for sessions that the library begins for itself."""

    def next_(passed: tuple[type[Any], ...], patience: float) -> Observation:
        while is_own_begin(seen := behind(connection, Open)(passed, patience)):
            pass
        return seen

    return next_


def is_own_begin(seen: Observation) -> bool:
    said = seen.performative if isinstance(seen, Received) else None
    return isinstance(said, Begin) and said.remote_channel is None


@scenario("1-0/2.4.2.pipelined-frames-accepted", role=CLIENT)
@broken_by("loses what comes behind the open", forgets_behind(is_open), CLIENT)
@broken_by("loses what comes behind the header", forgets_behind(is_header), CLIENT)
def a_client_takes_frames_that_do_not_wait_for_its_own(client: Client) -> None:
    """Header, open and an empty frame in one write, or a begin, said without waiting for the client's."""
    is_taken_behind_the_open(client, speaks_first(client), APART)


@scenario("1-0/2.4.7.any-frame-after-open", role=CLIENT)
@broken_by("loses what comes behind the open", forgets_behind(is_open), CLIENT)
def a_client_takes_any_frame_behind_the_servers_open(client: Client) -> None:
    """Behind an open that does not wait for the client's an empty frame and a begin are taken."""
    is_taken_behind_the_open(client, OPENS_FIRST)


@scenario("1-0/2.4.6.closed-before-open-read", role=CLIENT)
@broken_by("forgets what stands behind the open", forgets_behind(is_open), CLIENT)
@broken_by("closes two times", of_client(follows(Close, Close())), CLIENT)
def header_open_and_close_at_once_to_a_client(client: Client) -> None:
    """Header, open and close of the server in one write: the client's open comes, and then its close."""
    policy = speaks_first(client)
    connection = client.connecting(follows(Open, Close()) + withholds(Close), APART, policy=policy)
    connection.hold(behind(connection), (answered(Open),))
    connection.hold(
        behind(connection, Begin),
        (closed_without_error(), closed().recorded(AN_ERROR)),
    )
    connection.sends_no(Close)


def life(client: Client, policy: Policy, *meets: BeforeServer) -> list[str]:
    """Have the client connect, begin a session, end it and close; give what it sends, in its order."""
    connection = client.connection(*meets, policy=policy)
    connection.session().end()
    connection.close()
    return [each.type_name for each in connection.sent(Composite) if not isinstance(each, Flow)]


@scenario("1-0/2.4.2.pipelining-indistinguishable", role=CLIENT)
@broken_by("loses what comes behind the header", forgets_behind(is_header), CLIENT)
def a_client_answers_pipelined_frames_like_others(client: Client) -> None:
    """To a server that says header and open in one write, unasked, the client sends the same frames."""
    policy = speaks_first(client)
    usual, seen = life(client, LENIENT), list[str]()
    with client.works("the same frames"):
        seen = life(client, policy, APART)
    client.judge("the same frames", ", ".join(seen), seen == usual)


# -- headers that differ -------------------------------------------------------------------------------


@scenario("1-0/2.4.7.mismatch-ends", role=CLIENT)
@broken_by("takes every header for its own", offers_header(PROTOCOL_HEADER, opens_amqp), CLIENT)
def a_client_writes_nothing_behind_headers_that_differ(client: Client) -> None:
    """Behind AMQP 0 1.1.0 of the server, and an open that would be valid, no frame of the client comes.

    A client that has opened already may close.
    """
    lives(client)
    answer = offers_header(NEWER + amqp_frame(0, Open("conformance")).encode(), opens_amqp)
    connection = client.connecting(answer + withholds(Open) + withholds(Close), APART)
    connection.hold(behind(connection, Composite), (stream_ended(), silence().recorded(WAITS)))
    said = dropwhile(lambda each: each.unit != Header(NEWER), connection.link.transcript)
    frames = [performative_of(each.unit) for each in said if each.direction is Direction.RECEIVED]
    others = [each for each in frames if not isinstance(each, Close)]
    client.judge("no frame behind the header", f"{len(others)} frames", not others)
    client.judge("no close behind the header", "a close", not frames, BEFORE_CLOSING)


@scenario("1-0/2.2.mismatch-reads-on", role=CLIENT)
@broken_by("closes its socket at once", knows_no_half_close(), CLIENT)
def a_client_reads_on_where_headers_differ(client: Client) -> None:
    """Behind headers that differ, and the end of the client's stream, the server writes 64 octets: they are
    read.
    """
    lives(client)
    rest = bytes(32)
    connection = client.connecting(offers_header(NEWER, opens_amqp), writes_on(rest, rest))
    patience = client.context.patience.close
    if isinstance(connection.link.next_but((HeaderReceived, Composite), patience), Silence):
        raise Inapplicable("the client does not end its stream, which is judged by 1-0/2.2.mismatch-closes")
    met = connection.link.met_reset(WRITTEN)
    client.judge("what we write is read", "a reset", not met)
