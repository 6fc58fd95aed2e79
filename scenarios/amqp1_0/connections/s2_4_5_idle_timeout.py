"""2.4.5 Idle Timeout Of A Connection: silence ends it, and what is no silence."""

from collections.abc import Callable
from dataclasses import replace

from harness.amqp1_0.broken.deviations import (
    Fault,
    changes,
    drops,
    ends_by,
    follows,
    forwards,
    ignores,
    ignores_frames,
    is_empty,
    rejects,
    rejects_frames,
    rewrites,
    swaps,
    withholds,
    withholds_frames,
)
from harness.amqp1_0.broken.faults import NEVER_GIVES_UP, does, says, together
from harness.amqp1_0.broken.loose import Turn
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    EmptyFrame,
    answered,
    closed,
    empty_frame_came,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.session import WINDOW
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.peer.events import ConnectionState, Entered
from harness.amqp1_0.wire.frames import empty_frame
from harness.amqp1_0.wire.performatives import AmqpError, Close, ConnectionError_, End, Error, Flow, Open
from harness.peers.events import Silence, Waited
from harness.peers.rows import always
from scenarios.amqp1_0.connections.s2_4_3_closing_a_connection import has_a_session
from scenarios.registry import broken_by, scenario

SILENCE = "idle: silence closes"
TOO_SHORT = "idle-time-out: refuses one too short"
IN_TIME = "idle-time-out: an empty frame is sent in time"
NEEDS = {"idle-timeout"}
"""A server that acts on silence soon enough to be outwaited."""
TIMES = 4.0
"""Of the idle-time-out stated: twice the threshold, which should be twice what is stated."""
STATED = 1000
"""Milliseconds of our own idle-time-out."""
OPENED = replace(answered(Open), waits_for_end=True)
"""The server's open; one that refuses ours may take its time to end the stream."""
KEPT = 5
"""Empty frames one behind the other that show that they keep coming, however many come at once."""
INTERVALS = 3
"""Of our own idle-time-out, in which we send nothing: who takes it for his own has acted by then."""


def acts_after(seconds: Callable[[Turn], float]) -> Fault:
    """Closes for idleness so many seconds after the opens, whatever has come since."""

    def wait(turn: Turn) -> None:
        turn.connection.wait(seconds(turn))

    idle = Close(Error(AmqpError.RESOURCE_LIMIT_EXCEEDED, "idle"))
    return together(
        does(ConnectionState.OPENED, Entered, always, wait),
        does(ConnectionState.OPENED, Waited, always, says=(idle,)),
    )


def by_its_own_value(turn: Turn) -> float:
    """Give the time in seconds that it states itself."""
    return turn.policy.idle_time_out / 1000


def by_our_value(turn: Turn) -> float:
    """Give twice the time in seconds that we state."""
    return 2 * float(turn.connection.interval)


def past_the_threshold(connection: AmqpConnection) -> float:
    """Give the seconds after which every server has acted on silence, with something to spare.

    Raises NotRun where the server states no idle-time-out, or one too long to wait for.
    """
    return TIMES * connection.idle_time_out(TIMES) + connection.context.patience.answer


# -- the server's idle timeout -------------------------------------------------------------------------


@scenario("1-0/2.4.5.idle-closes-gracefully", needs=NEEDS, slow=True)
@broken_by("ends the stream without a close", changes(SILENCE, answer=None, next=ConnectionState.END))
@broken_by("never acts on its idle-time-out", drops(SILENCE))
@broken_by("keeps its close to itself", withholds(Close))
@broken_by("does not say why", says(Close, error=None))
@broken_by("bears it while a session is open", does(ConnectionState.OPENED, Silence, has_a_session))
def an_idle_connection_is_closed_with_an_error(container: Container) -> None:
    """We open and send nothing more: a close with an error comes before the end of the stream.

    So it does where a session has begun before.
    """
    bare, used = container.connection(), container.connection()
    used.begin()
    for connection in (bare, used):
        connection.within(past_the_threshold(connection), closed())


@scenario("1-0/2.4.5.idle-measured-from-last-frame", needs=NEEDS, slow=True)
@broken_by("does not count empty frames", ignores_frames(is_empty))
@broken_by("measures from the opens", acts_after(lambda turn: 2 * by_its_own_value(turn)))
@broken_by("takes no empty frames", rejects_frames(is_empty, ConnectionError_.FRAMING_ERROR))
def every_frame_begins_the_time_anew(container: Container) -> None:
    """Empty frames twice as often as the server wants them keep the connection beyond its threshold."""
    connection = container.connection()
    connection.beats()
    connection.listen(past_the_threshold(connection))
    connection.goes_on()


@scenario("1-0/2.4.5.idle-socket-closed", needs=NEEDS, slow=True)
@broken_by("waits for ever", NEVER_GIVES_UP)
@broken_by("resets", ends_by("rst"))
def whether_an_idle_client_that_says_nothing_is_cut_off(container: Container) -> None:
    """The server closes for idleness, we do not answer: whether its stream ends is recorded."""
    connection = container.connection()
    cause = connection.within(past_the_threshold(connection), answered(Close), stream_ended().recorded())
    if not isinstance(cause, Close):
        container.inapplicable("the server ends an idle connection without a close that could be answered")
    connection.expect(
        stream_ended().recorded("the server closes its socket without our close"),
        silence().recorded("the server leaves its socket open without our close"),
    )


@scenario("1-0/2.4.5.idle-value-half-of-threshold", needs=NEEDS, slow=True)
@broken_by("states its threshold itself", rewrites(Open, idle_time_out=lambda stated: 2 * stated))
@broken_by("acts on the value it states", acts_after(by_its_own_value))
def half_of_the_threshold_is_stated(container: Container) -> None:
    """Silence for one and a half times what the server states does not end the connection."""
    connection = container.connection()
    connection.listen(1.5 * connection.idle_time_out(1.5))
    connection.goes_on()


@scenario("1-0/2.4.5.flow-as-traffic", needs=NEEDS, slow=True)
@broken_by("does not count flows", ignores(Flow))
@broken_by("refuses a flow of a session", rejects(Flow, AmqpError.NOT_ALLOWED))
def flows_keep_the_connection(container: Container) -> None:
    """A flow of a session twice as often as the server wants frames keeps it beyond its threshold."""
    connection = container.connection()
    every = connection.idle_time_out() / 2
    session = connection.begin()
    for _ in range(int(past_the_threshold(connection) / every)):
        session.send(Flow(session.partner.next_outgoing_id, WINDOW, 0, WINDOW))
        connection.listen(every)
    session.send(End())
    session.expect(End)


# -- our idle timeout ----------------------------------------------------------------------------------


@scenario("1-0/2.4.5.idle-timeouts-independent", slow=True)
@broken_by("takes our idle-time-out for its own", acts_after(by_our_value))
def our_idle_time_out_says_nothing_of_the_servers(container: Container) -> None:
    """We require frames every 1000 ms, or four times as often as the server does, and send none three times
    as long: the server does not close.
    """
    own = container.connection().partner.idle_time_out or (INTERVALS + 1) * STATED
    stated = min(STATED, own // (INTERVALS + 1))
    if not stated:
        container.inapplicable(f"the server requires frames every {own} ms itself")
    connection = container.negotiated()
    connection.send(connection.the_open(idle_time_out=stated))
    refused = (stream_ended() | closed()).recorded("the server opens no connection with such a value")
    if not isinstance(connection.expect(OPENED, refused), Open):
        return
    unsupported = closed().recorded("it may be more than the server supports, which it says at once")
    if isinstance(connection.goes_on(unsupported), Close):
        return
    connection.listen(INTERVALS * stated / 1000)
    connection.goes_on()


@scenario("1-0/2.4.5.idle-unsupported-closes", slow=True)
@broken_by("ignores what is required of it", forwards(Open, idle_time_out=None))
@broken_by("ends the stream without a close", changes(TOO_SHORT, answer=None, next=ConnectionState.END))
@broken_by("does not say why", rewrites(Close, error=None))
@broken_by("sends a single frame in time", forwards(Open, idle_time_out=None) + follows(Open, empty_frame()))
def an_idle_time_out_that_nobody_can_keep(container: Container) -> None:
    """We require frames every other millisecond: a close with an error comes, or frames keep coming.

    A server that halves the value to be on the safe side has one left, and does not send without end.
    """
    container.connection(idle_time_out=60 * STATED)
    connection = container.negotiated()
    connection.tries(connection.the_open(idle_time_out=2), OPENED)
    at_once = (performative_of(each.unit) for each in connection.listen(container.context.patience.quiet))
    if not any(isinstance(each, Close) for each in at_once):
        connection.hear_empty_frames()
    kept = empty_frame_came().under("supporting such a value is nowhere forbidden: frames keep coming")
    for _ in range(KEPT):
        if not isinstance(connection.expect(closed(), kept), EmptyFrame):
            return
    container.drop()  # a close would have to wait behind thousands of them


@scenario("1-0/2.4.5.empty-frame-as-traffic")
@broken_by("sends nothing in time", changes(IN_TIME, answer=None))
@broken_by("keeps its empty frames to itself", withholds_frames(is_empty))
def what_the_server_sends_when_it_has_nothing_to_say(container: Container) -> None:
    """We require frames every 1000 ms and have a session: which frame comes first is recorded."""
    connection = container.connection(idle_time_out=STATED)
    session = connection.begin()
    connection.hear_empty_frames()
    session.expect(
        empty_frame_came().recorded("an empty frame may be sent"),
        answered(Flow).recorded("a flow for a session may be sent instead"),
        closed().recorded("1000 ms may be more than the server supports"),
    )


# -- keep-alive and load -------------------------------------------------------------------------------


@scenario("1-0/2.4.5.tcp-keep-alive", needs={"keep-alive"}, slow=True)
@broken_by("has it off", swaps(keep_alive=lambda: False))
def the_sockets_of_the_server_are_kept_alive(container: Container) -> None:
    """A connection is open: the kernel has the timer of keep-alive running for the server's socket of it."""
    connection = container.connection()
    connection.beats()
    connection.fence()
    connection.judge("TCP keep-alive is on", "TCP keep-alive is off", container.keeps_alive(connection))


LATE = "idle-time-out: being late closes"


@scenario("1-0/2.4.5.overload-closes", needs={"pause", "resume"}, slow=True, alone=True, disruptive=True)
@broken_by("goes on as if it had been in time", drops(LATE))
@broken_by("ends the stream without a close", changes(LATE, answer=None, next=ConnectionState.END))
@broken_by("does not say why", changes(LATE, answer=lambda _: (Close(),)))
def a_server_that_was_too_late_closes_with_an_error(container: Container) -> None:
    """We require frames every second, and the server gets no time for four: then it closes with an error."""
    connection = container.connection(idle_time_out=STATED)
    connection.beats()
    connection.fence()
    connection.listen(STATED / 1000)
    with container.paused():
        connection.listen(TIMES * STATED / 1000)
    connection.gives_up(closed())
