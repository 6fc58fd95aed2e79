"""2.5 and 2.5.1: sessions are begun on channels, and carry links."""

from harness.amqp1_0.broken.deviations import (
    changes,
    drops,
    follows,
    reframes,
    rejects,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp1_0.broken.faults import permits, replies, together
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import Refusal, answered, begun, detached, ended_or_closed, refused
from harness.amqp1_0.client.session import the_begin
from harness.amqp1_0.peer.events import SayingBegin, SessionState
from harness.amqp1_0.peer.tables.attach import attach_to_node
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Detach,
    End,
    Error,
    Role,
    Source,
    Target,
    Transfer,
)
from scenarios.registry import broken_by, scenario

NO_MORE = Error(AmqpError.RESOURCE_LIMIT_EXCEEDED, "one is enough")


@scenario("1-0/2.5.links-of-either-direction", needs={"address"})
@broken_by("takes links of one direction", replaces(Attach, End(NO_MORE), when=lambda said: said.role))
@broken_by("takes two links", replaces(Attach, End(NO_MORE), skip=2))
def links_of_both_directions_share_a_session(container: Container) -> None:
    """Two receivers and two senders attach to one address on one session, in turn."""
    address = container.address()
    session = container.session()
    session.receiver(address)
    for role in (Role.SENDER, Role.RECEIVER, Role.SENDER):
        far = {"target": Target(address)} if role is Role.SENDER else {"source": Source(address)}
        session.tries(session.the_attach(role, **{"source": Source(), "target": Target()} | far), Attach)


@scenario("1-0/2.5.link-on-one-session", needs={"address"}, slow=True)
@broken_by("attaches it twice", changes("attach: is answered", effects=(attach_to_node,)))
@broken_by("says nothing of it", withholds(Detach))
def a_link_is_attached_to_one_session(container: Container) -> None:
    """Of two receivers of one name on two sessions of a connection one is detached with an error."""
    address, connection = container.address(), container.alive()
    if len(connection.channels(2)) < 2:
        container.inapplicable("the target has one session at a time")
    first = connection.begin().receiver(address)
    again = Attach(first.attach.name, 0, Role.RECEIVER, source=Source(address), target=Target())
    connection.begin().send(again)
    ends = detached() | ended_or_closed()
    if isinstance(connection.expect(ends | answered(Attach)), Attach):
        connection.expect(ends)


@scenario("1-0/2.5.deliveries-share-one-sequence", needs={"address"})
@broken_by("counts by twos", rewrites(Transfer, delivery_id=lambda number: number * 2))
@broken_by("gives each delivery the same id", rewrites(Transfer, delivery_id=0))
def deliveries_on_two_links_are_numbered_in_one_row(container: Container) -> None:
    """Two messages taken on each of two receivers in turn have four delivery-ids in a row."""
    address = container.stocked(b"1", b"2", b"3", b"4")
    session = container.session()
    one, other = session.receiver(address), session.receiver(address)
    first, *rest = (link.takes(1)[0] for link in (one, other, one, other))
    steps = [each.id - first.id for each in rest]
    session.judge(
        "delivery-ids in a row over both links", f"ids {steps} behind the first", steps == [1, 2, 3]
    )


@scenario("1-0/2.5.1.begin-answered")
@broken_by("answers no begin", withholds(Begin))
@broken_by("answers the first begin only", withholds(Begin, skip=1))
@broken_by("begins twice in answer", follows(Begin, Begin(0, 0, 1, 1)))
def a_begin_is_answered_by_a_begin(container: Container) -> None:
    """Each of three begins is answered by one begin, and by nothing else."""
    connection = container.alive()
    for channel in connection.channels(3):
        connection.tries(the_begin(), begun(channel), channel=channel)
    connection.got_nothing()


@scenario("1-0/2.5.1.outgoing-channel-unused")
@broken_by("has all sessions on channel 0", reframes(Begin, channel=0))
def sessions_are_answered_on_channels_of_their_own(container: Container) -> None:
    """The begins that answer four of ours come on four different channels."""
    connection = container.alive()
    channels = [connection.begin(each).incoming_channel for each in connection.channels(4)]
    distinct = len(set(channels)) == len(channels)
    connection.judge("a channel of its own for each session", "one channel for two sessions", distinct)


@scenario("1-0/2.5.1.lowest-channel")
@broken_by("takes a high channel", reframes(Begin, skip=2, channel=9))
@broken_by("never takes a channel again", reframes(Begin, skip=3, channel=3))
def the_lowest_free_channel_is_taken(container: Container) -> None:
    """Three sessions are answered on channels 0, 1 and 2; behind the end of the second, another on 1."""
    connection = container.alive()
    if len(connection.channels(3)) < 3:
        container.inapplicable("the target accepts fewer than three channels")
    first, second, third = (connection.begin(each) for each in range(3))
    second.end()
    taken = [each.incoming_channel for each in (first, second, third, connection.begin(1))]
    container.judge(
        "channels 0, 1, 2, and 1 again",
        f"channels {', '.join(map(str, taken))}",
        taken == [0, 1, 2, 1],
        "any channel that is free is legal; the lowest is recommended",
    )


@scenario("1-0/2.5.1.remote-channel-set")
@broken_by("does not say what it answers", rewrites(Begin, remote_channel=None))
@broken_by("is one off", rewrites(Begin, remote_channel=lambda channel: channel + 1))
@broken_by("names channel 0 always", rewrites(Begin, remote_channel=0))
def the_begin_that_answers_names_our_channel(container: Container) -> None:
    """Begins on three channels, the highest first, are answered by begins that name them."""
    connection = container.alive()
    for channel in reversed(connection.channels(3)):
        connection.tries(the_begin(), begun(channel), channel=channel)


CHANNEL_IN_USE = "begin: refuses a channel in use"


@scenario("1-0/2.5.1.used-channel-refused")
@broken_by("passes over it", drops(CHANNEL_IN_USE))
@broken_by(
    "begins again",
    together(permits(SessionState.MAPPED, SayingBegin), replies(CHANNEL_IN_USE, Begin(0, 0, 1, 1))),
)
def a_begin_on_a_channel_in_use_is_refused(container: Container) -> None:
    """A second begin on a channel that has a session is refused."""
    session = container.session()
    session.tries(the_begin(), *refused(Refusal.ON_SESSION))


@scenario("1-0/2.5.5.sends-behind-its-begin", needs={"address"})
@broken_by("loses what comes behind a begin", rejects(Attach, AmqpError.ILLEGAL_STATE, skip=1))
@broken_by("answers no such attach", withholds(Attach, skip=1))
def an_attach_may_follow_its_begin_at_once(container: Container) -> None:
    """A begin and an attach in a single write are answered by a begin and an attach."""
    address, connection = container.address(), container.alive()
    control = connection.begin()
    control.fence(address)
    control.end()
    channel = connection.free_channel()
    attach = Attach("piped", 0, Role.RECEIVER, source=Source(address), target=Target())
    connection.send(the_begin(), attach, channel=channel)
    connection.expect_each(begun(channel), Attach)
