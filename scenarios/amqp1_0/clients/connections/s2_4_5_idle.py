"""2.4.5 Idle Timeout Of A Connection, of clients: theirs and ours, what is no silence, load, keep-alive."""

from dataclasses import replace
from typing import Final

from harness.amqp1_0.broken.deviations import (
    Interposer,
    follows,
    ignores_frames,
    is_empty,
    moves_frames,
    of_client,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.broken.provocations import falls_silent
from harness.amqp1_0.client.outcomes import (
    EmptyFrame,
    answered,
    closed,
    empty_frame_came,
    silence,
    stream_ended,
)
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.connection import Connection
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.wire.frames import empty_frame
from harness.amqp1_0.wire.performatives import Attach, Begin, Close, Flow, Open
from harness.play.expect import Inapplicable
from harness.play.link import EVERYWHERE
from harness.targets.client.ears import keeps_nothing_alive, stays
from scenarios.amqp1_0.clients.connections.s2_4_closing import ASKED, SILENT, at_its_end, within
from scenarios.amqp1_0.clients.connections.s2_4_opening import behind
from scenarios.amqp1_0.clients.s2_3_frames import HANGS_UP, QUIET, VAGUE
from scenarios.amqp1_0.clients.s2_4_living import NOISE, REASON
from scenarios.amqp1_0.grammar.clients import lives
from scenarios.amqp1_0.talk import CLIENT
from scenarios.registry import broken_by, scenario

OURS = 1000
"""Milliseconds that our server requires."""
TIMES = 4.0
"""Of the idle-time-out stated: twice the threshold, which should be twice what is stated."""
INTERVALS = 3
"""Of our idle-time-out, in which we say nothing: who takes it for his own has acted by then."""
KEPT = 5
"""Empty frames one behind the other that show that they keep coming."""
WITH_FLOWS: Final = replace(LENIENT, keep_alive="flow")
"""A server that keeps a connection with a session alive by flows."""


def stated(connection: Connection) -> float:
    """Give the seconds of the client's idle-time-out. Raises Inapplicable where it states none."""
    milliseconds = connection.opened.idle_time_out
    if not milliseconds:
        raise Inapplicable("the client states no idle-time-out")
    return float(milliseconds) / 1000


def requiring(milliseconds: int) -> Interposer:
    """States that an idle-time-out of so many milliseconds is required."""
    return rewrites(Open, idle_time_out=milliseconds)


# -- the client's idle timeout -------------------------------------------------------------------------


@scenario("1-0/2.4.5.idle-measured-from-last-frame", slow=True, role=CLIENT)
@broken_by("does not count empty frames", SILENT, CLIENT)
@broken_by("takes no empty frames", moves_frames(is_empty, body=NOISE.body), CLIENT)
def a_client_begins_the_time_anew_with_every_frame(client: Client) -> None:
    """Empty frames twice as often as the client wants them keep the connection beyond its threshold."""
    connection = client.connection(idle=ASKED)
    connection.lives(TIMES * stated(connection))
    connection.works_on()


@scenario("1-0/2.4.5.flow-as-traffic", slow=True, role=CLIENT)
@broken_by("does not count flows", withholds(Flow), CLIENT)
@broken_by("cannot bear a flow", replaces(Flow, NOISE), CLIENT)
def flows_keep_a_client(client: Client) -> None:
    """Flows of a session twice as often as the client wants frames keep it beyond its threshold."""
    connection = client.session(policy=WITH_FLOWS, idle=ASKED).connection
    connection.lives(TIMES * stated(connection))
    connection.works_on()


@scenario("1-0/2.4.5.idle-value-half-of-threshold", slow=True, role=CLIENT)
@broken_by("states its threshold itself", of_client(rewrites(Open, idle_time_out=2 * ASKED)), CLIENT)
def a_client_states_half_of_its_threshold(client: Client) -> None:
    """Silence for one and a half times what the client states does not end the connection."""
    connection = client.connection(SILENT, idle=ASKED)
    connection.lives(1.5 * stated(connection))
    connection.works_on()


@scenario("1-0/2.4.5.idle-socket-closed", slow=True, role=CLIENT)
@broken_by("waits for ever", stays(), CLIENT)
def whether_a_client_cuts_off_an_idle_server(client: Client) -> None:
    """The client closes for idleness, the server does not answer: whether its stream ends is recorded."""
    session = client.session(falls_silent(Attach), idle=ASKED)
    session.receiver()
    connection = session.connection
    seen = connection.hold(
        within(connection, 2 * TIMES * stated(connection)),
        (answered(Close), (stream_ended() | silence()).recorded("there is no close to be answered")),
    )
    if not isinstance(seen, Close):
        raise Inapplicable("the client ends an idle connection without a close that could be answered")
    connection.hold(
        at_its_end(connection),
        (
            stream_ended().recorded("the client closes its socket without our close"),
            silence().recorded("the client leaves its socket open without our close"),
        ),
    )


# -- the server's idle timeout -------------------------------------------------------------------------


@scenario("1-0/2.4.5.idle-timeouts-independent", slow=True, role=CLIENT)
@broken_by(
    "takes the server's for its own", of_client(moves_frames(is_empty, body=Close(REASON).encode())), CLIENT
)
def our_idle_time_out_says_nothing_of_a_clients(client: Client) -> None:
    """We require frames every 1000 ms, or four times as often as the client does, and send none three times
    as long: the client does not close.
    """
    own = client.connection().opened.idle_time_out or (INTERVALS + 1) * OURS
    milliseconds = min(OURS, own // (INTERVALS + 1))
    connection = client.connection(requiring(milliseconds) + SILENT)
    connection.hear_out()
    refused = closed().recorded("it may be more than the client supports, which it says at once")
    at_once = within(connection, client.context.patience.quiet)
    if isinstance(connection.hold(at_once, (silence(), refused)), Close):
        return
    connection.hold(within(connection, INTERVALS * milliseconds / 1000), (silence(),))
    connection.works_on()


@scenario("1-0/2.4.5.idle-unsupported-closes", slow=True, role=CLIENT)
@broken_by("ignores what is required of it", rewrites(Open, idle_time_out=None), CLIENT)
@broken_by("ends the stream without a close", HANGS_UP, CLIENT)
@broken_by("does not say why", VAGUE, CLIENT)
@broken_by(
    "sends a single frame in time",
    rewrites(Open, idle_time_out=None) + of_client(follows(Open, empty_frame())),
    CLIENT,
)
def a_client_is_asked_for_more_than_anybody_can_do(client: Client) -> None:
    """We require frames every other millisecond: a close with an error comes, or frames keep coming."""
    lives(client, requiring(60 * OURS))
    connection = client.connecting(requiring(2))
    kept = empty_frame_came().under("supporting such a value is nowhere forbidden: frames keep coming")
    for _ in range(KEPT):
        next_ = lambda _, patience: behind(connection, Open, Begin, Flow)((), patience)  # noqa: E731
        if not isinstance(connection.hold(next_, (closed(), kept)), EmptyFrame):
            return


@scenario("1-0/2.4.5.empty-frame-as-traffic", slow=True, role=CLIENT)
@broken_by("sends nothing in time", ignores_frames(is_empty), CLIENT)
def what_a_client_sends_when_it_has_nothing_to_say(client: Client) -> None:
    """We require frames every 1000 ms and there is a session: which frame comes first is recorded."""
    connection = client.session(requiring(OURS)).connection
    connection.hear_out()
    connection.hold(
        lambda _, patience: connection.link.next(EVERYWHERE, patience),
        (
            empty_frame_came().recorded("an empty frame may be sent"),
            answered(Flow).recorded("a flow for a session may be sent instead"),
            closed().recorded("1000 ms may be more than the client supports"),
        ),
    )


# -- keep-alive and load -------------------------------------------------------------------------------


@scenario("1-0/2.4.5.tcp-keep-alive", role=CLIENT)
@broken_by("has it off", keeps_nothing_alive(), CLIENT)
def the_sockets_of_a_client_are_kept_alive(client: Client) -> None:
    """A connection is open: the kernel has the timer of keep-alive running for the client's socket of it."""
    client.connection().session()
    client.judge("TCP keep-alive is on", "TCP keep-alive is off", client.keeps_alive())


@scenario("1-0/2.4.5.overload-closes", slow=True, role=CLIENT)
@broken_by("goes on as if it had been in time", QUIET, CLIENT)
@broken_by("ends the stream without a close", HANGS_UP, CLIENT)
@broken_by("does not say why", VAGUE, CLIENT)
def a_client_that_was_too_late_closes_with_an_error(client: Client) -> None:
    """We require frames every second, and the client gets no time for four: then it closes with an error."""
    connection = client.connection(requiring(OURS))
    connection.hear_out()
    with client.halted():
        connection.link.listen(TIMES * OURS / 1000)
    connection.expect(closed())
