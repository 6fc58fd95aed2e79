"""2.5.2 to 2.5.5: ends, errors of sessions, and what may come in each state."""

from harness.amqp1_0.broken.deviations import (
    drops,
    follows,
    ignores,
    of_client,
    precedes,
    reframes,
    rejects,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.broken.faults import answers_all_the_same, does, permits, replies, together
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import (
    Refusal,
    begun,
    closed,
    ended_or_closed,
    ended_well,
    fields,
    refused,
    session_ended,
)
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.client.transcript import OF_AMQP, Framed
from harness.amqp1_0.peer.events import SayingEnd, SayingFrame, SessionState
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    End,
    Error,
    Flow,
    Open,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.peers.rows import always
from harness.play.watching import Found, Gaps, State, came
from scenarios.amqp1_0.talk import CLIENT, TALK
from scenarios.registry import broken_by, scenario, watch

UNMAPPED, MAPPED, DISCARDING = SessionState.UNMAPPED, SessionState.MAPPED, SessionState.DISCARDING
NOWHERE = 5
"""A handle that no link of ours has."""
OURS = Error(AmqpError.INTERNAL_ERROR, "the suite ends the session because of an error")
NO_SESSION = "session: refuses a channel without one"
HANDLE_UNKNOWN = "link: refuses a handle that is not attached"
FAULTY = Flow(0, 1, 0, 1)
ATTACH = Attach("x", 0, Role.SENDER)


# -- ends ----------------------------------------------------------------------------------------------


@scenario("1-0/2.5.2.end-answered")
@broken_by("answers no end", withholds(End))
@broken_by("ends on another channel", reframes(End, channel=7))
@broken_by("ends with an error", rewrites(End, error=OURS))
@broken_by("forgets to answer", replies("end: is answered"))
def an_end_is_answered_by_an_end(container: Container) -> None:
    """Of two sessions one is ended: an end without error comes on its channel, and the other goes on."""
    connection = container.alive()
    *others, last = (connection.begin(each) for each in connection.channels(2))
    last.tries(End(), ended_well())
    for other in others:
        other.ends_well()


@scenario("1-0/2.5.2.end-with-error-answered")
@broken_by("does not answer it", ignores(End, when=lambda said: said.error is not None))
@broken_by(
    "closes the connection",
    rejects(End, AmqpError.INTERNAL_ERROR, when=lambda said: said.error is not None),
)
def an_end_with_an_error_is_answered(container: Container) -> None:
    """An end with an error is answered by an end, and the connection goes on."""
    connection = container.alive().fence()
    session = connection.begin()
    session.tries(
        End(OURS), ended_well(), session_ended().recorded("the answer may have an error of its own")
    )
    connection.goes_on()


@scenario("1-0/2.5.2.channel-reusable")
@broken_by("begins one session on a channel", rejects(Begin, AmqpError.NOT_ALLOWED, skip=1))
@broken_by(
    "still has the old session", together(drops("end: is answered"), drops("begin: refuses a channel in use"))
)
def a_channel_can_be_used_again(container: Container) -> None:
    """Three sessions are begun and ended on one channel, one after the other."""
    connection = container.alive()
    for _ in range(3):
        connection.tries(the_begin(), begun(0), channel=0)
        connection.tries(End(), ended_well(), channel=0)


@scenario("1-0/2.5.3.one-end")
@broken_by("answers the end that answers its own", follows(End, End()))
@broken_by("ends once more", answers_all_the_same(DISCARDING, End, End(), of=SayingEnd))
def ends_that_cross_are_answers_to_each_other(container: Container) -> None:
    """A flow for a handle that no link has and an end in a single write: one end comes, and no other."""
    connection = container.alive()
    session = connection.begin()
    session.send(session.flow(handle=NOWHERE), End())
    seen = session.expect(
        session_ended() | ended_well(), closed().under("what has to become of the handle another rule says")
    )
    if isinstance(seen, End):
        connection.goes_on()


class Channels(State):
    """Channels of the server: on which it has begun a session, or ended one and begun no other."""

    def __init__(self) -> None:
        self.channels: set[int] = set()


@watch(
    "1-0/2.5.3.nothing-behind-the-end",
    during="1-0/2.5.2.end-answered",
    looks_at=came(OF_AMQP),
    start=Channels,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("says a last word", of_client(follows(End, FAULTY)), CLIENT)
@broken_by("says a last word", follows(End, FAULTY))
@broken_by("ends twice", follows(End, End()))
def behind_its_end_the_server_is_silent(ended: Channels, each: Framed) -> Found:
    """Behind an end of the server only a begin comes on its channel."""
    channel, said = each.unit.channel, each.said
    if isinstance(said, Begin):
        ended.channels.discard(channel)
    elif isinstance(said, End) and channel not in ended.channels:
        ended.channels.add(channel)
        return True
    elif channel in ended.channels and said is not None and not isinstance(said, (Open, Close)):
        return f"{said.type_name} on channel {channel} at {each.at:.4f} s"
    return None


# -- errors --------------------------------------------------------------------------------------------


@scenario("1-0/2.5.4.unable-ends")
@broken_by("passes over it", drops(HANDLE_UNKNOWN))
@broken_by("closes the connection", rejects(Flow, AmqpError.ILLEGAL_STATE, when=lambda said: said.handle))
@broken_by("does not say why", rewrites(End, error=None))
@broken_by("notices flows only", ignores(Transfer))
def what_a_session_cannot_process_ends_it(container: Container) -> None:
    """A flow, and a transfer, for a handle that no link has: the session is ended with an error."""
    connection = container.alive()
    for kind in (Flow, Transfer):
        session = connection.begin()
        lost = session.flow(handle=NOWHERE) if kind is Flow else Transfer(NOWHERE, 0, b"t", 0)
        session.tries(lost, session_ended())
        session.send(End())
    connection.goes_on()


@scenario("1-0/2.5.4.discards-until-end", needs={"address"})
@broken_by("answers a flow all the same", answers_all_the_same(DISCARDING, Flow, FAULTY, of=SayingFrame))
@broken_by("attaches all the same", answers_all_the_same(DISCARDING, Attach, ATTACH, of=SayingFrame))
@broken_by("ends for each that comes", answers_all_the_same(DISCARDING, Flow, End(OURS), of=SayingEnd))
@broken_by("takes the channel for free", does(DISCARDING, Flow, always, says=(Close(OURS),)))
def behind_an_end_with_an_error_all_is_discarded(container: Container) -> None:
    """An attach, flows and our end, behind the server's end with an error: nothing comes for them."""
    address, connection = container.address(), container.alive()
    session = connection.begin()
    lost = session.flow(handle=NOWHERE)
    seen = session.probe(lost, (End, Close), "no end came for what a session cannot process")
    if isinstance(seen, Close):
        container.inapplicable("the target closes the connection for what a session cannot process")
    attach = session.the_attach(Role.RECEIVER, source=Source(address), target=Target())
    session.send(attach, session.flow(echo=True), lost, End())
    connection.goes_on()


@scenario("1-0/2.5.5.discarding-ends")
@broken_by("discards for ever", drops("DISCARDING: R:END"))
@broken_by("has the old session still", rejects(Begin, AmqpError.NOT_ALLOWED, skip=1))
def a_channel_is_free_behind_an_end_with_an_error(container: Container) -> None:
    """Behind the server's end with an error, and ours, another session is begun on the channel."""
    connection = container.alive()
    session = connection.begin(0)
    lost = session.flow(handle=NOWHERE)
    seen = session.probe(lost, (End, Close), "no end came for what a session cannot process")
    if isinstance(seen, Close):
        container.inapplicable("the target closes the connection for what a session cannot process")
    session.send(End())
    connection.tries(the_begin(), begun(0), channel=0)


# -- states --------------------------------------------------------------------------------------------


def refuses_without_a_session(connection: AmqpConnection, said: Flow | Attach | End) -> None:
    """Judge that a performative on a channel that has no session is refused."""
    connection.begin(0).end()
    connection.gives_up_on(said, *refused(Refusal.ON_SESSION))


@scenario("1-0/2.5.5.unmapped-channel-refused", slow=True)
@broken_by("passes over it", drops(NO_SESSION))
@broken_by("answers an end", together(permits(UNMAPPED, SayingEnd), replies(NO_SESSION, End())))
@broken_by("passes over a flow", does(UNMAPPED, Flow, always))
@broken_by("takes an end for a late one", does(UNMAPPED, End, always))
def a_frame_on_a_channel_without_a_session_is_refused(container: Container) -> None:
    """A flow, an attach and an end on a channel whose session has ended are refused."""
    for said in (Flow(0, 1, 0, 1, echo=True), Attach("x", 0, Role.RECEIVER, source=Source("x")), End()):
        refuses_without_a_session(container.alive(), said)


@watch(
    "1-0/2.5.5.nothing-before-the-begin",
    during="1-0/2.5.1.begin-answered",
    looks_at=came(OF_AMQP),
    start=Channels,
    gap=Gaps.STOPS,
    of_clients=TALK,
)
@broken_by("flows before it begins", of_client(precedes(Begin, FAULTY)), CLIENT)
@broken_by("flows before it begins", precedes(Begin, FAULTY))
@broken_by("ends what it has not begun", replaces(Begin, End()))
def before_its_begin_the_server_is_silent(begun: Channels, each: Framed) -> Found:
    """The first performative of the server on the channel of a session is a begin."""
    channel, said = each.unit.channel, each.said
    if said is None or isinstance(said, (Open, Close)):
        return None
    if isinstance(said, Begin):
        begun.channels.add(channel)
        return True
    if channel in begun.channels:
        return None
    return f"{said.type_name} on channel {channel} at {each.at:.4f} s"


@scenario("1-0/2.5.5.ended-session-takes-nothing", needs={"address"})
@broken_by("attaches behind the end", follows(End, Attach("x", 0, Role.SENDER)))
@broken_by("answers in another order", answers_all_the_same(UNMAPPED, Attach, ATTACH, of=SayingFrame))
def behind_our_end_nothing_is_taken(container: Container) -> None:
    """An end and an attach in a single write: no attach comes back."""
    address, connection = container.address(), container.alive()
    control = connection.begin()
    control.fence(address)
    control.end()
    session = connection.begin()
    attach = session.the_attach(Role.RECEIVER, source=Source(address), target=Target())
    session.send(End(), attach)
    seen = session.expect(ended_well() | ended_or_closed())
    if isinstance(seen, End):
        connection.goes_on(ended_or_closed())


@scenario("1-0/2.5.5.unmapped-forgets", needs={"address"})
@broken_by("still has the handle", rejects(Attach, AmqpError.NOT_ALLOWED, skip=1))
@broken_by("goes on counting", rewrites(Flow, next_incoming_id=lambda number: number % 1000))
def a_session_on_an_old_channel_is_a_new_one(container: Container) -> None:
    """Behind the end of a session its handle is free, and ids begin where the new begin says."""
    address, connection = container.address(), container.alive()
    old = connection.begin(0)
    old.sender(address).delivers(b"one", b"two")
    old.end()
    new = connection.begin(0, next_outgoing_id=1000)
    new.tries(new.the_attach(Role.SENDER, source=Source(), target=Target(address)), Attach)
    new.expect(fields(Flow, next_incoming_id=1000))
