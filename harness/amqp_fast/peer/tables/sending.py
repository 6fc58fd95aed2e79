"""The rows of what a client sends: HANDLE SEND, and HANDLE PREPARE before a large message (3.5.3, 3.5.12)."""

from __future__ import annotations

from harness.amqp_fast.peer.entities import Assembly, Message, Partial
from harness.amqp_fast.peer.refusals import (
    ACCESS,
    CHANNEL,
    FORBIDDEN,
    NOT_FOUND,
    NOT_VALID_NOW,
    RESOURCES,
    SERVICE_TYPE,
    SYNTAX,
    refuses,
)
from harness.amqp_fast.peer.tables.handle import OPEN, confirmed
from harness.amqp_fast.peer.traffic import deliver, route
from harness.amqp_fast.peer.turn import AnyTurn, Carrying, Reply, Row, Turn
from harness.amqp_fast.wire.vocabulary import (
    ANY,
    INVALID_MESSAGE_CONTENTS,
    MESSAGE_TOO_LARGE,
    NOT_IMPLEMENTED,
    QUEUE,
    TOPIC,
    Handle,
    MessageHead,
)
from harness.wire.units import DecodeError

HIGHEST = 9
"""The highest priority (1707)."""

# -- conditions ----------------------------------------------------------------------------------------


def is_no_producer(turn: AnyTurn) -> bool:
    """The handle was not opened to send (1833)."""
    return turn.policy.access == "as opened" and not turn.handle.command.producer


def is_of_no_service(turn: Turn[Handle.Send]) -> bool:
    """There is no such service type (3.5.3.1)."""
    return turn.event.service_type not in (QUEUE, TOPIC, ANY)


def is_elsewhere(turn: Turn[Handle.Send]) -> bool:
    """The message is carried out of band, of which nothing has been agreed (1888)."""
    return turn.event.out_of_band


def is_too_long(turn: Turn[Carrying]) -> bool:
    """The fragment is larger than the server takes (1022)."""
    return bool(turn.event.fragment_size > turn.peer.limits.frame)


def mixes(turn: Turn[Handle.Send]) -> bool:
    """A message that is not whole yet is on the channel, from another handle (1633)."""
    return turn.channel.assembling not in (None, turn.handle)


def recovers_nothing(turn: Turn[Handle.Send]) -> bool:
    """The rest of a message comes that was not prepared (2047)."""
    return turn.event.recovery and turn.handle.prepared is None and turn.channel.assembly is None


def has_no_header(turn: Turn[Carrying]) -> bool:
    """The first fragment does not begin with a whole header (1750)."""
    if isinstance(turn.event, Handle.Send) and (turn.event.recovery or turn.channel.assembly):
        return False
    if turn.policy.split_header == "joins" and getattr(turn.event, "partial", False):
        return False
    return _read(turn.fragment) is None


def _read(octets: bytes) -> Message | None:
    try:
        head, behind = MessageHead.decode(octets)
    except DecodeError:
        return None
    return Message(octets[:behind], head, octets[behind:])


def goes_nowhere(turn: Turn[Handle.Send]) -> bool:
    """There is no queue of that name."""
    host, name = turn.connection.host, turn.event.dest_name
    last = not turn.event.partial
    return bool(last and turn.event.service_type == QUEUE and host is not None and name not in host.queues)


def is_too_large(turn: Turn[Carrying]) -> bool:
    """The message is larger than the server holds."""
    assembly = turn.channel.assembly
    begun = len(assembly.octets) if assembly else 0
    announced = _announced(turn) if turn.policy.announced == "refuses" else 0
    return max(announced, begun + len(turn.fragment)) > turn.peer.limits.message


def _announced(turn: Turn[Carrying]) -> int:
    """Give the size of the body that the header in a first fragment tells."""
    if isinstance(turn.event, Handle.Send) and (turn.event.recovery or turn.channel.assembly):
        return 0
    message = _read(turn.fragment)
    return message.head.body_size if message else 0


def is_full(turn: AnyTurn) -> bool:
    """The server holds as much as it can."""
    return turn.peer.stored + len(turn.fragment) > turn.peer.limits.stored


def is_beyond_the_transaction(turn: AnyTurn) -> bool:
    """The transaction has as many messages as it may (1036)."""
    return turn.channel.transacted and len(turn.channel.sent) >= turn.connection.limits.transaction > 0


def is_partial(turn: Turn[Handle.Send]) -> bool:
    """More fragments follow."""
    return turn.event.partial


def is_beyond_priorities(turn: Turn[Handle.Send]) -> bool:
    """There is no such priority (1707)."""
    message = whole(turn)
    high = message is not None and message.head.priority > HIGHEST
    return high and turn.policy.high_priority == "refuses"


def is_of_another_size(turn: Turn[Handle.Send]) -> bool:
    """The body is longer or shorter than its header says (1700)."""
    message = whole(turn)
    return message is None or len(message.body) != message.head.body_size


def has_another_hash(turn: Turn[Handle.Send]) -> bool:
    """The body is not what its content hash says (1410)."""
    message, prepared = whole(turn), turn.handle.prepared
    if message is None or prepared is None or turn.policy.hashes == "ignores":
        return False
    return not turn.peer.tables.strategies.is_right(message.body, prepared.sha1)


def replies_to_hash(turn: Turn[Handle.Send]) -> bool:
    """The client is told by HANDLE REPLY that the hash is wrong."""
    wanted = turn.policy.wrong_hash == "reply" and turn.event.confirm_tag > 0
    return wanted and has_another_hash(turn)


# -- effects -------------------------------------------------------------------------------------------


def gathered(turn: Turn[Handle.Send]) -> bytes:
    """Give the octets of the message so far, this fragment included."""
    assembly = turn.channel.assembly
    if assembly is not None:
        return bytes(assembly.octets) + turn.fragment
    prepared = turn.handle.prepared
    if turn.event.recovery and prepared is not None:
        return prepared.header + bytes(prepared.body) + turn.fragment
    return turn.fragment


def whole(turn: Turn[Handle.Send]) -> Message | None:
    """Read the message that is whole with this fragment; None where it has no header."""
    message = _read(gathered(turn))
    if message is not None:
        message.sender = turn.connection.number
    return message


def confirmed_in_parts(turn: Turn[Handle.Send]) -> Reply:
    """Confirm a fragment, where each is confirmed by itself."""
    return confirmed(turn) if turn.policy.parts_confirmed == "each" else ()


def gather(turn: Turn[Handle.Send]) -> None:
    """Keep a fragment until the others have come; what was prepared is kept for another time, too."""
    octets = gathered(turn)
    turn.channel.assembly = Assembly(bytearray(octets))
    turn.channel.assembling = turn.handle
    if turn.handle.prepared is not None:
        turn.handle.prepared.body[:] = octets[len(turn.handle.prepared.header) :]


def filled_in(turn: Turn[Handle.Send]) -> Message:
    """Give the message as it is handed on: what its header leaves open is filled in, or not."""
    message, opened = whole(turn), turn.handle.command
    assert message is not None
    head, policy = message.head, turn.policy
    priority = min(head.priority, HIGHEST) if policy.high_priority == "lowers" else head.priority
    mime_type, encoding = head.mime_type, head.encoding
    if policy.defaults == "fills in":
        mime_type = mime_type or opened.mime_type or b"application/octet-stream"
        encoding = encoding or opened.encoding or b"binary"
    changed = head.replace(priority=priority, mime_type=mime_type, encoding=encoding)
    if changed != head:
        return Message(changed.encode(), changed, message.body, message.sender)
    return message


def send(turn: Turn[Handle.Send]) -> None:
    """Hand the message on, or keep it until the transaction is committed."""
    message, event, host = filled_in(turn), turn.event, turn.connection.host
    assert host is not None
    if turn.channel.transacted:
        turn.channel.sent.append((event.service_type, event.dest_name, message))
    else:
        route(turn.peer, host, event.service_type, event.dest_name, message)
        if turn.policy.deliveries == "before it":
            deliver(turn.peer, host)


def forget(turn: AnyTurn) -> None:
    """Forget the parts of a message that is whole, or cannot be."""
    turn.channel.assembly = turn.channel.assembling = None
    if (prepared := turn.handle.prepared) is not None:
        turn.peer.partial.pop(prepared.header, None)
        turn.handle.prepared = None


def is_invalid(turn: Turn[Handle.Send]) -> Reply:
    """Say that the contents are not those of the hash."""
    return (Handle.Reply(turn.handle.id, turn.event.confirm_tag, INVALID_MESSAGE_CONTENTS, "another hash"),)


# -- preparing -----------------------------------------------------------------------------------------


def is_not_restartable(turn: AnyTurn) -> bool:
    """The channel was not opened in restartable mode (1368)."""
    return not turn.channel.restartable and turn.policy.prepare_elsewhere == "refuses"


def fits_into_a_fragment(turn: Turn[Handle.Prepare]) -> bool:
    """The message is none that a client may prepare (1391)."""
    message = _read(turn.fragment)
    size = len(message.header) + message.head.body_size if message else 0
    return size <= turn.peer.limits.frame and turn.policy.small_prepare == "refuses"


def amid_another(turn: AnyTurn) -> bool:
    """What was prepared on the handle before has not come yet (2249)."""
    return turn.handle.prepared is not None and turn.policy.batches == "refused"


def is_beyond_us(turn: Turn[Handle.Prepare]) -> bool:
    """The message that is announced is larger than the server holds, and it says so."""
    return turn.policy.room == "limited" and is_too_large(turn)


def prepare(turn: Turn[Handle.Prepare]) -> None:
    """Find what is held of a message with this header, or begin to hold it (3.5.12)."""
    message, partial = _read(turn.fragment), turn.peer.partial
    assert message is not None
    held = partial.get(message.header) if turn.policy.restart == "full" else None
    if held is None:
        while len(partial) >= turn.peer.limits.partial:
            del partial[next(iter(partial))]
        held = partial[message.header] = Partial(message.header)
    if len(message.body) > len(held.body) and turn.policy.restart == "full":
        held.body[:] = message.body
    held.sha1 = turn.event.content_hash
    turn.handle.prepared = held


def ready(turn: Turn[Handle.Prepare]) -> Reply:
    """Tell how much of its body is held (2265)."""
    assert turn.handle.prepared is not None
    return (Handle.Ready(turn.handle.id, len(turn.handle.prepared.body)),)


_SEND: Row[Handle.Send] = Row("handle send", OPEN, Handle.Send)
_PREPARE: Row[Handle.Prepare] = Row("handle prepare", OPEN, Handle.Prepare)
_FORGETS = (forget,)

ROWS = (
    _SEND("by no producer is refused", is_no_producer, (refuses(ACCESS, "not opened to send"),)),
    _SEND("to no service is refused", is_of_no_service, (refuses(SERVICE_TYPE, "no such service"),)),
    _SEND("out of band is refused", is_elsewhere, (refuses(NOT_IMPLEMENTED, "nothing is out of band"),)),
    _SEND("of a long fragment is refused", is_too_long, (refuses(SYNTAX, "beyond FRAME_MAX"),)),
    _SEND("among fragments is refused", mixes, (refuses(NOT_VALID_NOW, "fragments are mixed", CHANNEL),)),
    _SEND(
        "of an unknown rest is refused", recovers_nothing, (refuses(NOT_VALID_NOW, "nothing was prepared"),)
    ),
    _SEND("without a header is refused", has_no_header, (refuses(SYNTAX, "no header"),)),
    _SEND("of a large message is refused", is_too_large, (forget, refuses(MESSAGE_TOO_LARGE, "too large"))),
    _SEND("to a full server is refused", is_full, (forget, refuses(RESOURCES, "no room"))),
    _SEND(
        "beyond the transaction is refused",
        is_beyond_the_transaction,
        (refuses(RESOURCES, "too many", CHANNEL),),
    ),
    _SEND("to no queue is refused", goes_nowhere, (forget, refuses(NOT_FOUND, "no such queue"))),
    _SEND("of a part is kept", is_partial, (gather,), confirmed_in_parts),
    _SEND("of another size is refused", is_of_another_size, (forget, refuses(SYNTAX, "not the size told"))),
    _SEND("of a high priority is refused", is_beyond_priorities, (forget, refuses(SYNTAX, "beyond 9"))),
    _SEND("of another hash is told", replies_to_hash, (forget,), is_invalid),
    _SEND(
        "of another hash is refused",
        has_another_hash,
        (forget, refuses(INVALID_MESSAGE_CONTENTS, "another hash")),
    ),
    _SEND("is done", effects=(send, forget), answer=confirmed),
    _PREPARE("by no producer is refused", is_no_producer, (refuses(ACCESS, "not opened to send"),)),
    _PREPARE(
        "elsewhere is refused", is_not_restartable, (refuses(NOT_VALID_NOW, "not restartable", CHANNEL),)
    ),
    _PREPARE("of a long fragment is refused", is_too_long, (refuses(SYNTAX, "beyond FRAME_MAX"),)),
    _PREPARE("without a header is refused", has_no_header, (refuses(SYNTAX, "no header"),)),
    _PREPARE(
        "of a large message is refused", is_beyond_us, (refuses(MESSAGE_TOO_LARGE, "too large", CHANNEL),)
    ),
    _PREPARE(
        "of a small message is refused",
        fits_into_a_fragment,
        (refuses(NOT_VALID_NOW, "it fits into a fragment"),),
    ),
    _PREPARE(
        "amid another is refused",
        amid_another,
        (refuses(FORBIDDEN, "one by one"),),
    ),
    _PREPARE("is answered", effects=(prepare,), answer=ready),
)
