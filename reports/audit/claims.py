"""What a vendor says of its own implementation: an implementation conformance statement, as TOML.

    vendor = "Example"                    # who says it
    product = "ExampleMQ"                 # as the product calls itself to its clients; builds are found by it
    title = "Conformance of ExampleMQ"    # of the statement
    source = "the vendor's conformance page"      # where it is published
    document = "0-9-1"                    # prefix of the document that entries are about, unless they say
    date = 2026-01-31                     # optional: of the statement
    versions = ">=3,<4"                   # optional: of the product that entries are about, unless they say

    [statuses]                            # the vendor's own words, and what each claims
    ok = "kept"
    "doesn't" = { means = "not-kept", at = { MAY = "unused" } }   # means another thing at the level MAY

    [[claim]]
    rule = "0-9-1/queue.bind.unique"      # exactly one of rule, method ("queue.bind"), class ("queue"), prose
    status = "ok"                         # a word of [statuses], or a list where the vendor gives several
    level = "MUST NOT"                    # optional: as the vendor states it; several are separated by commas
    versions = ">=3.2"                    # optional
    note = "…"                            # optional: what the row says beside its word, or how it was joined
    means = "partly"                      # optional: what it claims, where its note takes back the word

    [[claim]]
    prose = "4.2.3 frame-end"             # the vendor's name of a row about the prose of a document
    section = "4.2.3"                     # optional, with prose only
    rules = ["0-9-1/prose/4.2.3.frame-end-checked"]   # optional, with prose only: the rules it is about;
                                                      # "rabbitmq/ttl.*" stands for all that begin so
    status = "ok"

`claims.schema.json` beside this file says the same for programs. What each word of ours means stands in
`MEANINGS`.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from conformance.gate.shipped import NotShippedError, shipped


class ClaimsError(Exception):
    """A claims file cannot be used; the message names the file, the entry, the key and what is wrong."""


class Meaning(StrEnum):
    """What a vendor's word claims, in our terms."""

    KEPT = "kept"
    PARTLY = "partly"
    NOT_KEPT = "not-kept"
    PLANNED = "planned"
    USED = "used"
    UNUSED = "unused"


MEANINGS: Mapping[Meaning, str] = {
    Meaning.KEPT: "the rule is kept, the method or class implemented, in full",
    Meaning.PARTLY: "in part",
    Meaning.NOT_KEPT: "not, and the vendor says so",
    Meaning.PLANNED: "not yet",
    Meaning.USED: "the document leaves it free (MAY), and the product does it",
    Meaning.UNUSED: "the document leaves it free (MAY), and the product does not do it",
}
ADMISSIONS = {Meaning.PARTLY, Meaning.NOT_KEPT, Meaning.PLANNED, Meaning.UNUSED}
"""What says that something is missing: more specific claims of this kind speak for a general one."""


class Subject(StrEnum):
    """What a claim is about, the most specific first."""

    RULE = "rule"
    PROSE = "prose"
    METHOD = "method"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the vendor: what it `means`, and what it means `at` a level as the vendor states it."""

    means: Meaning
    at: Mapping[str, Meaning]


@dataclass(frozen=True, slots=True)
class Claim:
    """One entry, the `number`th of its file.

    `name` is the identity of the rule, the method ("queue.bind"), the class, or the vendor's name of a row
    about prose; `words` are the vendor's, `meaning` ours; `versions` None is any version.
    """

    number: int
    subject: Subject
    name: str
    document: str
    words: tuple[str, ...]
    meaning: Meaning
    level: str = ""
    versions: SpecifierSet | None = None
    section: str = ""
    rules: tuple[str, ...] = ()
    note: str = ""

    def concerns(self, version: str) -> bool:
        """Say whether this is said of `version`; one that begins with no number is in no range."""
        if self.versions is None:
            return True
        number = _NUMBER.match(version)
        return number is not None and self.versions.contains(Version(number[0]))


# A peer may call anything its version, thousands of digits too: that is no number. What a package or a build
# adds behind the number is not ordered.
_NUMBER = re.compile(r"\d{1,99}(\.\d{1,99})*(?!\d)")


@dataclass(frozen=True, slots=True)
class Claims:
    """A whole statement: who says it of what, where, when (None: unknown), and every claim in its order."""

    vendor: str
    product: str
    title: str
    source: str
    date: date | None
    statuses: Mapping[str, Word]
    claims: tuple[Claim, ...]


def load(path: Path) -> Claims:
    """Read the claims at `path`, or of the `@NAME` of those that come with the suite.

    Raises ClaimsError with one sentence for whatever is wrong.
    """
    try:
        data = tomllib.loads((shipped("claims", path) or path).read_text(encoding="utf-8"))
    except NotShippedError as failure:
        raise ClaimsError(str(failure)) from None
    except OSError as failure:
        raise ClaimsError(f"{path}: cannot be read ({failure.strerror})") from None
    except RecursionError:
        raise ClaimsError(f"{path}: not valid TOML: nested too deeply") from None
    except ValueError as failure:  # TOML's own errors, duplicate keys among them, and not UTF-8
        raise ClaimsError(f"{path}: not valid TOML: {failure}") from None
    return read(data, str(path))


def read(data: Mapping[str, object], where: str) -> Claims:
    """Read the statement out of parsed TOML; `where` names its source in messages. Raises ClaimsError."""
    head = _table(data, _HEAD, {*_OPTIONAL_HEAD, "claim"}, where)
    statuses = {
        _text(word, f"{where}: statuses"): _word(told, f"{where}: statuses: {word!r}")
        for word, told in _mapping(data["statuses"], f"{where}: statuses").items()
    }
    entries = data.get("claim", [])
    if not isinstance(entries, list):
        raise ClaimsError(f"{where}: claim: must be [[claim]] tables")
    claims = tuple(
        _claim(number, entry, head, statuses, f"{where}: entry {number}")
        for number, entry in enumerate(entries, 1)
    )
    _refuse_twice(claims, where)
    told = {key: head[key] for key in ("vendor", "product", "title", "source")}
    return Claims(**told, date=head.get("date"), statuses=statuses, claims=claims)


def _claim(
    number: int, entry: object, head: Mapping[str, Any], statuses: Mapping[str, Word], where: str
) -> Claim:
    entry = _mapping(entry, where)
    subjects = [each for each in Subject if each in entry]
    if len(subjects) != 1:
        raise ClaimsError(f"{where}: needs exactly one of {', '.join(Subject)}")
    (subject,) = subjects
    only_prose = {"section", "rules"} if subject is Subject.PROSE else set()
    told = _table(entry, {subject: _text, "status": _words}, {*_OPTIONAL, *only_prose}, where)
    words, level = told["status"], told.get("level", "")
    if unknown := [word for word in words if word not in statuses]:
        raise ClaimsError(f"{where}: status: {unknown[0]!r} is not in [statuses]")
    if "means" in told and "note" not in told:
        raise ClaimsError(f"{where}: means: needs a note that takes back the word")
    return Claim(
        number,
        subject,
        told[subject],
        told.get("document", head["document"]),
        words,
        told.get("means") or meaning(words, level, statuses),
        level,
        told.get("versions", head.get("versions")),
        told.get("section", ""),
        told.get("rules", ()),
        told.get("note", ""),
    )


def meaning(words: tuple[str, ...], level: str, statuses: Mapping[str, Word]) -> Meaning:
    """Say what the vendor's `words` claim together, at the `level` as the vendor states it.

    As many words as levels belong to one another in order, else each word is said at each level. What is said
    of a freedom yields to what is said of a duty; duties that differ make `partly`.
    """
    levels = [each.strip() for each in level.split(",")]
    in_order = len(levels) == len(words)
    pairs: Iterable[tuple[str, str]] = zip(words, levels, strict=True) if in_order else product(words, levels)
    found = {statuses[word].at.get(where, statuses[word].means) for word, where in pairs}
    found = found - {Meaning.USED, Meaning.UNUSED} or found - {Meaning.UNUSED} or found
    return found.pop() if len(found) == 1 else Meaning.PARTLY


def _refuse_twice(claims: tuple[Claim, ...], where: str) -> None:
    seen: dict[tuple[object, ...], int] = {}
    for each in claims:
        first = seen.setdefault((each.subject, each.document, each.name, each.versions), each.number)
        if first != each.number:
            raise ClaimsError(f"{where}: entries {first} and {each.number} are about the same {each.subject}")


def _mapping(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ClaimsError(f"{where}: must be a table")
    return value


_Reader = Callable[[object, str], Any]


def _table(
    table: Mapping[str, object], needed: Mapping[str, _Reader], optional: set[str], where: str
) -> dict[str, Any]:
    """Read the values of a table whose keys are those `needed` and perhaps the `optional` ones."""
    if unknown := sorted(table.keys() - needed.keys() - optional):
        raise ClaimsError(f"{where}: {unknown[0]}: there is no such key here")
    if missing := [key for key in needed if key not in table]:
        raise ClaimsError(f"{where}: {missing[0]}: is missing")
    readers = {**needed, **{key: _READERS[key] for key in optional if key in _READERS}}
    return {key: readers[key](value, f"{where}: {key}") for key, value in table.items() if key in readers}


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ClaimsError(f"{where}: must be a text that says something")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ClaimsError(f"{where}: must be a list of texts")
    return tuple(_text(each, where) for each in value)


def _words(value: object, where: str) -> tuple[str, ...]:
    return _texts(value, where) if isinstance(value, list) else (_text(value, where),)


def _word(value: object, where: str) -> Word:
    if isinstance(value, str):
        return Word(_meaning(value, where), {})
    told = _table(_mapping(value, where), {"means": _meaning, "at": _levels}, set(), where)
    return Word(told["means"], told["at"])


def _levels(value: object, where: str) -> dict[str, Meaning]:
    return {level: _meaning(told, f"{where}: {level!r}") for level, told in _mapping(value, where).items()}


def _meaning(value: object, where: str) -> Meaning:
    if not isinstance(value, str) or value not in list(Meaning):
        raise ClaimsError(f"{where}: must be one of {', '.join(Meaning)}")
    return Meaning(value)


# The same patterns stand in the JSON Schema: released numbers only, and of ISO 8601 the one common form.
_SPECIFIER = r"((==|!=)[0-9]+(\.[0-9]+)*(\.\*)?|(<=|>=|<|>)[0-9]+(\.[0-9]+)*|~=[0-9]+(\.[0-9]+)+)"
RANGE = rf"^{_SPECIFIER}(, ?{_SPECIFIER})*$"
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def _range(value: object, where: str) -> SpecifierSet:
    if not isinstance(value, str) or len(value) > 200 or not re.fullmatch(RANGE, value):
        raise ClaimsError(f'{where}: must be a range of versions like ">=3.10,<4"')
    return SpecifierSet(value)


def _day(value: object, where: str) -> date:
    try:
        written = isinstance(value, str) and re.fullmatch(DAY, value)
        day = date.fromisoformat(value) if written and isinstance(value, str) else value
    except ValueError:
        day = None
    if not isinstance(day, date) or isinstance(day, datetime):
        raise ClaimsError(f"{where}: must be a date like 2026-01-31")
    return day


_HEAD: Mapping[str, _Reader] = {
    **dict.fromkeys(("vendor", "product", "title", "source", "document"), _text),
    "statuses": _mapping,
}
_OPTIONAL_HEAD = {"date", "versions"}
_OPTIONAL = {"document", "level", "versions", "note", "means"}
_READERS: Mapping[str, _Reader] = {
    "date": _day,
    "versions": _range,
    "document": _text,
    "level": _text,
    "note": _text,
    "means": _meaning,
    "section": _text,
    "rules": _texts,
}
