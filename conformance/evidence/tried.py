"""What was being tried when the deciding thing came, in the words of the document.

It is read off the exchange, for every check alike: what we had sent last on the deciding connection.
"""

import re
from collections.abc import Sequence

from conformance.evidence.kinds import Judged, Line
from conformance.evidence.octets import readable
from conformance.evidence.verdicts import Verdict
from harness.wire.journal import Declared, Direction, Ended, Octets

MOST = 3
"""Arguments that are told."""
_SEEN = (Verdict.FAIL, Verdict.WARN)
_METHOD = re.compile(r"[a-z]+\.[a-z-]+")
_PERFORMATIVE = re.compile(r"[a-z]+ [a-z-]+=[^ ,]*( |$)")
_FLAG = re.compile(r"[a-z][a-z0-9-]*")
_ARGUMENT = re.compile(r"[a-z][a-z0-9-]*=[A-Za-z0-9._#*/-]{1,32}")
_CHANNEL = re.compile(r" channel=\d+")


def tried(judged: Judged, lines: Sequence[Line]) -> str:
    """Say it as a clause, `queue.declare was tried again (passive)`; `lines` are those of the connection.

    Empty where an expectation did not decide, and where there was one step only.
    """
    if judged.frame is None or not _decided(judged):
        return ""
    events = [line.event for line in lines if line.test in (judged.test, None)] or [
        each.event for each in lines
    ]
    units = [event for event in events if isinstance(event, Octets | Ended)][: judged.frame]
    sent = [unit.says for unit in units if isinstance(unit, Octets) and unit.direction is Direction.SENT]
    if len(sent) < 2 or not sent[-1]:
        return ""
    names = {event.name for event in events if isinstance(event, Declared)}
    return _clause(sent[-1], sent[:-1], names)


def clause(judged: Judged, lines: Sequence[Line]) -> str:
    """Give the finding with what was being tried: what came instead of what, while what."""
    what = tried(judged, lines)
    if not what:
        return ""
    legal = judged.expected[0] if judged.expected else ""
    instead = f" instead of {legal}" if legal and legal != judged.actual else ""
    return readable(f"{judged.actual}{instead}, while {what}")


def aside(judged: Judged) -> str:
    """Give the sentence that decided where no expectation did: a control failed, or there was no occasion.

    What came last was then as expected, and neither it nor its frame says anything of the verdict. Empty
    where an expectation or a watch decided.
    """
    if judged.verdict in _SEEN or not judged.signature or _decided(judged):
        return ""
    return judged.detail if judged.detail != judged.actual else ""


def _decided(judged: Judged) -> bool:
    """Say whether an expectation decided, and not a control or a watch: by the signature, less its names."""
    first = judged.expected[0] if judged.expected else ""
    came = f"{judged.actual} instead of {first}" if judged.actual != first else first
    return bool(judged.actual) and len(judged.signature.split()) == len(came.split())


def _clause(last: str, before: Sequence[str], names: set[str]) -> str:
    name, _, rest = _CHANNEL.sub("", last, count=1).partition(" ")
    if not (_METHOD.fullmatch(name) or _PERFORMATIVE.match(f"{name} {rest}")):
        said = _CHANNEL.sub("", last, count=1).partition(":")[0]
        return f"{said} {'were' if said[:1].isdigit() else 'was'} sent"
    about = _about(last)
    again = " again" if any(_about(each) == about for each in before) else ""
    told = list(_telling(rest, names))[:MOST]
    return f"{name} was {'tried' if '.' in name else 'sent'}{again}" + (
        f" ({', '.join(told)})" if told else ""
    )


def _about(says: str) -> tuple[str, ...]:
    """Give the method and what it is first about: the same again is a repetition."""
    return tuple(_CHANNEL.sub("", says, count=1).split(" ")[:2])


def _telling(arguments: str, names: set[str]) -> list[str]:
    """Give the arguments that can be told in a word; names that were made for the test tell nothing."""
    told = []
    for word in arguments.split(" "):
        name, _, value = word.partition("=")
        if _FLAG.fullmatch(word) or (_ARGUMENT.fullmatch(word) and value not in names and value != "0"):
            told.append(word if value else name)
        elif any(each in word for each in "{['\""):
            break
    return told
