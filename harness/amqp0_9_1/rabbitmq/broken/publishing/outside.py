"""What is wrong where RabbitMQ departs from 0-9-1."""

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.strategies import cut_to_frames
from harness.amqp0_9_1.wire.frames import METHOD


def change_the_end(body: bytes, frame_max: int) -> list[bytes]:
    """Sends another last octet of a long body."""
    frames = cut_to_frames(body, frame_max)
    return frames if len(frames) < 3 else [*frames[:-1], frames[-1][:-1] + b"\1"]


def give_no_ticket(turn: Turn) -> None:
    """Answers Access.Request without the ticket."""
    head = bytes((METHOD,)) + turn.channel.number.to_bytes(2) + (4).to_bytes(4)
    turn.connection.put(head + b"\x00\x1e\x00\x0b\xce")


def say_nothing(_: Turn) -> None:
    """Passes over what came."""
