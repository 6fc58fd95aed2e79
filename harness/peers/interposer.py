"""Interposers: what passes between a client and a server, rewritten by rules that are data.

They work before a reference peer in memory and, carried by a proxy, before a real broker. What a unit on the
wire is, and how one is written, the protocol says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Self, TypeVar

from harness.peers.footprint import Footprint
from harness.peers.peer import (
    ConnectionAround,
    HalfClosingAround,
    PeerConnection,
    PeerServer,
    ServerAround,
    hears_the_end,
)
from harness.wire.reader import Reader

Condition = Callable[[Any], bool]
Unit = TypeVar("Unit")
Passed = tuple[list[Any], list[Any]]
"""What takes a unit's place: what goes on, and what goes back; frames or octets."""


def always(_: Any) -> bool:
    """Accept everything."""
    return True


def nothing(*_: Any) -> Passed:
    """Let it disappear."""
    return [], []


@dataclass(frozen=True, slots=True)
class Rule:
    """What an interposer does with one kind of thing on the wire.

    `method` is the class of what is met on its way `from_server` or to it, when `condition` holds for it and
    `skip` such ones have passed. `act` is called with the channel and the thing, and returns what takes its
    place: frames that go on, and frames that go back. `content` says whether what belongs to it goes with it.
    """

    method: type[Any] | None
    from_server: bool
    act: Callable[[int, Any], Passed]
    condition: Condition = always
    skip: int = 0
    content: bool = True

    def fits(self, met: object) -> bool:
        return (self.method is None or isinstance(met, self.method)) and self.condition(met)


def changed(values: dict[str, Any], sent: Any) -> Any:
    """Copy it with some fields changed; a value may be a function of the old one."""
    changes = {n: v(getattr(sent, n)) if callable(v) else v for n, v in values.items()}
    return sent.replace(**changes)


@dataclass(frozen=True, slots=True)
class Interposer(ABC):
    """Rewrites what passes by the first rule that fits; `last_words` are sent after the server has closed."""

    rules: tuple[Rule, ...] = ()
    last_words: bytes = b""

    @abstractmethod
    def connected(self, inner: PeerConnection) -> Interposed[Any]:
        """Put this interposer before a connection of the server."""

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections pass through this interposer."""
        return _Server(self, server)

    def __add__(self, other: Self) -> Self:
        """Join two interposers: tuples of both are joined, anything else is that of the first to have it."""
        own = ((each.name, getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        both = {name: a + b if isinstance(a, tuple) else a or b for name, a, b in own}
        return replace(self, **both)

    def shows(self, clean: Footprint) -> bool:
        """Say whether it could change what went to the server or came from it, or follow its end."""
        if self.last_words and clean.ended:
            return True
        return any(self._changes(rule, clean) for rule in self.rules)

    def _changes(self, rule: Rule, clean: Footprint) -> bool:
        met = [each for each in clean.of(rule.from_server, rule.method or object) if rule.condition(each)]
        return len(met) > rule.skip and not all(self.leaves(rule, each) for each in met)

    def leaves(self, rule: Rule, met: Any) -> bool:
        """Say whether something passes as it is though a rule acts on it: it has that value already."""
        return left_alone(rule, getattr(met, "channel", 0), met, met)


def left_alone(rule: Rule, channel: int, met: object, whole: object) -> bool:
    """Say whether a rule that acts on what was `met` lets it pass as it is: `whole`, on that channel."""
    try:
        return rule.act(channel, met) == ([whole], [])
    except Exception:
        return False  # it breaks the peer there, and that shows: whoever plays it will see


class _Server(ServerAround):
    def __init__(self, interposer: Interposer, server: PeerServer) -> None:
        super().__init__(server)
        self._interposer = interposer

    def around(self, connection: PeerConnection) -> PeerConnection:
        interposed = self._interposer.connected(connection)
        if hears_the_end(connection):
            return HalfClosingAround(interposed, connection)
        return interposed


@dataclass(slots=True)
class Way(Generic[Unit]):
    """One direction: the units cut, how often each rule was met, and channels whose content is dropped."""

    reader: Reader[Unit]
    dropping: set[int] = field(default_factory=set)
    met: dict[int, int] = field(default_factory=dict)

    def unread(self) -> bytes:
        """Remove and return what has come after octets that are no frame: it is passed on unchanged."""
        rest = self.reader.rest()
        self.reader.pending.clear()
        return rest

    def acts(self, rule: Rule, number: int, met: object) -> bool:
        if not rule.fits(met):
            return False
        self.met[number] = self.met.get(number, 0) + 1
        return self.met[number] > rule.skip


class Interposed(ConnectionAround, ABC, Generic[Unit]):
    """A peer's connection with an interposer before it."""

    def __init__(self, interposer: Interposer, inner: PeerConnection) -> None:
        super().__init__(inner)
        self._rules, self._last_words = interposer.rules, interposer.last_words
        self._to_server: Way[Unit] = Way(self._reader())
        self._to_client: Way[Unit] = Way(self._reader())
        self._back = b""
        self._ahead = 0
        """Octets of an unfinished unit of the client's that have been passed on."""
        self._spoke = False

    @abstractmethod
    def _reader(self) -> Reader[Unit]:
        """Make what cuts a stream of this protocol."""

    @abstractmethod
    def _apply(self, way: Way[Unit], from_server: bool, raw: bytes, unit: Unit) -> tuple[bytes, bytes]:
        """Give what goes on and what goes back in place of a unit."""

    def _looks_at(self, from_server: bool) -> bool:
        """Say whether something is done to what goes that way; else it passes as it comes, uncut."""
        return any(rule.from_server is from_server for rule in self._rules)

    def _concerns(self, begun: bytearray) -> bool:  # noqa: ARG002 - protocols know what may have begun
        return any(not rule.from_server for rule in self._rules)

    def receive(self, octets: bytes) -> None:
        """Take the client's octets, and pass on what the rules leave of them."""
        if not self._looks_at(False):
            self.inner.receive(octets)
            return
        self.inner.receive(b"")  # It hears us, though what we keep of a frame is not passed on yet.
        for raw, unit in self._to_server.reader.feed(octets):
            on, back = self._apply(self._to_server, False, raw, unit)
            ahead, self._ahead = self._ahead, 0
            if len(on) > ahead:
                self.inner.receive(on[ahead:])
            if back:
                # Our answer comes after what the server has said; else the server keeps it until it is asked.
                self._back += self._taken() + back
        if self._to_server.reader.broken:
            if rest := self._to_server.unread():
                self.inner.receive(rest)
        elif (begun := self._to_server.reader.pending) and not self._concerns(begun):
            self.inner.receive(bytes(begun[self._ahead :]))
            self._ahead = len(begun)

    def take(self) -> bytes:
        """Return what the rules leave of what the peer says."""
        octets, self._back = self._back + self._taken(), b""
        if not octets and self.inner.closed and self._last_words and not self._spoke:
            self._spoke = True
            return self._last_words
        return octets

    def _taken(self) -> bytes:
        if not self._looks_at(True):
            return self.inner.take()
        out = b""
        # What comes in pieces is no unit yet: nothing to say would be silence.
        while not out and (came := self.inner.take()):
            for raw, unit in self._to_client.reader.feed(came):
                on, back = self._apply(self._to_client, True, raw, unit)
                out += on
                if back:
                    self.inner.receive(back)
        return out + (self._to_client.unread() if self._to_client.reader.broken else b"")

    def _acted(self, way: Way[Unit], from_server: bool, channel: int, met: Any) -> tuple[Rule, Passed] | None:
        for number, rule in enumerate(self._rules):
            if rule.from_server is from_server and way.acts(rule, number, met):
                return rule, rule.act(channel, met)
        return None


def octets_of(units: list[Any]) -> bytes:
    """Encode frames, and leave octets as they are."""
    return b"".join(unit if isinstance(unit, bytes) else unit.encode() for unit in units)
