"""3.1.1 Frame Syntax: integers, strings, the head of a message and its fragments."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    Interposer,
    carries,
    hears,
    hears_fragment,
    ignores,
    rewrites,
    together,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle, carrying
from harness.amqp_fast.client.outcomes import answered, closed_anyhow, fields, is_text, read_head, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.refusals import SYNTAX, refuses
from harness.amqp_fast.peer.tables.handle import OPEN
from harness.amqp_fast.peer.turn import Row
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.tables import Time
from harness.amqp_fast.wire.vocabulary import COMMANDS, OK, QUEUE, Channel, Connection, Handle, MessageHead
from harness.play.watching import Found, Gaps, Repeats, State, came, went
from harness.wire.journal import Direction
from scenarios.amqp_fast.framing.s3_1_1_read import swapped
from scenarios.amqp_fast.introduction.s2_2_8_3_sending import LARGE
from scenarios.amqp_fast.talk import DIALOGUE, dynamic_name, gives_up_on, indexed, sends
from scenarios.registry import broken_by, scenario, watch

FAR = 0x7F020304
"""A time that nothing expires by."""
SIZE = 0x00010203
"""Octets of a body: no octet of this number is like another."""
HEAD: Mapping[str, Any] = {
    "persistent": True,
    "priority": 7,
    "expiration": FAR,
    "mime_type": b"text/plain",
    "encoding": b"utf-8",
    "identifier": b"number one",
    "headers": {"S": b"text", "I": -5, "D": Decimal("12.34"), "T": Time(1)},
}
BARE: Mapping[str, Any] = {
    "persistent": False,
    "priority": 0,
    "expiration": 0,
    "identifier": b"",
    "headers": {},
}
BINARY = {"ALL": bytes(range(256)), "ODD": b"\0\xce\xff\xff"}
STRANGE = ("-größe-€-𝄞", "-größe-₠-𝄞")
"""Ends of names, of characters of two, three and four octets; they differ in one of three."""
CLEF = "𝄞".encode()
PLAIN = "a server may want plain names"
WITH_STRINGS = [each for each in COMMANDS.values() if "shortstr" in {field.type for field in each.fields}]


# -- integers ------------------------------------------------------------------------------------------


def closes_all(turn: AnyTurn) -> None:
    """Closes all channels whose lower octet is the same as that of one that is open."""
    for each in list(turn.connection.channels.values()):
        if each.id & 1 or each is turn.channel:
            turn.connection.channels.pop(each.id)


@scenario("fast/3.1.1.channel-id-sixteen-bits")
@broken_by("takes the lower octet alone", hears(Channel.Open, channel_id=lambda number: number & 0xFF))
@broken_by("tells the lower octet alone", rewrites(Channel.Reply, channel_id=lambda number: number & 0xFF))
@broken_by("closes by the higher octet", Fault.changes("channel close: is answered", closes_all))
def channel_ids_have_sixteen_bits(server: Server) -> None:
    """Channels whose ids differ in one octet are different ones: one is closed, the others go on."""
    connection = server.connection()
    most = connection.tune.options.get("CHANNEL_MAX", 0) or 4
    channels = [connection.unopened(number) for number in (0x0100, 0x0001, 0x0101, 0xFFFF)[:most]]
    for each in channels:
        each.send(Channel.Open(each.id, connection.tag()))
        each.expect(fields(Channel.Reply, channel_id=each.id, reply_code=OK))
    closed, *others = channels
    closed.tries(Channel.Close(closed.id, OK), Channel.Close)
    for each in others:
        handle = each.unopened()
        handle.confirms(handle.opening())
    closed.confirms(Channel.Open(closed.id))


def without_high_octet(octets: bytes) -> bytes:
    """Lose the highest octet of the expiration in a head; a further fragment stays as it is."""
    head = octets.startswith(SIZE.to_bytes(4))
    return octets[:6] + bytes(1) + octets[7:] if head else octets


@scenario("fast/3.1.1.long-integer-four-octets")
@broken_by("keeps three octets of a time", hears_fragment(Handle.Send, without_high_octet))
@broken_by("tells two octets of a size", carries(Handle.Notify, lambda it: bytes(2) + it[2:]))
def long_integers_have_four_octets(server: Server) -> None:
    """A body of 0x00010203 octets, and an expiration with four octets that differ, come back as sent."""
    handle, body = server.handle(), bytes(SIZE)
    name = dynamic_name(handle)
    sends(server.handle(new_connection=True), name, body, expiration=FAR)
    (seen,) = handle.hears(body, head={"body_size": SIZE, "expiration": FAR})
    told = sum(each.fragment_size for each in seen.parts)
    server.judge("fragments that add up", "others", told == len(seen.octets))


@scenario("fast/3.1.1.network-byte-order")
@broken_by("reads tags from low to high", hears(Handle.Send, confirm_tag=swapped))
@broken_by("writes the code from low to high", rewrites(Handle.Reply, reply_code=OK << 8))
@broken_by("reads ids from low to high", hears(Channel.Open, channel_id=swapped))
def highest_octet_comes_first(server: Server) -> None:
    """Ids, tags, codes and sizes of two octets that differ come back as sent."""
    channel = server.connection().unopened(0x0102)
    channel.send(Channel.Open(0x0102, 0x0304))
    channel.expect(fields(Channel.Reply, channel_id=0x0102, confirm_tag=0x0304, reply_code=OK))
    handle = channel.unopened(0x0506)
    handle.confirms(handle.opening())
    name = handle.tries(handle.consuming("", dynamic=True), Handle.Created).dest_name
    handle.confirms(Handle.Flow(handle.id, 0, True))
    body = bytes(0x0203)
    handle.send(*handle.carries(name, body, tag=0x0708))
    handle.expect(fields(Handle.Reply, handle_id=0x0506, confirm_tag=0x0708, reply_code=OK))
    handle.send(Handle.Flow(handle.id, 0, False))
    (seen,) = handle.hears(body, head={"body_size": 0x0203})
    size = seen.command.fragment_size
    server.judge("the size of head and body", f"{size}", size == len(seen.octets))


# -- strings -------------------------------------------------------------------------------------------


@scenario("fast/3.1.1.empty-strings")
@broken_by("wants a client-name", ignores(Connection.Open, when=lambda it: not it.client_name))
@broken_by("wants a mime-type", ignores(Handle.Open, when=lambda it: not it.mime_type))
@broken_by("writes a zero for nothing", carries(Handle.Notify, lambda it: it[:12] + b"\x01\0" + it[13:]))
def empty_strings_are_lengths_of_zero(server: Server) -> None:
    """Commands and a message with empty strings alone are taken; the message comes back so."""
    connection = server.tuned()
    opening = connection.opening(client_name="")
    connection.tries(opening, replied(Connection.Reply, opening.confirm_tag))
    connection.is_open()
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id))
    handle = channel.unopened()
    handle.confirms(handle.opening())
    name = handle.tries(handle.consuming("", dynamic=True), Handle.Created).dest_name
    comes_back_bare(server, handle, name)


def comes_back_bare(server: Server, handle: FastHandle, name: str | bytes) -> None:
    """Judge that a message with empty strings comes back so, but for defaults that are filled in."""
    sends(server.handle(new_connection=True), name, b"bare", **BARE)
    (seen,) = handle.hears(b"bare", head=BARE)
    defaults = ((b"", b"application/octet-stream"), (b"", b"binary"))
    assert seen.head is not None
    told = seen.head.mime_type, seen.head.encoding
    filled = all(each in legal for each, legal in zip(told, defaults, strict=True))
    server.judge("no mime-type and encoding, or the defaults", "others", filled)


def cut_at_zero(octets: bytes) -> bytes:
    """Loses what stands behind a zero in the fields of the headers."""
    head, behind = MessageHead.decode(octets)
    short = {name: value[:1] for name, value in head.headers.items()}
    return bytes(head.replace(headers=short).encode() + octets[behind:])


@scenario("fast/3.1.1.long-strings-binary-safe")
@broken_by("ends them at a zero", hears_fragment(Handle.Send, cut_at_zero))
@broken_by("bears no end octet", carries(Handle.Notify, lambda it: it.replace(b"\xce", b"?")))
def long_strings_bear_any_octets(server: Server) -> None:
    """Headers with all 256 octets, and with a zero, 0xCE and 0xFFFF, come back as sent."""
    queue, browser = server.queue(), server.handle()
    sends(browser, queue, b"binary", headers=BINARY)
    browser.send(Handle.Browse(browser.id, 0, indexed(browser, queue)[0]))
    browser.hears(b"binary", head={"headers": BINARY})
    server.handle(new_connection=True).consume(queue).hears(b"binary", head={"headers": BINARY})


def as_ascii(octets: bytes) -> bytes:
    """Take each character outside ASCII for a question mark."""
    return octets.decode().encode("ascii", "replace")


@scenario("fast/3.1.1.short-strings-utf-8-read")
@broken_by("knows seven bits", hears(Handle.Consume, dest_name=lambda it: bytes(each & 0x7F for each in it)))
@broken_by(
    "takes one strange character for another",
    together(hears(Handle.Consume, dest_name=as_ascii), hears(Handle.Send, dest_name=as_ascii)),
)
@broken_by("loses strange characters", carries(Handle.Notify, lambda it: it.replace(CLEF, b"????")))
def short_strings_are_read_as_utf_8(server: Server) -> None:
    """A queue with characters of several octets in its name gets what is sent to it, and it alone."""
    own, handles = server.name("queue"), [server.handle(), server.handle()]
    for each, name in zip(handles, STRANGE, strict=True):
        tag = each.connection.tag()
        wanted = each.consuming(own + name, dynamic=True, confirm_tag=tag)
        legal = replied(Handle.Reply, tag), closed_anyhow().recorded(PLAIN)
        seen = each.tries(wanted, answered(Handle.Created) | legal[0], legal[1])
        if isinstance(seen, Handle.Created):
            seen = each.expect(legal[0])
        if not isinstance(seen, Handle.Reply):
            return
    first, second = handles
    told = {name: STRANGE[0].encode() for name in ("mime_type", "encoding", "identifier")}
    sends(server.handle(new_connection=True), own + STRANGE[0], b"there", **told)
    first.hears(b"there", dest_name=(own + STRANGE[0]).encode(), head=told)
    second.stays_quiet()


def strings_in(command: Any) -> list[bytes]:
    """Give the short strings of a command."""
    pairs = zip(command.names, command.fields, strict=True)
    return [getattr(command, name) for name, each in pairs if each.type == "shortstr"]


def is_utf_8(octets: bytes) -> bool:
    return is_text(octets.replace(b"\0", b""))


def judged(strings: Repeats, each: Passage, fits: Callable[[bytes], bool], told: str) -> Found:
    """Say whether the short strings that came fit; those that repeat ours are ours."""
    said: Any = each.said
    if each.direction is Direction.SENT:
        strings.ours += strings_in(said)
        return None
    wrong = [value for value in strings_in(said) if not fits(value)]
    strings.wrong += [(value, f"{said.full_name} with a short string {told}") for value in wrong]
    return None if wrong else True


@watch(
    "fast/3.1.1.short-strings-utf-8-written",
    during=DIALOGUE,
    looks_at=went(*WITH_STRINGS) + came(*WITH_STRINGS),
    start=Repeats,
    gap=Gaps.TOLD,
)
@broken_by("replies in Latin 1", rewrites(Handle.Reply, reply_text="größe".encode("latin-1")))
@broken_by("has mechanisms of any octets", rewrites(Connection.Challenge, mechanisms=b"PLAIN \xff"))
def short_strings_of_a_server_are_utf_8(strings: Repeats, each: Passage) -> Found:
    """The short strings of a server decode as UTF-8."""
    return judged(strings, each, is_utf_8, "that is no UTF-8")


@watch(
    "fast/3.1.1.no-zero-written",
    during=DIALOGUE,
    looks_at=went(*WITH_STRINGS) + came(*WITH_STRINGS),
    start=Repeats,
    gap=Gaps.TOLD,
)
@broken_by("ends a text with zero", rewrites(Handle.Reply, reply_text=b"Ok\0"))
@broken_by("parts its mechanisms by zero", rewrites(Connection.Challenge, mechanisms=b"PLAIN\0OTHER PLAIN"))
def short_strings_of_a_server_have_no_zero(strings: Repeats, each: Passage) -> Found:
    """The short strings of a server have no octet of zero."""
    return judged(strings, each, lambda value: 0 not in value, "that has a zero")


@scenario("fast/3.1.1.zero-refused")
@broken_by("takes any octets", Fault.swaps(is_text=lambda _: True))
@broken_by("ends a name at the zero", hears(Handle.Consume, dest_name=lambda name: name.split(b"\0")[0]))
@broken_by("takes no notice", Fault.drops("undecodable: is refused"))
def short_string_with_a_zero_is_refused(server: Server) -> None:
    """The name of a queue, and an out-of-band string, are refused with a zero in them."""
    name = server.name("queue")
    control = server.handle()
    control.ask(control.consuming(name, dynamic=True))
    handle = server.handle(new_connection=True)
    gives_up_on(handle, handle.consuming(f"{name}\0x", dynamic=True, confirm_tag=handle.connection.tag()))
    channel = server.connection().unopened()
    gives_up_on(channel, Channel.Open(channel.id, channel.connection.tag(), out_of_band="shm\0x"))


# -- messages ------------------------------------------------------------------------------------------


class Bodies(State):
    """How many octets are still to come of each message that has begun, by its handle and number."""

    def __init__(self) -> None:
        self.left: dict[tuple[int, int], int] = {}


@watch(
    "fast/3.1.1.message-head-first",
    during=LARGE,
    looks_at=came(Handle.Notify),
    start=Bodies,
    gap=Gaps.STOPS,
)
@broken_by("leaves the head out", carries(Handle.Notify, lambda it: it[15:]))
@broken_by("tells another size", carries(Handle.Notify, lambda it: it[:3] + b"\x7f" + it[4:]))
def messages_begin_with_their_head(bodies: Bodies, each: Passage) -> Found:
    """The first fragment of a message begins with its head, and all are as long as that says."""
    said: Any = each.said
    if said.recovery:
        return None
    assert isinstance(each.unit, Frame)
    key, fragment = (said.handle_id, said.message_nbr), each.unit.fragment
    if key not in bodies.left:
        if (begun := read_head(fragment)) is None:
            return "a message begins without a head"
        head, behind = begun
        bodies.left[key] = head.body_size + behind
    bodies.left[key] -= len(fragment)
    if said.partial:
        return None
    return not bodies.left.pop(key) or "a message of another size than its head says"


def without(place: int) -> Interposer:
    """Keeps a message with a zero in one octet of its head."""
    return hears_fragment(Handle.Send, lambda it: it[:place] + bytes(1) + it[place + 1 :])


def crossed(octets: bytes) -> bytes:
    """Take mime-type and encoding for one another."""
    head, behind = MessageHead.decode(octets)
    return bytes(head.replace(mime_type=head.encoding, encoding=head.mime_type).encode() + octets[behind:])


def without_headers(octets: bytes) -> bytes:
    """Leave the headers out."""
    head, behind = MessageHead.decode(octets)
    return bytes(head.replace(headers={}).encode() + octets[behind:])


@scenario("fast/3.1.1.message-head-read")
@broken_by("loses persistent", without(4))
@broken_by("loses the priority", without(5))
@broken_by("loses the expiration", without(6))
@broken_by("crosses mime-type and encoding", hears_fragment(Handle.Send, crossed))
@broken_by("loses the headers", carries(Handle.Notify, without_headers))
def heads_are_read_as_defined(server: Server) -> None:
    """A message with all fields set comes back as sent, browsed and consumed; so does one with none."""
    queue, browser = server.queue(), server.handle()
    sends(browser, queue, b"body", **HEAD)
    listed = indexed(browser, queue)
    server.judge("one message", "another number", len(listed) == 1)
    browser.send(Handle.Browse(browser.id, 0, listed[0]))
    browser.hears(b"body", head=HEAD)
    reader = server.handle(new_connection=True).consume(queue)
    reader.hears(b"body", head=HEAD)
    comes_back_bare(server, reader, queue)


NO_EMPTY: Row[Handle.Send] = Row(
    "handle send: of an empty fragment",
    OPEN,
    Handle.Send,
    lambda turn: turn.event.fragment_size == 0,
    (refuses(SYNTAX, "an empty fragment"),),
)


@scenario("fast/3.1.1.empty-fragment")
@broken_by("refuses an empty fragment", Fault.inserts("handle send: by no producer is refused", NO_EMPTY))
@broken_by("waits for more", ignores(Handle.Send, when=lambda it: not it.fragment_size))
def fragments_may_be_empty(server: Server) -> None:
    """Messages with an empty fragment in the middle, one at the end, and an empty body arrive."""
    handle, name = server.handle(), server.name("queue")
    handle.ask(handle.consuming(name, dynamic=True))
    sender = server.handle(new_connection=True)
    octets = MessageHead(body_size=4).encode() + b"body"
    begun = octets[:-2]
    for pieces, body in (
        ((begun, octets[-2:]), b"body"),
        ((begun, b"", octets[-2:]), b"body"),
        ((octets, b""), b"body"),
        ((MessageHead().encode(),), b""),
    ):
        tag = sender.connection.tag()
        said = Handle.Send(sender.id, tag, QUEUE, dest_name=name)
        *firsts, last = pieces
        sender.send(*(carrying(said.replace(partial=True), each) for each in firsts), carrying(said, last))
        sender.expect(replied(Handle.Reply, tag))
        handle.hears(body)
    sender.connection.lives()
