"""2.4.3 and 2.4.6 of clients: who has closed reads on, discards, waits not for ever, and ends the stream."""

from collections.abc import Callable
from typing import Final

from harness.amqp1_0.broken.deviations import (
    answers,
    follows,
    is_empty,
    of_client,
    precedes,
    withholds_frames,
)
from harness.amqp1_0.broken.provocations import delays, says_nothing_from
from harness.amqp1_0.client.outcomes import (
    EmptyFrame,
    HeaderReceived,
    Observation,
    closed,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import LIMIT, performative_of
from harness.amqp1_0.server.client import Client, JudgedConnection
from harness.amqp1_0.server.connection import Connection
from harness.amqp1_0.server.link import AT_ANY_TIME
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import FrameReader, amqp_frame, empty_frame
from harness.amqp1_0.wire.performatives import Begin, Close, End
from harness.peers.timing import EVERY, writes_on
from harness.play.expect import Inapplicable
from harness.targets.client.ears import leaves_behind, stays
from harness.targets.client.target import BeforeServer
from scenarios.amqp1_0.clients.connections.s2_4_opening import Next
from scenarios.amqp1_0.clients.s2_4_connections import LEFT_OPEN
from scenarios.amqp1_0.clients.s2_4_living import NOISE
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, scenario

LATER = 0.5
"""Seconds after which the server answers a close."""
WRITTEN = 5 * EVERY
"""Seconds in which a server that goes on has said all, and hears of a reset."""
ASKED = 1000
"""Milliseconds that a client is told to require."""
IDLE = 4.0
"""Seconds in which a client that requires a frame in each of those has closed, where none comes."""
SILENT: Final = withholds_frames(is_empty)
"""Says nothing to keep a connection alive."""
REASONABLE = "what time is reasonable is not said"


def closes(octets: bytes) -> bool:
    """Say whether a close is among what is said at once."""
    said = (performative_of(unit) for _, unit in FrameReader(limit=LIMIT).feed(octets))
    return any(isinstance(each, Close) for each in said)


LEAVES: Final = leaves_behind(closes)
"""Closes its socket behind its close."""


def within(connection: Connection, seconds: float) -> Next:
    """Give what comes next in so many seconds."""
    return lambda passed, _: connection.link.next_but(passed, seconds)


def at_its_end(connection: Connection) -> Callable[[object, float], Observation]:
    """Give how the stream ends, whatever comes before."""
    passed = (HeaderReceived, EmptyFrame, Composite)
    return lambda _, patience: connection.link.next_but(passed, patience)


# -- closed by the client ------------------------------------------------------------------------------


@scenario("1-0/2.4.3.reads-until-close", slow=True, role=CLIENT)
@broken_by("closes its socket behind its close", LEAVES, CLIENT)
def a_client_reads_until_the_servers_close(client: Client) -> None:
    """Half a second behind the client's close an empty frame and the server's come: they meet no reset."""
    late = writes_on(empty_frame().encode(), amqp_frame(0, Close()).encode())
    connection = client.connection(delays(Close, LATER), late)
    connection.closes()
    connection.hold(at_its_end(connection), (stream_ended() | silence(),))
    met = connection.link.met_reset(WRITTEN)
    client.judge("the server's close is read", "a reset", not met)


@scenario("1-0/2.4.3.gives-up-waiting", slow=True, role=CLIENT)
@broken_by("waits for ever", stays(), CLIENT)
def a_client_does_not_wait_for_a_close_that_never_comes(client: Client) -> None:
    """The client closes, the server never does: its stream ends all the same."""
    connection = client.connection(says_nothing_from(Close))
    connection.closes()
    connection.hold(at_its_end(connection), (stream_ended(), silence().under(REASONABLE)))


@scenario("1-0/2.4.6.end-closes-tcp", slow=True, role=CLIENT)
@broken_by("leaves the stream open", stays(), CLIENT)
def whether_a_client_closes_the_tcp_connection(client: Client) -> None:
    """When both closes have been sent, the client's first and then the server's first: whether its stream
    ends before the server's is recorded.
    """
    for who in ("client", "server"):
        connection = client.connection(policy=LEFT_OPEN)
        if who == "client":
            connection.closes()
        else:
            connection.server_closes()
            connection.came(Close)
        connection.hold(
            at_its_end(connection),
            (
                stream_ended().recorded("the client closes the TCP connection"),
                silence().recorded("the client leaves it to the server to close the TCP connection"),
            ),
        )


# -- closed because of an error ------------------------------------------------------------------------


def closed_by_the_client(client: Client, *meets: BeforeServer) -> JudgedConnection:
    """Have the client close because of an error: for what it cannot decode, or else for idleness.

    Raises Inapplicable where it does not.
    """
    connection = client.connection(*meets)
    connection.session()
    connection.hear_out()
    connection.says(NOISE)
    if closes_in_error(connection, client.context.patience.answer):
        return connection
    connection = client.connection(SILENT, *meets, idle=ASKED)
    connection.session()
    connection.hear_out()
    if closes_in_error(connection, IDLE):
        return connection
    raise Inapplicable("the client closes with an error neither for what it cannot decode nor for idleness")


def closes_in_error(connection: Connection, seconds: float) -> bool:
    """Say whether a close with an error comes next, within so many seconds."""
    return closed().matches(connection.link.next_but(AT_ANY_TIME, seconds))


@scenario("1-0/2.4.6.half-close-for-writing", role=CLIENT)
@broken_by("ends its stream at once", LEAVES, CLIENT)
def whether_the_stream_of_a_client_ends_before_the_servers_close(client: Client) -> None:
    """The client closes because of an error: whether its stream ends before the server's close."""
    connection = closed_by_the_client(client, says_nothing_from(Close))
    seen = connection.link.next_but((EmptyFrame,), client.context.patience.quiet)
    connection.hold(
        lambda *_: seen,
        (
            stream_ended().recorded("the write side may be shut behind the close"),
            silence().recorded("the write side may stay open behind the close"),
        ),
    )


@scenario("1-0/2.4.6.discarding", role=CLIENT)
@broken_by("answers a begin", of_client(answers(Begin, Begin(0, 0, 1, 1), skip=1)), CLIENT)
@broken_by("complains about everything", of_client(follows(Close, Close())), CLIENT)
def a_client_discards_what_follows_its_close(client: Client) -> None:
    """The client closes because of an error: a begin, an end, an empty frame and what is no performative,
    which come before the server's close, are met by nothing.
    """
    connection = closed_by_the_client(client, precedes(Close, the_begin(), End(), empty_frame(), NOISE))
    connection.sends_no(Composite)
