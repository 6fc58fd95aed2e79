"""3.4.4 Message Header: what its fields mean, and that they are kept."""

from collections.abc import Iterator
from decimal import Decimal

from harness.amqp_fast.broken.channel_faults import send_at_once
from harness.amqp_fast.broken.deviations import Fault, carries, hears_fragment, ignores
from harness.amqp_fast.broken.message_faults import (
    lose_beyond_nine,
    lowest,
    oldest,
    turned_round,
    with_body,
    with_head,
)
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import Received, message, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables.handle import confirmed
from harness.amqp_fast.peer.tables.sending import forget
from harness.amqp_fast.wire.tables import Table, Time
from harness.amqp_fast.wire.vocabulary import OK, Handle
from harness.play.context import RESTART, Restart
from harness.play.expect import Outcome
from scenarios.amqp_fast.channels.common import arrives
from scenarios.amqp_fast.channels.preparing import pattern
from scenarios.amqp_fast.messages.common import ENDED, TOLD, passed_on
from scenarios.registry import broken_by, scenario

LATER = 0x7A3C5E01
"""An expiration in years to come, of which no two octets are alike."""
SOMEHOW = "the message is passed on as it is, and whoever reads it knows what an empty field stands for"
SENT = "handle send: is done"
ALL = (
    {
        "persistent": True,
        "priority": 3,
        "expiration": LATER,
        "mime_type": b"text/plain",
        "encoding": b"gzip",
        "identifier": b"first",
        "headers": {"ONE": b"1"},
    },
    {
        "persistent": False,
        "priority": 7,
        "expiration": 0,
        "mime_type": b"application/xml",
        "encoding": b"base64",
        "identifier": b"",
        "headers": {},
    },
)


@scenario("fast/3.4.4.header-fields-kept")
@broken_by("clears the bit", carries(Handle.Notify, with_head(persistent=False)))
@broken_by("clears the priority", carries(Handle.Notify, with_head(priority=0)))
@broken_by("sets an expiration of its own", carries(Handle.Notify, with_head(expiration=LATER + 60)))
@broken_by("loses the identifier", carries(Handle.Notify, with_head(identifier=b"")))
@broken_by("adds a header", carries(Handle.Notify, with_head(headers=lambda old: old | {"X-BY": b"us"})))
def header_is_passed_on(server: Server) -> None:
    """Two messages that differ in every field of their headers come with these fields."""
    passed_on(server, *((pattern(20 + place), head) for place, head in enumerate(ALL)))


@scenario("fast/3.4.4.network-order")
@broken_by("reads sizes low octet first", hears_fragment(Handle.Send, with_head(body_size=turned_round(4))))
@broken_by("writes times low octet first", carries(Handle.Notify, with_head(expiration=turned_round(4))))
def integers_are_in_network_order(server: Server) -> None:
    """Bodies of 1 and 258 octets are read as such, and a time comes with the octets it had."""
    passed_on(server, *((pattern(size), {"body_size": size, "expiration": LATER}) for size in (1, 258)))


# -- persistent ------------------------------------------------------------------------------------------


@scenario("fast/3.4.4.persistent-survives", needs=["address"])
@broken_by("loses all messages", Fault.swaps(survives=lambda _: False))
@broken_by("keeps what is not persistent", Fault.swaps(survives=lambda kept: not kept.head.persistent))
def persistent_message_outlives_a_restart(server: Server) -> Iterator[Restart]:
    """A persistent message that was confirmed is in its queue, as it was, when the server comes up again."""
    queue = server.address()
    server.handle().publish(queue, b"persistent", persistent=True, identifier=b"kept")
    yield RESTART
    arrives(server, queue, b"persistent", persistent=True, identifier=b"kept")


@scenario("fast/3.4.4.committed-persistent-survives", needs=["address"])
@broken_by("loses all messages", Fault.swaps(survives=lambda _: False))
@broken_by("commits nothing", Fault.changes("channel commit: is done", effects=()))
@broken_by("gives out at once", Fault.changes(SENT, send_at_once, forget))
def committed_message_outlives_a_restart(server: Server) -> Iterator[Restart]:
    """Of two persistent messages in transactions the one that was committed is there after a restart."""
    queue = server.address()
    handle = server.channel(transacted=True).handle()
    handle.publish(queue, b"committed", persistent=True)
    handle.channel.commit()
    handle.publish(queue, b"not committed", persistent=True)
    yield RESTART
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    reader.hears(b"committed")
    server.handle(new_connection=True).publish(queue, b"later")
    reader.hears(b"later")


@scenario("fast/3.4.4.transient-may-be-lost", needs=["address"])
@broken_by("loses the persistent one", Fault.swaps(survives=lambda kept: not kept.head.persistent))
@broken_by("loses all messages", Fault.swaps(survives=lambda _: False))
def transient_message_may_be_lost(server: Server) -> Iterator[Restart]:
    """A persistent message outlives a restart; whether one that is not does, is recorded."""
    queue = server.address()
    server.handle().publish(queue, b"transient", persistent=False)
    server.handle().publish(queue, b"persistent", persistent=True)
    yield RESTART
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    kept = message(b"transient").recorded("1703: it may be held only in memory, or longer")
    if (first := reader.observe(message(b"persistent"), kept)).body == b"transient":
        reader.observe(message(b"persistent"))
    server.note(f"transient messages are {'kept' if first.body == b'transient' else 'lost'}")


# -- priority --------------------------------------------------------------------------------------------


@scenario("fast/3.4.4.priorities-taken")
@broken_by("has eight priorities", carries(Handle.Notify, with_head(priority=lambda old: min(old, 7))))
@broken_by("has two priorities", carries(Handle.Notify, with_head(priority=lambda old: 5 * (old // 5))))
def each_priority_is_taken(server: Server) -> None:
    """Ten messages with the priorities 0 to 9 come, each with its own."""
    queue, sender = server.queue(), server.handle()
    for priority in range(10):
        sender.publish(queue, b"%d" % priority, priority=priority)
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    seen: list[Received] = [reader.observe(message()) for _ in range(10)]
    found = sorted((each.body, each.head.priority) for each in seen if each.head)
    server.judge("each with its own priority", "others", found == [(b"%d" % n, n) for n in range(10)])


@scenario("fast/3.4.4.priority-out-of-range")
@broken_by("loses it without a word", Fault.changes(SENT, lose_beyond_nine, forget, answer=confirmed))
@broken_by(
    "makes it the lowest", carries(Handle.Notify, with_head(priority=lambda old: old if old < 10 else 0))
)
def priority_above_nine_is_refused_or_taken(server: Server) -> None:
    """Messages with the priorities 10 and 255 are refused, or delivered with 9 or as they were."""
    for priority in (10, 255):
        queue, handle = server.queue(), server.handle(new_connection=True)
        handle.publish(queue, b"nine", priority=9)
        arrives(server, queue, b"nine", priority=9)
        tag = handle.connection.tag()
        handle.send(*handle.carries(queue, b"above", priority=priority, tag=tag))
        taken = handle.expect(replied(Handle.Reply, tag).recorded(), TOLD.recorded(), ENDED)
        if isinstance(taken, Handle.Reply) and taken.reply_code == OK:
            reader = server.handle(new_connection=True).consume(queue, no_ack=True)
            legal = [message(b"above", head={"priority": each}) for each in (priority, 9)]
            reader.observe(*(each.recorded() for each in legal))


@scenario("fast/3.4.4.high-priority-first")
@broken_by("delivers in the order of arrival", Fault.swaps(next_message=oldest))
@broken_by("takes the lowest first", Fault.swaps(next_message=lowest))
def high_priority_comes_first(server: Server) -> None:
    """Of messages that wait those with the priorities 5 to 9 come before those with 4."""
    queue, sender = server.queue(), server.handle()
    for place, priority in enumerate((4, 4, 4, 5, 5, 5, 9)):
        sender.publish(queue, b"%d" % place, priority=priority)
    reader = server.handle(new_connection=True).consume(queue, prefetch=1)
    came: list[int] = []
    for _ in range(7):
        seen: Received = reader.observe(message())
        came.append(seen.head.priority if seen.head else -1)
        reader.channel.ack(seen.command.message_nbr)
    server.judge("those of high priority first", "another order", min(came[:4]) > max(came[4:]))


# -- mime type and encoding ------------------------------------------------------------------------------


def says_something_else(octets: bytes) -> bytes:
    return with_head(mime_type=lambda old: old or b"image/png", encoding=lambda old: old or b"compress")(
        octets
    )


@scenario("fast/3.4.4.mime-type-default")
@broken_by("makes up a type", carries(Handle.Notify, says_something_else))
@broken_by("takes the default for the type", carries(Handle.Notify, with_head(mime_type=b"text/plain")))
def empty_mime_type_is_that_of_the_handle(server: Server) -> None:
    """A message without a mime-type comes with that of the handle it was sent by, or without one."""
    defaults(server, "mime_type", b"text/plain", b"text/html", b"application/octet-stream")


@scenario("fast/3.4.4.encoding-default")
@broken_by("makes up an encoding", carries(Handle.Notify, says_something_else))
@broken_by("takes the default for the encoding", carries(Handle.Notify, with_head(encoding=b"gzip")))
def empty_encoding_is_that_of_the_handle(server: Server) -> None:
    """A message without an encoding comes with that of the handle it was sent by, or without one."""
    defaults(server, "encoding", b"gzip", b"base64", b"binary")


def with_default(server: Server, field: str, value: bytes) -> FastHandle:
    """Give a handle that was opened with a value of this field for its messages."""
    handle = server.channel().unopened()
    handle.ask(handle.opening(**{field: value}))
    return handle


def defaults(server: Server, field: str, default: bytes, own: bytes, without: bytes) -> None:
    """Judge what an empty field of a header comes as: by a handle with a default, and by one with none."""

    def comes(value: bytes) -> Outcome:
        return message(b"a message", head={field: value})

    queue = server.queue()
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    sender, plain = with_default(server, field, default), server.handle()
    sender.publish(queue, b"a message", **{field: own})
    reader.observe(comes(own))
    sender.publish(queue, b"a message")
    reader.observe(comes(default), comes(b"").recorded(SOMEHOW))
    plain.publish(queue, b"a message")
    reader.observe((comes(without) | comes(b"")).recorded(SOMEHOW))


@scenario("fast/3.4.4.mime-type-kept")
@broken_by("knows text alone", carries(Handle.Notify, with_head(mime_type=b"text/plain")))
@broken_by("has the type of the handle", hears_fragment(Handle.Send, with_head(mime_type=b"image/png")))
def mime_type_is_the_messages_own(server: Server) -> None:
    """Messages with mime-types of their own come with these, whatever the handles were opened with."""
    is_kept(server, "mime_type", b"image/png", (b"text/html; charset=utf-8", b"x-own/type"))


@scenario("fast/3.4.4.encoding-kept")
@broken_by("has the encoding of the handle", hears_fragment(Handle.Send, with_head(encoding=b"gzip")))
@broken_by("takes the body for its own", carries(Handle.Notify, with_body(bytes.upper)))
def encoding_is_the_messages_own(server: Server) -> None:
    """A message with an encoding of its own comes with it, and with the octets that it had."""
    is_kept(server, "encoding", b"gzip", (b"base64", b"x-own"))


def is_kept(server: Server, field: str, default: bytes, values: tuple[bytes, ...]) -> None:
    """Judge that a field comes as it was sent, by a handle with a default for it and by one without."""
    queue = server.queue()
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    for sender in (with_default(server, field, default), server.handle()):
        for value in values:
            sender.publish(queue, b"no such thing", **{field: value})
            reader.observe(message(b"no such thing", head={field: value}))


# -- what is the application's ---------------------------------------------------------------------------


@scenario("fast/3.4.4.identifier-kept")
@broken_by("cuts it", carries(Handle.Notify, with_head(identifier=lambda old: old[:64])))
@broken_by("makes one up", carries(Handle.Notify, with_head(identifier=lambda old: old or b"1")))
@broken_by("wants it to be new", ignores(Handle.Send, skip=4))
def identifier_is_passed_on(server: Server) -> None:
    """Identifiers that are empty, long, beyond ASCII or the same as another one are passed on."""
    told = (b"", b"x" * 255, "größer".encode(), b"twice", b"twice")
    passed_on(server, *((b"a message", {"identifier": each}) for each in told))


EVERY_TYPE = {
    "STRING": bytes(range(256)),
    "EMPTY": b"",
    "NEGATIVE": -(2**31),
    "HIGHEST": 2**31 - 1,
    "DECIMAL": Decimal("12.345"),
    "TIME": Time(LATER),
    "$": b"dollar",
    "#1_a": b"number",
}


def without_empty(headers: Table) -> dict[str, object]:
    return {name: value for name, value in headers.items() if value}


def without_signs(headers: Table) -> dict[str, object]:
    return {name: abs(value) - 1 if name == "NEGATIVE" else value for name, value in headers.items()}


@scenario("fast/3.4.4.headers-kept")
@broken_by("loses empty ones", carries(Handle.Notify, with_head(headers=without_empty)))
@broken_by("has no negative ones", carries(Handle.Notify, with_head(headers=without_signs)))
@broken_by("passes on none", carries(Handle.Notify, with_head(headers={})))
def headers_are_passed_on(server: Server) -> None:
    """Headers with fields of each type, and none at all, are passed on, in whatever order."""
    passed_on(server, (b"a message", {"headers": EVERY_TYPE}), (b"a message", {"headers": {}}))


@scenario("fast/3.4.4.empty-body")
@broken_by("wants an octet", ignores(Handle.Send, skip=1))
@broken_by("adds an octet", carries(Handle.Notify, with_body(lambda body: body or b"\x00")))
def body_may_be_empty(server: Server) -> None:
    """A message of one octet comes, and one of none, with its header."""
    passed_on(server, (b"1", {}), (b"", {"identifier": b"nothing", "body_size": 0}))


def in_seven_bits(body: bytes) -> bytes:
    return bytes(octet & 0x7F for octet in body)


@scenario("fast/3.4.4.body-octets-kept")
@broken_by(
    "passes on seven bits", carries(Handle.Notify, with_body(lambda body: bytes(o & 0x7F for o in body)))
)
@broken_by(
    "ends bodies with zero", carries(Handle.Notify, with_body(lambda body: body.partition(b"\x00")[0]))
)
def body_is_passed_on_octet_for_octet(server: Server) -> None:
    """Every octet, what looks like a command, and what is no UTF-8 come as they were sent."""
    bodies = bytes(range(256)), b"\x00\x03\x0e\x01\xce", b"\xff\xfe\xc3\x28"
    passed_on(server, *((body, {"mime_type": b"text/plain"}) for body in bodies))
