"""Which faults of a server's are read all the same, how, and against which rules they count.

A connection's opening is read as far as the document gives its frames a meaning: who breaks a rule at the
door is judged by that rule, and by all others as well. The layer of SASL belongs to Part 5, which has no
rules here: what is wrong in it is borne where that is possible, and counts against nobody.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.decoding import decode
from harness.amqp1_0.wire.definitions import named_by
from harness.amqp1_0.wire.frames import (
    AMQP,
    FRAME_HEADER,
    MIN_MAX_FRAME_SIZE,
    PROTOCOL_HEADER,
    SASL,
    SASL_HEADER,
    TLS_HEADER,
    WORD,
    Frame,
)
from harness.amqp1_0.wire.generated import attribute
from harness.amqp1_0.wire.performatives import Open, SaslMechanisms, SaslOutcome
from harness.amqp1_0.wire.types import Described
from harness.play.leniency import Leniency, Step, Steps
from harness.wire.units import DecodeError, Garbage, Header

UNDEFINED_TYPE = Leniency("1-0/2.3.1.type-names-layer", "passed over")
ANOTHER_LAYER = Leniency("1-0/2.3.1.type-names-layer", "taken for a frame of the layer that its body is of")
OFFSET = Leniency("1-0/2.3.1.size-covers-frame", "its body is taken behind the frame header")
BEYOND = Leniency("1-0/2.3.1.size-covers-frame", "passed over")
NO_FRAME = Leniency("1-0/2.3.1.size-covers-frame", "nothing behind it is read")
NO_PERFORMATIVE = Leniency("1-0/2.3.2.performative-defined", "passed over")
OPEN_FIELD = Leniency("1-0/2.7.1.open-well-formed", "taken for one that is absent")
NO_OPEN = Leniency("1-0/2.7.1.open-well-formed", "taken for one that states nothing")
HEADER_TWICE = Leniency("1-0/2.2.data-matches-header", "the second is set aside")
ANOTHER_HEADER = Leniency("1-0/2.2.header-layout", "taken for ours")
OPEN_TWICE = Leniency("1-0/2.4.6.open-sent-once", "the second is set aside")
CLOSE_FIRST = Leniency("1-0/2.4.1.open-first", "taken for a close")


STEPS = Steps(
    {
        "the SASL header": Step("1-0/2.2.supported-version-proceeds", ("protocol header",)),
        "sasl-mechanisms": Step("", ("sasl-mechanisms",)),
        "sasl-init": Step("", ("sasl-outcome",)),
        "sasl-response": Step("", ("sasl-outcome",)),
        "the protocol header": Step("1-0/2.2.supported-version-proceeds", ("protocol header",)),
        "open": Step("1-0/2.4.1.open-answered", ("open",)),
        "begin": Step("1-0/2.2.supported-version-proceeds", ("begin",)),
    },
    behind=("begin", "end", "close"),
)
"""Those of SASL have no rule."""

LAYERS = tuple(Header(each).protocol_id for each in (PROTOCOL_HEADER, TLS_HEADER, SASL_HEADER))
"""The protocol ids that the standard has."""

Wrong = tuple[Leniency, str]


@dataclass
class Door:
    """What has passed on a connection, as far as it may pass once."""

    _opens: Counter[bool] = field(default_factory=Counter)
    _headers: set[bytes] = field(default_factory=set)
    _sasl: set[str] = field(default_factory=set)

    def went(self, said: Composite | None) -> None:
        """Take note of what we sent."""
        self._opens[True] += isinstance(said, Open)

    def comes_again(self, came: Header | Composite) -> Wrong | None:
        """Take note of what the server sent; give what is wrong if it had sent it and was not asked again."""
        if isinstance(came, Header):
            again = came.octets in self._headers
            self._headers.add(came.octets)
            return (HEADER_TWICE, "the protocol header came again") if again else None
        self._opens[False] += isinstance(came, Open)
        again = isinstance(came, Open) and self._opens[False] > max(self._opens[True], 1)
        return (OPEN_TWICE, "open came again") if again else None

    def is_said_twice(self, came: Composite) -> bool:
        """Take note of what a server says once in the layer of SASL; say whether it had said that."""
        if not isinstance(came, SaslMechanisms | SaslOutcome):
            return False
        again = came.type_name in self._sasl
        self._sasl.add(came.type_name)
        return again


def is_nearly(header: Header, ours: bytes) -> bool:
    """Say whether a header differs only in minor number and revision, or only in an id that no layer has."""
    asked = Header(ours)
    if header.protocol_id == asked.protocol_id:
        return header.version[0] == asked.version[0]
    return header.version == asked.version and header.protocol_id not in LAYERS


def frame_in(garbage: Garbage) -> tuple[Frame | None, Wrong]:
    """Read what can be of a frame whose offset is wrong and whose size is not; give what is wrong too."""
    offset, kind, channel = garbage.octets[4], garbage.octets[5], int.from_bytes(garbage.octets[6:8])
    if offset >= FRAME_HEADER // WORD:
        return None, (BEYOND, "a data offset beyond the frame")
    return Frame(kind, channel, garbage.octets[FRAME_HEADER:]), (OFFSET, f"a data offset of {offset}")


def read_frame(frame: Frame) -> tuple[Composite | None, Wrong] | None:
    """Read what can be of a frame, and what is wrong with it; None where it has no meaning."""
    if frame.type not in (AMQP, SASL):
        return None, (UNDEFINED_TYPE, f"a frame of type {frame.type}")
    other = replace(frame, type=SASL if frame.type == AMQP else AMQP)
    try:
        return other.performative(), (ANOTHER_LAYER, f"a performative in a frame of type {frame.type}")
    except DecodeError:
        pass
    named = named_by(frame)
    if named is Open:
        return Open(""), (NO_OPEN, "an open that cannot be read")
    return None if named or not _is_value(frame.body) else (None, (NO_PERFORMATIVE, "no performative"))


def _is_value(body: bytes) -> bool:
    try:
        value, _ = decode(body)
    except DecodeError:
        return False
    return not isinstance(value, Described) or not isinstance(value.value, Composite)


def readable(opening: Open) -> tuple[Open, list[Wrong]]:
    """Give an open without fields of another type or a limit below that of all peers, and what is wrong."""
    wrong: list[Wrong] = []
    kept: dict[str, Any] = {}
    for breach in opening.breaches():
        if "." not in breach.field:
            wrong.append((OPEN_FIELD, f"the {breach.field} of an open {breach.what}"))
            kept[attribute(breach.field)] = None
    least = opening.replace(**kept)
    stated = least.carried("max_frame_size")
    if stated is not None and stated < MIN_MAX_FRAME_SIZE:
        least = least.replace(max_frame_size=MIN_MAX_FRAME_SIZE)
    return least, wrong
