"""Legal outcomes, as scenarios word them, made patterns of what a script sees.

The words are those of both protocols' `client/outcomes.py`. What is no word of these cannot be looked for in
what comes next, and gives None.
"""

import re
from collections.abc import Container, Iterable

from conformance.bug.player import CLOSED, SILENCE

_ENDS = {"socket closed without further data", "end of the stream without further data"}
_KIND = r"[a-z]+\.[a-z-]+|[a-z]+(?:-[a-z]+)*"
_CODE = re.compile(r"\d{3}(?: \([a-z-]+\))?|[a-z]+(?::[a-z-]+)+")
_CODED = re.compile(rf"({_KIND}) ({_CODE.pattern})")
_ANY = re.compile(rf"({_KIND}) (with any reply code|with an error)")
_BODY = re.compile(r"basic\.[a-z-]+ with the body b(['\"]).*\1", re.DOTALL)
_WITH_CODE = {"channel.close", "connection.close", "close", "end", "detach"}
_WITH_CONTENT = {"basic.deliver", "basic.get-ok", "basic.return"}


def pattern(says: Iterable[str], names: Container[str]) -> str | None:
    """Give the regular expression of these outcomes; None where one of them cannot be seen by its word.

    `names` are those of what the protocol says.
    """
    found: list[str] = []
    for each in says:
        patterns = _patterns(each.removesuffix(" on its channel"), names)
        if patterns is None:
            return None
        found += patterns
    # What is no range needs no mark: a person reads it.
    return "|".join(dict.fromkeys(found)).replace(r"\-", "-").replace(r"\ ", " ") or None


def _patterns(says: str, names: Container[str]) -> list[str] | None:
    if _BODY.fullmatch(says):
        return [re.escape(says)]
    found: list[str] = []
    kinds: list[str] = []
    before: list[str] = []
    for token in says.removeprefix("nothing before ").split(" or "):
        if token in _ENDS:
            found.append(re.escape(CLOSED))
        elif token == SILENCE:
            found.append(SILENCE)
        elif _CODE.fullmatch(token) and before:
            found += [re.escape(f"{kind} {token}") for kind in before]
        elif told := _CODED.fullmatch(token):
            before, kinds = [*kinds, told[1]], []
            found += [re.escape(f"{kind} {told[2]}") for kind in before]
        elif told := _ANY.fullmatch(token):
            before, kinds = [*kinds, told[1]], []
            found += [f"{re.escape(kind)} (?!without error).*" for kind in before]
        elif token.endswith(" without error"):
            found.append(re.escape(token))
        elif token.startswith("begin in answer to"):
            found.append("begin")
        elif token in names:
            if token in _WITH_CODE:
                kinds.append(token)
            else:
                found.append(_bare(token))
        else:
            return None
    return found + [_bare(kind) for kind in kinds]


def _bare(kind: str) -> str:
    more = " .*" if kind in _WITH_CODE or kind in _WITH_CONTENT else ""
    return re.escape(kind) + more
