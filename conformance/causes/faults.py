"""The faults that are known by name: of a server's deviations, its tables' mutants, and a whole peer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from harness.dialect import dialect
from scenarios.registry import checks
from spec.applicability import judged_with
from spec.catalogue import catalogue
from spec.rules import Role


@dataclass(frozen=True, slots=True)
class Fault:
    """What a faulty server does wrong (`says`), where rules of `document` are judged.

    A deviation breaks its `rule`. A mutant was made of a row of the tables, and what a whole peer does wrong
    shows everywhere: these break none alone.
    """

    document: str
    rule: str
    says: str
    change: Any = field(compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.document, self.rule, self.says


@cache
def known_faults() -> tuple[Fault, ...]:
    """Give all of them, in one order."""
    return tuple(_all())


def _all() -> Iterator[Fault]:
    documents: dict[str, None] = {}
    for rule in catalogue().rules:
        spoken = judged_with(rule.document)
        for deviation in checks().deviating(Role.SERVER).get(rule.id, ()):
            documents[spoken] = None
            yield Fault(spoken, rule.id, deviation.says, deviation.change)
    for document in documents:
        proof = dialect(document).proof
        for mutant in proof.mutants():
            yield Fault(document, "", mutant.name, mutant.change)
        for says, change in proof.broad.items():
            yield Fault(document, "", says, change)
