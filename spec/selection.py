"""Which rules a user means: selectors by identity, document, section, level, class and method.

A selector is `kind:pattern` (`class:queue`, `level:must`, `section:queue.*`) or a bare pattern, whose kind is
the first of `BARE` that has such a name (`0-9-1/queue.*`, `queue.declare`, `must`). Patterns are globs.
Selectors of one kind add up, those of different kinds narrow each other, and one that begins with `!`
excludes: `class:queue class:exchange level:must '!testability:untestable'`.
"""

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
"""The names a rule answers to, by kind of selector."""
BARE = ("rule", "document", "level", "class", "method", "section")
"""The kinds a bare pattern is tried on, in this order."""
EXCLUDES = "!"


def select(
    rules: Iterable[Rule], selectors: Sequence[str], aliases: Mapping[str, str] = NOTHING
) -> tuple[Rule, ...]:
    """Find the rules that `selectors` mean together, in the order of `rules`; all when there is none.

    `aliases` (of the catalogue) lets a retired identity stand for its successor. Raises SelectorError
    for a selector that means no rule, and where they mean none together.
    """
    candidates = tuple(rules)
    wanted: dict[str, set[str]] = {}
    excluded: set[str] = set()
    for selector in selectors:
        kind, meant = _meant(candidates, selector.removeprefix(EXCLUDES), aliases)
        (excluded if selector.startswith(EXCLUDES) else wanted.setdefault(kind, set())).update(meant)
    chosen = tuple(
        rule
        for rule in candidates
        if rule.id not in excluded and all(rule.id in meant for meant in wanted.values())
    )
    if selectors and not chosen:
        raise SelectorError(f"No rule is meant by {' '.join(selectors)} together{_narrowing(wanted)}.")
    return chosen


def meant_alone(
    rules: Iterable[Rule], selectors: Iterable[str], aliases: Mapping[str, str] = NOTHING
) -> frozenset[str]:
    """Name the documents asked for: those of which a selector means rules, and of no other document.

    Raises SelectorError for a selector that means no rule.
    """
    candidates = tuple(rules)
    documents = {rule.id: rule.document for rule in candidates}
    named = [each for each in selectors if not each.startswith(EXCLUDES)]
    meant = ({documents[rule] for rule in _meant(candidates, each, aliases)[1]} for each in named)
    return frozenset(next(iter(each)) for each in meant if len(each) == 1)


def _meant(rules: Sequence[Rule], selector: str, aliases: Mapping[str, str]) -> tuple[str, set[str]]:
    """Give a selector's kind and the rules it means. Raises SelectorError when it means none."""
    kinds, pattern = _split(aliases.get(selector, selector))
    for kind in kinds:
        meant = {rule.id for rule in rules if any(fnmatchcase(name, pattern) for name in KINDS[kind](rule))}
        if meant:
            return kind, meant
    raise SelectorError(f"No rule matches the selector {selector!r}{_hint(rules, kinds, pattern)}.")


def _narrowing(wanted: Iterable[str]) -> str:
    kinds = list(wanted)
    return f": those of the kinds {', '.join(kinds)} narrow each other" if len(kinds) > 1 else ""


def _split(selector: str) -> tuple[tuple[str, ...], str]:
    """Split a selector into the kinds to try and the pattern. Raises SelectorError for an unknown kind."""
    kind, colon, pattern = selector.partition(":")
    if not colon:
        return BARE, selector
    if kind not in KINDS:
        raise SelectorError(f"{kind!r} in the selector {selector!r} is none of {', '.join(KINDS)}.")
    return (kind,), pattern


def _hint(rules: Sequence[Rule], kinds: Iterable[str], pattern: str) -> str:
    names = dict.fromkeys(name for kind in kinds for rule in rules for name in KINDS[kind](rule))
    near = get_close_matches(pattern, list(names), n=3, cutoff=0.6)
    return f"; near are {', '.join(near)}" if near else ""
