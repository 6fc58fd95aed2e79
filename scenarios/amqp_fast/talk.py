"""What the scenarios of AMQP/Fast do again and again."""

from collections.abc import Sequence

from harness.amqp_fast.client.channel import Conversation, FastHandle, numbers
from harness.amqp_fast.client.link import Said
from harness.amqp_fast.client.outcomes import WORDLESS, closed, message, replied, stream_ends
from harness.amqp_fast.wire.frames import frame
from harness.amqp_fast.wire.tables import LONGEST
from harness.amqp_fast.wire.vocabulary import TOPIC, Channel, Connection, Handle
from harness.play.expect import Outcome

DIALOGUE = "fast/2.2.7.whole-dialogue"
"""The rule whose scenario has a server say nearly all that there is, and so gives watches their occasion."""


def sends(handle: FastHandle, dest: str | bytes, *bodies: bytes, **how: object) -> None:
    """Send messages and judge that each is confirmed; `how` is as `carries` has it."""
    for body in bodies:
        tag = handle.connection.tag()
        handle.send(*handle.carries(dest, body, tag=tag, **how))  # type: ignore[arg-type]
        handle.expect(replied(Handle.Reply, tag))


def are_confirmed(handle: FastHandle, tags: Sequence[int], body: bytes) -> None:
    """Judge that the replies come in order, and one message among them, its queue's name told or not."""
    due = [*tags]
    delivered = False
    while due or not delivered:
        legal = replied(Handle.Reply, due[0]) if due else message(body)
        legal = legal | message(body) if due and not delivered else legal
        seen = handle.observe(legal, Handle.Created)
        delivered |= isinstance(seen.command, Handle.Notify)
        due = due[1:] if isinstance(seen.command, Handle.Reply) else due


def comes_home(handle: FastHandle, name: str | bytes, body: bytes) -> None:
    """Judge that a message to a queue that the handle itself consumes from is confirmed and delivered."""
    tag = handle.connection.tag()
    handle.send(*handle.carries(name, body, tag=tag))
    are_confirmed(handle, [tag], body)


def dynamic_name(handle: FastHandle, **fields: object) -> bytes:
    """Consume from a dynamic queue that the server names; give its name. Raises ControlFailed."""
    handle.send(handle.consuming("", dynamic=True, **fields))
    name: bytes = handle.control("HANDLE CONSUME", Handle.Created).dest_name
    return name


BEHIND = "518 has what a command causes come before its REPLY; a client that waits for both has both"


def is_named(handle: FastHandle, consume: Said, tag: int) -> bytes:
    """Judge that a dynamic queue is answered by its name, and confirmed if there is a tag; give the name."""
    confirmed = replied(Handle.Reply, tag)
    seen = handle.tries(consume, Handle.Created, *((confirmed.recorded(BEHIND),) if tag else ()))
    if isinstance(seen, Handle.Reply):
        seen = handle.expect(Handle.Created)
    elif tag:
        handle.expect(confirmed)
    name: bytes = seen.dest_name
    return name


def indexed(handle: FastHandle, queue: str | bytes, first: int = 0) -> list[int]:
    """Judge that HANDLE QUERY is answered by HANDLE INDEX; give the numbers listed."""
    return list(numbers(handle.tries(Handle.Query(handle.id, first, queue), Handle.Index).message_list))


NARROWER = "2437: closing the channel is one way to handle invalid data"


def given_up() -> tuple[Outcome, ...]:
    """Allow that what is malformed closes the connection, preferred, a part of it, or ends the stream."""
    narrower = closed(Channel.Close) | closed(Handle.Close)
    return closed(Connection.Close), stream_ends().recorded(WORDLESS), narrower.recorded(NARROWER)


def gives_up_on(place: Conversation, *what: Said) -> None:
    """Send what is malformed, with a whole PING behind it, and judge that it closes what it is about."""
    place.send(*what, Connection.Ping(respond=True))
    place.expect(*given_up())


def sized(handle: FastHandle, size: int, tag: int) -> Handle.Consume:
    """Give a HANDLE CONSUME of a topic whose frame has this size: its selector is as long as it takes."""
    topic = "t" * (200 if size > LONGEST // 2 else 1)
    empty = handle.consuming(topic, service_type=TOPIC, confirm_tag=tag, selector={"F": b""})
    missing = size - len(frame(empty).payload) - 1
    return empty.replace(selector={"F": bytes(missing)})


def is_read(handle: FastHandle, size: int, long: bool = False) -> None:
    """Judge that a command of this size is read: it is answered, and so is a PING behind it."""
    tag = handle.connection.tag()
    said = frame(sized(handle, size, tag))
    said.long = long or said.long
    handle.send(said, Connection.Ping(respond=True))
    unwanted = closed(Handle.Close) | closed(Channel.Close)
    handle.expect(replied(Handle.Reply, tag), unwanted.recorded("it was read, and is not wanted"))
    handle.connection.expect(Connection.Ping)
