"""The words by which a sentence says how strongly it obliges (RFC 2119), and the sentences themselves."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from spec.rules import Level

STRENGTH = {
    "MUST NOT": Level.MUST,
    "MUST": Level.MUST,
    "SHALL NOT": Level.MUST,
    "SHALL": Level.MUST,
    "REQUIRED": Level.MUST,
    # RFC 2119 does not know MAY NOT. Permission withheld is a prohibition.
    "MAY NOT": Level.MUST,
    "SHOULD NOT": Level.SHOULD,
    "SHOULD": Level.SHOULD,
    "NOT RECOMMENDED": Level.SHOULD,
    "RECOMMENDED": Level.SHOULD,
    "MAY": Level.MAY,
    "OPTIONAL": Level.MAY,
}
# Lower case obliges nobody by RFC 2119; it is listed so that somebody has looked at it.
LOWER_CASE = ("must not", "must", "shall not", "shall", "should not", "should")

_IN_CAPITALS = re.compile(r"\b(" + "|".join(re.sub(" ", r"\\s+", word) for word in STRENGTH) + r")\b")
_ANY = re.compile(r"\b(" + "|".join(re.sub(" ", r"\\s+", word) for word in (*STRENGTH, *LOWER_CASE)) + r")\b")
# A sentence ends at a full stop before white space and a capital; "I.e." and "e.g." end none.
_END = re.compile(r"(?<![iI]\.e)(?<![eE]\.g)[.?!](?=\s+[A-Z\"(]|\s*$)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: `start` and `end` count characters in the text it was cut from."""

    start: int
    end: int
    text: str


def strongest(text: str) -> Level | None:
    """Find the level of the strongest keyword in capitals in `text`; None when it has none (RFC 2119).

    "MUST not", which the documents write now and then, counts as MUST.
    """
    levels = [STRENGTH[" ".join(word.split())] for word in _IN_CAPITALS.findall(text)]
    return min(levels, key=list(Level).index, default=None)


def keywords(sentence: str) -> tuple[str, ...]:
    """List the keywords of `sentence` in order: in capitals; must, shall and should also in lower case."""
    return tuple(" ".join(word.split()) for word in _ANY.findall(sentence))


def fingerprint(sentence: str) -> str:
    """Give 16 hex digits of the SHA-256 of a sentence with its white space folded already.

    They tie a rule to words that are not copied.
    """
    return hashlib.sha256(sentence.encode()).hexdigest()[:16]


def sentences(text: str) -> Iterator[Sentence]:
    """Cut `text` into sentences, white space folded."""
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        folded = " ".join(text[start:end].split())
        if folded:
            yield Sentence(end - len(text[start:end].lstrip()), end, folded)
        start = end
