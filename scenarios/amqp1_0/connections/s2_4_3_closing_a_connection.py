"""2.4.3 Closing A Connection: who closes says why, says it last, and goes on reading."""

from collections.abc import Iterator
from functools import partial
from itertools import product

from harness.amqp1_0.broken.deviations import (
    drops,
    ends_by,
    ends_with,
    follows,
    ignores,
    of_client,
    on_channels,
    precedes,
    reframes,
    rejects_frames,
    rewrites,
    withholds,
)
from harness.amqp1_0.broken.faults import (
    ANSWERS_OUR_CLOSE_AGAIN,
    ENDS_WITHOUT_CLOSE,
    KEEPS_A_CLOSED_CONNECTION_ALIVE,
    KEEPS_ALIVE_WHAT_BOTH_HAVE_CLOSED,
    NEVER_GIVES_UP,
    TALKS_BEHIND_ITS_CLOSE,
    does,
    places,
    reset,
    says,
    stop_reading,
)
from harness.amqp1_0.broken.faults import end_stream as end_at_once
from harness.amqp1_0.broken.loose import Turn
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.link import CONNECTION
from harness.amqp1_0.client.outcomes import (
    Received,
    answered,
    closed,
    closed_without_error,
    goes_on,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.transcript import Framed, Passage
from harness.amqp1_0.peer.events import ConnectionState, Entered, Malformed
from harness.amqp1_0.peer.tables.connection import end_stream
from harness.amqp1_0.wire.frames import AMQP, Frame, RawFrame, empty_frame
from harness.amqp1_0.wire.performatives import AmqpError, Close, ConnectionError_, End, Error, Open
from harness.peers.rows import always
from harness.play.expect import Inconclusive, Outcome
from harness.play.watching import Enough, Found, Gaps, State, came, went
from harness.wire.journal import Direction
from harness.wire.units import Garbage, Header
from scenarios.amqp1_0.talk import TALK
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Role

OPENED, DISCARDING = ConnectionState.OPENED, ConnectionState.DISCARDING
UNDEFINED = Frame(AMQP, 0, b"\x00\x53\x99\x45")
"""A frame whose body is a described list, but no performative that section 2.7 defines."""
NO_PERFORMATIVE = Frame(AMQP, 0, b"\x40")
"""A frame whose body is null, which is no described type."""
UNDECODABLE = Frame(AMQP, 0, b"\x00")
"""A frame whose body ends where its descriptor should begin."""
MALFORMED = RawFrame(doff=1)
"""A frame whose body would begin within its header."""
STATED = 1000
"""Milliseconds of an idle-time-out of ours."""
INTERVALS = 3
"""Of it: who keeps a connection alive has sent something by then."""
MAY_CARRY_ONE = "2.7.9 lets every close carry an error"
REFUSAL = Close(Error(AmqpError.NOT_ALLOWED, "not so"))


def provoked(
    container: Container, in_session: bool = False, **open_fields: object
) -> tuple[AmqpConnection, Frame]:
    """Give a connection that the server has closed because of an error, ours to come; and what it closed for.

    With `in_session` one has begun on it, on channel 1 where the server allows that. Raises Inconclusive
    where the server bears every breach, or ends without a word.
    """
    for breach in (UNDECODABLE, UNDEFINED, NO_PERFORMATIVE):
        connection = container.connection(**open_fields)
        if in_session:
            connection.begin(min(1, connection.partner.channel_max))
        connection.send(breach)
        if closed().matches(connection.link.next(CONNECTION, container.context.patience.answer)):
            return connection, breach
    raise Inconclusive("the server bears or ends without an error what cannot be decoded, or is not defined")


def closed_by_the_server(
    container: Container, in_session: bool = False, **open_fields: object
) -> AmqpConnection:
    """Give the connection alone of `provoked`. Raises Inconclusive."""
    connection, _ = provoked(container, in_session, **open_fields)
    return connection


def has_error(close: Close) -> bool:
    return close.carried("error") is not None


def has_a_session(turn: Turn) -> bool:
    return bool(turn.connection.sessions)


def has_a_link(turn: Turn) -> bool:
    return any(session.links for session in turn.connection.sessions.values())


def on_a_session(turn: Turn) -> bool:
    return turn.channel > 0 and turn.channel in turn.connection.sessions


# -- the close is written ------------------------------------------------------------------------------


def ends_by_a_close(container: Container, breach: Frame | RawFrame) -> None:
    """Judge that a close comes before the end of the stream, if this frame ends it; in a session as well."""
    for in_session in (False, True):
        connection = container.connection().fence()
        if in_session:
            connection.begin()
        connection.send(breach)
        borne = "the server bears the frame: nothing is to be seen of how it closes"
        connection.gives_up(Close, (goes_on() | answered(End)).recorded(borne))


@scenario("1-0/2.4.3.close-before-closing")
@broken_by("ends the stream without a close", ENDS_WITHOUT_CLOSE)
@broken_by("keeps its close to itself", withholds(Close))
def an_undefined_performative_is_answered_by_a_close(container: Container) -> None:
    """A performative that is not defined makes the server end: a close comes before the end of the stream."""
    ends_by_a_close(container, UNDEFINED)


@scenario("1-0/2.4.3.close-before-closing")
@broken_by("hangs up on a frame that cannot be", does(OPENED, Malformed, always, end_at_once))
@broken_by("hangs up on it in a session", does(OPENED, Malformed, has_a_session, end_at_once))
def a_malformed_frame_is_answered_by_a_close(container: Container) -> None:
    """A frame that cannot be makes the server end: a close comes before the end of the stream."""
    ends_by_a_close(container, MALFORMED)


@watch(
    "1-0/2.4.3.close-carries-reason",
    during="1-0/2.4.3.close-before-closing",
    looks_at=came(Close) + went(Close),
    start=State,
    gap=Gaps.STOPS,
)
@broken_by("closes without a reason", rewrites(Close, error=None))
@broken_by("never says why", says(Close, error=None))
def a_close_of_its_own_accord_says_why(_: State, each: Passage) -> Enough:
    """Every close that came before ours was sent carries an error."""
    if each.direction is Direction.SENT:
        return Enough(None)
    held = isinstance(each.said.carried("error"), Error)
    return Enough(held or f"a close without error at {each.at:.4f} s")


@scenario("1-0/2.4.3.close-answered")
@broken_by("ends the stream without a close", withholds(Close))
@broken_by("does not hear the close", ignores(Close))
@broken_by("does not answer the close", drops("close: is answered"))
@broken_by("answers twice", follows(Close, Close()))
@broken_by("says something behind its close", ends_with(b"\x00"))
def a_close_is_answered_by_a_close(container: Container) -> None:
    """Our close is answered by a close without error, and then nothing more comes."""
    connection = container.connection().fence()
    connection.tries(Close(), closed_without_error(), closed().under(MAY_CARRY_ONE))
    connection.nothing_more()


def closes(connection: AmqpConnection) -> None:
    """Judge that our close is answered by one without error, whatever of sessions comes before it."""
    connection.send(Close())
    connection.expect_of_all(closed_without_error(), closed().under(MAY_CARRY_ONE))
    connection.nothing_behind_the_close()


@scenario("1-0/2.4.3.close-answered")
@broken_by("does not hear a close while a session is open", does(OPENED, Close, has_a_session))
@broken_by(
    "ends the stream in place of a close while a session is open",
    does(OPENED, Close, has_a_session, end_at_once),
)
def a_close_is_answered_while_sessions_are_open(container: Container) -> None:
    """Two sessions are open: our close is answered by a close all the same, and nothing follows it."""
    connection = container.connection()
    connection.begin()
    if connection.partner.channel_max:
        connection.begin()
    closes(connection)


@scenario("1-0/2.4.3.close-answered", needs={"address"})
@broken_by("does not hear a close while a link is attached", does(OPENED, Close, has_a_link))
@broken_by(
    "ends the stream in place of a close while a link is attached",
    does(OPENED, Close, has_a_link, end_at_once),
)
def a_close_is_answered_while_links_are_attached(container: Container) -> None:
    """A link to and one from a node are attached: our close is answered by a close all the same."""
    address, connection = container.address(), container.connection()
    session = connection.begin()
    session.receiver(address)
    session.sender(address)  # it comes last: the server may give it credit at once
    closes(connection)


class BehindClose(State):
    """When the server's close came, and how much of what is looked for has come behind it."""

    def __init__(self, told: str) -> None:
        self.at: float | None = None
        self.behind = 0
        self.told = told
        self.unsure = False

    def look(self, each: Passage, counts: bool) -> None:
        """Take note of what came, and of whether it counts where it came behind the close."""
        if self.at is not None:
            self.behind += counts
        elif isinstance(each.said, Close):
            self.at = each.at

    def end(self) -> Iterator[Found]:
        """Say whether nothing of it came behind the close."""
        if self.behind:
            yield self.told.format(self.behind, self.at)
        elif self.at is not None and not self.unsure:
            yield True

    def missed(self, _: Direction) -> None:
        """Note that what came behind the close is not known as a whole."""
        self.unsure = self.at is not None


@watch(
    "1-0/2.4.3.close-is-last",
    during="1-0/2.4.4.simultaneous-close",
    looks_at=came(Frame, Header, Garbage),
    needs=came(Close),
    start=partial(BehindClose, "{} more behind the close at {:.4f} s"),
    gap=Gaps.TOLD,
    of_clients=TALK,
)
@broken_by("sends an empty frame behind its close", of_client(follows(Close, empty_frame())), Role.CLIENT)
@broken_by("sends an empty frame behind its close", follows(Close, empty_frame()))
@broken_by("talks behind a close with an error", TALKS_BEHIND_ITS_CLOSE)
@broken_by("sends text behind its close", ends_with(b"good-bye"))
def nothing_follows_the_close(close: BehindClose, each: Passage) -> Found:
    """On every connection that the server closed its close is the last it sent."""
    close.look(each, True)
    return None


@scenario("1-0/2.4.3.close-is-last", slow=True)
@broken_by("sends a part of a frame behind its close", ends_with(b"\x00\x00\x00"))
@broken_by("keeps alive what it has closed", KEEPS_A_CLOSED_CONNECTION_ALIVE)
def not_an_octet_follows_a_close_with_an_error(container: Container) -> None:
    """We require frames every second. The server closes because of an error: for three seconds, and behind
    our close, no octet follows, not even a part of a frame.
    """
    connection = closed_by_the_server(container, idle_time_out=STATED)
    connection.nothing_behind_the_close(INTERVALS * STATED / 1000)
    connection.send(Close())
    connection.nothing_behind_the_close()


@scenario("1-0/2.4.3.close-is-last", slow=True)
@broken_by("keeps alive what both have closed", KEEPS_ALIVE_WHAT_BOTH_HAVE_CLOSED)
@broken_by("answers our close again", ANSWERS_OUR_CLOSE_AGAIN)
def nothing_is_kept_alive_behind_both_closes(container: Container) -> None:
    """We require frames every second, and close: nothing follows the server's close in three seconds."""
    connection = container.connection(idle_time_out=STATED)
    connection.ask(Close(), Close)
    connection.nothing_behind_the_close(INTERVALS * STATED / 1000)


# -- the partner's close is waited for -----------------------------------------------------------------


@scenario("1-0/2.4.3.reads-until-close")
@broken_by("closes its socket at once", does(DISCARDING, Entered, always, end_stream, stop_reading))
@broken_by("resets behind its close", does(DISCARDING, Entered, always, reset))
def our_close_is_still_read(container: Container) -> None:
    """A moment after the server's close ours is sent: it meets no reset."""
    connection = closed_by_the_server(container)
    connection.listen(container.context.patience.quiet)
    still_open = connection.link.ended is None
    connection.send(Close())
    connection.judge("our close is read", "a reset", still_open or not connection.met_reset())


@scenario("1-0/2.4.3.gives-up-waiting", slow=True)
@broken_by("waits for ever", NEVER_GIVES_UP)
@broken_by("keeps its stream open", ends_by("never"))
def a_close_that_never_comes_is_not_waited_for(container: Container) -> None:
    """The server closes, we never do: its stream ends all the same."""
    connection = closed_by_the_server(container, idle_time_out=1000)
    connection.expect(stream_ended(), silence().under("what time is reasonable is not said"))


# -- on which channel ----------------------------------------------------------------------------------


def is_elsewhere(turn: Turn) -> bool:
    return turn.channel > 0


@scenario("1-0/2.4.3.close-on-any-channel")
@broken_by(
    "refuses a close on another channel than 0",
    rejects_frames(on_channels(1), ConnectionError_.FRAMING_ERROR),
)
@broken_by("has no close but on channel 0", does(OPENED, Close, is_elsewhere))
@broken_by("takes a close on a session's channel for the session's", does(OPENED, Close, on_a_session))
@broken_by("takes such a close for an error", does(OPENED, Close, is_elsewhere, says=(REFUSAL,)))
def a_close_is_heard_on_every_channel(container: Container) -> None:
    """A close on channel 1 and on the highest the server allows is answered as one on channel 0 is, with a
    session there or without.
    """
    usual = container.connection()
    highest = usual.partner.channel_max
    expected = closed() if has_error(usual.ask(Close(), Close)) else closed_without_error()
    if not highest:
        container.inapplicable("the server allows channel 0 only")
    for in_session, channel in product((False, True), sorted({1, highest})):
        connection = container.connection()
        if in_session:
            connection.begin(channel)
        connection.send(Close(), channel=channel)
        connection.expect_of_all(expected)


@watch(
    "1-0/2.4.3.close-on-channel-zero",
    during="1-0/2.4.3.close-on-any-channel",
    looks_at=came(Close),
    of_clients=TALK,
)
@broken_by("closes on channel 1", of_client(precedes(Close, Frame(AMQP, 1, Close().encode()))), Role.CLIENT)
@broken_by("closes on channel 1", reframes(Close, channel=1))
@broken_by("writes its closes on the highest channel", places(Close, 0xFFFF))
def closes_come_on_channel_zero(each: Framed) -> Found:
    """Every close of the server has come on channel 0."""
    return not each.unit.channel or f"a close on channel {each.unit.channel} at {each.at:.4f} s"


def close_on_channel_zero() -> Outcome:
    return Outcome(
        "close on channel 0",
        lambda seen: (
            isinstance(seen, Received) and isinstance(seen.performative, Close) and seen.channel == 0
        ),
    )


@scenario("1-0/2.4.3.close-batched-on-channel-zero")
@broken_by("closes on channel 1", reframes(Close, channel=1))
@broken_by("writes its closes on the highest channel", places(Close, 0xFFFF))
def a_close_behind_the_open_comes_on_channel_zero(container: Container) -> None:
    """An open without container-id is refused: where open and close come back, the close is on channel 0."""
    container.connection().fence()
    connection = container.negotiated()
    connection.send(Open())
    connection.refuses(
        close_on_channel_zero(),
        stream_ended().recorded("before its open a server may just end the stream: there is no close"),
        goes_on().recorded("the server takes such an open: there is no close"),
    )
