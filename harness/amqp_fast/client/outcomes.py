"""What can be observed of a server of AMQP/Fast, and the legal outcomes a scenario may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import GRAMMAR, OK, Channel, Connection, Handle, MessageHead
from harness.play.expect import SILENCE, Outcome
from harness.play.link import Closed as Closed
from harness.play.link import Silence as Silence
from harness.play.link import Unreadable as Unreadable
from harness.wire.units import DecodeError

CODES = {number: name for name, number in GRAMMAR.choices["reply-code"].items()}
"""Reply codes that the document gives; all others are those of AMQ RFC 011, and shown as they are."""
CLOSES: tuple[type[Command], ...] = (Handle.Close, Channel.Close, Connection.Close)
"""From the narrowest level to the widest."""
REPLIES: tuple[type[Command], ...] = (Handle.Reply, Channel.Reply, Connection.Reply)
WIDER = "2.2.10 closes the part that an error is in; by 3.3.10 more may be closed"
WORDLESS = "the stream may end without a close: all parts end with it"


@dataclass(frozen=True, slots=True)
class Received:
    """A command, and the octets of the message it carried: of HANDLE NOTIFY all fragments together.

    `parts` are the commands that carried them; `frame` is the number of the last one on its connection.
    """

    command: Any
    octets: bytes = b""
    parts: tuple[Any, ...] = ()
    frame: int = field(default=0, compare=False, repr=False)

    @property
    def head(self) -> MessageHead | None:
        """The header of the message; None where there is none."""
        found = read_head(self.octets)
        return found and found[0]

    @property
    def body(self) -> bytes | None:
        """The body of the message; None where no header stands before it."""
        found = read_head(self.octets)
        return None if found is None else self.octets[found[1] :]


def read_head(octets: bytes) -> tuple[MessageHead, int] | None:
    """Read the header that octets begin with, and the offset behind it; None where no whole one is."""
    try:
        return MessageHead.decode(octets)
    except DecodeError:
        return None


def is_text(octets: bytes) -> bool:
    """Say whether the octets of a string are UTF-8 without a zero octet (3.1.2)."""
    read = octets.decode("utf-8", "surrogateescape")
    return not any(each == "\0" or "\udc80" <= each <= "\udcff" for each in read)


Sight = Received | Unreadable
Observation = Received | Closed | Silence | Unreadable


def signature(seen: Observation) -> str:
    """Name what was observed the same in every run: without numbers, names or times."""
    match seen:
        case Received(command=command):
            tells = isinstance(command, (*CLOSES, *REPLIES))
            return f"{command.full_name} {code(command.reply_code)}" if tells else str(command.full_name)
        case Closed(how=how):
            return f"socket closed ({how})"
        case Silence():
            return SILENCE
        case Unreadable(why=why):
            return f"unreadable: {why}"


def code(number: int) -> str:
    """Give a reply code with its name in the document, if it has one."""
    return f"{number} ({CODES[number]})" if number in CODES else str(number)


def came(seen: Any, kind: Any, fields: Mapping[str, object]) -> bool:
    """Say whether a command of a kind was observed, with these values in its fields."""
    return (
        isinstance(seen, Received)
        and isinstance(seen.command, kind)
        and all(getattr(seen.command, name) == value for name, value in fields.items())
    )


def answered(*kinds: type[Command]) -> Outcome:
    """Allow one of these commands."""
    names = " or ".join(kind.full_name for kind in kinds)
    return Outcome(names, lambda seen: came(seen, kinds, {}))


def fields(kind: type[Command], **values: object) -> Outcome:
    """Allow a command with these values in its fields."""
    return Outcome(" ".join([kind.full_name, *_told(values)]), lambda seen: came(seen, kind, values))


def closed(kind: type[Command], *codes: int) -> Outcome:
    """Allow a close with one of these reply codes, with any that tells an error if none is given."""
    told = " or ".join(map(code, codes)) if codes else "with a reply code of 3xx to 5xx"

    def matches(seen: Any) -> bool:
        return came(seen, kind, {}) and (
            seen.command.reply_code in codes if codes else is_error(seen.command.reply_code)
        )

    return Outcome(f"{kind.full_name} {told}", matches)


def is_error(number: int) -> bool:
    """Say whether a reply code tells of something that was not done: its first digit is 3, 4 or 5."""
    return 300 <= number < 600


def refused(level: type[Command], *codes: int) -> tuple[Outcome, ...]:
    """Allow a close of `level` (Handle.Close, …), preferred, and recorded one of what is around it."""
    place = CLOSES.index(level)
    wider = [closed(each, *codes).recorded(WIDER) for each in CLOSES[place + 1 :]]
    return closed(level, *codes), *wider


def closed_anyhow(*codes: int) -> Outcome:
    """Allow a close of any level, each as good as the others."""
    first, *others = (closed(each, *codes) for each in CLOSES)
    for each in others:
        first |= each
    return first


def connection_ends(*codes: int) -> tuple[Outcome, ...]:
    """Allow CONNECTION CLOSE, preferred, and that the stream ends without one."""
    return closed(Connection.Close, *codes), stream_ends().recorded(WORDLESS)


def stream_ends() -> Outcome:
    """Allow that the socket is closed without a further octet, by FIN or RST."""
    return Outcome(
        "socket closed without further data", lambda seen: isinstance(seen, Closed), waits_for_end=True
    )


def silence() -> Outcome:
    """Allow that nothing comes."""
    return Outcome(SILENCE, lambda seen: isinstance(seen, Silence))


def replied(kind: type[Command], tag: int, *codes: int) -> Outcome:
    """Allow a reply with this confirm-tag, and one of these reply codes; of success if none is given."""
    legal = codes or (OK,)
    told = " or ".join(map(code, legal))
    return Outcome(
        f"{kind.full_name} with the tag sent and {told}",
        lambda seen: came(seen, kind, {"confirm_tag": tag}) and seen.command.reply_code in legal,
    )


def message(
    body: bytes | None = None, *, head: Mapping[str, object] | None = None, **values: object
) -> Outcome:
    """Allow HANDLE NOTIFY with this body, these values in the header of the message and in its own fields."""
    carried = head or {}
    told = [f"with the body {_short(body)}"] if body is not None else []
    told += _told(values)
    told += [f"with {', '.join(name.replace('_', '-') for name in carried)} as sent"] if carried else []

    def matches(seen: Any) -> bool:
        if not came(seen, Handle.Notify, values) or seen.head is None:
            return False
        same = all(getattr(seen.head, name) == value for name, value in carried.items())
        return same and (body is None or seen.body == body)

    return Outcome(" ".join([Handle.Notify.full_name, *told]), matches)


def that(outcome: Outcome, says: str, holds: Callable[[Any], bool]) -> Outcome:
    """Add a condition to an outcome, in words."""
    return replace(
        outcome,
        says=f"{outcome.says}, {says}",
        matches=lambda seen: outcome.matches(seen) and holds(seen),
    )


def _short(body: bytes) -> str:
    return repr(body) if len(body) <= 40 else f"of {len(body)} octets"


def _told(values: Mapping[str, object]) -> list[str]:
    return [f"{name.replace('_', '-')}={_same(value)}" for name, value in values.items()]


def _same(value: object) -> object:
    """Say a value the same in every run: without names that a run makes."""
    return "…" if isinstance(value, bytes) else value
