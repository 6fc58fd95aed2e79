"""A server that means harm, in place of a transport: agreeable, so that the client gets far, then anything.

What agreeing means, and what may be said instead, the protocol says.
"""

from collections.abc import Callable, Sequence
from typing import Any

from harness.trials.fuzz import Draws
from harness.wire.reader import Reader
from harness.wire.transport import End

LATENCY = 0.125
"""Seconds that pass with everything received, so that time never stands still."""


class HostileTransport:
    """A transport whose other end decides by `draws`. Its clock moves on with what is received.

    `odd` draws a unit of the protocol, sound or not; it may say one of `endless` again and again. `reader`
    cuts what the client says into units; `agrees` gives the answer of an agreeable server, if there is one.
    """

    endpoint = "hostile"

    def __init__(
        self,
        draws: Draws,
        odd: Callable[[Draws], bytes],
        endless: Sequence[bytes],
        reader: Reader[Any],
        agrees: Callable[[Any], bytes | None],
    ) -> None:
        self._draws, self._odd, self._choices = draws, odd, endless
        self._reader, self._agrees = reader, agrees
        self._time = 0.0
        self._says: list[bytes] = []
        self._endless = b""
        self._end: End | None = None
        self.said = 0
        """Octets it has said so far."""
        self.pieces = 0
        """Pieces they came in."""
        self.closed = False
        """Whether the client has closed its side."""

    def now(self) -> float:
        return self._time

    def send(self, octets: bytes) -> bool:
        """Hear what the client says, and agree unless the draws are against it."""
        for _, unit in self._reader.feed(octets):
            if (answer := self._agrees(unit)) is not None:
                self._say(answer)
        return self._end is None

    def _say(self, agreeable: bytes) -> None:
        draws = self._draws
        choice = draws.number()
        if choice < 128:
            self._says.append(agreeable)
        elif choice < 192:
            before, after = self._odd(draws), self._odd(draws) if choice & 1 else b""
            self._says += draws.cut(before + agreeable + after)
        elif choice < 216:
            self._says += draws.cut(self._odd(draws))
        elif choice < 232:
            octets = bytearray(agreeable or b"\0")
            octets[draws.number() % len(octets)] = draws.number()
            self._says.append(bytes(octets))
        elif choice < 244:
            self._endless = draws.one_of(self._choices)
        elif choice < 250:
            self._says += [agreeable[: draws.number()], b""]
            self._end = draws.one_of(tuple(End))

    def receive(self, deadline: float) -> bytes | End | None:
        """Return what it says next; else its end, or silence."""
        while self._says:
            if octets := self._says.pop(0):
                return self._heard(octets)
        if self._end is not None:
            return self._end
        if self._endless:
            return self._heard(self._endless)
        self._time = max(self._time, deadline)
        return None

    def _heard(self, octets: bytes) -> bytes:
        self._time += LATENCY
        self.said += len(octets)
        self.pieces += 1
        return octets

    def close(self, reset: bool = False) -> None:  # noqa: ARG002 - it is all the same to it
        self.closed = True
