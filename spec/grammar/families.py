"""The families of rules that a grammar obliges to, read from the file beside their document.

A family is data: what its rules are called and say, whom they bind, and how they are judged. What belongs to
it is read from the grammar, in `members` of its protocol.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Formatter
from typing import Any

from spec.readers.xml import DocumentError
from spec.rules import Level, Party, Testability

SENTENCES = ("name", "text", "scenario", "trial")
ARGUMENTS = ("reason", "reading")
"""What may refer to the texts that are shared."""
CHOICES: Mapping[str, Any] = {"level": Level, "binds": Party, "judged": Party, "testability": Testability}
PLAIN = ("error", "decides")
TABLES = ("shared", "constraints", "types")
REQUIRED = ("key", "name", "text", "scenario", "level")


@dataclass(frozen=True, slots=True)
class Family:
    """Rules of one kind; what the fields mean is said in the file.

    `members` has what is true of single members, each by its full name; those that are `without` do not
    belong to it.
    """

    key: str
    name: str
    text: str
    scenario: str
    level: Level
    binds: Party = Party.SERVER
    judged: Party = Party.SERVER
    testability: Testability = Testability.ACTIVE
    reason: str = ""
    reading: str = ""
    error: str = ""
    decides: str = ""
    trial: str = ""
    see: tuple[str, ...] = ()
    listed: bool = False
    without: tuple[str, ...] = ()
    members: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, member: str) -> Family:
        """Return the family as it is for the member of this full name ("basic.qos.global")."""
        said = self.members.get(member, {})
        return replace(self, **{**said, "see": (*self.see, *said.get("see", ()))})

    def has(self, member: str) -> bool:
        """Say whether what the grammar makes a member of it is one."""
        return member not in self.without and (not self.listed or member in self.members)


@dataclass(frozen=True, slots=True)
class Families:
    """All families of a document in their order.

    `constraints` says for each check of an `<assert>` what it demands, `types` for the tag of each type of
    values in field tables what it is called.
    """

    by_key: Mapping[str, Family]
    constraints: Mapping[str, str]
    types: Mapping[str, str]


def read_families(path: Path, blanks: Set[str]) -> Families:
    """Read the families in the TOML file at `path`, whose sentences may leave the `blanks` open.

    Raises DocumentError, one sentence with file and family, for what is missing, superfluous or unknown.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as failure:
        raise DocumentError(f"{path}: cannot be read: {failure}.") from failure
    if not {"family"} <= set(content) <= {*TABLES, "family"}:
        raise DocumentError(f"{path}: has [shared], [constraints], [types] and [[family]], nothing else.")
    shared, constraints, types = (dict(_texts(path, name, content.get(name, {}))) for name in TABLES)
    found: dict[str, Family] = {}
    for table in content["family"]:
        made = _family(path, table, shared, blanks)
        if made.key in found:
            raise DocumentError(f"{path}: two families are called {made.key!r}.")
        found[made.key] = made
    return Families(found, constraints, types)


def _texts(path: Path, where: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        yield key, _text(path, where, key, value)


def _text(path: Path, where: str, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DocumentError(f"{path}: [{where}] has no text under {key!r}.")
    return " ".join(value.split())


def _family(path: Path, table: Mapping[str, Any], shared: Mapping[str, str], blanks: Set[str]) -> Family:
    where = f"family {table.get('key', '?')}"
    for key in REQUIRED:
        if key not in table:
            raise DocumentError(f"{path}: [{where}] lacks the key {key!r}.")
    members: dict[str, Mapping[str, Any]] = {}
    for member in table.get("member", ()):
        said = {key: value for key, value in member.items() if key != "of"}
        for name in _names(path, where, "of", member.get("of", ())):
            if name in members:
                raise DocumentError(f"{path}: [{where}] has the member {name!r} twice.")
            members[name] = _read(path, f"{where}, {name}", said, shared, blanks)
    told = {key: value for key, value in table.items() if key not in ("key", "listed", "without", "member")}
    listed = table.get("listed", False)
    if not isinstance(listed, bool):
        raise DocumentError(f"{path}: [{where}] says neither true nor false under 'listed'.")
    key = _text(path, where, "key", table["key"])
    without = _names(path, where, "without", table["without"]) if "without" in table else ()
    said = _read(path, where, told, shared, blanks)
    return Family(key, **said, listed=listed, without=without, members=members)


def _read(
    path: Path, where: str, table: Mapping[str, Any], shared: Mapping[str, str], blanks: Set[str]
) -> dict[str, Any]:
    """Check a table of a family or of its members, and give it as fields of a Family.

    Raises DocumentError when a value or a key is wrong.
    """
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key == "see":
            found[key] = _names(path, where, key, value)
        elif key in CHOICES:
            if value not in list(CHOICES[key]):
                offered = ", ".join(repr(str(each)) for each in CHOICES[key])
                raise DocumentError(
                    f"{path}: [{where}] has the unknown {key} {value!r}; it can be {offered}."
                )
            found[key] = CHOICES[key](value)
        elif key in (*SENTENCES, *ARGUMENTS, *PLAIN):
            found[key] = _said(path, where, key, _text(path, where, key, value), shared, blanks)
        else:
            raise DocumentError(f"{path}: [{where}] has the superfluous key {key!r}.")
    return found


def _said(path: Path, where: str, key: str, text: str, shared: Mapping[str, str], blanks: Set[str]) -> str:
    """Check the names that a sentence leaves open; fill the shared texts into an argument."""
    known = blanks if key in SENTENCES else shared if key in ARGUMENTS else ()
    for _, name, _, _ in Formatter().parse(text):
        if name is not None and name not in known:
            raise DocumentError(f"{path}: [{where}] has {{{name}}} under {key!r}, which stands for nothing.")
    return text.format_map(shared) if key in ARGUMENTS else text


def _names(path: Path, where: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise DocumentError(f"{path}: [{where}] has no list of names under {key!r}.")
    return tuple(value)
