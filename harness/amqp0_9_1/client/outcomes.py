"""What can be observed of a 0-9-1 peer, and the legal outcomes a scenario may name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.amqp0_9_1.wire.vocabulary import GRAMMAR, Channel, Connection
from harness.play.expect import SILENCE, Outcome
from harness.play.link import Closed as Closed
from harness.play.link import Silence as Silence
from harness.play.link import Unreadable as Unreadable
from harness.wire.units import Header

CODES = {constant.value: constant.name for constant in GRAMMAR.constants if constant.value >= 200}
"""Reply codes and their names; codes the document does not define are shown as they are."""


@dataclass(frozen=True, slots=True)
class Received:
    """A method on its channel (or `came_on` another), its content, and the `frame` that completed it."""

    channel: int
    method: Any
    properties: Properties | None = None
    body: bytes = b""
    frame: int = field(default=0, compare=False, repr=False)
    came_on: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class HeaderReceived:
    """The peer answered with a protocol header."""

    header: Header


Observation = Received | HeaderReceived | Closed | Silence | Unreadable


def signature(seen: Observation) -> str:
    """Name what was observed the same in every run: without tags, names or times."""
    match seen:
        case Received(method=Channel.Close() | Connection.Close() as close):
            return f"{close.full_name} {code(close.reply_code)}"
        case Received(method=method):
            return str(method.full_name)
        case HeaderReceived(header=header):
            return f"protocol header {'-'.join(map(str, header.version))}"
        case Closed(how=how):
            return f"socket closed ({how})"
        case Silence():
            return SILENCE
        case Unreadable(why=why):
            return f"unreadable: {why}"


def code(number: int) -> str:
    """Give a reply code with its name in the document."""
    return f"{number} ({CODES[number]})" if number in CODES else str(number)


def _came(kind: Any, seen: Any, fields: Mapping[str, object]) -> bool:
    return (
        isinstance(seen, Received)
        and isinstance(seen.method, kind)
        and all(getattr(seen.method, name) == value for name, value in fields.items())
    )


def _closed(kind: type[Method], codes: tuple[int, ...]) -> Outcome:
    told = " or ".join(map(code, codes)) if codes else "with any reply code"
    return Outcome(
        f"{kind.full_name} {told}",
        lambda seen: _came(kind, seen, {}) and (not codes or seen.method.reply_code in codes),
    )


def channel_closed(*codes: int) -> Outcome:
    """Allow a channel exception with one of these reply codes (any, if none is given)."""
    return _closed(Channel.Close, codes)


def connection_closed(*codes: int) -> Outcome:
    """Allow a connection exception with one of these reply codes (any, if none is given)."""
    return _closed(Connection.Close, codes)


EXCEPTION = channel_closed() | connection_closed()
"""A Close, of the channel or of the connection, with any reply code."""
SOFT = {each.value for each in GRAMMAR.constants if each.error_class == "soft-error"}


def refused(code_: int) -> tuple[Outcome, ...]:
    """Allow an exception with this reply code at the level of its class, the other tolerated (4.8.1)."""
    usual, other = (channel_closed, connection_closed)[:: 1 if code_ in SOFT else -1]
    return usual(code_), other(code_).under("4.8.1: the level of an exception follows its class only usually")


def closed_silently() -> Outcome:
    """Allow that the socket is closed without a further octet, by FIN or RST."""
    return Outcome(
        "socket closed without further data", lambda seen: isinstance(seen, Closed), waits_for_end=True
    )


def answered(*methods: type[Method]) -> Outcome:
    """Allow one of these methods."""
    names = " or ".join(method.full_name for method in methods)
    return Outcome(names, lambda seen: _came(methods, seen, {}))


def on_its_channel(outcome: Outcome) -> Outcome:
    """Add to an outcome the number of the channel it is due on, where a rule is about that."""
    return replace(
        outcome,
        says=f"{outcome.says} on its channel",
        matches=lambda seen: outcome.matches(seen) and seen.came_on is None,
    )


def header_answered(at_most: tuple[int, int, int] | None = None) -> Outcome:
    """Allow a valid protocol header with a version that is not above `at_most`."""
    limit = f" of version {'-'.join(map(str, at_most))} or lower" if at_most else ""
    return Outcome(
        f"a valid protocol header{limit}",
        lambda seen: (
            isinstance(seen, HeaderReceived)
            and seen.header.octets[4] == 0
            and (at_most is None or seen.header.version <= at_most)
        ),
        waits_for_end=True,
    )


def silence() -> Outcome:
    """Allow that nothing comes."""
    return Outcome(SILENCE, lambda seen: isinstance(seen, Silence))


def message(
    kind: type[Method],
    body: bytes | None = None,
    *,
    carrying: Mapping[str, object] | None = None,
    **fields: object,
) -> Outcome:
    """Allow a method with content: `kind` Deliver, GetOk or Return, with this body and these fields.

    `carrying` are properties by their Python names with the values they must have; others may be there too.
    """
    told = _told(fields)
    carried = carrying or {}
    if carried:
        told.append(f"with {', '.join(name.replace('_', '-') for name in carried)} as published")
    if body is not None:
        told.insert(0, f"with the body {body[:40]!r}")

    def matches(seen: Any) -> bool:
        return (
            _came(kind, seen, fields)
            and (body is None or seen.body == body)
            and all(getattr(seen.properties, name) == value for name, value in carried.items())
        )

    return Outcome(" ".join([kind.full_name, *told]), matches)


def fields(kind: type[Method], **values: object) -> Outcome:
    """Allow a method without content, with these values in its fields."""
    return Outcome(" ".join([kind.full_name, *_told(values)]), lambda seen: _came(kind, seen, values))


def _told(fields: Mapping[str, object]) -> list[str]:
    return [f"{name.replace('_', '-')}={_same(name, value)}" for name, value in fields.items()]


_OF_ONE_RUN = re.compile(r"amqp-conformance-[0-9a-z-]+")


def _same(name: str, value: object) -> object:
    """Say a value the same in every run: without names that a run or a server makes."""
    if name == "consumer_tag":
        return "…"
    return _OF_ONE_RUN.sub("…", value) if isinstance(value, str) else value
