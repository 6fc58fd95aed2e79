"""What a Close blames: on every connection of the run, something that can have caused it."""

from collections import defaultdict

from harness.amqp0_9_1.broken.deviations import rewrites
from harness.amqp0_9_1.client.transcript import READ, Passage
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import METHOD, OVERHEAD, Frame
from harness.amqp0_9_1.wire.vocabulary import (
    CODEC,
    CONNECTION_FORCED,
    INTERNAL_ERROR,
    Channel,
    Connection,
    Tx,
)
from harness.play.watching import Found, Gaps, State, came, went
from harness.wire.journal import SENT
from harness.wire.units import Garbage, Header
from scenarios.amqp0_9_1.grammar.calls import kind
from scenarios.amqp0_9_1.grammar.sent import carrying
from scenarios.registry import broken_by, watches_for
from spec.grammar.amqp0_9_1.members import Subject
from spec.readers.amqp0_9_1 import grammar

Key = bytes | None
"""Class and method of a method frame; None for what carries no method that can be read."""
NOTHING = bytes(4)


class Unanswered(State):
    """What was sent on each channel and has not been answered: only that can have caused an exception.

    Methods on a channel are processed in order (4.7), so an answer is one to all that was sent before. In a
    transaction a Commit may find fault with what was published or acknowledged since it began.
    """

    def __init__(self) -> None:
        self._sent: dict[int, list[Key]] = defaultdict(list)
        self._in_transaction: dict[int, list[Key]] = {}
        self._highest = 0

    def went(self, each: Passage) -> None:
        """Take note of what was sent."""
        unit, method = each.unit, each.said
        if not isinstance(unit, Frame):
            self._sent[0] += [unit.octets[OVERHEAD - 1 :][:4], None]
            return
        sent = self._sent[unit.channel]
        if unit.type == METHOD:
            sent.append(unit.payload[:4])
            self._in_transaction.get(unit.channel, []).append(unit.payload[:4])
        # What only some products know is no method to the others.
        unknown = method is None or method.full_name not in OWN
        if unknown or (self._highest and unit.channel > self._highest):
            sent.append(None)
        if isinstance(method, Connection.TuneOk):
            self._highest = method.channel_max

    def came(self, channel: int, method: Method) -> None:
        """Take note of a method: what it answers has caused nothing, nor has what was sent before."""
        sent = self._sent[channel]
        answered = [at for at, key in enumerate(sent) if key is not None and answers(key, method)]
        if answered:
            del sent[: answered[0] + 1]
        if isinstance(method, Tx.SelectOk | Tx.CommitOk | Tx.RollbackOk):
            self._in_transaction[channel] = []

    def explains(self, channel: int, close: Channel.Close | Connection.Close) -> bool:
        """Say whether a Close blames one of these, or nothing where no method can be blamed."""
        channels = [channel] if channel else list(self._sent)
        sent = [key for each in channels for key in self._sent[each]]
        held = [key for each in channels for key in self._in_transaction.get(each, ())]
        blamed = close.class_id.to_bytes(2) + close.method_id.to_bytes(2)
        if blamed == NOTHING:
            return None in sent or not sent or close.reply_code in OF_THE_SERVER
        return blamed in sent or blamed in held

    def is_of_another(self, channel: int, close: Channel.Close | Connection.Close) -> bool:
        """Say whether a Close of a channel blames what another one has said."""
        blamed = close.class_id.to_bytes(2) + close.method_id.to_bytes(2)
        others = (sent for number, sent in self._sent.items() if number != channel)
        return isinstance(close, Channel.Close) and any(blamed in sent for sent in others)


def channel_of(each: Passage) -> int:
    assert isinstance(each.unit, Frame)
    return each.unit.channel


OWN = grammar().methods
METHODS = {method.key.to_bytes(4): method for method in CODEC.methods.values()}
OF_THE_SERVER = CONNECTION_FORCED, INTERNAL_ERROR
"""What a server says of itself: no method of ours need have caused it."""


def answers(key: bytes, method: Method) -> bool:
    """Say whether the method answers the one of this class and index."""
    if key not in METHODS:
        return False
    asked = METHODS[key].spec
    legal = {f"{asked.class_name}.{name}" for name in asked.responses} | {f"{asked.full_name}-ok"}
    return method.spec.full_name in legal


@watches_for(
    carrying("class-id", "method-id"),
    during=lambda _: "0-9-1/prose/2.3.6.error-level",
    looks_at=lambda _: came(READ) + went(Frame, Header, Garbage),
    needs=lambda about: came(kind(about)),
    start=lambda _: Unanswered,
    gap=Gaps.STOPS,
)
@broken_by("blames what was not said", lambda about: rewrites(kind(about), class_id=90, method_id=20))
@broken_by("blames nothing", lambda about: rewrites(kind(about), class_id=0, method_id=0))
@broken_by("blames what it has answered", lambda about: rewrites(kind(about), class_id=10, method_id=40))
def close_blames_what_can_have_caused_it(unanswered: Unanswered, each: Passage, about: Subject) -> Found:
    """Every Close has class and method of something that was not answered yet.

    Zeros are legal where no method can be blamed: for frames without a readable one, or what is the server's.
    A Close that blames what another channel has said is not counted: it may have come on the wrong one.
    """
    if each.direction is SENT:
        unanswered.went(each)
        return None
    found: Found = None
    method, channel = each.said, channel_of(each)
    if isinstance(each.said, kind(about)):
        if unanswered.explains(channel, method):
            found = True
        elif not unanswered.is_of_another(channel, method):
            why = f"{method.reply_code}, class {method.class_id}, method {method.method_id}"
            found = f"{method.full_name} {why} at {each.at:.4f} s"
    unanswered.came(channel, method)
    return found
