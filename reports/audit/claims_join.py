"""Which rules of the catalogue a claim is about. Nothing is guessed: what does not join says why.

That a method or class is implemented is said by its own rules, and by those that the grammar of its document
obliges to: that it is there, that it is answered, and what the fields of the answer carry.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from reports.audit.claims import Claim, Subject
from spec.rules import Rule


@dataclass(frozen=True, slots=True)
class Joined:
    """The `rules` a claim is about; `why` it is about none."""

    rules: tuple[Rule, ...]
    why: str = ""


def join(claim: Claim, rules: Sequence[Rule], aliases: Mapping[str, str]) -> Joined:
    """Find those of `rules` that `claim` is about; `aliases` lead from retired identities to living ones."""
    return _JOINS[claim.subject](claim, rules, aliases)


def _named(identities: Sequence[str], rules: Sequence[Rule], aliases: Mapping[str, str]) -> Joined:
    living = {rule.id: rule for rule in rules}
    wanted = [name for each in identities for name in _matching(each, living)]
    return _known(wanted, living, aliases)


def _matching(pattern: str, living: Collection[str]) -> Sequence[str]:
    """Give the identities that a pattern with * stands for; one that stands for none, or has no *, itself."""
    return ("*" in pattern and [each for each in living if fnmatchcase(each, pattern)]) or [pattern]


def _known(identities: Sequence[str], living: Mapping[str, Rule], aliases: Mapping[str, str]) -> Joined:
    present = [aliases.get(each, each) for each in identities]
    if unknown := [name for name, each in zip(identities, present, strict=True) if each not in living]:
        return Joined((), f"no document has the rule {', '.join(unknown)}")
    return Joined(tuple(living[each] for each in dict.fromkeys(present)))


def _rule(claim: Claim, rules: Sequence[Rule], aliases: Mapping[str, str]) -> Joined:
    return _named((claim.name,), rules, aliases)


def _method(claim: Claim, rules: Sequence[Rule], _: Mapping[str, str]) -> Joined:
    return _around(claim, rules, _methods_of)


def _class(claim: Claim, rules: Sequence[Rule], _: Mapping[str, str]) -> Joined:
    return _around(claim, rules, lambda rule: (rule.named("class"),))


def _around(claim: Claim, rules: Sequence[Rule], names: Callable[[Rule], Collection[str | None]]) -> Joined:
    found = tuple(rule for rule in rules if _is_of(rule, claim.document) and claim.name in names(rule))
    return Joined(found, "" if found else f"no rule is about the {claim.subject} {claim.name}")


def _is_of(rule: Rule, document: str) -> bool:
    """Say whether a rule is of `document`, or of its grammar and about what is implemented."""
    return rule.document == document or bool(rule.implements and rule.document.startswith(f"{document}/"))


def _methods_of(rule: Rule) -> Collection[str]:
    return rule.implements or (f"{rule.named('class')}.{rule.named('method')}",)


def _prose(claim: Claim, rules: Sequence[Rule], aliases: Mapping[str, str]) -> Joined:
    """Join by the identities the entry names: a section alone does not say which of its rules is meant."""
    if claim.rules:
        return _named(claim.rules, rules, aliases)
    place = f"section {claim.section}" if claim.section else "the prose"
    if any(rule.document == claim.document and rule.section == claim.section for rule in rules):
        return Joined((), f"the entry does not say which rules of {place} it is about")
    return Joined((), f"no rule in the catalogue is about {place}")


_JOINS: Mapping[Subject, Callable[[Claim, Sequence[Rule], Mapping[str, str]], Joined]] = {
    Subject.RULE: _rule,
    Subject.METHOD: _method,
    Subject.CLASS: _class,
    Subject.PROSE: _prose,
}
