"""Fuzz targets of AMQP/Fast: every decoder, the interposer, the server and the client.

`python -m harness.amqp_fast.trials.fuzz [NAME] [--seconds N]` runs them under atheris, see
`harness.trials.fuzz`.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import get_args

from harness.amqp_fast.broken.deviations import Interposer, adds, hears, ignores, rewrites, together
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.link import Link
from harness.amqp_fast.client.outcomes import Observation, closed_anyhow, signature, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer import Peer
from harness.amqp_fast.trials import odd
from harness.amqp_fast.trials.hostile import HostileTransport
from harness.amqp_fast.wire.annotate import annotate, blank_credentials, says
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Frame, FrameReader, Unit, frame
from harness.amqp_fast.wire.vocabulary import COMMANDS, Connection, Handle, MessageHead
from harness.peers.fakes import Recorder
from harness.trials.fuzz import Draws, Target, main
from harness.trials.fuzz_client import PATIENCE, heard, play
from harness.trials.fuzz_stream import WORD, carried, cut_alike, explained, only_blanks, passed_on
from harness.wire.units import DecodeError, Garbage

PLAYS = 20
"""Connections that a scenario of a dozen steps opens at most."""


def frames(data: bytes) -> None:
    """Check that a stream is cut alike however it arrives, and no octet is lost or kept beyond the limit."""
    draws = Draws(data)
    limit = draws.one_of((8, 64, 4096, 1 << 20))
    odd_units, sizes = draws.flag(), draws.piece()
    stream = b"".join(odd.unit(draws) for _ in range(9)) if odd_units else draws.rest()
    for raw, unit in cut_alike(FrameReader, limit, stream, sizes, _last):
        if isinstance(unit, Frame):
            assert unit.encode() == raw
            with suppress(DecodeError):
                unit.command()


def _last(unit: Unit) -> bool:
    return isinstance(unit, Garbage)


def command(data: bytes) -> None:
    """Check that a command that is read is written again as it came, but for unused bits; no other error."""
    draws = Draws(data)
    kind = draws.one_of(tuple(COMMANDS.values()))
    payload = draws.rest()
    with suppress(DecodeError):
        read, behind = kind.decode(payload)
        assert behind <= len(payload)
        again, _ = kind.decode(read.encode())
        assert again == read


def header(data: bytes) -> None:
    """Check the same of the header of a message."""
    with suppress(DecodeError):
        read, behind = MessageHead.decode(data)
        assert behind <= len(data)
        assert MessageHead.decode(read.encode())[0] == read


def spans(data: bytes) -> None:
    """Check that anything is told in one short line and explained octet by octet, none left out."""
    draws = Draws(data)
    if draws.flag():
        data = odd.unit(draws)
    explained(data, says, annotate, shared=True)


def credentials(data: bytes) -> None:
    """Check that blanking keeps the length, changes nothing twice, and brings no password out."""
    only_blanks(blank_credentials, data)
    if WORD.encode() in data:
        return
    draws = Draws(data)
    told = {"LOGIN": WORD, "PASSWORD": WORD}
    octets = frame(Connection.Response("PLAIN", told)).encode()
    whole = draws.piece() + octets if draws.flag() else octets[: draws.number() or None] + draws.piece()
    assert WORD.encode() not in blank_credentials(whole)
    assert WORD not in says(whole) + str(list(annotate(whole)))


def server(data: bytes) -> None:
    """Check that a server bears any octets in any pieces, and says only what can be read."""
    draws = Draws(data)
    peer = Peer()
    connection = peer.connect(0.0)
    reader, now = FrameReader(limit=1 << 20), 0.0
    while draws and not connection.closed:
        connection.receive(odd.unit(draws) if draws.flag() else draws.piece())
        now += draws.number() / 16
        connection.tick(now)
        for _, unit in reader.feed(connection.take()):
            assert isinstance(unit, Frame)
            assert isinstance(unit.command(), Command)
    connection.hang_up()


def link(data: bytes) -> None:
    """Check that any octets in any pieces come to observations."""
    draws = Draws(data)
    transport = HostileTransport(draws)
    with heard(transport, lambda context: Link(transport, context, "c", "fast"), data) as seen:
        seen.hears_pings, seen.hears_parts = draws.flag(), draws.flag()
        while draws:
            seen.send(odd.unit(draws))
            for place in (0, draws.number() % 4):
                came = seen.next(place, PATIENCE.answer)
                assert isinstance(came, get_args(Observation))
                assert signature(came).isprintable()


def client(data: bytes) -> None:
    """Check that a scenario of any steps ends by itself or by a Stop, in bounded time."""

    def steps(draws: Draws, visited: Server) -> None:
        connection = visited.connection()
        for _ in range(12):
            _step(draws, visited, connection)

    assert play(data, HostileTransport, Server, "fast", steps) <= PLAYS


def _step(draws: Draws, visited: Server, connection: FastConnection) -> None:
    choice = draws.number() % 8
    if choice == 0:
        connection.lives()
    elif choice == 1:
        connection.send(odd.unit(draws))
        connection.expect(closed_anyhow(), stream_ends().recorded())
    elif choice == 2:
        connection.channel().handle().listed("q")
    elif choice == 3:
        visited.queue(b"one", b"two")
    elif choice == 4:
        connection.channel().handle().consume("q").hears(b"one")
    elif choice == 5:
        connection.channel().stays_quiet()
    elif choice == 6:
        connection.channel(transacted=True).commit()
    else:
        connection.close()


PLAIN = Interposer()
CHANGING: tuple[Interposer, ...] = (
    PLAIN,
    rewrites(Handle.Reply, confirm_tag=7),
    together(ignores(Connection.Ping), hears(Handle.Send, partial=True)),
    adds(Handle.Notify, b"garbage", before=True),
)


def interposed(data: bytes) -> None:
    """Check that nothing is lost, added or held back that no rule asks for, in pieces of any size."""
    draws = Draws(data)
    interposer, inner = draws.one_of(CHANGING), Recorder()

    def pieces() -> Iterator[tuple[bool, bytes]]:
        while draws:
            choice = draws.number()
            yield bool(choice & 1), odd.unit(draws) if choice & 2 else draws.piece()

    sent, said, heard_ = carried(interposer.connected(inner), inner, pieces())
    if interposer is PLAIN:
        passed_on(FrameReader(16 << 20, initiated=False), sent, inner.got)
        passed_on(FrameReader(16 << 20), said, heard_)


TARGETS: Mapping[str, Target] = {
    "frames": frames,
    "command": command,
    "header": header,
    "spans": spans,
    "credentials": credentials,
    "server": server,
    "interposed": interposed,
    "link": link,
    "client": client,
}

if __name__ == "__main__":
    sys.exit(main("harness.amqp_fast.trials.fuzz"))
