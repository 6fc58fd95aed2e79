"""Changes that make a 0-9-1 peer break a rule: interposers on the wire, faults in the state tables.

Interposers are data: what of which method is rewritten, withheld, answered or repeated. They work before
the reference peer in memory and, carried by a proxy, before a real broker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.amqp0_9_1.compiled import Method
from harness.amqp0_9_1.frames import (
    METHOD,
    PROTOCOL_HEADER,
    Frame,
    FrameReader,
    Garbage,
    Header,
    method_frame,
)
from harness.amqp0_9_1.peer.rows import Tables
from harness.amqp0_9_1.tables import DecodeError
from harness.amqp0_9_1.vocabulary import Connection
from harness.peer import PeerConnection, PeerServer

Condition = Callable[[Any], bool]
Passed = tuple[list[Frame | bytes], list[Frame | bytes]]
"""What takes a method's place: what goes on, and what goes back."""


def always(_: Any) -> bool:
    """Every method."""
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """What an interposer does with one kind of method.

    `method` is met on its way `from_server` or to it, when `condition` holds for it and `skip` such ones
    have passed. `act` gives what takes its place: frames that go on, and frames that go back.
    """

    method: type[Method] | None
    from_server: bool
    act: Callable[[int, Any], Passed]
    condition: Condition = always
    skip: int = 0
    content: bool = True


@dataclass(frozen=True, slots=True)
class Interposer:
    """Rewrites what passes between client and peer, by its rules in order; the first that fits acts."""

    rules: tuple[Rule, ...] = ()
    last_words: bytes = b""
    header_from_server: bytes | None = None
    header_to_server: bytes | None = None

    def before(self, server: PeerServer) -> PeerServer:
        """A server whose connections pass through this interposer."""
        return _InterposedServer(self, server)

    def __add__(self, other: Interposer) -> Interposer:
        """Both interposers at once."""
        return Interposer(
            self.rules + other.rules,
            self.last_words or other.last_words,
            self.header_from_server or other.header_from_server,
            self.header_to_server or other.header_to_server,
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """A change of the reference peer's state tables."""

    change: Callable[[Tables], Tables]


def _nothing(*_: Any) -> Passed:
    return [], []


# -- interposers, as words -----------------------------------------------------------------------------


def rewrites(method: type[Method], when: Condition = always, skip: int = 0, **values: Any) -> Interposer:
    """Changes fields of a method the server sends; a value may be a function of the old one."""

    def act(channel: int, sent: Any) -> Passed:
        changes = {n: v(getattr(sent, n)) if callable(v) else v for n, v in values.items()}
        return [method_frame(channel, sent.replace(**changes))], []

    return Interposer(rules=(Rule(method, True, act, when, skip, content=False),))


def replaces(method: type[Method], by: Method | bytes, when: Condition = always, skip: int = 0) -> Interposer:
    """Sends another method (or octets) in place of one the server sends."""

    def act(channel: int, _: Any) -> Passed:
        return [by if isinstance(by, bytes) else method_frame(channel, by)], []

    return Interposer(rules=(Rule(method, True, act, when, skip),))


def withholds(method: type[Method], when: Condition = always, skip: int = 0) -> Interposer:
    """Lets a method of the server disappear, with its content."""
    return Interposer(rules=(Rule(method, True, _nothing, when, skip),))


def ignores(method: type[Method], when: Condition = always, skip: int = 0) -> Interposer:
    """Lets a method of the client disappear, with its content."""
    return Interposer(rules=(Rule(method, False, _nothing, when, skip),))


def answers(method: type[Method], by: Method, when: Condition = always, skip: int = 0) -> Interposer:
    """Answers a method of the client itself; the server never sees it."""

    def act(channel: int, _: Any) -> Passed:
        return [], [method_frame(channel, by)]

    return Interposer(rules=(Rule(method, False, act, when, skip),))


def rejects(method: type[Method], code: int, when: Condition = always, skip: int = 0) -> Interposer:
    """Refuses a method of the client by a Close of the connection; the server never sees it."""
    close = Connection.Close(code, "refused", method.spec.class_index, method.spec.index)

    def act(*_: Any) -> Passed:
        return [], [method_frame(0, close)]

    return Interposer(rules=(Rule(method, False, act, when, skip),))


def forwards(method: type[Method], when: Condition = always, skip: int = 0, **values: Any) -> Interposer:
    """Changes fields of a method the client sends before the server sees it."""

    def act(channel: int, sent: Any) -> Passed:
        changes = {n: v(getattr(sent, n)) if callable(v) else v for n, v in values.items()}
        return [method_frame(channel, sent.replace(**changes))], []

    return Interposer(rules=(Rule(method, False, act, when, skip, content=False),))


def ends_with(*last_words: Method | bytes) -> Interposer:
    """Says something on channel 0 before the server closes the socket without a word."""
    octets = [each if isinstance(each, bytes) else method_frame(0, each).encode() for each in last_words]
    return Interposer(last_words=b"".join(octets))


def offers_header(octets: bytes) -> Interposer:
    """Sends another protocol header (or anything) where the server answers with its own."""
    return Interposer(header_from_server=octets)


def takes_any_header() -> Interposer:
    """Takes every protocol header for the right one."""
    return Interposer(header_to_server=PROTOCOL_HEADER)


# -- faults, as words ----------------------------------------------------------------------------------


def drops(*rows: str) -> Fault:
    """Lacks these rows of the state tables, so that a later row is taken or nothing happens."""

    def change(tables: Tables) -> Tables:
        for row in rows:
            tables = tables.without(row)
        return tables

    return Fault(change)


def changes(row: str, **columns: Any) -> Fault:
    """Has other columns in a row of the state tables: condition, effects, answer or next state."""
    return Fault(lambda tables: tables.replacing(row, **columns))


def swaps(**strategies: Any) -> Fault:
    """Follows other strategies (see the peer's `Strategies`)."""
    return Fault(lambda tables: tables.swapping(**strategies))


def routes(**types: Any) -> Fault:
    """Routes otherwise in exchanges of these types."""
    return Fault(lambda tables: tables.routing(**types))


# -- how they act --------------------------------------------------------------------------------------


class _InterposedServer:
    def __init__(self, interposer: Interposer, server: PeerServer) -> None:
        self._interposer, self._server = interposer, server

    def connect(self, now: float) -> PeerConnection:
        return Interposed(self._interposer, self._server.connect(now))

    def restart(self) -> None:
        self._server.restart()

    def use(self, facility: str) -> dict[str, str]:
        return self._server.use(facility)


@dataclass(slots=True)
class _Way:
    """One direction: the frames cut, and content that is being dropped with its method, by channel."""

    reader: FrameReader = field(default_factory=lambda: FrameReader(limit=16 << 20))
    dropping: set[int] = field(default_factory=set)
    met: dict[int, int] = field(default_factory=dict)

    def unread(self) -> bytes:
        """What has come behind octets that are no frame: passed on as it is, and once."""
        rest = self.reader.rest()
        self.reader.pending.clear()
        return rest


class Interposed:
    """A peer's connection with an interposer before it."""

    def __init__(self, interposer: Interposer, inner: PeerConnection) -> None:
        self._interposer = interposer
        self._inner = inner
        self._to_server, self._to_client = _Way(), _Way()
        self._back = b""
        self._spoke = False

    @property
    def closed(self) -> str | None:
        """As the inner connection."""
        return self._inner.closed

    def receive(self, octets: bytes) -> None:
        """Take the client's octets, pass on what the rules leave of them."""
        for raw, unit in self._to_server.reader.feed(octets):
            on, back = self._apply(self._to_server, False, raw, unit)
            if on:
                self._inner.receive(on)
            if back:
                # Our answer comes after what the server has said; else the server keeps it until it is asked.
                self._back += self._taken() + back
        if self._to_server.reader.broken and (rest := self._to_server.unread()):
            self._inner.receive(rest)

    def hang_up(self) -> None:
        """Tell the inner connection."""
        self._inner.hang_up()

    def take(self) -> bytes:
        """What the rules leave of what the peer says."""
        octets, self._back = self._back + self._taken(), b""
        if not octets and self._inner.closed and self._interposer.last_words and not self._spoke:
            self._spoke = True
            return self._interposer.last_words
        return octets

    def _taken(self) -> bytes:
        out = b""
        for raw, unit in self._to_client.reader.feed(self._inner.take()):
            on, back = self._apply(self._to_client, True, raw, unit)
            out += on
            if back:
                self._inner.receive(back)
        return out + (self._to_client.unread() if self._to_client.reader.broken else b"")

    def next_timer(self) -> float | None:
        """As the inner connection."""
        return self._inner.next_timer()

    def tick(self, now: float) -> None:
        """As the inner connection."""
        self._inner.tick(now)

    def _apply(
        self, way: _Way, from_server: bool, raw: bytes, unit: Frame | Header | Garbage
    ) -> tuple[bytes, bytes]:
        if not isinstance(unit, Frame):
            changed = (
                self._interposer.header_from_server if from_server else self._interposer.header_to_server
            )
            return raw if changed is None else changed, b""
        if unit.type != METHOD:
            return (b"" if unit.channel in way.dropping else raw), b""
        way.dropping.discard(unit.channel)
        for number, rule in enumerate(self._interposer.rules):
            if (method := self._fits(way, rule, number, from_server, unit)) is not None:
                on, back = rule.act(unit.channel, method)
                if rule.content and method.spec.content:
                    way.dropping.add(unit.channel)
                return b"".join(map(_octets, on)), b"".join(map(_octets, back))
        return raw, b""

    def _fits(self, way: _Way, rule: Rule, number: int, from_server: bool, frame: Frame) -> Method | None:
        if rule.from_server is not from_server:
            return None
        try:
            method = frame.method()
        except DecodeError:
            return None
        if rule.method is not None and not isinstance(method, rule.method):
            return None
        if not rule.condition(method):
            return None
        way.met[number] = way.met.get(number, 0) + 1
        return method if way.met[number] > rule.skip else None


def _octets(unit: Frame | bytes) -> bytes:
    return unit if isinstance(unit, bytes) else unit.encode()
