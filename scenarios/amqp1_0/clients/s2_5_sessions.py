"""2.5 Sessions, of clients: begins, ends, and what may come in each state."""

from typing import Any

from harness.amqp1_0.broken.deviations import (
    Said,
    answers,
    ends_stream,
    follows,
    forwards,
    ignores,
    ignores_frames,
    of_client,
    precedes,
    reframes,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.client.outcomes import (
    Refusal,
    answered,
    begun,
    closed,
    closed_without_error,
    ended_or_closed,
    ended_well,
    refused,
    session_ended,
    silence,
    stream_ended,
)
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.server.client import Client, JudgedConnection
from harness.amqp1_0.server.session import JudgedSession
from harness.amqp1_0.wire.frames import AMQP
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    Detach,
    End,
    Error,
    Flow,
    Open,
    SessionError,
    Transfer,
)
from harness.amqp1_0.wire.types import Symbol
from harness.play.expect import Inapplicable
from scenarios.amqp1_0.definitions.s2_8_16_to_18_levels import ANOTHER
from scenarios.amqp1_0.performatives.s2_7_1_open import UNHEARD_OF, carries
from scenarios.amqp1_0.talk import CLIENT, goes_on
from scenarios.registry import broken_by, scenario

OURS = Error(AmqpError.INTERNAL_ERROR, "the client ends because of an error")


def _is_ended(client: Client, condition: str) -> None:
    session = client.session()
    session.sender()
    session.connection.hear_out()
    session.server_ends(condition)
    session.expect(ended_well(), session_ended().recorded("the answer may have an error of its own"))
    session.connection.works_on()


@scenario("1-0/2.5.2.end-answered", role=CLIENT)
@broken_by("does not answer", ignores(End), CLIENT)
@broken_by("closes the connection instead", of_client(replaces(End, Close())), CLIENT)
@broken_by("ends the stream instead", of_client(ends_stream(End)), CLIENT)
def a_client_answers_an_end(client: Client) -> None:
    """An end of the server's is answered by an end; another session can be begun on the connection."""
    _is_ended(client, "")


@scenario("1-0/2.5.2.end-with-error-answered", role=CLIENT)
@broken_by("does not answer", ignores(End), CLIENT)
@broken_by("answers with a close", of_client(replaces(End, Close(OURS))), CLIENT)
def a_client_answers_an_end_with_an_error(client: Client) -> None:
    """An end with an error is answered by an end; another session can be begun on the connection."""
    _is_ended(client, AmqpError.INTERNAL_ERROR)


# -- begins --------------------------------------------------------------------------------------------


def answers_ours(said: Begin) -> bool:
    return said.remote_channel is not None


def is_of_ours(said: object) -> bool:
    """Say whether something may be about a session that words of ours have begun."""
    return not isinstance(said, Open | Close) and (not isinstance(said, Begin) or answers_ours(said))


UNHEARD = ignores_frames(lambda frame: frame.type == AMQP and is_of_ours(performative_of(frame)))
"""Our server knows nothing of sessions that words of ours have begun; a library may have one of its own."""
ASKS = Flow(0, 100, 0, 100, echo=True)
UNANSWERED = ignores(Begin, when=answers_ours)
NO_ANSWER = (closed() | closed_without_error() | stream_ended() | silence()).recorded()
"""Of a client that does not answer a begin, which is judged by 1-0/2.5.1.begin-answered."""


def begins(client: Client, beyond: int, *behind: Said) -> tuple[JudgedConnection, int]:
    """Have our server begin a session of its own, so far beyond the first free channel, and name that."""
    connection = client.connection(UNHEARD)
    connection.hear_out()
    used = [on for on, said in connection.link.said if isinstance(said, Begin)]
    channel = max(used, default=-1) + 1 + beyond
    if connection.opened.channel_max < channel:
        raise Inapplicable("the client takes one session at a time")
    connection.says(the_begin(), *behind, channel=channel)
    return connection, channel


@scenario("1-0/2.5.1.begin-answered", role=CLIENT)
@broken_by("does not answer", UNANSWERED, CLIENT)
@broken_by("closes the connection", of_client(replaces(Begin, Close(OURS))), CLIENT)
def a_client_answers_a_begin(client: Client) -> None:
    """A begin of the server's own is answered by a begin."""
    connection, _ = begins(client, 0)
    connection.expect(Begin)


@scenario("1-0/2.5.1.remote-channel-set", role=CLIENT)
@broken_by("does not say what it answers", forwards(Begin, remote_channel=None), CLIENT)
@broken_by("names channel 0 always", forwards(Begin, remote_channel=0), CLIENT)
def a_client_names_the_channel_that_it_answers(client: Client) -> None:
    """The begin that answers one on a channel above 0 names it; who answers none is judged elsewhere."""
    connection, channel = begins(client, 1)
    if isinstance(connection.expect(begun(channel), NO_ANSWER), Begin):
        return
    raise Inapplicable("the client answers no begin")


@scenario("1-0/2.5.1.outgoing-channel-unused", role=CLIENT)
@broken_by("has all sessions on one channel", of_client(reframes(Begin, channel=0)), CLIENT)
def sessions_of_a_client_have_channels_of_their_own(client: Client) -> None:
    """Two sessions of the client, begun one after the other, have two channels."""
    connection = client.connection()
    first = connection.session()
    client.attempted("open", on=connection.on)
    second = connection.came(Begin)
    client.judge("another channel", "the same channel", second.channel != first.channel)


@scenario("1-0/2.5.1.lowest-channel", role=CLIENT)
@broken_by(
    "takes a high channel",
    of_client(reframes(Begin, skip=2, channel=9)) + rewrites(Begin, skip=2, remote_channel=2),
    CLIENT,
)
def a_client_takes_the_lowest_free_channel(client: Client) -> None:
    """Three sessions have the three lowest channels, behind those that the client has begun by itself."""
    connection = client.connection()
    for _ in range(3):
        connection.session()
    taken = sorted(connection.link.told)
    client.judge(
        "the lowest channels",
        f"channels {', '.join(map(str, taken))}",
        taken == list(range(len(taken))),
        "any channel that is free is legal; the lowest is recommended",
    )


@scenario("1-0/2.5.1.used-channel-refused", role=CLIENT)
@broken_by("passes over it", withholds(Begin, skip=1), CLIENT)
def a_client_refuses_a_begin_on_a_channel_in_use(client: Client) -> None:
    """A begin of the server's on a channel on which it has a session is refused."""
    session = client.session()
    session.says(the_begin())
    session.expect(*refused(Refusal.ON_SESSION))


@scenario("1-0/2.7.2.remote-channel-of-none-refused", role=CLIENT)
@broken_by("takes it for a new session", rewrites(Begin, skip=1, remote_channel=None), CLIENT)
@broken_by("passes over it", withholds(Begin, skip=1), CLIENT)
def a_client_refuses_a_begin_that_answers_none(client: Client) -> None:
    """A begin that names a channel on which the client has begun nothing is refused."""
    session = client.session()
    session.connection.says(the_begin(remote_channel=session.channel + 5), channel=1)
    session.connection.expect(*refused(Refusal.ON_SESSION))


@scenario("1-0/2.5.5.sends-behind-its-begin", role=CLIENT)
@broken_by("refuses what comes behind a begin", of_client(replaces(Flow, Close(OURS))), CLIENT)
def a_client_takes_what_follows_a_begin_at_once(client: Client) -> None:
    """A begin of the server's and a flow that asks for an answer, in a single write: both are answered."""
    connection, _ = begins(client, 0, ASKS)
    seen = connection.expect(answered(Begin), NO_ANSWER)
    if not isinstance(seen, Begin):
        raise Inapplicable("the client answers no begin")
    connection.expect(Flow, silence().under("that an echo is answered is judged by 1-0/2.7.4.echo-answered"))


@scenario("1-0/2.7.2.begin-optional-fields", role=CLIENT)
@broken_by(
    "knows no properties", withholds(Begin, when=carries("properties", "offered_capabilities")), CLIENT
)
def a_client_takes_what_nobody_has_heard_of(client: Client) -> None:
    """A begin with capabilities and properties that nobody knows opens a session all the same."""
    unknown: dict[str, Any] = {
        "offered_capabilities": [Symbol(UNHEARD_OF)],
        "desired_capabilities": [Symbol(UNHEARD_OF)],
        "properties": {Symbol(UNHEARD_OF): "x"},
    }
    connection = client.connection(rewrites(Begin, **unknown))
    session = connection.tries_session()
    client.judge("a session", getattr(session, "told", ""), isinstance(session, JudgedSession))


# -- ends ----------------------------------------------------------------------------------------------


@scenario("1-0/2.5.2.channel-reusable", role=CLIENT)
@broken_by("has one session for good", withholds(Begin, skip=1), CLIENT)
def a_client_uses_a_channel_again(client: Client) -> None:
    """Three sessions, one after the other, are begun, carry a message and are ended."""
    connection = client.connection()
    for _ in range(3):
        session = connection.tries_session()
        client.judge("a session", getattr(session, "told", ""), isinstance(session, JudgedSession))
        assert isinstance(session, JudgedSession)
        goes_on(session)
        refusal = session.ends()
        client.judge("the session is ended", refusal.told if refusal else "", refusal is None)


@scenario("1-0/2.5.3.one-end", role=CLIENT)
@broken_by("answers the end that answers its own", of_client(follows(End, End())), CLIENT)
def a_client_ends_once(client: Client) -> None:
    """The end of the client's is met by one of the server's, with an error: no other end comes."""
    session = client.session(rewrites(End, error=OURS))
    session.ends()
    session.expect(End)
    session.connection.sends_no(End)
    session.connection.works_on()


@scenario("1-0/2.5.5.ended-session-takes-nothing", role=CLIENT)
@broken_by("attaches behind the end", of_client(follows(End, Attach("x", 0, True))), CLIENT)
def a_client_takes_nothing_behind_an_end(client: Client) -> None:
    """An end of the server's and an attach behind it: the end is answered, the attach is not."""
    session = client.session(follows(End, Attach("behind", 9, True)))
    session.server_ends()
    session.expect(ended_well() | ended_or_closed())
    session.connection.sends_no(Attach)


# -- errors --------------------------------------------------------------------------------------------

NOWHERE = 5


def nowhere(session: JudgedSession) -> int:
    """Give a handle that no link has, and that the client's begin permits."""
    begin = session.received()[0].performative
    return min(NOWHERE, int(begin.handle_max))


@scenario("1-0/2.5.4.unable-ends", role=CLIENT)
@broken_by("passes over it", ignores(End), CLIENT)
@broken_by("closes the connection", of_client(replaces(End, Close(OURS))), CLIENT)
@broken_by("does not say why", forwards(End, error=None), CLIENT)
def a_client_ends_a_session_that_it_cannot_process(client: Client) -> None:
    """A flow, and a transfer, for a handle that no link has: the session is ended with an error."""
    connection = client.connection()
    for kind in (Flow, Transfer):
        session = connection.session()
        lost = Flow(0, 9, 0, 9, nowhere(session), 0, 0)
        session.says(lost if kind is Flow else Transfer(nowhere(session), 0, b"t", 0))
        session.expect(session_ended())
    connection.works_on()


def _ended_for(said: Flow | Transfer | Detach, client: Client) -> None:
    """Judge that something for a handle without a link ends the session by unattached-handle."""
    session = client.session()
    session.says(said.replace(handle=nowhere(session)))
    session.expect(session_ended(SessionError.UNATTACHED_HANDLE), ended_or_closed().under(ANOTHER))


UNATTACHED = Error(AmqpError.NOT_FOUND)


@scenario("1-0/2.7.4.unattached-handle", role=CLIENT)
@broken_by("passes over it", ignores(End), CLIENT)
@broken_by("has another condition", forwards(End, error=UNATTACHED), CLIENT)
def a_client_ends_a_session_for_a_flow_of_no_link(client: Client) -> None:
    """A flow for a handle that no link has ends the session with unattached-handle."""
    session = client.session()
    session.says(Flow(0, 9, 0, 9, nowhere(session), 0, 0))
    session.expect(session_ended(SessionError.UNATTACHED_HANDLE))


@scenario("1-0/2.8.17.unattached-handle-transfer", role=CLIENT)
@broken_by("passes over it", ignores(End), CLIENT)
@broken_by("gives another condition", forwards(End, error=UNATTACHED), CLIENT)
def a_client_names_the_error_of_a_transfer_of_no_link(client: Client) -> None:
    """A transfer for a handle without a link ends its session by unattached-handle."""
    _ended_for(Transfer(NOWHERE, 0, b"t", 0), client)


@scenario("1-0/2.8.17.unattached-handle-detach", role=CLIENT)
@broken_by("passes over it", ignores(End), CLIENT)
@broken_by("gives another condition", forwards(End, error=UNATTACHED), CLIENT)
@broken_by("answers it", of_client(answers(Detach, Detach(NOWHERE, True))), CLIENT)
def a_client_names_the_error_of_a_detach_of_no_link(client: Client) -> None:
    """A detach for a handle without a link ends its session by unattached-handle."""
    _ended_for(Detach(NOWHERE, True), client)


GONE = (ended_or_closed() | closed_without_error() | stream_ended() | silence()).recorded()
"""Of a client that does not end the session, or not alone, which is judged by 1-0/2.5.4.unable-ends."""


@scenario("1-0/2.5.4.discards-until-end", role=CLIENT)
@broken_by("attaches all the same", of_client(answers(Attach, Attach("late", 3, True))), CLIENT)
def a_client_discards_what_follows_its_end(client: Client) -> None:
    """Behind the client's end with an error the server attaches a link before it ends: nothing comes."""
    session = client.session(precedes(End, Attach("late", 3, True), ASKS))
    session.says(Flow(0, 9, 0, 9, nowhere(session), 0, 0))
    if not isinstance(session.expect(session_ended(), GONE), End):
        raise Inapplicable("the client does not end a session for what it cannot process")
    session.connection.sends_no(Attach, Flow, End, Close)
    session.connection.works_on()


@scenario("1-0/2.5.5.discarding-ends", role=CLIENT)
@broken_by("has the old session still", withholds(Begin, skip=1), CLIENT)
def a_client_has_the_channel_again_behind_its_error(client: Client) -> None:
    """Behind the client's end with an error, and the server's, it begins another session."""
    session = client.session()
    session.says(Flow(0, 9, 0, 9, nowhere(session), 0, 0))
    if not isinstance(session.expect(session_ended(), GONE), End):
        raise Inapplicable("the client does not end a session for what it cannot process")
    session.connection.works_on()


@scenario("1-0/2.5.5.unmapped-channel-refused", role=CLIENT)
@broken_by("passes over it", ignores(Close), CLIENT)
def a_client_refuses_a_frame_without_a_session(client: Client) -> None:
    """A flow on a channel on which the server has begun nothing is refused."""
    session = client.session()
    session.connection.says(ASKS, channel=session.server_channel + 1)
    session.connection.expect(*refused(Refusal.ON_SESSION))
