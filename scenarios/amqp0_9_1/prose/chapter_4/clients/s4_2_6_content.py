"""4.2.6, 4.2.6.2 and 4.9: what a client makes of contents, whole and not."""

from zlib import crc32

from harness.amqp0_9_1.broken.content_faults import body_of, header_of, is_body
from harness.amqp0_9_1.broken.deviations import forwards, ignores, mends, spoils, withholds
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.broken.provocations import follows
from harness.amqp0_9_1.client.outcomes import answered, connection_closed, silence
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.server.told import Message
from harness.amqp0_9_1.wire.frames import BODY, FRAME_MIN_SIZE, HEADER, OVERHEAD, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    FRAME_ERROR,
    INTERNAL_ERROR,
    NOT_FOUND,
    SYNTAX_ERROR,
    UNEXPECTED_FRAME,
    Basic,
    Channel,
    Connection,
    Queue,
)
from harness.shims.contract import filled
from scenarios.amqp0_9_1.getting import (
    GOT,
    TEXT,
    channel_numbers,
    content,
    framed,
    getting,
    given_wrongly,
    got,
    headed,
    refuses,
    soon,
)
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_6_content import (
    BROKEN,
    UNEQUAL,
    WITH_AN_EMPTY_ONE,
    cut,
    is_broken,
    unbroken,
)
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_6_content import headed as headed_with_a_table
from scenarios.registry import broken_by, scenario
from spec.rules import Role

HALF = len(TEXT) // 2
UNEXPECTED = connection_closed(UNEXPECTED_FRAME)
SAYS_NOTHING = ignores(Connection.Close)
SAYS_ANOTHER = forwards(Connection.Close, reply_code=INTERNAL_ERROR)


# -- contents that are not as they should be -----------------------------------------------------------


@scenario("0-9-1/prose/4.2.6.content-header-missing", role=Role.CLIENT)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
@broken_by("gives another code", SAYS_ANOTHER, Role.CLIENT)
def client_refuses_a_content_without_its_one_header(client: Client) -> None:
    """A body right behind Get-Ok, and a header behind a header, make the client close with 505."""
    refuses(client, framed(GOT, (BODY, TEXT)), UNEXPECTED)
    refuses(client, framed(GOT, (HEADER, headed()), (HEADER, headed()), (BODY, TEXT)), UNEXPECTED)


INTERRUPTED = framed(GOT, (HEADER, headed()), (BODY, TEXT[:HALF]), Basic.GetEmpty())


@scenario("0-9-1/prose/4.2.6.interrupted-content", role=Role.CLIENT)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
@broken_by(
    "tells what there is",
    spoils(body_of(HALF), lambda it: Frame(BODY, it.channel, TEXT)) + withholds(Basic.GetEmpty),
    Role.CLIENT,
)
def client_gives_no_half_of_a_content(client: Client) -> None:
    """Half of a content, then Get-Empty: the client closes with 505.

    Or it takes the content for given up, gets no message, and goes on.
    """
    connection, told = given_wrongly(client, INTERRUPTED)
    client.judge("no message", "what there was of it", not isinstance(told, Message))
    if told is None:
        soon(connection, UNEXPECTED, silence().under("4.2.6: a sender may abort a content"))
    else:
        connection.expect(UNEXPECTED)


SHORTER = headed(len(TEXT) - 2)


@scenario("0-9-1/prose/4.2.6.body-beyond-size", role=Role.CLIENT)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
@broken_by("gives another code", SAYS_ANOTHER, Role.CLIENT)
@broken_by(
    "takes more",
    spoils(header_of(len(TEXT) - 2), lambda it: Frame(HEADER, it.channel, headed())),
    Role.CLIENT,
)
def client_refuses_a_body_longer_than_announced(client: Client) -> None:
    """Two octets more than announced, in the same frame or in another, make the client close with 505."""
    refuses(client, content(SHORTER, TEXT), UNEXPECTED)
    refuses(client, content(SHORTER, TEXT[:-2], TEXT[-2:]), UNEXPECTED)


READS_ON = spoils(lambda frame: any(is_broken(way)(frame) for way in BROKEN), unbroken)


@scenario("0-9-1/prose/4.2.6.broken-header-table", role=Role.CLIENT)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
@broken_by("reads what it can", READS_ON, Role.CLIENT)
def client_refuses_a_broken_headers_table(client: Client) -> None:
    """The only entry of a headers table is broken in seven ways: each makes the client close the connection.

    With 505, or with 501 or 502, which are for frames that cannot be decoded and for illegal values.
    """
    refused = connection_closed(UNEXPECTED_FRAME, FRAME_ERROR, SYNTAX_ERROR)
    for broken in BROKEN.values():
        refuses(client, content(headed_with_a_table(broken), TEXT), refused)


# -- contents as they should be ------------------------------------------------------------------------


@scenario("0-9-1/prose/4.2.6.2.split-body-handled", role=Role.CLIENT)
@broken_by("loses a short frame", spoils(body_of(1), lambda _: b""), Role.CLIENT)
@broken_by(
    "fills an empty frame", spoils(body_of(0), lambda it: Frame(BODY, it.channel, b"\x00")), Role.CLIENT
)
def client_takes_a_body_in_any_number_of_frames(client: Client) -> None:
    """A body in one frame, in one for each octet, in unequal ones, with an empty one: it is told whole."""
    ways = ((len(TEXT),), (1,) * len(TEXT), UNEQUAL, WITH_AN_EMPTY_ONE)
    channel, queue = getting(client, *(content(headed(), *cut(lengths)) for lengths in ways))
    for _ in ways:
        if message := got(channel, queue):
            client.judge("the body is told whole", "another body", message.text == TEXT.decode())


LARGE = filled(4 << 20)


@scenario("0-9-1/prose/2.3.5.2.client-takes-any-size", role=Role.CLIENT)
@broken_by("keeps the last frame alone", withholds(Basic.GetOk), Role.CLIENT)
@broken_by(
    "changes an octet",
    spoils(
        lambda it: is_body(it) and it.payload.startswith(LARGE[:20]),
        lambda it: Frame(BODY, it.channel, b"x" + it.payload[1:]),
    ),
    Role.CLIENT,
)
def client_takes_a_large_body(client: Client) -> None:
    """A body of 4 MiB comes in more than a thousand frames, none above 4096 octets: it is told whole."""
    room = FRAME_MIN_SIZE - OVERHEAD
    bodies = (LARGE[at : at + room] for at in range(0, len(LARGE), room))
    channel, queue = getting(client, content(headed(len(LARGE)), *bodies))
    if message := got(channel, queue):
        whole = (message.size, message.crc32) == (len(LARGE), crc32(LARGE))
        client.judge("the body is told whole", "another body", whole)


def in_turns(numbers: list[int], tags: list[str], texts: tuple[bytes, bytes]) -> bytes:
    """Give a delivery for each of two channels, their frames in turns."""
    frames = []
    for number, tag, text in zip(numbers, tags, texts, strict=True):
        method = method_frame(number, Basic.Deliver(tag, 1, routing_key="made-up"))
        header = Frame(HEADER, number, headed(len(text)))
        frames.append((method, header, Frame(BODY, number, text[:HALF]), Frame(BODY, number, text[HALF:])))
    return b"".join(frame.encode() for pair in zip(*frames, strict=True) for frame in pair)


BACKWARDS = TEXT[::-1]


@scenario("0-9-1/prose/4.2.6.contents-on-several-channels", role=Role.CLIENT)
@broken_by(
    "mixes them up",
    spoils(lambda it: it.payload == TEXT[:HALF], lambda it: Frame(BODY, it.channel, BACKWARDS[:HALF])),
    Role.CLIENT,
)
@broken_by("loses one", withholds(Basic.Deliver, skip=1), Role.CLIENT)
def client_keeps_contents_of_channels_apart(client: Client) -> None:
    """Deliveries on two channels come with their frames in turns: each is told whole, where it belongs."""
    numbers: list[int] = []
    tags: list[str] = []
    mixed = follows(Queue.PurgeOk, lambda _: in_turns(numbers, tags, (TEXT, BACKWARDS)))
    connection = client.connection(mixed)
    channels, queue = (connection.channel(), connection.channel()), client.name("queue")
    numbers += channel_numbers(connection)
    channels[0].declares(queue)
    tags += [each.receive(queue) for each in channels]
    channels[0].call("queue.purge", queue=queue)
    told = connection.tells("message", 2)
    texts = {each.on: Message.of(each.told["message"]).text for each in told}
    expected = {channels[0].on: TEXT.decode(), channels[1].on: BACKWARDS.decode()}
    client.judge("each message whole on its channel", f"{len(texts)} messages otherwise", texts == expected)


# -- 4.9 -----------------------------------------------------------------------------------------------

HUGE = (1 << 63) + 1
GIVEN_UP = framed(GOT, (HEADER, headed(HUGE)), (BODY, b"a beginning"), Channel.Close(NOT_FOUND, "given up"))
LIMITS = "4.9: a client may have limits of its own, not specified"


@scenario("0-9-1/prose/4.9.huge-content-announced", role=Role.CLIENT)
@broken_by("says nothing to it", ignores(Channel.CloseOk), Role.CLIENT)
@broken_by("falls over", mends(sent_on(Channel.CloseOk), lambda _: b"\x00" * 8), Role.CLIENT)
def client_bears_a_huge_content(client: Client) -> None:
    """A header announces more than 63 bits hold; then the channel is closed: Close-Ok comes."""
    connection, _ = given_wrongly(client, GIVEN_UP)
    limited = connection_closed().recorded(LIMITS)
    connection.expect(answered(Channel.CloseOk), limited)
