"""3.4.2 Message Fragmentation."""

from harness.amqp_fast.broken.deviations import Fault, adds, carries, hears, ignores, rewrites, withholds
from harness.amqp_fast.broken.message_faults import hand_on_whatever
from harness.amqp_fast.client.outcomes import Received, closed_anyhow, message, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage, command_of
from harness.amqp_fast.peer.tables.handle import confirmed
from harness.amqp_fast.peer.tables.sending import forget
from harness.amqp_fast.wire.vocabulary import Channel, Connection, Handle
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import RECEIVED
from scenarios.amqp_fast.channels.common import holds
from scenarios.amqp_fast.channels.preparing import pattern
from scenarios.amqp_fast.messages.common import ENDED, SMALL, small_reader
from scenarios.registry import broken_by, scenario, watch

SPLIT, UNMIXED = "fast/3.4.2.long-messages-split", "fast/3.4.2.handles-not-mixed"
LARGEST = 4096
SEVERAL = 20_000
BY_HANDLE = "each handle has one message under way, so that they can be told apart"


def is_partial(carrier: Handle.Notify | Handle.Send) -> bool:
    return carrier.partial


def other(number: int) -> int:
    return 3 - number


def following(number: int) -> int:
    return number + 1


def is_last(carrier: Handle.Notify | Handle.Send) -> bool:
    return not carrier.partial


@scenario(SPLIT)
@scenario("fast/3.4.4.partial-flags")
@broken_by("does not look at our FRAME_MAX", hears(Connection.Tune, options={}))
@broken_by("never ends a message", rewrites(Handle.Notify, partial=True))
@broken_by("ends messages with their first fragment", rewrites(Handle.Notify, partial=False))
@broken_by("delivers the first fragment alone", withholds(Handle.Notify, when=is_last))
def long_messages_come_in_fragments(server: Server) -> None:
    """What fits comes in one fragment, what does not in several: the last one alone is not partial."""
    bodies = pattern(10), pattern(5000), pattern(SEVERAL)
    reader = small_reader(server, server.queue(*bodies))
    for body in bodies:
        seen: Received = reader.observe(message(body))
        sizes = [each.fragment_size for each in seen.parts]
        fits = all(0 < size <= LARGEST for size in sizes) and sum(sizes) == len(seen.octets)
        server.judge("fragments of at most 4096 octets", "larger or empty fragments", fits)
        server.judge("one or several", "another number", (len(sizes) == 1) == (len(body) < 4000))
        server.judge(
            "the last one not partial", "others", [each.partial for each in seen.parts].count(False) == 1
        )


class Limit(State):
    """The FRAME_MAX that we told, or else the server."""

    def __init__(self) -> None:
        self.octets = 0


@watch(
    "fast/3.4.2.fragment-within-frame-max",
    during=SPLIT,
    looks_at=went(Connection.Tune) + came(Connection.Tune, Handle.Notify, Handle.Prepare),
    start=Limit,
    gap=Gaps.STOPS,
)
@broken_by("does not look at our FRAME_MAX", hears(Connection.Tune, options={}))
@broken_by("sends more than it may", carries(Handle.Notify, lambda octets: octets + bytes(LARGEST)))
def fragments_are_within_the_limit(limit: Limit, each: Passage) -> Found:
    """No fragment of the server is longer than the FRAME_MAX that we told, or else the server."""
    match each.said:
        case Connection.Tune(options=options):
            told = options.get("FRAME_MAX", limit.octets)
            limit.octets = told if isinstance(told, int) else limit.octets
            return None
        case Handle.Notify(fragment_size=size) | Handle.Prepare(fragment_size=size) if limit.octets:
            return size <= limit.octets or f"a fragment of {size} octets, at {each.at:.4f} s"
    return None


class UnderWay(State):
    """The channel of each handle, and the handle whose message is under way on each channel."""

    def __init__(self) -> None:
        self.channels: dict[int, int] = {}
        self.notify: dict[int, Handle.Notify] = {}

    def see(self, each: Passage) -> tuple[Handle.Notify | None, Handle.Notify | None]:
        """Take note of a passage; give the fragment before it on its channel, and itself if it is one."""
        said = each.said
        number = getattr(said, "handle_id", None)
        if each.direction is not RECEIVED:
            self.channels[number or 0] = getattr(said, "channel_id", 0)
            return None, None
        channel = self.channels.get(number, 0) if number is not None else getattr(said, "channel_id", 0)
        before = self.notify.pop(channel, None)
        if isinstance(said, Handle.Notify):
            if said.partial:
                self.notify[channel] = said
            return before, said
        if before is not None and not isinstance(said, Channel.Close | Handle.Close):
            self.notify[channel] = before
        return before, None


COMMANDS = came(
    Channel.Close, Handle.Close, Handle.Notify, Handle.Index, Handle.Created, Handle.Ready, Handle.Prepare
)


@watch(
    "fast/3.4.2.fragments-in-series",
    during=UNMIXED,
    looks_at=went(Handle.Open) + COMMANDS,
    start=UnderWay,
    gap=Gaps.STOPS,
)
@broken_by("says more between", adds(Handle.Notify, lambda it: Handle.Index(it.handle_id), when=is_partial))
@broken_by("begins another message between", rewrites(Handle.Notify, is_last, handle_id=other))
def fragments_follow_one_another(under_way: UnderWay, each: Passage) -> Found:
    """Behind a fragment that is not the last one comes, on its channel, the next one of its handle."""
    before, notify = under_way.see(each)
    if before is None or isinstance(each.said, Channel.Close | Handle.Close):
        return None
    same = notify is not None and notify.handle_id == before.handle_id
    return same or f"{each.said.full_name} within a message, at {each.at:.4f} s"


@watch(
    "fast/3.4.2.messages-not-mixed",
    during=UNMIXED,
    looks_at=went(Handle.Open) + COMMANDS,
    start=UnderWay,
    gap=Gaps.STOPS,
)
@broken_by("mixes messages of two handles", rewrites(Handle.Notify, is_last, handle_id=other))
@broken_by("mixes messages of one handle", rewrites(Handle.Notify, is_last, message_nbr=following))
def messages_are_not_mixed(under_way: UnderWay, each: Passage) -> Found:
    """Until a message is complete its channel has no fragment of another handle, or with another number."""
    before, notify = under_way.see(each)
    if before is None or notify is None:
        return None
    same = (notify.handle_id, notify.message_nbr) == (before.handle_id, before.message_nbr)
    return same or f"a fragment of another message, at {each.at:.4f} s"


@scenario(UNMIXED)
@broken_by("mixes them", rewrites(Handle.Notify, is_partial, handle_id=other))
@broken_by("loses a fragment", withholds(Handle.Notify, is_partial, skip=7))
def messages_of_two_handles_are_not_mixed(server: Server) -> None:
    """Three long messages from each of two queues come on one channel one after the other, each whole."""
    bodies = {place: [b"%d" % place + pattern(SEVERAL + each) for each in range(3)] for place in (1, 2)}
    queues = {place: server.queue(*wanted) for place, wanted in bodies.items()}
    channel = server.connection(SMALL).channel()
    for place, queue in queues.items():
        channel.handle(place).consume(queue)
    for _ in range(6):
        seen: Received = channel.observe(message())
        of = {each.handle_id for each in seen.parts}
        wanted = bodies.get(seen.command.handle_id, [])
        server.judge("fragments of one handle", "of several", len(of) == 1)
        server.judge("a message as it was sent", "another one", seen.body in wanted)


@scenario("fast/3.4.2.mixed-messages-refused")
@broken_by(
    "mixes them",
    Fault.together(
        Fault.drops("handle send: among fragments is refused"),
        Fault.changes("handle send: of another size is refused", hand_on_whatever, forget, answer=confirmed),
    ),
)
@broken_by("passes over it", ignores(Handle.Send, skip=4))
def mixed_fragments_are_refused(server: Server) -> None:
    """Within a message of one handle another one is sent by a second handle: no mixture is delivered."""
    queue, channel = server.queue(), server.channel(new_connection=True)
    first, second = channel.handle(), channel.handle()
    for handle, most in ((first, 60), (second, 0)):
        handle.publish(queue, pattern(100), most=most)
    tag, later = channel.connection.tag(), channel.connection.tag()
    begun = first.carries(queue, b"first" + pattern(100), most=100, tag=later)
    first.send(begun[0], *second.carries(queue, b"second", tag=tag))
    legal = closed_anyhow(), replied(Handle.Reply, tag).under(BY_HANDLE), ENDED
    both = isinstance(channel.expect(*legal), Handle.Reply)
    if both:
        first.send(*begun[1:])
        channel.expect(replied(Handle.Reply, later))
    whole = [b"first" + pattern(100), b"second"] if both else []
    holds(server, queue, *2 * [pattern(100)], *whole)


@scenario("fast/3.4.2.interleaved-on-channels")
@broken_by("has one message under way on a connection", hears(Handle.Send, handle_id=1))
@broken_by("loses a fragment", ignores(Handle.Send, is_partial, skip=3))
def client_interleaves_messages_of_two_channels(server: Server) -> None:
    """Fragments of two messages, sent in turn on two channels, are put together, each by itself."""
    queue, connection = server.queue(), server.connection()
    handles = [connection.channel().handle(number) for number in (1, 2)]
    bodies = [b"%d" % handle.id + pattern(300) for handle in handles]
    tags = [connection.tag() for _ in handles]
    sent = [
        handle.carries(queue, body, most=100, tag=tag)
        for handle, body, tag in zip(handles, bodies, tags, strict=True)
    ]
    connection.send(*(frame for pair in zip(*sent, strict=True) for frame in pair))
    for handle, tag in zip(handles, tags, strict=True):
        handle.expect(replied(Handle.Reply, tag))
    holds(server, queue, *bodies)


@scenario("fast/3.4.2.server-interleaves")
@broken_by("loses a fragment", withholds(Handle.Notify, is_partial, skip=3))
@broken_by("mixes them", rewrites(Handle.Notify, is_last, handle_id=other))
def server_may_interleave_messages_of_two_channels(server: Server) -> None:
    """Long messages on two channels come whole; whether their fragments come in turn, is recorded."""
    bodies = [b"%d" % each + pattern(2 * SEVERAL) for each in range(2)]
    queues = [server.queue(body) for body in bodies]
    connection = server.connection(SMALL)
    readers = [connection.channel().handle() for _ in queues]
    for reader, queue in zip(readers, queues, strict=True):
        reader.send(reader.consuming(queue, no_ack=True))
    for reader, body in zip(readers, bodies, strict=True):
        reader.hears(body)
    came_from = [
        said.handle_id
        for unit in connection.link.received()
        if isinstance(said := command_of(unit), Handle.Notify)
    ]
    server.note(
        "messages are interleaved" if came_from != sorted(came_from) else "messages are not interleaved"
    )
