"""The rules that the definitions of AMQP 1.0 Part 2 oblige to.

That a composite type has this descriptor, and a field this type, is mandatory or has a default, makes a rule
(`members`). What it says and how it is judged is the sentence of its family, in the file beside the document.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from spec.grammar.amqp1_0.families import families
from spec.grammar.amqp1_0.members import Subject, choices, encodings, members
from spec.grammar.derived import Derived, judgeable
from spec.grammar.families import Family
from spec.readers.amqp1_0 import TRANSPORT, Grammar, grammar
from spec.readers.definitions import Definition, definitions
from spec.rules import Place, Rule

PREFIX = "1-0/grammar"


@cache
def derived(path: Path = TRANSPORT, prefix: str = PREFIX) -> tuple[Derived[Subject], ...]:
    """Derive every rule that the definitions at `path` oblige to, in the order of the document.

    Raises DocumentError when the file is no grammar.
    """
    defined, spec = definitions(path), grammar(path)
    found = [
        Derived(_rule(prefix, spec, each.of(about.full_name), definition, about), each.key, about)
        for each in families().by_key.values()
        for definition, about in members(each.key, spec, defined)
        if each.has(about.full_name)
    ]
    return tuple(sorted(found, key=lambda each: each.rule.place.offset))


def family(key: str) -> tuple[Derived[Subject], ...]:
    """Give the rules of one family that can be judged."""
    return judgeable(derived(), key)


def _rule(prefix: str, spec: Grammar, kind: Family, definition: Definition, about: Subject) -> Rule:
    words = _words(spec, definition, about)
    name = kind.name.format(**words)
    return Rule(
        id=f"{prefix}/{about.composite.name}.{name}",
        document=prefix,
        name=name,
        section=definition.section,
        place=Place((*definition.path, ("rule", name)), definition.offset),
        text=kind.text.format(**words),
        scenario=kind.scenario.format(**words),
        scenario_is_ours=True,
        on_failure=kind.error or None,
        level=kind.level,
        binds=kind.binds,
        judged=kind.judged,
        testability=kind.testability,
        reason=kind.reason,
        reading=kind.reading,
        claims=(definition.claim,),
        related=tuple(each.format(**words) for each in kind.see),
    )


def _words(spec: Grammar, definition: Definition, about: Subject) -> Mapping[str, str]:
    """Give the names to fill into the sentences of a family."""
    whole, field = about.composite, about.field
    words = {
        "composite": whole.name,
        "section": definition.section,
        "symbol": whole.descriptor,
        "code": f"{whole.code:#04x}",
    }
    if field is not None:
        words |= {
            "field": field.name,
            "type": field.type if field.requires is None else f"what can stand for a {field.requires}",
            "presence": "mandatory" if field.mandatory else "optional",
            "default": field.default or "",
            "choices": ", ".join(each.name for each in choices(spec, field)),
            "encodings": ", ".join(each.name or f"{each.code:#04x}" for each in encodings(spec, field)),
        }
    return words
