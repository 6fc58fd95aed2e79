"""The client in the hands of a hostile server: only typed observations come, and only typed exceptions."""

from collections.abc import Iterator
from typing import get_args

from harness.amqp1_0.broken.deviations import (
    Interposer,
    ends_by,
    follows,
    ignores_garbage,
    is_empty,
    moves_frames,
    rejects_frames,
    respells,
    takes_any_header,
)
from harness.amqp1_0.client.connection import AmqpConnection
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.link import CONNECTION, Link
from harness.amqp1_0.client.outcomes import (
    Observation,
    Refusal,
    closed,
    goes_on,
    header,
    refused,
    signature,
    stream_ended,
)
from harness.amqp1_0.trials import odd
from harness.amqp1_0.trials.hostile import HostileTransport
from harness.amqp1_0.wire.frames import FrameReader
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, Open
from harness.peers.fakes import Recorder
from harness.trials.fuzz import Draws
from harness.trials.fuzz_client import PATIENCE, heard, play
from harness.trials.fuzz_stream import carried, passed_on

PLAYS = 20
"""Connections that a scenario of a dozen steps opens at most."""


def link(data: bytes) -> None:
    """Check that any octets in any pieces come to observations, at most one for each frame."""
    draws = Draws(data)
    transport = HostileTransport(draws)
    with heard(transport, lambda context: Link(transport, context, "c", "1-0"), data) as seen:
        seen.hears_empty_frames = draws.flag()
        seen.beat = draws.one_of((None, 0.5, 3.0))
        while draws:
            seen.send(odd.unit(draws), by=draws.number() % 3)
            for place in (CONNECTION, odd.channel(draws)):
                came = seen.next(place, PATIENCE.answer)
                assert isinstance(came, get_args(Observation))
                assert signature(came).isprintable()


def client(data: bytes) -> None:
    """Check that a scenario of any steps ends by itself or by a Stop, in bounded time."""

    def steps(draws: Draws, container: Container) -> None:
        connection = container.connection()
        for _ in range(12):
            _step(draws, container, connection)

    assert play(data, HostileTransport, Container, "1-0", steps) <= PLAYS


def _step(draws: Draws, container: Container, connection: AmqpConnection) -> None:
    choice = draws.number() % 12
    if choice == 0:
        connection.fence()
    elif choice == 1:
        connection.goes_on(closed().under("any"))
    elif choice == 2:
        connection.send(odd.unit(draws))
        connection.gives_up(*refused(Refusal.OPENED, AmqpError.DECODE_ERROR), goes_on().under("any"))
    elif choice == 3:
        container.negotiated().refuses(*refused(Refusal.OPENING))
    elif choice == 4:
        connection.listen(1.0)
    elif choice == 5:
        connection.stays_quiet()
    elif choice == 6:
        connection.begin().receiver("q").detach()
    elif choice == 7:
        connection.begin(channel=odd.channel(draws)).sender("q")
    elif choice == 8:
        connection.send(Close())
        connection.expect(closed(), stream_ended().recorded(), header().under("any"))
    elif choice == 9:
        connection.until_end()
    elif choice == 10:
        connection.beats(draws.one_of((None, 0.5)))
    else:
        connection.got_nothing()


# -- interposers ---------------------------------------------------------------------------------------

PLAIN = Interposer()
CHANGING: tuple[Interposer, ...] = (
    PLAIN,
    takes_any_header() + ignores_garbage(),
    respells(Open, lambda sent: sent.sent_as(width=10)) + follows(Close, Open("again")),
    moves_frames(is_empty, channel=7) + rejects_frames(is_empty, AmqpError.NOT_ALLOWED),
    follows(Begin, b"garbage") + ends_by("rst"),
)


def interposed(data: bytes) -> None:
    """Check that nothing is lost, added or held back that no rule asks for, in pieces of any size."""
    draws = Draws(data)
    interposer, inner = draws.one_of(CHANGING), Recorder()

    def pieces() -> Iterator[tuple[bool, bytes]]:
        while draws:
            choice = draws.number()
            yield bool(choice & 1), odd.unit(draws) if choice & 2 else draws.piece()

    sent, said, heard = carried(interposer.connected(inner), inner, pieces())
    if interposer is PLAIN:
        for given, passed in ((sent, inner.got), (said, heard)):
            passed_on(FrameReader(16 << 20), given, passed)
