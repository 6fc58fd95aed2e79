"""3.3.2.2 Restartable Mode: what a server prepares, and what it does not."""

from harness.amqp_fast.broken.deviations import adds, answers, carries, hears, replaces, rewrites, withholds
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import answered, message, read_head
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.vocabulary import NOT_IMPLEMENTED, Channel, Connection, Handle
from harness.play.watching import Found, Gaps, State, came, went
from scenarios.amqp_fast.channels.preparing import downloads, pattern
from scenarios.registry import broken_by, scenario, watch

SMALL = {"FRAME_MAX": 4096}
BODY = pattern(10_000)
"""A body of three fragments at least."""
FREE = "1390: any algorithm decides when a transfer is restarted"
NEVER = "the server prepares no message, as it need not (1390)"


def prepares(notify: Handle.Notify) -> Handle.Prepare:
    return Handle.Prepare(notify.handle_id)


def consumer(server: Server, queue: str, **channel: bool) -> FastHandle:
    """Give a handle that consumes a queue, on a new connection that takes fragments of 4096 octets."""
    connection = server.connection(SMALL)
    connection.channel()
    return connection.channel(**channel).handle().consume(queue)


@scenario("fast/3.3.2.2.clients-do-without")
@broken_by("wants what is large prepared", answers(Handle.Send, lambda it: Handle.Close(it.handle_id, 503)))
@broken_by("prepares on every channel", hears(Channel.Open, restartable=True))
@broken_by("delivers the first fragment alone", withholds(Handle.Notify, when=lambda it: not it.partial))
def large_messages_pass_without_restartable_mode(server: Server) -> None:
    """A message of several fragments is sent by HANDLE SEND alone, and comes by HANDLE NOTIFY alone."""
    queue, sender = server.queue(), server.handle()
    tag = sender.connection.tag()
    sender.send(*sender.carries(queue, BODY, tag=tag, most=4000))
    sender.expect(Handle.Reply)
    consumer(server, queue).observe(message(BODY))


@scenario("fast/3.3.2.2.no-prepare-uninvited")
@broken_by("prepares on every channel", hears(Channel.Open, restartable=True))
@broken_by("prepares what is large", adds(Handle.Notify, prepares, before=True, when=lambda it: it.partial))
def nothing_is_prepared_uninvited(server: Server) -> None:
    """A large message comes by HANDLE NOTIFY at once, even with a restartable channel beside its own."""
    queue = server.queue(BODY)
    connection = server.connection(SMALL)
    connection.channel(restartable=True)
    connection.channel().handle().consume(queue).observe(message(BODY))


class Invited(State):
    """The channels that are restartable, and the channel of each handle."""

    def __init__(self) -> None:
        self.channels: dict[int, bool] = {}
        self.handles: dict[int, int] = {}


@watch(
    "fast/3.3.2.2.prepare-where-invited",
    during="fast/3.3.2.2.large-prepared",
    looks_at=went(Channel.Open, Handle.Open) + came(Handle.Prepare),
    start=Invited,
    gap=Gaps.STOPS,
    never=NEVER,
)
@broken_by("prepares for another handle", rewrites(Handle.Prepare, handle_id=77))
@broken_by("prepares on the other channel", rewrites(Handle.Prepare, handle_id=1))
def prepares_where_it_was_invited(invited: Invited, each: Passage) -> Found:
    """Each HANDLE PREPARE of the server is on a handle of a channel that was opened restartable."""
    match each.said:
        case Channel.Open(channel_id=number, restartable=restartable):
            invited.channels[number] = restartable
        case Handle.Open(channel_id=channel, handle_id=number):
            invited.handles[number] = channel
        case Handle.Prepare(handle_id=number):
            good = invited.channels.get(invited.handles.get(number, -1), False)
            return good or f"prepared on handle {number} at {each.at:.4f} s, where nobody asked for it"
    return None


@scenario("fast/3.3.2.2.single-fragment-not-prepared")
@broken_by("prepares everything", replaces(Handle.Notify, prepares))
@broken_by("prepares what is more than a few octets", replaces(Handle.Notify, prepares, skip=1))
def what_fits_into_a_fragment_is_not_prepared(server: Server) -> None:
    """On a restartable channel messages of ten octets, and of three quarters of FRAME_MAX, come at once."""
    bodies = pattern(10), pattern(3072)
    consumer(server, server.queue(*bodies), restartable=True).hears(*bodies)


@scenario("fast/3.3.2.2.large-prepared")
@broken_by("prepares nothing", hears(Channel.Open, restartable=False))
@broken_by("sends nothing behind it", withholds(Handle.Notify))
@broken_by("closes the connection", replaces(Handle.Prepare, Connection.Close(NOT_IMPLEMENTED)))
def large_message_is_prepared(server: Server) -> None:
    """On a restartable channel a message of several fragments begins with HANDLE PREPARE, and comes whole."""
    queue = server.queue(BODY)
    connection = server.connection(SMALL)
    connection.channel().handle(1)
    reader = connection.channel(restartable=True).handle(2).consume(queue)
    seen = downloads(reader, Handle.Prepare, answered(Handle.Notify).under(FREE))
    server.judge("the message", "another message", seen.body == BODY)


@watch(
    "fast/3.3.2.2.server-prepares-first-fragment",
    during="fast/3.3.2.2.large-prepared",
    looks_at=came(Handle.Prepare),
    never=NEVER,
)
@broken_by("leaves out the header", carries(Handle.Prepare, lambda octets: octets[40:]))
@broken_by("cuts the header", carries(Handle.Prepare, lambda octets: octets[:9]))
@broken_by("announces a shorter body", carries(Handle.Prepare, lambda octets: bytes(4) + octets[4:]))
def prepare_begins_with_a_header(each: Passage) -> Found:
    """Behind each HANDLE PREPARE of the server is a header, and no more of the body than it announces."""
    fragment = each.unit.fragment  # type: ignore[union-attr]
    if (found := read_head(fragment)) is None:
        return f"prepared without a header, at {each.at:.4f} s"
    head, behind = found
    return len(fragment) - behind <= head.body_size or f"more than the body, at {each.at:.4f} s"


@scenario("fast/3.3.2.2.server-sends-the-rest")
@broken_by("sends everything again", hears(Handle.Ready, message_size=0))
@broken_by("sends what it thinks is missing", hears(Handle.Ready, message_size=lambda size: size or 4000))
@broken_by("does not say that it is the rest", rewrites(Handle.Notify, recovery=False))
@broken_by("sends nothing behind it", withholds(Handle.Notify))
def rest_of_a_prepared_message_follows(server: Server) -> None:
    """What HANDLE READY says is missing comes by HANDLE NOTIFY with recovery set, and makes it whole."""
    for held in (None, 0):
        queue = server.queue(BODY)
        reader = consumer(server, queue, restartable=True)
        seen = downloads(reader, Handle.Prepare, answered(Handle.Notify).recorded(FREE), has=held)
        if not isinstance(seen.parts[0], Handle.Prepare):
            server.inapplicable(NEVER)
        server.judge("the message", "another message", seen.body == BODY)
        told = all(each.recovery for each in seen.parts[1:])
        server.judge("recovery set in each fragment", "recovery not set", told)
