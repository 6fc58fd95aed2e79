"""Our judgement of each rule, kept beside the untouched document and checked when it is loaded."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from spec.readers.keywords import strongest
from spec.readers.provisions import Provision
from spec.readers.xml import DocumentError
from spec.rules import Level, Party, Role, Rule, Testability

REQUIRED: Mapping[str, type[StrEnum]] = {
    "level": Level,
    "binds": Party,
    "judged": Party,
    "testability": Testability,
}
OPTIONAL = ("reason", "reading", "scenario", "left-to", "unseen-on-clients")
_Choice = TypeVar("_Choice", bound=StrEnum)


class AnnotationError(DocumentError):
    """The annotations do not fit their document; the message is one sentence with file and rule."""


def annotate(provisions: Iterable[Provision], path: Path) -> tuple[Rule, ...]:
    """Join what the document says with the annotations in the TOML file at `path`.

    The file has one table per rule, named by the full identity. Raises AnnotationError when a rule has
    no table, a table no rule, or a table breaks one of the conditions `_check` lists.
    """
    tables = _tables(path)
    known = {each.id: each for each in provisions}
    for identity in known:
        if identity not in tables:
            raise AnnotationError(f"{path}: the rule {identity} has no annotation.")
    for identity in tables:
        if identity not in known:
            raise AnnotationError(f"{path}: [{identity}] annotates a rule that the document does not have.")
    return tuple(_rule(path, each, tables[each.id], known) for each in known.values())


def _tables(path: Path) -> Mapping[str, Mapping[str, str]]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as failure:
        raise AnnotationError(f"{path}: cannot be read: {failure}.") from failure
    for identity, table in content.items():
        if not isinstance(table, dict):
            raise AnnotationError(f"{path}: {identity} stands outside every table.")
        _check_keys(path, identity, table)
    return content


def _check_keys(path: Path, identity: str, table: Mapping[str, object]) -> None:
    for key in REQUIRED:
        if key not in table:
            raise AnnotationError(f"{path}: [{identity}] lacks the key {key!r}.")
    for key, value in table.items():
        if key not in REQUIRED and key not in OPTIONAL:
            raise AnnotationError(f"{path}: [{identity}] has the superfluous key {key!r}.")
        if not isinstance(value, str) or not value.strip():
            raise AnnotationError(f"{path}: [{identity}] has no text under {key!r}.")


def _rule(path: Path, said: Provision, table: Mapping[str, str], known: Mapping[str, Provision]) -> Rule:
    def choice(key: str, values: type[_Choice]) -> _Choice:
        try:
            return values(table[key])
        except ValueError:
            offered = ", ".join(repr(str(each)) for each in values)
            raise AnnotationError(
                f"{path}: [{said.id}] has the unknown {key} {table[key]!r}; it can be one of {offered}."
            ) from None

    rule = Rule(
        id=said.id,
        document=said.document,
        name=said.name,
        section=said.section,
        place=said.place,
        text=said.text,
        scenario=_folded(said.scenario or table.get("scenario", "")),
        scenario_is_ours=said.scenario is None,
        on_failure=said.on_failure,
        level=choice("level", Level),
        binds=choice("binds", Party),
        judged=choice("judged", Party),
        testability=choice("testability", Testability),
        reason=_folded(table.get("reason", "")),
        reading=_folded(table.get("reading", "")),
        left_to=choice("left-to", Party) if "left-to" in table else None,
        unseen_on_clients=_folded(table.get("unseen-on-clients", "")),
    )
    _check(path, rule, "scenario" in table, known)
    return rule


def _check(path: Path, rule: Rule, brings_scenario: bool, known: Mapping[str, Provision]) -> None:
    cause = needs_reason(rule)
    if cause and not rule.reason:
        raise AnnotationError(f"{path}: [{rule.id}] needs a reason, because {cause}.")
    if rule.scenario_is_ours and not rule.scenario:
        raise AnnotationError(f"{path}: [{rule.id}] needs a scenario, because the document has none.")
    if brings_scenario and not rule.scenario_is_ours:
        raise AnnotationError(f"{path}: [{rule.id}] brings a scenario where the document has its own.")
    if rule.unseen_on_clients and not rule.concerns(Role.CLIENT):
        raise AnnotationError(f"{path}: [{rule.id}] says why clients do not show it, whom it does not bind.")
    for identity in cited(f"{rule.reason} {rule.reading} {rule.unseen_on_clients}", rule.document):
        if identity not in known:
            raise AnnotationError(f"{path}: [{rule.id}] refers to {identity}, which is no rule.")


def cited(text: str, prefix: str) -> list[str]:
    """Find the identities of the document `prefix` in `text`; those of `prefix`/… are another document's."""
    return re.findall(rf"\b{re.escape(prefix)}/[a-z0-9.\-]*[a-z0-9](?![a-z0-9.\-]*/)", text)


def needs_reason(rule: Rule) -> str | None:
    """Say why the annotation of `rule` must be argued, as the end of a sentence; None if it need not be.

    A level is plain when it is that of the strongest keyword in capitals (RFC 2119).
    """
    keyword = strongest(rule.text)
    if rule.testability in (Testability.UNTESTABLE, Testability.CLIENT):
        return f"its testability is {str(rule.testability)!r}"
    if rule.judged != rule.binds:
        return f"it binds the {rule.binds} but the {rule.judged} is judged"
    if keyword is None:
        return "its text has no keyword"
    if keyword != rule.level:
        return f"its level is {rule.level} while the strongest keyword of its text is of level {keyword}"
    return None


def _folded(text: str) -> str:
    return " ".join(text.split())
