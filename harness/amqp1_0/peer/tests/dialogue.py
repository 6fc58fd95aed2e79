"""A tiny synchronous 1.0 client over the sans-I/O interface, so that tests of the peer read as dialogues."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.amqp1_0.peer import TABLES, Limits, Peer, Policy, Tables
from harness.amqp1_0.peer.driver import Connection
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import (
    PROTOCOL_HEADER,
    SASL_HEADER,
    Frame,
    FrameReader,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.performatives import (
    Attach,
    Begin,
    Close,
    Flow,
    Open,
    Role,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    Source,
    Target,
    Transfer,
)
from harness.wire.units import Header

TAKEN: set[str] = set()
"""Names of the rows taken by every peer made here."""
tables_under_test: list[Tables] = [TABLES]
"""The tables peers are made with; the last one counts."""
LIMITS = Limits()
INIT = SaslInit("PLAIN", b"\0guest\0guest")
HEADER = Header(PROTOCOL_HEADER)
SASL = Header(SASL_HEADER)
EMPTY = empty_frame()


def peer(limits: Limits = LIMITS, **choices: Any) -> Peer:
    """A peer that departs from the default policy in `choices`."""
    return Peer(replace(Policy(), **choices), tables_under_test[-1], None, limits, TAKEN)


class Client:
    """One connection to a peer; if `opened`, with headers and opens exchanged."""

    def __init__(
        self, server: Peer | None = None, opened: bool = True, container: str = "", **fields: Any
    ) -> None:
        self.server = server or peer()
        self.peer: Connection = self.server.connect(0.0)
        self.now = 0.0
        self.first_id = 0
        self._reader = FrameReader(limit=1 << 30)
        if opened:
            self.send(HEADER, Open(container or f"client {self.peer.number}", **fields))
            assert HEADER in (heard := self.listen())
            assert isinstance(heard[-1], Open), heard

    def send(self, *parts: Any, channel: int = 0) -> None:
        """Send octets, frames, headers, or performatives on `channel`."""
        for part in parts:
            if isinstance(part, Composite):
                sasl = "sasl-frame" in part.spec.provides
                part = sasl_frame(part) if sasl else amqp_frame(channel, part)
            octets = part if isinstance(part, bytes) else getattr(part, "octets", None)
            self.peer.receive(octets if octets is not None else part.encode())

    def frames(self) -> list[Frame | Header]:
        """Every frame and header since last time."""
        units: list[Frame | Header] = []
        while octets := self.peer.take():
            for _, unit in self._reader.feed(octets):
                assert isinstance(unit, (Frame, Header)), unit
                units.append(unit)
        return units

    def listen(self) -> list[Any]:
        """Headers, performatives, and empty frames said since last time."""
        return [unit if isinstance(unit, Header) else unit.performative() or unit for unit in self.frames()]

    def hear(self) -> Any:
        """The one thing said since last time."""
        (heard,) = self.listen()
        return heard

    def ask(self, *parts: Any, channel: int = 0) -> Any:
        """Send, and return the one answer."""
        self.send(*parts, channel=channel)
        return self.hear()

    def ask_all(self, *parts: Any, channel: int = 0) -> list[Any]:
        """Send, and return all that is answered."""
        self.send(*parts, channel=channel)
        return self.listen()

    def condition(self, *parts: Any, channel: int = 0) -> str:
        """Send, and return the condition of the close that is the last answer; with a text."""
        self.send(*parts, channel=channel)
        *before, close = self.listen()
        assert isinstance(close, Close), close
        assert all(isinstance(each, (Header, Open, Begin)) for each in before), before
        assert close.error is not None
        assert close.error.description
        return str(close.error.condition)

    def wait(self, seconds: float) -> list[Any]:
        """Let time pass, and return everything said meanwhile."""
        until, heard = self.now + seconds, self.listen()
        while (timer := self.peer.next_timer()) is not None and timer <= until:
            self.now = max(self.now, timer)
            self.peer.tick(self.now)
            heard += self.listen()
        self.now = until
        return heard

    def log_in(self, init: SaslInit = INIT) -> int:
        """Go through the SASL layer; the code of its outcome."""
        self.send(SASL)
        *_, offered = self.listen()
        assert isinstance(offered, SaslMechanisms)
        self.send(init)
        outcome = self.listen()[0]
        assert isinstance(outcome, SaslOutcome)
        return outcome.code

    def begin(self, channel: int = 0, **fields: Any) -> Any:
        """Begin a session; the begin that answers."""
        answer = self.ask(Begin(None, 0, 100, 100).replace(**fields), channel=channel)
        self.first_id = getattr(answer, "next_outgoing_id", 0)
        return answer

    def sender(self, handle: int = 0, address: str = "q", channel: int = 0, **fields: Any) -> list[Any]:
        """Attach a link to send on; what is answered."""
        target = Target(address) if address else None
        attach = Attach(f"s{handle}", handle, Role.SENDER, None, None, Source("me"), target)
        self.send(attach.replace(**{"initial_delivery_count": 0} | fields), channel=channel)
        return self.listen()

    def receiver(
        self, handle: int = 1, address: str = "q", credit: int = 10, mode: int | None = None, channel: int = 0
    ) -> list[Any]:
        """Attach a link to receive on, with credit; what is answered."""
        self.send(
            Attach(f"r{handle}", handle, Role.RECEIVER, mode, None, Source(address), Target("me")),
            channel=channel,
        )
        if credit:
            self.send(Flow(self.first_id, 1000, 0, 1000, handle, None, credit), channel=channel)
        return self.listen()

    def transfer(self, body: bytes, number: int = 0, handle: int = 0, **fields: Any) -> None:
        """Send a message, or a piece of one."""
        told = Transfer(handle, number, b"t", 0).replace(**fields)
        self.send(amqp_frame(0, told, body))

    def bodies(self) -> list[bytes]:
        """The payloads of all transfers since last time."""
        read = [each.read() for each in self.frames() if isinstance(each, Frame)]
        return [payload for performative, payload in read if isinstance(performative, Transfer)]
