"""Agreeable fakes: peers that know no rule at all. A check that passes on one of them proves little.

One agrees to everything, one refuses everything, one echoes, one is silent.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, METHOD, Frame, FrameReader, Unit, method_frame
from harness.amqp0_9_1.wire.vocabulary import CODEC, INTERNAL_ERROR, Basic, Channel, Connection, Queue
from harness.peers.fakes import Answering, Replacement, replacements
from harness.wire.units import DecodeError, Header

START = Connection.Start(0, 9, {"product": "fake", "version": "1"}, b"PLAIN", b"en_US")
TUNE = Connection.Tune(0, FRAME_MIN_SIZE, 0)
SPECIAL: Mapping[str, Callable[[Method], Method]] = {
    "connection.start-ok": lambda _: TUNE,
    "connection.secure-ok": lambda _: TUNE,
    "queue.declare": lambda declare: Queue.DeclareOk(getattr(declare, "queue", "") or "a-queue"),
    "basic.consume": lambda consume: Basic.ConsumeOk(getattr(consume, "consumer_tag", "") or "a-tag"),
    "basic.cancel": lambda cancel: Basic.CancelOk(getattr(cancel, "consumer_tag", "")),
    "basic.get": lambda _: Basic.GetEmpty(),
    "basic.recover": lambda _: Basic.RecoverOk(),
}

Reaction = Callable[[int, Method], Iterable[Frame]]


def agree(channel: int, method: Method) -> Iterable[Frame]:
    """Give the answer of success, whatever was asked."""
    if method.full_name in SPECIAL:
        yield method_frame(channel, SPECIAL[method.full_name](method))
    elif method.spec.responses:
        answer = CODEC.methods[f"{method.spec.class_name}.{method.spec.responses[0]}"]
        yield method_frame(channel, answer())


def refuse(channel: int, method: Method) -> Iterable[Frame]:
    """Give a channel exception once the connection is open, whatever was asked."""
    if method.spec.class_name == "connection" or isinstance(method, Channel.Open | Channel.Close):
        yield from agree(channel, method)
    elif not isinstance(method, Channel.CloseOk):
        close = Channel.Close(INTERNAL_ERROR, "no", method.spec.class_index, method.spec.index)
        yield method_frame(channel, close)


def answered(react: Reaction, unit: Unit) -> bytes | None:
    """Give what a fake answers to its client: Start to a header, to a method what `react` gives."""
    if isinstance(unit, Header):
        return method_frame(0, START).encode()
    method = _method(unit)
    if method is None:
        return None
    return b"".join(answer.encode() for answer in react(getattr(unit, "channel", 0), method))


def _method(unit: Unit) -> Method | None:
    try:
        return unit.method() if isinstance(unit, Frame) and unit.type == METHOD else None
    except DecodeError:
        return None


def _fake(react: Reaction) -> Answering:
    return Answering(
        FrameReader(), partial(answered, react), lambda unit: isinstance(_method(unit), Connection.Close)
    )


FAKES: Mapping[str, Replacement] = replacements(partial(_fake, agree), partial(_fake, refuse))
