"""One direction of a 1.0 connection, cut into performatives and messages while it passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.interop.amqp1_0.values import Reader
from conformance.interop.outcomes import Form
from conformance.interop.play.passing import Content, Ended, Seen

OPEN, BEGIN, ATTACH, FLOW, TRANSFER, DISPOSITION, DETACH, END, CLOSE = range(0x10, 0x19)
LEVELS = {DETACH: "link", END: "session", CLOSE: "connection"}
ERRORS = {DETACH: 2, END: 0, CLOSE: 0}
"""Where the error stands among the fields."""


@dataclass(slots=True)
class Said:
    """A performative: its code, its fields, and the message that came with it."""

    channel: int
    code: int
    fields: list[Any]
    payload: bytes

    def field(self, place: int) -> Any:
        """Give what a field holds, without its type; None where it is not there."""
        value = self.fields[place] if place < len(self.fields) else None
        return next(iter(value.values())) if isinstance(value, Mapping) else value

    def number(self, place: int, otherwise: int = 0) -> int:
        value = self.field(place)
        return otherwise if value is None else int(value)


class Stream:
    """Takes the octets of one direction and gives what is complete."""

    def __init__(self) -> None:
        self._left = bytearray()
        self._coming: dict[tuple[int, int], tuple[Said, bytearray]] = {}

    def feed(self, octets: bytes) -> Iterator[Seen]:
        """Take octets; give messages, and ends that the peer announces with an error."""
        for said in self.performatives(octets):
            if said.code == TRANSFER:
                yield from self.message(said)
            elif said.code in LEVELS and (ended := ended_by(said)):
                yield ended

    def performatives(self, octets: bytes) -> Iterator[Said]:
        """Take octets; give performatives, those of SASL too."""
        self._left += octets
        while frame := self._frame():
            if said := _said(frame):
                yield said

    def _frame(self) -> bytes:
        left = self._left
        while left[:4] == b"AMQP" and len(left) >= 8:
            del left[:8]
        if len(left) < 8 or left[:4] == b"AMQP":
            return b""
        size = max(int.from_bytes(left[:4]), 8)
        if len(left) < size:
            return b""
        frame = bytes(left[:size])
        del left[:size]
        return frame

    def message(self, said: Said) -> Iterator[Content]:
        """Put a transfer to those before it; give the message when it is the last."""
        place = said.channel, said.number(0)
        first, payload = self._coming.setdefault(place, (said, bytearray()))
        payload += said.payload
        if said.field(5) is not True:
            del self._coming[place]
            if said.field(9) is not True:  # not aborted
                yield Content(Form(b"", bytes(payload)), tag=first.number(1))


def _said(frame: bytes) -> Said | None:
    at = frame[4] * 4
    if at >= len(frame):
        return None  # an empty frame, to be heard
    reader = Reader(frame, at)
    try:
        described = reader.value()["desc"]
        code, fields = int(described[0]["u64"]), described[1]["list"]
    except (ValueError, KeyError, TypeError):
        return None  # no performative: not for us to judge
    return Said(int.from_bytes(frame[6:8]), code, fields, frame[reader.at :])


def ended_by(said: Said) -> Ended | None:
    """Read why something ended; None where no error is told."""
    place = ERRORS[said.code]
    error = said.fields[place] if place < len(said.fields) else None
    return None if error is None else ended(LEVELS[said.code], error)


def ended(level: str, error: Any) -> Ended:
    """Read an error, whatever it is."""
    held = error.get("desc", [None, {}])[1] if isinstance(error, Mapping) else {}
    told = held.get("list", []) if isinstance(held, Mapping) else []
    condition = next(iter(told[0].values())) if told and isinstance(told[0], Mapping) else ""
    text = told[1] if len(told) > 1 and isinstance(told[1], str) else ""
    return Ended(level, str(condition), text)
