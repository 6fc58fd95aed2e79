"""Which rules a user means: selectors by identity, document, section, level, class and method.

A selector is `kind:pattern` (`class:queue`, `level:must`, `section:queue.*`) or a bare pattern, which is
tried on every kind (`0-9-1/queue.*`, `queue.declare`, `must`). Patterns are globs. Patterns joined by a
comma or `&` must all match; several selectors are a union.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from spec.rules import Rule

NOTHING: Mapping[str, str] = {}


class SelectorError(ValueError):
    """A selector means no rule; the message is one sentence with what may have been meant."""


def _names(rule: Rule, kind: str) -> tuple[str, ...]:
    name = rule.named(kind)
    return () if name is None else (name,)


def _methods(rule: Rule) -> tuple[str, ...]:
    return tuple(full for name in _names(rule, "method") for full in (name, rule.section))


# The names a rule answers to, by kind of selector. A bare pattern is tried on the kinds in `BARE`.
KINDS: Mapping[str, Callable[[Rule], tuple[str, ...]]] = {
    "rule": lambda rule: (rule.id, rule.id.removeprefix(f"{rule.document}/")),
    "document": lambda rule: (rule.document,),
    "section": lambda rule: (rule.section,),
    "level": lambda rule: (str(rule.level),),
    "class": lambda rule: _names(rule, "class"),
    "method": _methods,
    "binds": lambda rule: (str(rule.binds),),
    "judged": lambda rule: (str(rule.judged),),
    "testability": lambda rule: (str(rule.testability),),
}
BARE = ("rule", "document", "section", "level", "class", "method")


def select(
    rules: Iterable[Rule], selectors: Sequence[str], aliases: Mapping[str, str] = NOTHING
) -> tuple[Rule, ...]:
    """Find the rules that at least one of `selectors` means, in the order of `rules`; all when there is none.

    `aliases` (of the catalogue) lets a retired identity stand for its successor. Raises SelectorError
    for a selector that means no rule.
    """
    candidates = tuple(rules)
    if not selectors:
        return candidates
    chosen = {rule.id for selector in selectors for rule in _meant(candidates, selector, aliases)}
    return tuple(rule for rule in candidates if rule.id in chosen)


def meant_alone(
    rules: Iterable[Rule], selectors: Iterable[str], aliases: Mapping[str, str] = NOTHING
) -> frozenset[str]:
    """Name the documents asked for: those of which a selector means rules, and of no other document.

    Raises SelectorError for a selector that means no rule.
    """
    candidates = tuple(rules)
    meant = ({rule.document for rule in _meant(candidates, each, aliases)} for each in selectors)
    return frozenset(next(iter(each)) for each in meant if len(each) == 1)


def _meant(rules: Sequence[Rule], selector: str, aliases: Mapping[str, str]) -> tuple[Rule, ...]:
    parts = [aliases.get(part.strip(), part.strip()) for part in re.split("[,&]", selector)]
    if not all(parts):
        raise SelectorError(f"The selector {selector!r} has an empty part.")
    per_part = [{rule.id for rule in rules if _matches(rule, part)} for part in parts]
    for part, matched in zip(parts, per_part, strict=True):
        if not matched:
            raise SelectorError(f"No rule matches the selector {part!r}{_hint(rules, part)}.")
    both = tuple(rule for rule in rules if all(rule.id in matched for matched in per_part))
    if not both:
        raise SelectorError(f"No rule matches all parts of the selector {selector!r} at once.")
    return both


def _split(part: str) -> tuple[tuple[str, ...], str]:
    """Split a pattern into the kinds to try and the pattern itself.

    Raises SelectorError for an unknown kind.
    """
    kind, colon, pattern = part.partition(":")
    if not colon:
        return BARE, part
    if kind not in KINDS:
        raise SelectorError(f"{kind!r} in the selector {part!r} is none of {', '.join(KINDS)}.")
    return (kind,), pattern


def _matches(rule: Rule, part: str) -> bool:
    kinds, pattern = _split(part)
    return any(fnmatchcase(name, pattern) for kind in kinds for name in KINDS[kind](rule))


def _hint(rules: Sequence[Rule], part: str) -> str:
    kinds, pattern = _split(part)
    names = dict.fromkeys(name for kind in kinds for rule in rules for name in KINDS[kind](rule))
    near = get_close_matches(pattern, list(names), n=3, cutoff=0.6)
    return f"; near are {', '.join(near)}" if near else ""
