"""3.7 Security Considerations, 3.8 Change Management Considerations."""

from collections.abc import Iterator

from harness.amqp_fast.broken.deviations import Fault, misreads
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import WORDLESS, closed, closed_anyhow, silence, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.turn import Reply
from harness.amqp_fast.wire.frames import RawFrame, frame
from harness.amqp_fast.wire.vocabulary import TOPIC, Channel, Connection, Handle
from scenarios.amqp_fast.talk import given_up, gives_up_on
from scenarios.registry import broken_by, scenario

UNDECODABLE = "undecodable: is refused"
ENORMOUS = 0xFFFFFFFE
FREE = 33, 38
"""Codes that no command has, amid those of the handle."""
WAITS = "it waits for the frame that was announced, as it may where others are served"
OPEN = frame(Channel.Open(1, 1)).payload
FLOW = frame(Handle.Flow(1, 1)).encode()
STRING = OPEN[:6] + bytes(2) + b"\xc8abc"
"""CHANNEL OPEN with a short string of 200 octets, of which three are there."""
TABLE = OPEN[:6] + b"\xff\xf0" + b"\x01AS\0\0" + b"\0"
"""CHANNEL OPEN with a table of nearly 2^16 octets, of which five are there."""


@scenario("fast/3.7.lengths-are-checked")
@broken_by("passes over what cannot be", Fault.drops(UNDECODABLE))
@broken_by("takes the string that is there", misreads(b"\xc8abc\xce", b"\x03abc\xce"))
@broken_by("takes the table that is there", misreads(b"\xff\xf0\x01A", b"\0\x05\x01A"))
@broken_by("wraps the size of a frame", misreads(b"\xff\xff\xff\xff\xff\xfe", b"\0\x0a"))
def lengths_beyond_what_is_there_are_refused(server: Server) -> None:
    """What goes beyond its frame closes something; a frame of 2^32-2 octets is refused, or waited for."""
    server.channel()
    for payload in (STRING, TABLE):
        gives_up_on(server.connection().unopened(1), RawFrame(payload))
    place = server.connection().unopened(1)
    announced = b"\xff\xff" + ENORMOUS.to_bytes(4, "big")
    place.send(announced + OPEN + b"\xce")
    place.expect(*given_up(), silence().recorded(WAITS))
    server.connection().lives()


def selecting(number: int) -> Handle.Consume:
    """Give a HANDLE CONSUME of a topic, with a selector."""
    return Handle.Consume(number, 1, TOPIC, 10, dest_name="topic", selector={"A": b"b"})


def invalid(number: int) -> Iterator[RawFrame]:
    """Give a HANDLE CONSUME whose table has a field of no type, and one that is too short."""
    payload = frame(selecting(number)).payload
    yield RawFrame(payload.replace(b"\x01AS", b"\x01A?"))
    yield RawFrame(payload[:5])


@scenario("fast/3.7.invalid-data-closes")
@broken_by("passes over it", Fault.drops(UNDECODABLE))
@broken_by("takes each type for a string", misreads(b"\x01A?", b"\x01AS"))
@broken_by("makes up what is missing", misreads(b"\0\x06\x20\0\x01\0\x01\xce", FLOW))
def invalid_data_closes_something(server: Server) -> None:
    """A command with a malformed table, and one that is too short, close the handle or what is around it."""
    server.handle().ask(selecting(1))
    for place in range(2):
        handle = server.handle(new_connection=True)
        handle.send([*invalid(handle.id)][place], Connection.Ping(respond=True))
        handle.expect(closed_anyhow(), stream_ends().recorded(WORDLESS))


def closes_a_handle(_: AnyTurn) -> Reply:
    """Takes it for something about a handle."""
    return (Handle.Close(1, 501),)


@scenario("fast/3.8.unknown-command-refused")
@broken_by("passes over it", Fault.drops(UNDECODABLE))
@broken_by("takes 33 for HANDLE FLOW", misreads(b"\0\x07\x21", b"\0\x07\x22"))
@broken_by("takes 38 for HANDLE FLOW", misreads(b"\0\x07\x26", b"\0\x07\x22"))
@broken_by(
    "ends no more than a handle",
    Fault.changes(UNDECODABLE, effects=(), answer=closes_a_handle),
)
def command_of_the_future_is_not_taken_for_another(server: Server) -> None:
    """What looks like HANDLE FLOW, but has a code of no command, ends the connection."""
    for code in FREE:
        connection = server.connection()
        handle = connection.channel().handle(1)
        connection.alive()
        payload = frame(Handle.Flow(1, connection.tag(), False)).payload
        handle.send(RawFrame(bytes((code,)) + payload[1:]), Connection.Ping(respond=True))
        handle.expect(closed(Connection.Close), stream_ends().recorded(WORDLESS))
