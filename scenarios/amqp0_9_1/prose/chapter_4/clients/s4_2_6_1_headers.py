"""4.2.6.1: what a client makes of content headers."""

from collections.abc import Mapping
from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers, header_of, is_header
from harness.amqp0_9_1.broken.deviations import spoils, withholds
from harness.amqp0_9_1.client.outcomes import connection_closed, silence
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.server.told import Message, plain
from harness.amqp0_9_1.shims.values import told_properties
from harness.amqp0_9_1.wire.field_tables import shortstr
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.frames import BODY, HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    FRAME_ERROR,
    SYNTAX_ERROR,
    UNEXPECTED_FRAME,
    Basic,
    Queue,
)
from scenarios.amqp0_9_1.getting import (
    CLASS,
    TEXT,
    Octets,
    content,
    framed,
    getting,
    given_wrongly,
    got,
    headed,
    refuses,
    soon,
)
from scenarios.amqp0_9_1.prose.chapter_4.clients.s4_2_6_content import SAYS_ANOTHER, SAYS_NOTHING
from scenarios.amqp0_9_1.prose.chapter_4.s4_2_6_1_headers import BY_TYPE, MEANT, flagged
from scenarios.registry import broken_by, scenario
from spec.readers.amqp0_9_1 import Field
from spec.rules import Role

REFUSED = connection_closed(FRAME_ERROR, SYNTAX_ERROR, UNEXPECTED_FRAME)


def is_of_another_class(frame: Frame) -> bool:
    return is_header(frame) and int.from_bytes(frame.payload[:2]) != CLASS


def of_basic(frame: Frame) -> Frame:
    return Frame(HEADER, frame.channel, CLASS.to_bytes(2) + frame.payload[2:])


@scenario("0-9-1/prose/4.2.6.1.wrong-class-id-refused", role=Role.CLIENT)
@broken_by("does not look at it", spoils(is_of_another_class, of_basic), Role.CLIENT)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
def client_refuses_a_header_of_another_class(client: Client) -> None:
    """A content header of class 50, and one of class 999, make the client close with 501 or 505."""
    for class_index in (Queue.Declare.spec.class_index, 999):
        wrong = content(headed(class_index=class_index), TEXT)
        refuses(client, wrong, connection_closed(FRAME_ERROR, UNEXPECTED_FRAME))


@scenario("0-9-1/prose/4.2.6.1.weight-of-others", role=Role.CLIENT)
@broken_by("says nothing to it, and loses the message", withholds(Basic.GetOk, skip=1), Role.CLIENT)
def what_a_client_makes_of_a_weight_is_recorded(client: Client) -> None:
    """A content header with weight 1: the message is told, or the client closes the connection."""
    connection, told = given_wrongly(client, content(headed(weight=1), TEXT))
    open_to_it = "4.2.6.1: no reaction is named"
    if isinstance(told, Message) and told.text == TEXT.decode():
        soon(connection, silence().recorded(open_to_it))
    else:
        connection.expect(REFUSED.recorded(open_to_it))


def frames_on_zero(*frames: tuple[int, bytes]) -> Octets:
    octets = b"".join(Frame(kind, 0, payload).encode() for kind, payload in frames)
    return lambda channel: octets + framed(Basic.GetEmpty())(channel)


@scenario("0-9-1/prose/4.2.6.1.content-on-zero-refused", role=Role.CLIENT)
@broken_by(
    "passes it over",
    spoils(lambda it: it.type in (HEADER, BODY) and not it.channel, lambda _: b""),
    Role.CLIENT,
)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
@broken_by("gives another code", SAYS_ANOTHER, Role.CLIENT)
def client_refuses_content_on_channel_zero(client: Client) -> None:
    """A header, and a body, on channel 0 make the client close with 504.

    As no method can announce a content there, each lacks another part of it, for which 505 is due.
    """
    incomplete = connection_closed(UNEXPECTED_FRAME).under("4.2.6: a content that lacks a part gets 505")
    for frame in ((HEADER, headed()), (BODY, TEXT)):
        refuses(client, frames_on_zero(frame), connection_closed(CHANNEL_ERROR), incomplete)


def with_a_body(frame: Frame) -> bytes:
    return Frame(HEADER, frame.channel, headed(1)).encode() + Frame(BODY, frame.channel, b"x").encode()


@scenario("0-9-1/prose/4.2.6.1.empty-body", role=Role.CLIENT)
@broken_by(
    "waits for a body", spoils(header_of(0), lambda it: Frame(HEADER, it.channel, headed(1))), Role.CLIENT
)
@broken_by("tells another", spoils(header_of(0), with_a_body), Role.CLIENT)
def client_takes_a_content_without_a_body(client: Client) -> None:
    """A message with a body is got, then one whose header says zero: it is told, with an empty body."""
    channel, queue = getting(client, content(headed(), TEXT), content(headed(0)))
    for size in (len(TEXT), 0):
        if message := got(channel, queue):
            client.judge(f"a body of {size} octets", f"{message.size} octets", message.size == size)


VALUED: Mapping[Field, Any] = {
    each: MEANT.get(each.name, BY_TYPE[each.type])
    for each in Basic.Properties.fields
    if each.name != "reserved"
}
"""Each property with a value; the one that is reserved, once cluster-id, is left out."""
CARRIED = (*({each: value} for each, value in VALUED.items()), dict(list(VALUED.items())[::2]))
"""Each property alone, and every second one."""


def as_told(values: Mapping[Field, Any]) -> dict[str, Any]:
    properties = Basic.Properties(**{attribute(each.name): value for each, value in values.items()})
    return {name: plain(value) for name, value in told_properties(properties).items()}


def told_of(message: Message) -> dict[str, Any]:
    return {name: plain(value) for name, value in message.properties.items()}


@scenario("0-9-1/prose/4.2.6.1.property-flags-from-high", role=Role.CLIENT)
@broken_by("loses the last", delivers(app_id=None), Role.CLIENT)
@broken_by("has two in one another's place", delivers(reply_to=None, message_id="text"), Role.CLIENT)
def client_reads_each_property_by_its_bit(client: Client) -> None:
    """Each property of Basic alone, and every second one, are told as they came.

    Their flags are written in raw octets.
    """
    said = [content(headed(flags_and_values=flagged(values)), TEXT) for values in CARRIED]
    channel, queue = getting(client, *said)
    for values in CARRIED:
        named = ", ".join(each.name for each in values)
        if message := got(channel, queue):
            as_it_came = as_told(values).items() <= told_of(message).items()
            client.judge(f"{named} as it came", "another, or none", as_it_came)


TWO_FIELDS = headed(flags_and_values=b"\x80\x01" + b"\x00\x00" + shortstr("text/plain"))


@scenario("0-9-1/prose/4.2.6.1.property-flags-continued", role=Role.CLIENT)
@broken_by("loses what follows", delivers(content_type=None), Role.CLIENT)
@broken_by("takes it for an error", withholds(Basic.GetOk), Role.CLIENT)
def client_reads_flags_that_go_on(client: Client) -> None:
    """Flags whose lowest bit is set, then a second field of flags without any: content-type is told."""
    channel, queue = getting(client, content(TWO_FIELDS, TEXT))
    if message := got(channel, queue):
        told = message.properties.get("content-type")
        client.judge("content-type as it came", "another, or none", told == "text/plain")


NOBODY_KNOWS = headed(flags_and_values=b"\x80\x02" + shortstr("text/plain"))
"""A flag behind those of all properties that Basic has, beside that of the first."""


@scenario("0-9-1/prose/4.2.6.1.client-bears-unknown-property", role=Role.CLIENT)
@broken_by("says nothing to it", SAYS_NOTHING, Role.CLIENT)
@broken_by(
    "takes the value for another",
    spoils(
        lambda it: it.payload == NOBODY_KNOWS,
        lambda it: Frame(HEADER, it.channel, headed(flags_and_values=b"\x40\x00" + shortstr("text/plain"))),
    ),
    Role.CLIENT,
)
def client_bears_a_property_that_is_none(client: Client) -> None:
    """The flag of a property that Basic has not: the client refuses that, or tells the rest as it came."""
    connection, told = given_wrongly(client, content(NOBODY_KNOWS, TEXT))
    if isinstance(told, Message):
        kept = (told.properties.get("content-type"), told.text) == ("text/plain", TEXT.decode())
        client.judge("the rest as it came", "another", kept)
        soon(connection, silence() | REFUSED)
    else:
        connection.expect(REFUSED)
