"""3.2.5.1 Connection Tuning Options: the largest frames, on either side."""

from collections.abc import Iterator
from typing import Any

from harness.amqp_fast.broken.deviations import (
    Interposer,
    adds,
    answers,
    hears,
    ignores,
    rewrites,
    together,
    withholds,
)
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import refused, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.limits import Limits
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import Direction
from scenarios.amqp_fast.connections.negotiation import does_not_open, granted, opens, proposed, serves
from scenarios.amqp_fast.connections.s3_2_5_connection_tune import (
    LEAST,
    REFUSAL,
    STAYS,
    TAKES_ALL,
    within_reach,
)
from scenarios.registry import broken_by, scenario, watch

DURING = "fast/3.2.4.accepted-by-tune"
NAMED = frozenset({"FRAME_MAX", "CHANNEL_MAX", "HANDLE_MAX", "HEARTBEAT", "TXN_LIMIT"})
SPARE = 8
"""Octets that no reading of a limit decides about."""
MOST = 4 << 20
"""A larger fragment is not sent to a stranger."""
LONG = 60_000
"""Octets of a command with a table that is nearly full."""
LEFT_OUT = "the server leaves the option out"
WORDLESS = "nothing says how what is too large is refused"


def tells(**options: Any) -> Interposer:
    """Tells other values of some options."""
    return rewrites(Connection.Tune, options=lambda told: {**told, **options})


# -- what the server tells -----------------------------------------------------------------------------


@watch("fast/3.2.5.1.only-named-options", during=DURING, looks_at=came(Connection.Tune))
@broken_by("tells another", tells(QUEUE_MAX=10))
def no_other_options_are_told(each: Passage) -> Found:
    """TUNE has no option but the five that there are."""
    others = each.said.options.keys() - NAMED
    return not others or f"another option at {each.at:.4f} s"


@watch("fast/3.2.5.1.server-option-types", during=DURING, looks_at=came(Connection.Tune))
@broken_by("writes one as text", tells(HANDLE_MAX=b"64"))
def options_are_integers(each: Passage) -> Iterator[Found]:
    """Each of the five options is an integer."""
    for name in each.said.options.keys() & NAMED:
        yield isinstance(each.said.options[name], int) or f"{name} is no integer at {each.at:.4f} s"


@watch("fast/3.2.5.1.frame-max-not-zero", during=DURING, looks_at=came(Connection.Tune), never=LEFT_OUT)
@broken_by("is zero", tells(FRAME_MAX=0))
def frame_max_is_not_zero(each: Passage) -> Found:
    """FRAME_MAX is not zero."""
    if "FRAME_MAX" not in each.said.options:
        return None
    return each.said.options["FRAME_MAX"] != 0 or f"FRAME_MAX is zero at {each.at:.4f} s"


@watch("fast/3.2.5.1.frame-max-lower-bound", during=DURING, looks_at=came(Connection.Tune), never=LEFT_OUT)
@broken_by("is smaller", tells(FRAME_MAX=1023))
def frame_max_is_not_too_small(each: Passage) -> Found:
    """FRAME_MAX is at least 1024."""
    told = each.said.options.get("FRAME_MAX")
    if not isinstance(told, int):
        return None
    return told >= LEAST or f"FRAME_MAX is {told} at {each.at:.4f} s"


class Sizes(State):
    """The size of each command of the server, and the limits that were told."""

    def __init__(self) -> None:
        self.largest = self.limit = 0

    def end(self) -> Iterator[Found]:
        """Say whether all were within the limit."""
        if self.limit:
            yield self.largest <= self.limit or f"a command of {self.largest} octets, FRAME_MAX {self.limit}"


@watch(
    "fast/3.2.5.1.frame-max-fits-commands",
    during=DURING,
    looks_at=came(Frame),
    start=Sizes,
    gap=Gaps.STOPS,
    never=LEFT_OUT,
)
@broken_by(
    "sends larger ones itself",
    together(tells(FRAME_MAX=LEAST), rewrites(Connection.Challenge, challenges={"REALM": bytes(LEAST)})),
)
def commands_of_the_server_fit_in_its_own_limit(sizes: Sizes, each: Passage) -> None:
    """No command of the server is larger than its FRAME_MAX, none before its TUNE either."""
    assert isinstance(each.unit, Frame)
    sizes.largest = max(sizes.largest, len(each.unit.payload) + 1)
    if isinstance(each.said, Connection.Tune) and isinstance(each.said.options.get("FRAME_MAX"), int):
        sizes.limit = each.said.options["FRAME_MAX"]


@watch("fast/3.2.5.1.heartbeat-in-seconds", during=DURING, looks_at=came(Connection.Tune), never=LEFT_OUT)
@broken_by("counts milliseconds", tells(HEARTBEAT=600_000))
@broken_by("is negative", tells(HEARTBEAT=-1))
def the_heartbeat_is_a_number_of_seconds(each: Passage) -> Found:
    """HEARTBEAT is from zero to the seconds of a day."""
    told = each.said.options.get("HEARTBEAT")
    if not isinstance(told, int):
        return None
    return 0 <= told <= 86_400 or f"HEARTBEAT is {told} at {each.at:.4f} s"


# -- what the server takes -----------------------------------------------------------------------------


def room(server: Server) -> int:
    """Give the largest fragment that the server takes, where one can be sent."""
    told = proposed(server, "FRAME_MAX")
    if not 0 < told <= MOST:
        server.inapplicable("the server names no FRAME_MAX that could be reached")
    return told


def in_one_piece(handle: FastHandle, queue: str, size: int) -> tuple[int, bytes]:
    """Send a message as one fragment of so many octets; give its tag and its body."""
    head = len(handle.carries(queue)[0].fragment)
    body, tag = b"x" * (size - head), handle.connection.tag()
    handle.send(*handle.carries(queue, body, tag=tag, most=size))
    return tag, body


def is_long(said: Any) -> bool:
    """Say whether a command of the client is long."""
    return len(said.encode()) > LEAST


def is_half(said: Any) -> bool:
    """Say whether a fragment is larger than half of what the peer takes."""
    return bool(said.fragment_size > Limits().frame // 2)


def is_too_long(said: Any) -> bool:
    """Say whether a fragment is larger than the peer takes."""
    return bool(said.fragment_size > Limits().frame)


def done(said: Any) -> Handle.Reply:
    """Confirm a message."""
    return Handle.Reply(said.handle_id, said.confirm_tag, OK)


@scenario("fast/3.2.5.1.frame-max-accepted")
@broken_by("takes half of it", answers(Handle.Send, Handle.Close(1, 501), when=is_half))
@broken_by("reads no long command", ignores(Channel.Open, when=is_long))
def fragments_and_commands_of_that_size_are_accepted(server: Server) -> None:
    """A message in a fragment of FRAME_MAX less 8 comes through, and a CHANNEL OPEN of that size opens."""
    size, queue = room(server), server.queue()
    handle = server.handle(new_connection=True)
    tag, body = in_one_piece(handle, queue, size - SPARE)
    handle.expect(granted(Handle.Reply, tag))
    handle.consume(queue).hears(body)
    connection = handle.connection
    if bears_options(server):
        channel = connection.unopened()
        opening = Channel.Open(channel.id, connection.tag(), options={"FILL": b""})
        fill = min(size - SPARE, LONG) - len(opening.encode()) - 2
        channel.send(opening.replace(options={"FILL": b"x" * fill}))
        channel.expect(granted(Channel.Reply, opening.confirm_tag))


def bears_options(server: Server) -> bool:
    """Say whether the server opens a channel with an option that nobody has defined."""
    channel = server.connection().unopened()
    channel.send(Channel.Open(channel.id, 1000, options={"FILL": b""}))
    return granted(Channel.Reply, 1000).matches(channel.link.next(channel.id, server.context.patience.answer))


@scenario("fast/3.2.5.1.frame-max-exceeded")
@broken_by("confirms it all the same", answers(Handle.Send, done, when=is_too_long))
@broken_by("says nothing", ignores(Handle.Send, when=is_too_long))
def larger_fragments_are_refused(server: Server) -> None:
    """A message in a fragment of 64 octets more than FRAME_MAX is refused, and is not delivered."""
    size, queue = room(server), server.queue()
    handle = server.handle(new_connection=True)
    tag, body = in_one_piece(handle, queue, size - SPARE)
    handle.expect(granted(Handle.Reply, tag))
    in_one_piece(handle, queue, size + 64)
    handle.expect(*refused(Handle.Close), stream_ends().under(WORDLESS))
    other = server.handle(new_connection=True).consume(queue)
    other.hears(body)
    other.stays_quiet()


# -- what the client tells -----------------------------------------------------------------------------


def lacks_size(tune: Any) -> bool:
    """Say whether a TUNE names no FRAME_MAX."""
    return "FRAME_MAX" not in tune.options


def has_beat(tune: Any) -> bool:
    """Say whether a TUNE asks for a heartbeat."""
    return "HEARTBEAT" in tune.options


def is_zero(tune: Any) -> bool:
    """Say whether a TUNE has a FRAME_MAX of zero."""
    return bool(tune.options.get("FRAME_MAX") == 0)


@scenario("fast/3.2.5.1.client-options-accepted")
@broken_by("wants FRAME_MAX in each", answers(Connection.Tune, REFUSAL, when=lacks_size))
@broken_by("wants no heartbeat", answers(Connection.Tune, REFUSAL, when=has_beat))
def the_client_names_frame_max_and_heartbeat(server: Server) -> None:
    """OPEN is confirmed behind FRAME_MAX alone, HEARTBEAT alone, both, and neither."""
    size, beat = {"FRAME_MAX": LEAST}, {"HEARTBEAT": 60}
    for options in (size, beat, size | beat, {}):
        opens(server.tuned(), Connection.Tune(options))


@scenario("fast/3.2.5.1.client-frame-max-too-large")
@broken_by("takes what it is told", TAKES_ALL)
@broken_by("stays", STAYS)
def a_frame_max_above_the_servers_is_refused(server: Server) -> None:
    """FRAME_MAX of twice the server's, and the greatest that there is, end the connection."""
    told = within_reach(server)
    for value in (min(2 * told, 0x7FFFFFFF), 0x7FFFFFFF):
        does_not_open(server.tuned(), Connection.Tune({"FRAME_MAX": value}))


@scenario("fast/3.2.5.1.client-frame-max-too-small")
@broken_by("takes what it is told", TAKES_ALL)
@broken_by("takes zero for no limit", hears(Connection.Tune, options={}, when=is_zero))
@broken_by("stays", STAYS)
def a_frame_max_below_1024_is_refused(server: Server) -> None:
    """FRAME_MAX 1023, 1 and 0 each end the connection."""
    opens(server.tuned(), Connection.Tune({"FRAME_MAX": LEAST}))
    for value in (LEAST - 1, 1, 0):
        does_not_open(server.tuned(), Connection.Tune({"FRAME_MAX": value}))


@scenario("fast/3.2.5.1.client-frame-max-1024")
@broken_by("wants more", answers(Connection.Tune, REFUSAL))
@broken_by("delivers nothing then", withholds(Handle.Notify))
def a_frame_max_of_1024_serves(server: Server) -> None:
    """With FRAME_MAX 1024 a channel opens, and a small message comes through."""
    queue = server.queue()
    connection = server.tuned()
    opens(connection, Connection.Tune({"FRAME_MAX": LEAST}))
    serves(connection)
    handle = connection.channel().handle().consume(queue)
    handle.publish(queue, b"small")
    handle.hears(b"small")


class Room(Sizes):
    """The largest frame that we have named, and whether we have opened."""

    opened = False


@watch(
    "fast/3.2.5.1.commands-within-client-frame-max",
    during="fast/3.2.5.1.client-frame-max-1024",
    looks_at=came(Frame) + went(Connection.Tune, Connection.Open),
    start=Room,
    gap=Gaps.STOPS,
)
@broken_by("lists much", adds(Handle.Notify, Handle.Index(1, 0, b"1 " * LEAST)))
def commands_fit_in_what_the_client_named(known: Room, each: Passage) -> None:
    """No command of the server behind our OPEN is larger than the FRAME_MAX of our TUNE."""
    match each.said:
        case Connection.Tune() if each.direction is Direction.SENT:
            told = each.said.options.get("FRAME_MAX")
            # One that is not valid sets no limit.
            known.limit = told if isinstance(told, int) and told >= LEAST else known.limit
        case Connection.Open() if each.direction is Direction.SENT:
            known.opened = True
        case _ if known.opened and isinstance(each.unit, Frame):
            known.largest = max(known.largest, len(each.unit.payload) + 1)


@scenario("fast/3.2.5.1.fragments-within-client-frame-max")
@broken_by("cuts by its own limit", TAKES_ALL)
@broken_by("loses the rest", withholds(Handle.Notify, when=lambda said: said.partial, skip=1))
def fragments_fit_in_what_the_client_named(server: Server) -> None:
    """A message of 3000 octets comes in fragments of at most 1024, and adds up to the same."""
    queue, body = server.queue(), bytes(range(250)) * 12
    sender = server.handle()
    sender.publish(queue, body)
    whole = server.handle(new_connection=True).consume(queue, no_ack=True)
    whole.messages(1)
    whole.close()
    sender.publish(queue, body)
    (came,) = server.connection({"FRAME_MAX": LEAST}).channel().handle().consume(queue).hears(body)
    sizes = [part.fragment_size for part in came.parts]
    server.judge("fragments of at most 1024 octets", "larger fragments", max(sizes) <= LEAST)
