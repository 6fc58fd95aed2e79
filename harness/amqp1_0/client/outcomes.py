"""What can be observed of a 1.0 peer, and the legal outcomes a scenario may name."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from harness.amqp1_0.client.leniency import is_nearly
from harness.amqp1_0.wire.composites import Composite, choices
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER
from harness.amqp1_0.wire.generated import attribute
from harness.amqp1_0.wire.performatives import Begin, Close, Detach, Disposition, End, Error, SaslOutcome
from harness.amqp1_0.wire.serial import Serial
from harness.play.expect import SILENCE, Outcome
from harness.play.link import Closed, Silence, Unreadable
from harness.wire.units import Header

LONGEST = 80
"""Characters of what a peer wrote that a signature holds."""


@dataclass(frozen=True, slots=True)
class Received:
    """A performative on the server's `channel` and the payload; `session` is our channel, if any (2.4)."""

    channel: int
    performative: Any
    payload: bytes = b""
    session: int | None = field(default=None, compare=False)
    frame: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EmptyFrame:
    """A frame without a body, which means nothing (2.4.5)."""

    channel: int
    frame: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class HeaderReceived:
    """The peer sent a protocol header."""

    header: Header
    frame: int = field(default=0, compare=False, repr=False)


Sight = Received | EmptyFrame | HeaderReceived
Observation = Sight | Closed | Silence | Unreadable

_OURS = re.compile(r".+-c\d+-\d+-\d+")
"""The names that our client gives to links: of a connection, a session, a link."""
ENDINGS = (Close, End, Detach)
"""The performatives that may carry an error."""


def signature(seen: Observation) -> str:
    """Name what was observed the same in every run: without identifiers, numbers or times."""
    match seen:
        case Received(performative=performative):
            return describe(performative)
        case EmptyFrame():
            return "empty frame"
        case HeaderReceived(header=header):
            return header_name(header)
        case Closed(how=how):
            return f"stream ended ({how})"
        case Silence():
            return SILENCE
        case Unreadable(why=why):
            return f"unreadable: {why}"


def describe(performative: Composite) -> str:
    """Name a performative, an ending with its condition, an outcome of SASL with its code."""
    name = performative.type_name
    if isinstance(performative, ENDINGS):
        return f"{name} {condition_of(performative) or 'without error'}"
    if isinstance(performative, SaslOutcome):
        names = {number: each for each, number in choices("sasl-code").items()}
        code = performative.carried("code")
        return f"{name} {names.get(code, 'with an undefined code')}"
    return name


def condition_of(ending: Close | End | Detach) -> str:
    """Give the condition of a close, end or detach, as far as it can be shown; empty without an error."""
    error = ending.carried("error")
    if error is None:
        return ""
    if not isinstance(error, Error):
        return "with something that is no error"
    condition = error.carried("condition")
    if not isinstance(condition, str) or not condition:
        return "with an error without condition"
    return condition[:LONGEST].encode("unicode_escape").decode()


def header_name(header: Header) -> str:
    """Write a protocol header as the document does."""
    return f"protocol header AMQP {header.protocol_id} {'-'.join(map(str, header.version))}"


# -- what comes ----------------------------------------------------------------------------------------


def _came(kind: Any, seen: Any, **fields: object) -> bool:
    return (
        isinstance(seen, Received)
        and isinstance(seen.performative, kind)
        and all(getattr(seen.performative, attribute(name)) == value for name, value in fields.items())
    )


def answered(*kinds: type[Composite]) -> Outcome:
    """Allow one of these performatives."""
    told = " or ".join(kind.type_name for kind in kinds)
    return Outcome(told, lambda seen: _came(kinds, seen), about=kinds)


def fields(kind: type[Composite], **values: object) -> Outcome:
    """Allow a performative with these values in its fields (what they mean: defaults count)."""
    told = (f"{name.replace('_', '-')}={_shown(name, value)}" for name, value in values.items())
    says = " ".join([kind.type_name, *told])
    return Outcome(says, lambda seen: _came(kind, seen, **values), about=(kind,))


def _shown(name: str, value: object) -> object:
    """Write a role by its name, which is a boolean on the wire (2.8.1), and no name of one time alone."""
    if name == "name" and _OURS.fullmatch(str(value)):
        return "…"
    roles = {number: each for each, number in choices("role").items()}
    return roles.get(value, value) if name == "role" else value


def begun(channel: int, on: int | None = None) -> Outcome:
    """Allow the begin that answers ours on `channel`; `on` is the channel it has to come on."""
    return Outcome(
        f"begin in answer to ours{'' if on is None else f' on channel {on}'}",
        lambda seen: _came(Begin, seen, remote_channel=channel) and on in (None, seen.channel),
    )


def goes_on() -> Outcome:
    """Allow that the server carries on: it answers the begin that was sent behind."""
    return Outcome("begin in answer to one sent behind", lambda seen: _came(Begin, seen))


def header(octets: bytes = PROTOCOL_HEADER) -> Outcome:
    """Allow this protocol header, or one that is taken for it; another rule judges how it looks."""
    same = the_very_header(octets)
    return replace(
        same,
        matches=lambda seen: (
            same.matches(seen) or (isinstance(seen, HeaderReceived) and is_nearly(seen.header, octets))
        ),
    )


def the_very_header(octets: bytes = PROTOCOL_HEADER) -> Outcome:
    """Allow this protocol header, octet for octet."""
    return _with_header(header_name(Header(octets)), lambda header: header.octets == octets)


def other_header(than: bytes) -> Outcome:
    """Allow a protocol header that differs from the one sent."""
    return _with_header("another protocol header than ours", lambda header: header.octets != than)


def other_id(than: int) -> Outcome:
    told = f"a protocol header with another id than {than}"
    return _with_header(told, lambda header: header.protocol_id != than)


def _with_header(told: str, fits: Callable[[Header], bool]) -> Outcome:
    return Outcome(
        told, lambda seen: isinstance(seen, HeaderReceived) and fits(seen.header), waits_for_end=True
    )


def empty_frame_came() -> Outcome:
    """Allow an empty frame; only on a connection that hears them."""
    return Outcome("empty frame", lambda seen: isinstance(seen, EmptyFrame))


def covers(said: Disposition, delivery: int) -> bool:
    """Say whether a disposition, one as defined, is about a delivery (2.7.6)."""
    return said.is_as_defined() and spans(said, delivery)


def spans(said: Disposition, delivery: int) -> bool:
    """Say whether a disposition that is known to be as defined is about a delivery."""
    last = said.first if said.last is None else said.last
    return Serial(said.first) <= delivery <= Serial(last)


def silence() -> Outcome:
    """Allow that nothing comes."""
    return Outcome(SILENCE, lambda seen: isinstance(seen, Silence))


# -- how it ends ---------------------------------------------------------------------------------------


def _has_error(seen: Any, kinds: tuple[type[Composite], ...], conditions: tuple[str, ...]) -> bool:
    if not _came(kinds, seen):
        return False
    error = seen.performative.carried("error")
    if not isinstance(error, Error):
        return error is not None and not conditions
    return not conditions or error.carried("condition") in conditions


def _with_error(name: str, kinds: tuple[type[Composite], ...], conditions: tuple[str, ...]) -> Outcome:
    told = f" {' or '.join(conditions)}" if conditions else " with an error"
    return Outcome(name + told, lambda seen: _has_error(seen, kinds, conditions))


def closed(*conditions: str) -> Outcome:
    """Allow a close whose error has one of these conditions (any, if none is given)."""
    return _with_error("close", (Close,), conditions)


def closed_without_error() -> Outcome:
    return Outcome(
        "close without error",
        lambda seen: _came(Close, seen) and seen.performative.carried("error") is None,
    )


def session_ended(*conditions: str) -> Outcome:
    """Allow an end whose error has one of these conditions (any, if none is given)."""
    return _with_error("end", (End,), conditions)


def ended_well() -> Outcome:
    """Allow an end without error: in answer to ours it says that the session has gone on until then."""
    return Outcome(
        "end without error", lambda seen: _came(End, seen) and seen.performative.carried("error") is None
    )


def detached(*conditions: str) -> Outcome:
    """Allow a detach whose error has one of these conditions (any, if none is given)."""
    return _with_error("detach", (Detach,), conditions)


def ended_or_closed(*conditions: str) -> Outcome:
    """Allow an end or a close with one of these conditions (any, if none is given)."""
    return _with_error("end or close", (End, Close), conditions)


def stream_ended() -> Outcome:
    """Allow that the stream ends without a further octet, by FIN or RST."""
    return Outcome(
        "end of the stream without further data", lambda seen: isinstance(seen, Closed), waits_for_end=True
    )


# -- how a server refuses: one table -------------------------------------------------------------------


class Refusal(Enum):
    """What the rule says of how a server refuses."""

    OPENED = "after the opens, with whatever condition"
    OPENING = "before the server has sent its open, with whatever condition"
    CONDITION = "after the opens, where the condition itself is judged"
    CONDITION_OPENING = "before the server has sent its open, where the condition itself is judged"
    DEMANDED = "with the condition that the sentence demands"
    SESSION = "on a session, where the condition itself is judged"
    ON_SESSION = "on a session, with whatever condition"


_OTHER: Final = "the condition that fits is the server's choice: another may fit as well"
_NO_CLOSE: Final = (
    "that a close comes before the end of the stream is judged by 1-0/2.4.3.close-before-closing"
)
_NO_OPEN: Final = "before its open a server cannot write a close: it may just end the stream"

_WAYS: Final[Mapping[Refusal, tuple[tuple[Any, bool, str], ...]]] = {
    Refusal.OPENED: ((closed, True, ""), (stream_ended, False, _NO_CLOSE)),
    Refusal.OPENING: ((closed, True, ""), (stream_ended, False, _NO_OPEN)),
    Refusal.CONDITION: ((closed, True, ""), (closed, False, _OTHER)),
    Refusal.CONDITION_OPENING: (
        (closed, True, ""), (closed, False, _OTHER), (stream_ended, False, _NO_OPEN),
    ),
    Refusal.DEMANDED: ((closed, True, ""),),
    Refusal.ON_SESSION: ((ended_or_closed, True, ""), (stream_ended, False, _NO_CLOSE)),
    Refusal.SESSION: ((ended_or_closed, True, ""), (ended_or_closed, False, _OTHER)),
}  # fmt: skip
"""The legal ways, the preferred first: the outcome, whether it names the condition, and the reading."""


def refused(how: Refusal, *conditions: str) -> tuple[Outcome, ...]:
    """Give the legal outcomes of a refusal, the preferred one first; any condition if none is given."""
    made = ((way(*conditions) if named else way(), reading) for way, named, reading in _WAYS[how])
    return tuple(outcome.under(reading) if reading else outcome for outcome, reading in made)
