"""The fault dictionary: which rules each known fault turns red, and how; it is kept with the package.

One JSON document in xz: `rules` and `signatures` are said once, and the rows of `faults` count in them:
`[document, rule, says, [[rule, verdict, signature], …]]`.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict

PLACE = Path(__file__).parent / "dictionary.json.xz"
"""Where it stands in the package; `make dictionary` computes it anew."""


class DictionaryError(Exception):
    """A file is no fault dictionary; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Sign:
    """How a fault shows in a rule: the verdict, and the short stable form of the finding."""

    verdict: Verdict
    signature: str = ""

    @classmethod
    def of(cls, judged: Judged) -> Self:
        """Take it from a judgement; an error of a broken peer has no words that come again."""
        return cls(judged.verdict, "" if judged.verdict is Verdict.ERROR else judged.signature)


@dataclass(frozen=True, slots=True)
class Entry:
    """A fault, and its sign in every rule that it turns red."""

    document: str
    rule: str
    says: str
    signs: Mapping[str, Sign]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.document, self.rule, self.says


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Write a dictionary; the same entries give the same octets."""
    kept = list(entries)
    rules = sorted({rule for each in kept for rule in each.signs})
    signatures = sorted({sign.signature for each in kept for sign in each.signs.values()})
    of_rule = {rule: number for number, rule in enumerate(rules)}
    of_signature = {signature: number for number, signature in enumerate(signatures)}
    rows = [
        [
            *each.key,
            [
                [of_rule[rule], str(sign.verdict), of_signature[sign.signature]]
                for rule, sign in sorted(each.signs.items())
            ],
        ]
        for each in kept
    ]
    text = json.dumps({"rules": rules, "signatures": signatures, "faults": rows}, separators=(",", ":"))
    path.write_bytes(lzma.compress(text.encode("ascii"), preset=9 | lzma.PRESET_EXTREME))


def read(path: Path) -> tuple[Entry, ...]:
    """Read a dictionary. Raises DictionaryError."""
    try:
        told = json.loads(lzma.decompress(path.read_bytes()))
        return tuple(_entries(told["rules"], told["signatures"], told["faults"]))
    except (OSError, lzma.LZMAError, ValueError, KeyError, TypeError, IndexError) as failure:
        raise DictionaryError(f"{path} is no fault dictionary ({failure})") from None


def _entries(rules: list[str], signatures: list[str], rows: list[list[object]]) -> Iterator[Entry]:
    for document, rule, says, signs in rows:
        told: list[tuple[int, str, int]] = signs  # type: ignore[assignment]
        yield Entry(
            str(document),
            str(rule),
            str(says),
            {rules[number]: Sign(Verdict(verdict), signatures[words]) for number, verdict, words in told},
        )


@cache
def dictionary() -> tuple[Entry, ...]:
    """Give the one that comes with the package. Raises DictionaryError where it is not there."""
    return read(PLACE)
