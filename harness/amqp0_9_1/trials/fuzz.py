"""Fuzz targets of AMQP 0-9-1: every decoder, and both sides of the state tables.

`python -m harness.amqp0_9_1.trials.fuzz [NAME] [--seconds N]` runs them under atheris, see
`harness.trials.fuzz`.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from harness.amqp0_9_1.broken.deviations import (
    Interposed,
    Interposer,
    answers,
    ends_with,
    forwards,
    ignores,
    offers_header,
    rejects,
    replaces,
    rewrites,
    takes_any_header,
    withholds,
)
from harness.amqp0_9_1.peer import Limits, Peer
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.policy import DEFAULT, VARIANTS
from harness.amqp0_9_1.trials import odd
from harness.amqp0_9_1.trials.fuzz_client import client, link
from harness.amqp0_9_1.wire.annotate import annotate, blank_credentials, says
from harness.amqp0_9_1.wire.field_tables import (
    decode_array,
    decode_table,
    decode_value,
    encode_array,
    encode_table,
    encode_value,
)
from harness.amqp0_9_1.wire.frames import (
    HEADER,
    METHOD,
    PROTOCOL_HEADER,
    ContentHeader,
    Frame,
    FrameReader,
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic, Channel, Connection, Queue
from harness.peers.fakes import Recorder
from harness.trials.fuzz import Draws, Target, main
from harness.trials.fuzz_stream import (
    SECRET,
    WORD,
    carried,
    cut_alike,
    damaged_around,
    explained,
    only_blanks,
    passed_on,
)
from harness.wire.units import ANY_SIZE, DecodeError, Garbage

# -- decoders ------------------------------------------------------------------------------------------


def frames(data: bytes) -> None:
    """Check that a stream is cut alike however it arrives, and no octet is lost or kept beyond the limit."""
    draws = Draws(data)
    limit = draws.one_of((8, 64, 4096, 1 << 20))
    sizes, stream = draws.piece(), draws.rest()
    cut_alike(FrameReader, limit, stream, sizes, lambda unit: isinstance(unit, Garbage))


def method(data: bytes) -> None:
    """Check that a method is read or refused, and that what was read is sent and read back as the same."""
    choice = Draws(data).number(2)
    if choice < 0xF000:
        data = odd.METHODS[choice % len(odd.METHODS)].key.to_bytes(4) + data[2:]
    with suppress(DecodeError):
        read = CODEC.decode_method(data)
        assert repr(CODEC.decode_method(read.encode())) == repr(read)


def header(data: bytes) -> None:
    """Check that a content header is read or refused, and read back as the same."""
    if data[:1] > b"\x10":
        data = Basic.Properties.class_index.to_bytes(2) + data[1:]
    with suppress(DecodeError):
        read = ContentHeader.decode(data)
        assert repr(ContentHeader.decode(read.encode())) == repr(read)


def table(data: bytes) -> None:
    """Check that tables, arrays and values, at any place in the octets, are read back as the same."""
    at = data[0] if data else 0
    readers: tuple[tuple[Callable[[], tuple[Any, int]], Callable[[Any], bytes]], ...] = (
        (lambda: decode_table(data, at), encode_table),
        (lambda: decode_array(data, at), encode_array),
        (lambda: decode_value(data, at, len(data)), encode_value),
    )
    for read, write in readers:
        with suppress(DecodeError):
            found, behind = read()
            assert at < behind <= len(data)
            assert write(found)


def spans(data: bytes) -> None:
    """Check that anything is told in one short line and explained octet by octet; only bits share one."""
    explained(data, says, annotate, shared=True)


def credentials(data: bytes) -> None:
    """Check that blanking keeps the length, changes nothing twice, and brings no damaged password out."""
    only_blanks(blank_credentials, data)
    if WORD.encode() in data:
        return
    draws = Draws(data)
    kind = draws.one_of((Connection.StartOk, Connection.SecureOk))
    given = {"client_properties": odd.table(draws)} if kind is Connection.StartOk else {}
    octets = method_frame(odd.channel(draws), kind(response=SECRET, **given)).encode()
    octets = damaged_around(draws, octets, kept=range(7, 11))  # its class and method
    whole = octets[: draws.number(2) or None] + draws.piece()
    for raw, _ in FrameReader(ANY_SIZE).feed(whole):
        assert WORD.encode() not in blank_credentials(raw)
    assert WORD.encode() not in blank_credentials(whole)
    assert WORD not in says(whole) + str(list(annotate(whole)))


# -- the reference peer --------------------------------------------------------------------------------

LIMITS = Limits(content=1 << 16, stored=1 << 18, entities=20, unread=1 << 20)
POLICIES = (DEFAULT, *VARIANTS.values())
FACILITIES = ("second-vhost", "restricted-user", "memory-alarm", "lift-memory-alarm")


class _Client:
    """One connection to the peer; what the peer says must be well-formed and fit what was agreed."""

    def __init__(self, server: Peer, opened: bool = True) -> None:
        self.server = server
        self.peer = server.connect(0.0)
        self.ear = FrameReader(1 << 20)
        if opened:
            self.peer.receive(PROTOCOL_HEADER)
            self.say(*((0, each) for each in odd.OPENING), (1, Channel.Open()), (2, Channel.Open()))

    def say(self, *methods: tuple[int, Any]) -> None:
        for channel, each in methods:
            self.peer.receive(method_frame(channel, each).encode())

    def ask_likely(self, draws: Draws) -> None:
        """Ask what often makes sense, on a channel that is opened again if it was not open."""
        number = 1 + draws.number() % 2
        if number not in self.peer.channels or self.peer.channels[number].state is ChannelState.CLOSING:
            self.say((number, Channel.CloseOk()), (number, Channel.Open()))
        asked = odd.likely(draws)
        if isinstance(asked, Basic.Publish):
            properties = Basic.Properties(delivery_mode=draws.number() % 3, priority=draws.number() % 10)
            for frame in content_frames(number, asked, properties, draws.octets(draws.number() % 8), 4096):
                self.peer.receive(frame.encode())
        else:
            self.say((number, asked))

    def listen(self) -> None:
        for raw, unit in self.ear.feed(self.peer.take()):
            assert not isinstance(unit, Garbage), unit.why
            if isinstance(unit, Frame) and unit.type == METHOD:
                assert unit.method()
            elif isinstance(unit, Frame) and unit.type == HEADER:
                assert unit.content_header()
            limit = self.peer.frame_max
            assert not limit or len(raw) <= max(limit, 4096)
        assert not self.ear.pending


def peer(data: bytes) -> None:
    """Check that clients that say anything are answered or refused, and the peer's books stay right."""
    draws = Draws(data)
    server = Peer(draws.one_of(POLICIES), limits=LIMITS)
    clients = [_Client(server) for _ in range(2)] + [_Client(server, opened=False)]
    while draws:
        who = draws.number() % 3
        _one_step(draws, server, clients, who)
        if draws.flag():
            for each in clients:
                each.listen()
        assert all(each.peer.unread <= LIMITS.unread + (1 << 18) for each in clients)
    _books_are_right(server, clients)
    for each in clients:
        _let_time_pass(each)
        each.peer.hang_up()
        each.listen()
        assert each.peer.closed
    server.restart()
    for host in server.virtual_hosts.values():
        assert all(queue.durable and not queue.consumers for queue in host.queues.values())
        assert not host.paused


def _one_step(draws: Draws, server: Peer, clients: list[_Client], who: int) -> None:
    client, choice = clients[who], draws.number()
    if choice < 212:
        if client.peer.closed or client.peer.ended:
            clients[who] = client = _Client(server)
        client.ask_likely(draws)
    elif choice < 230:
        for piece in draws.cut(odd.unit(draws)) if choice & 1 else (odd.unit(draws),):
            client.peer.receive(piece)
    elif choice < 234:
        client.say((odd.channel(draws) or 1, draws.one_of((Channel.CloseOk, Channel.Open))()))
    elif choice < 237:
        client.peer.hang_up()
        client.listen()
        assert client.peer.closed
        clients[who] = _Client(server, opened=draws.flag())
    elif choice < 241:
        server.use(draws.one_of(FACILITIES))
    elif choice < 246:
        client.peer.tick(client.peer.next_timer() or 0.0)
    elif choice < 249:
        server.restart()
    elif client.peer.closed:
        clients[who] = _Client(server)


def _let_time_pass(client: _Client) -> None:
    now = 0.0
    for _ in range(20):
        timer = client.peer.next_timer()
        if timer is None:
            return
        assert timer >= now
        now = timer
        client.peer.tick(now)
        client.listen()
    raise AssertionError("a silent client is never given up")


def _books_are_right(server: Peer, clients: Iterable[_Client]) -> None:
    channels = [channel for each in clients for channel in each.peer.channels.values()]
    held = [each for channel in channels for each in (*channel.unacknowledged.values(), *channel.withheld)]
    for host in server.virtual_hosts.values():
        assert len(host.queues) <= LIMITS.entities
        for queue in host.queues.values():
            assert queue.unacknowledged == sum(each.entry.queue is queue for each in held)
            assert all(consumer.alive for consumer in queue.consumers)
    assert 0 <= server.store.octets <= LIMITS.stored + LIMITS.content


# -- interposers ---------------------------------------------------------------------------------------


INTERPOSERS = (
    rewrites(Basic.Deliver, redelivered=True)
    + rewrites(Connection.Start, version_minor=8)
    + rewrites(Queue.DeclareOk, message_count=lambda count: count // 2),
    replaces(Channel.OpenOk, Channel.CloseOk()) + withholds(Basic.Deliver, skip=1) + ends_with(b"!"),
    ignores(Basic.Publish) + forwards(Queue.Declare, arguments={}) + forwards(Connection.StartOk, locale="x"),
    answers(Queue.Declare, Queue.DeclareOk()) + rejects(Basic.Get, 541) + offers_header(b"HTTP"),
    takes_any_header() + forwards(Basic.Consume, no_ack=True) + withholds(Basic.Return),
)


def interposed(data: bytes) -> None:
    """Check that interposers without rules change nothing and hold nothing back, and others never break."""
    draws = Draws(data)
    choice = draws.number()
    plain = choice < 128
    inner = Recorder()
    interposer = Interposer() if plain else INTERPOSERS[choice % len(INTERPOSERS)]

    def pieces() -> Iterator[tuple[bool, bytes]]:
        while draws:
            octets = b"".join(odd.unit(draws) for _ in range(draws.number() % 4))
            yield from ((bool(choice & 1), piece) for piece in draws.cut(octets))

    sent, said, heard = carried(Interposed(interposer, inner), inner, pieces())
    assert len(inner.got) <= 4 * len(sent) + 64
    if plain:
        for given, passed in ((sent, inner.got), (said, heard)):
            passed_on(FrameReader(16 << 20), given, passed)


TARGETS: Mapping[str, Target] = {
    "frames": frames,
    "method": method,
    "header": header,
    "table": table,
    "spans": spans,
    "credentials": credentials,
    "peer": peer,
    "interposed": interposed,
    "link": link,
    "client": client,
}

if __name__ == "__main__":
    sys.exit(main("harness.amqp0_9_1.trials.fuzz"))
