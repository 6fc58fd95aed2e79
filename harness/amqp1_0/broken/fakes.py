"""Agreeable fakes: 1.0 peers that know no rule at all. A check that passes on one of them proves little.

One agrees to everything, one refuses everything, one echoes, one is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from harness.amqp1_0.client.link import performative_of
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import SASL_HEADER, FrameReader, Header, amqp_frame, sasl_frame
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
from harness.peers import fakes
from harness.wire.sasl import MECHANISMS

OPEN = Open("fake", properties={"product": "fake", "version": "1"})
OFFERED = SaslMechanisms(tuple(MECHANISMS))
"""What a fake offers when the layer of SASL is opened."""

Reaction = Callable[[int, Composite], Iterable[Composite]]


def agree(channel: int, said: Composite) -> Iterable[Composite]:
    """The answer of success, whatever was asked."""
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
    """Once the connection is open: a close with an error, whatever was asked."""
    if isinstance(said, SaslInit | SaslResponse | Open | Close):
        yield from agree(channel, said)
    else:
        yield Close(Error(AmqpError.INTERNAL_ERROR, "no"))


class _Fake(fakes.Fake):
    """A connection of a fake: every protocol header comes back, `react` answers each performative."""

    def __init__(self, react: Reaction) -> None:
        super().__init__()
        self._react = react
        self._reader = FrameReader()

    def receive(self, octets: bytes) -> None:
        for _, unit in self._reader.feed(octets):
            if isinstance(unit, Header):
                self.said += unit.octets
                if unit.octets == SASL_HEADER:
                    self.said += sasl_frame(OFFERED).encode()
            elif (performative := performative_of(unit)) is not None:
                self._answer(getattr(unit, "channel", 0), performative)

    def _answer(self, channel: int, said: Composite) -> None:
        for answer in self._react(channel, said):
            sasl = "sasl-frame" in answer.spec.provides
            self.said += (sasl_frame(answer) if sasl else amqp_frame(channel, answer)).encode()
            if isinstance(answer, Close):
                self.closed = "fin"


@dataclass(frozen=True, slots=True)
class Replacement(fakes.Replacement):
    """A change that puts another server in the reference peer's place."""


FAKES: Mapping[str, Replacement] = fakes.replacements(
    Replacement, lambda: _Fake(agree), lambda: _Fake(refuse)
)
