"""2.3.6: an exception ends what it has to, and says why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.client import Passage, Unit, readable
from harness.amqp0_9_1.compiled import Method
from harness.amqp0_9_1.deviations import changes, rewrites
from harness.amqp0_9_1.frames import BODY, METHOD, OVERHEAD, Frame
from harness.amqp0_9_1.outcomes import channel_closed, connection_closed
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.vocabulary import (
    CODEC,
    CONNECTION_FORCED,
    INTERNAL_ERROR,
    NOT_FOUND,
    UNEXPECTED_FRAME,
    Channel,
    Connection,
    Queue,
    Tx,
)
from harness.context import Sighting
from harness.journal import Direction
from scenarios.registry import broken_by, scenario, watch

USUALLY = "4.8.1: the level of an exception follows its class only usually"
MISPLACED = "content: refuses a frame out of sequence"


@scenario("0-9-1/prose/2.3.6.error-level")
@broken_by(
    "ends the connection for what is missing",
    changes(
        "queue.declare: passive refuses one that does not exist", answer=refuse(NOT_FOUND, Level.CONNECTION)
    ),
)
@broken_by(
    "ends only the channel for a frame out of place",
    changes(MISPLACED, answer=refuse(UNEXPECTED_FRAME, Level.CHANNEL)),
)
@broken_by("passes over a frame out of place", changes(MISPLACED, answer=None))
def error_ends_channel_or_connection(broker: Broker) -> None:
    """A missing queue ends the channel and no other one; a body without a header ends the connection."""
    other, channel = broker.channel(), broker.channel()
    channel.send(Queue.Declare(broker.name("queue"), passive=True))
    ended = channel.expect(channel_closed(), connection_closed(NOT_FOUND).under(USUALLY))
    if isinstance(ended, Channel.Close):
        other.stays_quiet()
    channel = broker.channel(new_connection=True)
    channel.connection.send_frames(Frame(BODY, channel.number, b"body"))
    channel.expect(connection_closed(), channel_closed(UNEXPECTED_FRAME).under(USUALLY))


Key = bytes | None
"""Class and method of a method frame; None for what carries no method that can be read."""
NOTHING = bytes(4)


class Unanswered:
    """What was sent on each channel and has not been answered: only that can have caused an exception.

    Methods on a channel are processed in order (4.7), so an answer is one to all that was sent before. In a
    transaction a Commit may find fault with what was published or acknowledged since it began.
    """

    def __init__(self) -> None:
        self._sent: dict[int, list[Key]] = defaultdict(list)
        self._in_transaction: dict[int, list[Key]] = {}
        self._highest = 0

    def went(self, unit: Unit) -> None:
        """Something was sent."""
        if not isinstance(unit, Frame):
            self._sent[0] += [unit.octets[OVERHEAD - 1 :][:4], None]
            return
        method = readable(unit)
        sent = self._sent[unit.channel]
        if unit.type == METHOD:
            sent.append(unit.payload[:4])
            self._in_transaction.get(unit.channel, []).append(unit.payload[:4])
        if method is None or (self._highest and unit.channel > self._highest):
            sent.append(None)
        if isinstance(method, Connection.TuneOk):
            self._highest = method.channel_max

    def came(self, channel: int, method: Method) -> None:
        """A method came: what it answers has caused nothing, nor has what was sent before."""
        sent = self._sent[channel]
        answered = [at for at, key in enumerate(sent) if key is not None and answers(key, method)]
        if answered:
            del sent[: answered[0] + 1]
        if isinstance(method, Tx.SelectOk | Tx.CommitOk | Tx.RollbackOk):
            self._in_transaction[channel] = []

    def explains(self, channel: int, close: Channel.Close | Connection.Close) -> bool:
        """Whether a Close blames one of these, or nothing where no method can be blamed."""
        channels = [channel] if channel else list(self._sent)
        sent = [key for each in channels for key in self._sent[each]]
        held = [key for each in channels for key in self._in_transaction.get(each, ())]
        blamed = close.class_id.to_bytes(2) + close.method_id.to_bytes(2)
        if blamed == NOTHING:
            return None in sent or not sent or close.reply_code in OF_THE_SERVER
        return blamed in sent or blamed in held


METHODS = {method.key.to_bytes(4): method for method in CODEC.methods.values()}
OF_THE_SERVER = CONNECTION_FORCED, INTERNAL_ERROR
"""What a server says of itself: no method of ours need have caused it."""


def answers(key: bytes, method: Method) -> bool:
    """Whether the method answers the one of this class and index."""
    if key not in METHODS:
        return False
    asked = METHODS[key].spec
    legal = {f"{asked.class_name}.{name}" for name in asked.responses} | {f"{asked.full_name}-ok"}
    return method.spec.full_name in legal


THREE_DIGITS = range(100, 1000)


@watch("0-9-1/prose/2.3.6.exception-tells-why", during="0-9-1/channel.open.state")
@broken_by("gives no code", rewrites(Connection.Close, reply_code=0))
@broken_by("gives a code of two digits", rewrites(Connection.Close, reply_code=50))
@broken_by("blames what was not said", rewrites(Connection.Close, class_id=90, method_id=20))
@broken_by("blames nothing", rewrites(Connection.Close, class_id=0, method_id=0))
@broken_by("blames what it has answered", rewrites(Connection.Close, class_id=10, method_id=40))
def close_has_a_code_and_blames_what_caused_it(transcript: Iterable[Passage]) -> Iterator[Sighting]:
    """Every Close has a code of three digits, and class and method of something that was not answered yet.

    Zeros are legal where no method can be blamed: for frames without a readable one, or what is the server's.
    """
    unanswered = Unanswered()
    for each in transcript:
        if each.direction is Direction.SENT:
            unanswered.went(each.unit)
        elif isinstance(each.unit, Frame) and (method := readable(each.unit)) is not None:
            if isinstance(method, Channel.Close | Connection.Close):
                explained = unanswered.explains(each.unit.channel, method)
                held = method.reply_code in THREE_DIGITS and explained
                why = f"{method.reply_code}, class {method.class_id}, method {method.method_id}"
                yield Sighting(held, f"{method.full_name} {why} at {each.at:.4f} s")
            unanswered.came(each.unit.channel, method)
