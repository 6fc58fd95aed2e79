"""Packets of AMQP/Fast to measure with; there is no other library's codec to measure ours beside."""

from collections.abc import Iterator

from harness.amqp_fast.broken.fakes import CHALLENGE, TUNE
from harness.amqp_fast.wire.frames import Initiation, frame
from harness.amqp_fast.wire.vocabulary import OK, Connection, Handle, MessageHead
from harness.trials.benchmark import Figure
from harness.wire.journal import Direction
from harness.wire.transcript import Piece

_OPENING = (
    (Direction.SENT, Initiation()),
    (Direction.RECEIVED, frame(CHALLENGE)),
    (Direction.SENT, frame(Connection.Response("PLAIN", {}))),
    (Direction.RECEIVED, frame(TUNE)),
    (Direction.SENT, frame(Connection.Open(1, "/"))),
    (Direction.RECEIVED, frame(Connection.Reply(1, OK))),
)
_MESSAGE = MessageHead(200).encode() + bytes(200)


def packets(count: int) -> Iterator[Piece]:
    """Yield so many packets, 1 ms apart, by turns a message and its confirmation."""
    for number in range(count):
        if number < len(_OPENING):
            way, unit = _OPENING[number]
            yield number * 1e-3, way, unit.encode()
        elif number % 2:
            notify = Handle.Notify(1, number, len(_MESSAGE))
            yield number * 1e-3, Direction.RECEIVED, frame(notify, _MESSAGE).encode()
        else:
            yield number * 1e-3, Direction.SENT, frame(Handle.Reply(1, number, OK)).encode()


def figures() -> Iterator[Figure]:
    """Yield nothing: nobody else's codec of this protocol exists."""
    yield from ()
