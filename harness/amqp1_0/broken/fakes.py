"""Agreeable fakes: 1.0 peers that know no rule at all. A check that passes on one of them proves little.

One agrees to everything, one refuses everything, one echoes, one is silent.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import SASL_HEADER, FrameReader, Unit, amqp_frame, sasl_frame
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Begin,
    Close,
    Detach,
    End,
    Error,
    Flow,
    Open,
    SaslCode,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from harness.peers.fakes import Answering, Replacement, replacements
from harness.wire.sasl import MECHANISMS
from harness.wire.units import Header

OPEN = Open("fake", properties={"product": "fake", "version": "1"})
OFFERED = SaslMechanisms(tuple(MECHANISMS))
"""What a fake offers when the layer of SASL is opened."""

Reaction = Callable[[int, Composite], Iterable[Composite]]


def agree(channel: int, said: Composite) -> Iterable[Composite]:
    """Give the answer of success, whatever was asked."""
    match said:
        case SaslInit() | SaslResponse():
            yield SaslOutcome(SaslCode.OK)
        case Open():
            yield OPEN
        case Begin():
            yield Begin(channel, 0, 2048, 2048)
        case Attach():
            yield said.replace(role=not said.role, initial_delivery_count=0)
        case Flow(echo=True):
            yield Flow(0, 2048, 0, 2048)
        case Detach():
            yield said.replace(error=None)
        case End() | Close():
            yield type(said)()


def refuse(channel: int, said: Composite) -> Iterable[Composite]:
    """Give a close with an error once the connection is open, whatever was asked."""
    if isinstance(said, SaslInit | SaslResponse | Open | Close):
        yield from agree(channel, said)
    else:
        yield Close(Error(AmqpError.INTERNAL_ERROR, "no"))


def answered(react: Reaction, unit: Unit) -> bytes | None:
    """Give what a fake answers: the same header to a header, to a performative what `react` gives."""
    if isinstance(unit, Header):
        return unit.octets + (sasl_frame(OFFERED).encode() if unit.octets == SASL_HEADER else b"")
    said = performative_of(unit)
    if said is None:
        return None
    channel = getattr(unit, "channel", 0)
    return b"".join(
        (sasl_frame(each) if "sasl-frame" in each.spec.provides else amqp_frame(channel, each)).encode()
        for each in react(channel, said)
    )


def _fake(react: Reaction) -> Answering:
    def ends(unit: Unit) -> bool:
        said = performative_of(unit)
        return said is not None and any(isinstance(each, Close) for each in react(0, said))

    return Answering(FrameReader(), partial(answered, react), ends)


FAKES: Mapping[str, Replacement] = replacements(partial(_fake, agree), partial(_fake, refuse))
