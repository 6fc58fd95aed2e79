"""Which faults of a server's are read all the same, how, and against which rules they count.

A connection's opening is read as far as the document gives its frames a meaning: who breaks a rule at the
door is judged by that rule, and by all others as well.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.fields import attribute, read_field
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, METHOD, PROTOCOL_HEADER, Frame
from harness.amqp0_9_1.wire.vocabulary import CODEC, GRAMMAR, Connection
from harness.play.leniency import Leniency, Step, Steps
from harness.wire.units import DecodeError, Header
from spec.readers.amqp0_9_1 import Field

UNDEFINED_TYPE = Leniency("0-9-1/prose/4.2.3.frame-layout", "passed over")
NO_FRAME = Leniency("0-9-1/prose/4.2.3.frame-layout", "nothing behind it is read")
WRONG_END = Leniency("0-9-1/prose/4.2.3.frame-end-is-ce", "nothing behind it is read")
ON_A_CHANNEL = Leniency("0-9-1/prose/4.2.3.connection-frames-on-zero", "taken as if on channel 0")
TWICE = Leniency("0-9-1/prose/2.2.4.handshake-in-order", "the second is set aside")
UNKNOWN_METHOD = Leniency("0-9-1/prose/2.3.5.1.one-command-per-frame", "passed over")
ARGUMENTS = Leniency("0-9-1/prose/2.3.5.1.one-command-per-frame", "read as far as they go")
TABLE = Leniency("0-9-1/prose/4.2.1.table-types-understood", "taken for an empty one")
VERSION = Leniency("0-9-1/prose/1.4.2.version-written-out", "taken for ours")
NO_MECHANISM = Leniency("0-9-1/prose/2.2.4.mechanisms-listed", "ours is tried all the same")
SMALL_FRAMES = Leniency("0-9-1/connection.tune.frame-max.minimum", "frame-min-size is asked for")
ANOTHER_CHANNEL = Leniency(
    "0-9-1/prose/2.3.1.frames-on-their-channel", "taken as on the channel it is due on"
)
NO_CHANNEL = Leniency("0-9-1/prose/2.3.1.frames-on-their-channel", "passed over")
ANOTHER_CONSUMER = Leniency(
    "0-9-1/prose/3.1.6.consumer-belongs-to-channel", "taken as on the channel of its consumer"
)
CONTENT_ELSEWHERE = Leniency("0-9-1/prose/2.3.5.2.content-follows-its-method", "taken as behind its method")
ANOTHER_CLASS = Leniency("0-9-1/prose/4.2.6.1.own-class-id-matches", "read as that of its method")

STRANGE = FRAME_MIN_SIZE
"""Octets of a frame of an undefined type that is passed over: before Tune no frame may be larger."""


STEPS = Steps(
    {
        "the protocol header": Step("0-9-1/prose/2.2.4.handshake-in-order", ("connection.start",)),
        "connection.start-ok": Step(
            "0-9-1/grammar/connection.start-ok.implemented", ("connection.tune", "connection.secure")
        ),
        "connection.secure-ok": Step("0-9-1/grammar/connection.secure-ok.implemented", ("connection.tune",)),
        "connection.tune-ok": Step("0-9-1/grammar/connection.tune-ok.implemented", ("connection.open-ok",)),
        # Open-Ok is the only answer to Tune-Ok as well.
        "connection.open": Step(
            "0-9-1/grammar/connection.open.answers", ("connection.open-ok",), ("connection.tune-ok",)
        ),
        "channel.open": Step("0-9-1/grammar/channel.open.answers", ("channel.open-ok",)),
    }
)


VERSION_OF_OURS = GRAMMAR.major, GRAMMAR.minor

OF_CONNECTIONS = Connection.Open.spec.class_index.to_bytes(2)

ASKED_BY: Mapping[type[Any], tuple[type[Any], ...]] = {
    Connection.Start: (Header,),
    Connection.Secure: (Connection.StartOk, Connection.SecureOk),
    Connection.Tune: (Connection.StartOk, Connection.SecureOk),
    Connection.OpenOk: (Connection.Open,),
}
"""What the server says before the connection is open, and what of ours it answers."""

FIRST_OF_EXTENSIONS = 0xF000
"""From this class on implementations may have methods of their own (4.2.4)."""


@dataclass
class Door:
    """What has passed on a connection that is being opened; `ours` says that it began with our header."""

    ours: bool = False
    opened: bool = False
    _sent: Counter[type[Any]] = field(default_factory=Counter)
    _heard: Counter[type[Any]] = field(default_factory=Counter)

    def went(self, unit: object) -> None:
        """Take note of what we sent."""
        if isinstance(unit, Header):
            self.ours = unit.octets == PROTOCOL_HEADER and not self._sent
            self._sent[Header] += 1
        elif isinstance(unit, Frame) and unit.type == METHOD and unit.payload[:2] == OF_CONNECTIONS:
            try:
                self._sent[CODEC.method_class(unit.payload)] += 1
            except DecodeError:
                return

    def came(self, method: Method) -> Iterator[tuple[Leniency, str]]:
        """Take note of what the server said; yield what is wrong with it where it is read all the same."""
        kind = type(method)
        if kind not in ASKED_BY:
            return
        asked = sum(self._sent[each] for each in ASKED_BY[kind])
        ending = self._sent[Connection.Close] or self._sent[Connection.CloseOk]
        if self.ours and not ending and 0 < asked <= self._heard[kind]:
            yield TWICE, f"{method.full_name} came again"
        self._heard[kind] += 1
        self.opened |= kind is Connection.OpenOk
        if self.ours:
            yield from _at_the_door(method)

    def passes_over(self, frame: Frame) -> bool:
        """Say whether a frame that cannot be read is no step of the opening, so that we go on without it."""
        if not self.ours or self.opened or frame.channel:
            return False
        try:
            CODEC.method_class(frame.payload)
        except DecodeError:
            return len(frame.payload) >= 4
        return False


def _at_the_door(method: Any) -> Iterator[tuple[Leniency, str]]:
    match method:
        case Connection.Start():
            version = method.version_major, method.version_minor
            if version != VERSION_OF_OURS:
                yield VERSION, f"Start of version {version[0]}-{version[1]}"
            if not method.mechanisms:
                yield NO_MECHANISM, "Start without a mechanism"
        case Connection.Tune(frame_max=size) if 0 < size < FRAME_MIN_SIZE:
            yield SMALL_FRAMES, f"Tune with a frame-max of {size}"


def is_extension(frame: Frame) -> bool:
    """Say whether a method is of a class reserved for implementations' own use."""
    return int.from_bytes(frame.payload[:2]) >= FIRST_OF_EXTENSIONS


def read_step(payload: bytes) -> tuple[Method, list[tuple[Leniency, str]]] | None:
    """Read a step of the server's, what cannot be read as empty or its default; None for other methods."""
    try:
        kind = CODEC.method_class(payload)
    except DecodeError:
        return None
    if kind not in ASKED_BY:
        return None
    values: dict[str, Any] = {}
    wrong: list[tuple[Leniency, str]] = []
    at = 4
    try:
        for each in kind.fields:  # no step of the server's has bits
            values[attribute(each.name)], at = _read(each, payload, at, wrong)
        if at != len(payload):
            wrong.append((ARGUMENTS, f"{kind.full_name} with octets behind its arguments"))
    except DecodeError as failure:
        wrong.append((ARGUMENTS, f"{kind.full_name}: {failure.what}"))
    return kind(**values), wrong


def _read(each: Field, payload: bytes, at: int, wrong: list[tuple[Leniency, str]]) -> tuple[Any, int]:
    """Read a field; give it and the offset behind it. Raises DecodeError where that cannot be told."""
    try:
        return read_field(payload, at, each.name, each.type)
    except DecodeError as failure:
        behind = at + 4 + int.from_bytes(payload[at : at + 4])
        if each.type != "table" or at + 4 > len(payload) or behind > len(payload):
            raise
        wrong.append((TABLE, f"{each.name}: {failure.what}"))
        return {}, behind
