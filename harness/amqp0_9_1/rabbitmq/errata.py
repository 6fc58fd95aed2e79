"""How the vendor's errata read 0-9-1: letters of types, the default exchange, durable exclusive queues."""

from typing import Final

from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, meet_on_channel
from harness.amqp0_9_1.wire.field_tables import FIXED
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, Queue

LETTERS: Final = {ord("s"): ord("U"), ord("l"): ord("L"), ord("x"): ord("S")}
"""Letters that mean something else than in the grammar, each with the letter that means it there."""
_LONG: Final = frozenset(b"SxFA")
_SIZES: Final = {ord("D"): 5, **{ord(letter): fixed.size for letter, fixed in FIXED.items()}}
_TEXTS, _HEADERS = (0x8000, 0x4000), 0x2000
_FLAGS: Final = 12
"""Where in a content header the flags of its properties stand."""


def in_the_grammar(header: bytes) -> bytes:
    """Give a content header with the letters of its headers table as the grammar has them."""
    octets = bytearray(header)
    flags, at = int.from_bytes(header[_FLAGS : _FLAGS + 2]), _FLAGS + 2
    if not flags & _HEADERS:
        return header
    try:
        for text in _TEXTS:
            at += 1 + octets[at] if flags & text else 0
        _translate(octets, at + 4, at + 4 + int.from_bytes(octets[at : at + 4]), named=True)
    except IndexError:
        return header
    return bytes(octets)


def _translate(octets: bytearray, at: int, end: int, *, named: bool) -> None:
    while at < end:
        at += 1 + octets[at] if named else 0
        letter = octets[at]
        octets[at] = LETTERS.get(letter, letter)
        at += 1
        size = int.from_bytes(octets[at : at + 4])
        if letter in b"FA":
            _translate(octets, at + 4, min(at + 4 + size, end), named=letter == ord("F"))
        at += 4 + size if letter in _LONG else _SIZES.get(octets[at - 1], 0)


def names_the_default_exchange(turn: ChannelTurn[Queue.Bind | Queue.Unbind]) -> bool:
    return not turn.event.exchange


def is_durable_and_exclusive(turn: ChannelTurn[Queue.Declare]) -> bool:
    """Say whether a plain queue is asked for that is both; other types have rules of their own."""
    wanted = turn.event
    return (
        wanted.durable and wanted.exclusive and not wanted.passive and "x-queue-type" not in wanted.arguments
    )


def declare_it_transient(turn: ChannelTurn[Queue.Declare]) -> None:
    """Let the other rows decide about the method as it is without durable."""
    turn.event = turn.event.replace(durable=False)
    meet_on_channel(turn)


_refused = refuse(ACCESS_REFUSED)
ERRATA = (
    Row(
        "queue.declare: an exclusive queue is not durable",
        ChannelState.OPEN,
        Queue.Declare,
        is_durable_and_exclusive,
        (declare_it_transient,),
    ),
    Row(
        "queue.bind: refuses the default exchange",
        ChannelState.OPEN,
        Queue.Bind,
        names_the_default_exchange,
        answer=_refused,
    ),
    Row(
        "queue.unbind: refuses the blank exchange",
        ChannelState.OPEN,
        Queue.Unbind,
        names_the_default_exchange,
        answer=_refused,
    ),
)
