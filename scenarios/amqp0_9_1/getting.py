"""What many rules of clients begin with: an empty queue, from which Get brings what the server makes up."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.amqp0_9_1.broken.deviations import Interposer
from harness.amqp0_9_1.broken.provocations import says_instead
from harness.amqp0_9_1.client.outcomes import Observation
from harness.amqp0_9_1.client.transcript import unreadable
from harness.amqp0_9_1.server.client import Client, JudgedChannel, JudgedConnection
from harness.amqp0_9_1.server.told import Message
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import BODY, HEADER, ContentHeader, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel
from harness.play.expect import ControlFailed, Outcome
from harness.play.link import EVERYWHERE, Closed, Silence
from harness.shims.contract import Refused
from harness.targets.client.target import BeforeServer

Octets = Callable[[int], bytes]
"""What is said on a channel."""
CLASS = Basic.Properties.class_index
TEXT = b"twenty-four octets of it"
GOT = Basic.GetOk(1, routing_key="made-up")


def headed(
    size: int = len(TEXT), class_index: int = CLASS, weight: int = 0, flags_and_values: bytes = b"\x00\x00"
) -> bytes:
    """Give the payload of a content header in which anything may be wrong."""
    return class_index.to_bytes(2) + weight.to_bytes(2) + size.to_bytes(8) + flags_and_values


def with_properties(properties: Basic.Properties, size: int = len(TEXT)) -> bytes:
    return ContentHeader(CLASS, size, properties).encode()


def framed(*parts: Method | tuple[int, bytes]) -> Octets:
    """Give methods, and frames by their type and payload, on a channel."""

    def said(channel: int) -> bytes:
        return b"".join(
            (
                Frame(part[0], channel, part[1]) if isinstance(part, tuple) else method_frame(channel, part)
            ).encode()
            for part in parts
        )

    return said


def content(header: bytes, *bodies: bytes, method: Method = GOT) -> Octets:
    """Give a method and what it carries, its header and bodies as they are."""
    return framed(method, (HEADER, header), *((BODY, each) for each in bodies))


WHOLE = content(headed(), TEXT)
"""A message in two frames behind its method, as it should be."""


def in_turn(said: Sequence[Octets]) -> Interposer:
    """Answer each Get in turn by one of these, though there is nothing in the queue."""
    made = [says_instead(Basic.GetEmpty, each, skip=turn) for turn, each in enumerate(said)]
    first, *others = reversed(made)  # the last one comes first: it waits until all others have had their turn
    for each in others:
        first += each
    return first


def getting(client: Client, *said: Octets, meets: Sequence[BeforeServer] = ()) -> tuple[JudgedChannel, str]:
    """Give a channel of a client on which Get brings these, each once, from an empty queue."""
    channel = client.connection(in_turn(said), *meets).channel()
    queue = client.name("queue")
    channel.declares(queue)
    return channel, queue


def got(channel: JudgedChannel, queue: str, why: str = "the message is got") -> Message | None:
    """Have the client get a message that it must get, and judge that it does."""
    found = channel.tries_to_get(queue)
    is_there = isinstance(found, Message)
    otherwise = found.told if isinstance(found, Refused) else "none is told"
    channel.client.judge(why, otherwise, is_there)
    channel.connection.came(Basic.Get)
    return found if isinstance(found, Message) else None


def given_wrongly(client: Client, said: Octets) -> tuple[JudgedConnection, Message | Refused | None]:
    """Have the client get a message, then what is no message as it should be; gives what it tells of it."""
    channel, queue = getting(client, WHOLE, said)
    if channel.get(queue) is None:
        raise ControlFailed("basic.get", "no message")
    told = channel.tries_to_get(queue)
    channel.connection.came(Basic.Get)
    return channel.connection, told


def soon(connection: JudgedConnection, *outcomes: Outcome) -> Observation:
    """Judge what comes where nothing may come as well, and should be waited for no longer than needed."""
    link = connection.link
    began = link.now()
    seen = link.next(EVERYWHERE, connection.client.context.patience.quiet)
    return link.hold(seen, link.legal(*outcomes), began)


def refuses(client: Client, said: Octets, *outcomes: Outcome) -> None:
    """Judge that the client answers what it got by one of these."""
    connection, _ = given_wrongly(client, said)
    connection.expect(*outcomes)


def header_sent(connection: JudgedConnection, act: Callable[[], object]) -> bytes:
    """Give the payload of the content header that comes of an act, readable or not; empty if none does."""
    connection.hear_out()
    before, quiet = len(_headers(connection)), connection.client.context.patience.quiet
    act()
    # What cannot be read leaves more than one thing to be heard.
    while len(found := _headers(connection)) == before:
        if isinstance(connection.link.next(EVERYWHERE, quiet), Silence | Closed):
            return b""
    return found[-1]


def _headers(connection: JudgedConnection) -> list[bytes]:
    frames = (each for each in connection.link.received() if isinstance(each, Frame))
    return [each.payload for each in frames if each.type == HEADER]


def headers_in(header: bytes) -> Mapping[str, Any]:
    """Give the headers table in a content header; empty if it cannot be read."""
    frame = Frame(HEADER, 1, header)
    return {} if unreadable(frame) else getattr(frame.content_header().properties, "headers", None) or {}


def channel_numbers(connection: JudgedConnection) -> list[int]:
    """Give the numbers of the channels that the client has opened, in their order."""
    key = Channel.Open.key.to_bytes(4)
    frames = (each for each in connection.link.received() if isinstance(each, Frame))
    return [each.channel for each in frames if each.payload[:4] == key]
