"""3.5.10 HANDLE NOTIFY Command: the messages, and what is told of each."""

from typing import Any

from harness.amqp_fast.broken.channel_faults import below, nobody
from harness.amqp_fast.broken.deviations import (
    Fault,
    carries,
    hears,
    repeats,
    rewrites,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import message, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.refusals import close_connection
from harness.amqp_fast.peer.tables.connection import end
from harness.amqp_fast.peer.traffic import settle
from harness.amqp_fast.wire.frames import frame
from harness.amqp_fast.wire.vocabulary import TOPIC, Connection, Handle
from scenarios.amqp_fast.channels.common import holds
from scenarios.amqp_fast.channels.preparing import pattern
from scenarios.amqp_fast.messages.common import SMALL, passed_on, small_reader
from scenarios.amqp_fast.talk import sends
from scenarios.registry import broken_by, scenario

CARRIED = "fast/3.5.10.carries-each-message"
LARGE = pattern(10_000)
"""A body of three fragments at least, where 4096 octets make one."""
HINT = "2166: it is a hint; this client has not had the message before (2165)"
EACH_NAMED = "2171: a client looks for the name on the last fragment, and finds it there"
MESSAGES: list[tuple[bytes, dict[str, Any]]] = [
    (b"one", {"identifier": b"first", "priority": 1}),
    (b"", {"identifier": b"second", "persistent": True}),
    (b"three", {"mime_type": b"text/plain"}),
]


def is_partial(notify: Any) -> bool:
    return bool(notify.partial)


def lose_all(turn: AnyTurn) -> None:
    """Takes all that was delivered for acknowledged, and ends."""
    for channel in turn.connection.channels.values():
        settle(turn.peer, channel, channel.unacknowledged)
    close_connection(turn)
    end(turn)


@scenario(CARRIED)
@broken_by("gives all the same number", rewrites(Handle.Notify, message_nbr=5))
@broken_by("sends each twice", repeats(Handle.Notify))
@broken_by("loses the second", withholds(Handle.Notify, when=lambda it: it.message_nbr == 2))
@broken_by("puts two into one", carries(Handle.Notify, lambda octets: octets + octets))
def each_message_comes_by_itself(server: Server) -> None:
    """Of three messages each has a HANDLE NOTIFY, with its own number, header and body."""
    queue, sender = server.queue(), server.handle()
    for body, head in MESSAGES:
        sends(sender, queue, body, **head)
    reader = server.handle(new_connection=True).consume(queue)
    seen = [reader.observe(message(body, head=head)) for body, head in MESSAGES]
    numbers = {each.command.message_nbr for each in seen}
    server.judge("three numbers", f"{len(numbers)}", len(numbers) == len(MESSAGES))
    reader.stays_quiet()


@scenario("fast/3.5.10.one-number-for-all-fragments")
@broken_by("counts on at the end", rewrites(Handle.Notify, message_nbr=lambda it: it + 1, when=is_partial))
@broken_by("numbers the last one alone", rewrites(Handle.Notify, message_nbr=0, when=is_partial))
def fragments_share_a_number(server: Server) -> None:
    """All HANDLE NOTIFYs of a message of several fragments have the same message-nbr."""
    parts = small_reader(server, server.queue(LARGE)).observe(message(LARGE)).parts
    numbers = {each.message_nbr for each in parts}
    server.judge("several fragments", "one", len(parts) > 1)
    server.judge("one number", f"{len(numbers)}", len(numbers) == 1)


@scenario("fast/3.5.10.number-acknowledges")
@broken_by("acknowledges nothing", Fault.swaps(covered=nobody))
@broken_by("acknowledges those before", Fault.swaps(covered=below))
@broken_by("tells numbers of its own", rewrites(Handle.Notify, message_nbr=lambda number: number + 100))
@broken_by("tells the number before", rewrites(Handle.Notify, message_nbr=lambda number: number - 1))
def number_is_that_of_ack_and_unget(server: Server) -> None:
    """By its number a message is acknowledged, another given back: then that alone is there."""
    queue = server.queue(b"one", b"two")
    reader = server.handle(new_connection=True).consume(queue, prefetch=2)
    first, second = (each.command.message_nbr for each in reader.hears(b"one", b"two"))
    reader.channel.ack(first)
    tag = reader.connection.tag()
    reader.send(Handle.Unget(reader.id, tag, second))
    reader.observe(replied(Handle.Reply, tag), message(b"two"))  # it may come again before that
    reader.connection.close()
    holds(server, queue, b"two")


@scenario("fast/3.5.10.fragment-within-frame-max")
@broken_by("takes no notice of it", hears(Connection.Tune, options={}))
@broken_by("takes it for twice as much", hears(Connection.Tune, options={"FRAME_MAX": 2048}))
@broken_by("sends what fits, and no more", withholds(Handle.Notify, when=lambda it: not it.partial))
def fragments_are_as_small_as_was_agreed(server: Server) -> None:
    """With a FRAME_MAX of 1024 a message of 5000 octets comes whole, in fragments of 1024 at most."""
    body = pattern(5000)
    queue = server.queue(body)
    reader = server.connection({"FRAME_MAX": 1024}).channel().handle().consume(queue)
    largest = max(each.fragment_size for each in reader.observe(message(body)).parts)
    server.judge("fragments of 1024 octets at most", "larger ones", largest <= 1024)


@scenario("fast/3.5.10.redelivered-after-a-break")
@broken_by("loses what was not acknowledged", Fault.changes("hang-up: ends all", lose_all))
@broken_by("sends it once", withholds(Handle.Notify, when=lambda it: it.redelivered))
def message_comes_again_after_a_break(server: Server) -> None:
    """What was delivered and not acknowledged comes again when the connection broke, marked as such."""
    queue = server.queue(b"one")
    first = server.handle(new_connection=True).consume(queue)
    first.messages(1)
    first.connection.drop()
    again = server.handle(new_connection=True).consume(queue)
    again.expect(message(b"one", redelivered=True), message(b"one", redelivered=False).recorded(HINT))


@scenario("fast/3.5.10.first-not-redelivered")
@broken_by("marks all", rewrites(Handle.Notify, redelivered=True))
@broken_by("turns the mark round", rewrites(Handle.Notify, redelivered=lambda bit: not bit))
def message_comes_first_without_a_mark(server: Server) -> None:
    """What nobody has consumed before is delivered with redelivered zero."""
    server.handle(new_connection=True).consume(server.queue(b"one")).hears(b"one", redelivered=False)


@scenario("fast/3.5.10.named-on-the-last")
@broken_by("never names it", rewrites(Handle.Notify, dest_name=b""))
@broken_by(
    "names what is partial alone", rewrites(Handle.Notify, dest_name=b"", when=lambda it: not it.partial)
)
@broken_by("cuts the name", rewrites(Handle.Notify, dest_name=lambda name: name[:8]))
@broken_by("names it once", rewrites(Handle.Notify, dest_name=b"", skip=1))
def last_fragment_names_the_destination(server: Server) -> None:
    """The last HANDLE NOTIFY of a message has the name of the queue, or topic, that it was sent to."""
    queue, topic = server.queue(b"one", LARGE), server.topic()
    small_reader(server, queue).hears(b"one", LARGE, dest_name=queue.encode())
    reader = server.connection(SMALL).channel().handle().consume(topic, service_type=TOPIC)
    server.handle().publish(topic, b"two", LARGE, service=TOPIC)
    reader.hears(b"two", LARGE, dest_name=topic.encode())


@scenario("fast/3.5.10.not-named-before")
@broken_by("names another one before", rewrites(Handle.Notify, dest_name=b"another", when=is_partial))
@broken_by("tells the size before", rewrites(Handle.Notify, dest_name=b"10000", when=is_partial))
def fragments_before_the_last_have_no_name(server: Server) -> None:
    """dest-name is empty in all fragments but the last, or the same in each."""
    queue = server.queue(LARGE)
    *before, last = small_reader(server, queue).observe(message(LARGE)).parts
    names = {each.dest_name for each in before}
    server.judge("no name before the last fragment", "another name", names <= {b"", last.dest_name})
    server.note(EACH_NAMED if names - {b""} else "the name is on the last fragment alone")


LIKE_FRAMES = b"", b"\xce", frame(Connection.Ping(respond=True)).encode(), b"\0\x02\x0e\xce\xff\xff"


@scenario("fast/3.5.10.message-behind-the-frame")
@broken_by("puts an octet between", carries(Handle.Notify, lambda octets: b"\0" + octets))
@broken_by("sends the body first", carries(Handle.Notify, lambda octets: octets[::-1]))
@broken_by("ends at what looks like an end", carries(Handle.Notify, lambda octets: octets.split(b"\xce")[0]))
@broken_by("sends the body alone", carries(Handle.Notify, lambda octets: octets[-1:]))
def message_follows_its_frame(server: Server) -> None:
    """Bodies without an octet, of a frame end, and like frames, come behind their headers as sent."""
    passed_on(server, *((body, {"identifier": b"this"}) for body in LIKE_FRAMES))


@scenario("fast/3.5.10.channels-interleave")
@broken_by("sends all on the first channel", rewrites(Handle.Notify, handle_id=lambda _: 1))
@broken_by("loses a fragment of the other", withholds(Handle.Notify, when=lambda it: it.partial, skip=3))
def channels_are_served_at_the_same_time(server: Server) -> None:
    """Two channels consume a large message each: each comes whole on its own, mixed or not."""
    bodies = LARGE, LARGE[::-1]
    queues = [server.queue(body) for body in bodies]
    connection = server.connection(SMALL)
    readers = [connection.channel().handle() for _ in bodies]
    connection.send(*(each.consuming(queue) for each, queue in zip(readers, queues, strict=True)))
    seen = [each.observe(message(body)) for each, body in zip(readers, bodies, strict=True)]
    first, last = sorted(seen, key=lambda each: each.frame)
    mixed = last.frame - first.frame < len(last.parts)
    server.note("fragments of two channels were mixed" if mixed else "fragments were not mixed")
