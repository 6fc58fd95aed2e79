"""3.5.9 HANDLE CREATED Command."""

from harness.amqp_fast.broken.deviations import Fault, ignores, replaces, rewrites, withholds
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.tables import receiving
from harness.amqp_fast.peer.tables.handle import confirmed as replies
from harness.amqp_fast.peer.turn import Reply
from harness.amqp_fast.wire.vocabulary import OK, Handle
from harness.play.watching import Found, Gaps, State, came, went
from scenarios.amqp_fast.talk import are_confirmed, dynamic_name, indexed, is_named
from scenarios.registry import broken_by, scenario, watch

NAMED = "fast/3.5.9.tells-the-name"
EACH = 10
"""Queues without a name of ours that each of two connections makes."""


def confirms_alone(turn: AnyTurn) -> Reply:
    """Confirms that there is a queue, and keeps its name for itself."""
    return replies(turn)


@scenario(NAMED)
@broken_by("tells nothing", withholds(Handle.Created))
@broken_by("confirms alone", Fault.changes("handle consume: is done", answer=confirms_alone))
@broken_by("replies instead", replaces(Handle.Created, lambda it: Handle.Reply(it.handle_id, 0, OK)))
@broken_by("tells an empty name", rewrites(Handle.Created, dest_name=b""))
@broken_by("answers only who wants a reply", ignores(Handle.Consume, when=lambda it: not it.confirm_tag))
def name_of_a_dynamic_queue_is_told(server: Server) -> None:
    """With a tag and without one HANDLE CREATED comes for a queue that has no name of ours."""
    channel = server.channel()
    channel.handle()
    for tag in (channel.connection.tag(), 0):
        handle = channel.handle()
        name = is_named(handle, handle.consuming("", dynamic=True, confirm_tag=tag), tag)
        server.judge("a name", "an empty name", name != b"")


class Consuming(State):
    """The handles that we have opened, and those that have asked for a dynamic queue."""

    def __init__(self) -> None:
        self.opened: set[int] = set()
        self.dynamic: set[int] = set()


@watch(
    "fast/3.5.9.of-the-handle",
    during=NAMED,
    looks_at=went(Handle.Open, Handle.Consume) + came(Handle.Created),
    start=Consuming,
    gap=Gaps.STOPS,
)
@broken_by("names a handle of its own", rewrites(Handle.Created, handle_id=999))
@broken_by("names the first handle", rewrites(Handle.Created, handle_id=1))
def created_names_the_handle_that_consumes(state: Consuming, each: Passage) -> Found:
    """HANDLE CREATED is for a handle that we opened, and that has asked for a dynamic queue."""
    match each.said:
        case Handle.Open(handle_id=number):
            state.opened.add(number)
        case Handle.Consume(handle_id=number, dynamic=dynamic):
            if dynamic:
                state.dynamic.add(number)
        case Handle.Created(handle_id=number):
            good = number in state.opened & state.dynamic
            return good or f"created for handle {number}, which has not asked, at {each.at:.4f} s"
    return None


@scenario("fast/3.5.9.name-is-usable")
@broken_by("tells another name", rewrites(Handle.Created, dest_name=lambda name: name + b"-"))
@broken_by("tells it in capitals", rewrites(Handle.Created, dest_name=bytes.upper))
@broken_by("tells the beginning", rewrites(Handle.Created, dest_name=lambda name: name[:-1]))
@broken_by("delivers nothing from it", withholds(Handle.Notify))
def queue_is_reached_by_its_name(server: Server) -> None:
    """By the name in HANDLE CREATED the queue is asked about, and sent to: the message is delivered."""
    handle = server.handle()
    name = dynamic_name(handle)
    server.judge("nothing is listed", "something", not indexed(server.handle(), name))
    tag = handle.connection.tag()
    handle.send(*handle.carries(name, b"one", tag=tag))
    are_confirmed(handle, [tag], b"one")


def by_the_connection(turn: AnyTurn) -> None:
    """Names queues by how many its connection has made."""
    made = [each for handle in turn.connection.handles.values() for each in handle.consumers]
    named = turn.event.replace(dest_name=turn.event.dest_name or b"own-%d" % len(made))
    turn.event = named
    receiving.consume(turn)


def created_always(turn: AnyTurn) -> Reply:
    """Tells the name."""
    name = turn.handle.consumers[-1].queue.name
    return (Handle.Created(turn.handle.id, name), *replies(turn))


@scenario("fast/3.5.9.unique-in-the-host")
@broken_by("gives each the same", rewrites(Handle.Created, dest_name=b"dynamic"))
@broken_by("counts to nine", rewrites(Handle.Created, dest_name=lambda name: name[:-1]))
@broken_by(
    "counts anew on each connection",
    Fault.changes("handle consume: is done", by_the_connection, answer=created_always),
)
def generated_names_are_unique(server: Server) -> None:
    """A queue with a name of ours, and twenty without, on two connections: no two names are the same."""
    names = [server.queue().encode()]
    for _ in range(2):
        handle = server.handle(new_connection=True)
        names += [dynamic_name(handle) for _ in range(EACH)]
    server.judge("no two names are the same", "some are", len(names) == len({*names}))
