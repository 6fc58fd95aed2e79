"""The rules that the grammar of AMQP 0-9-1 itself obliges to, derived from the untouched XML.

A method with `<chassis name="server" implement="MUST">` and a `<response>` makes a rule, so does an
`<assert>`, a constant with an error class, a content property (`members`). What such a rule says and how it
is judged is the sentence of its family, in the file beside the document (`spec.grammar.families`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from spec.grammar.amqp0_9_1.families import families
from spec.grammar.amqp0_9_1.implements import implemented
from spec.grammar.amqp0_9_1.members import MEMBERS, Subject, duty, serves
from spec.grammar.derived import Derived, judgeable
from spec.grammar.families import Family
from spec.readers.amqp0_9_1 import DOCUMENT, Grammar, grammar
from spec.readers.descriptions import Description, descriptions
from spec.readers.provisions import Provision, beginnings, provisions, section_of
from spec.rules import Level, Place, Rule

PREFIX = "0-9-1/grammar"


@cache
def derived(path: Path = DOCUMENT, prefix: str = PREFIX) -> tuple[Derived[Subject], ...]:
    """Derive every rule that the grammar in the XML at `path` obliges to, in document order.

    Raises DocumentError when the file is no such document.
    """
    spec, places = grammar(path), beginnings(path, ("class", "method", "field", "constant"))
    known = provisions(path, prefix.partition("/")[0])
    told = {each.path: each for each in descriptions(path)}
    found = [
        Derived(_rule(prefix, spec, each.of(about.full_name), about, places, known, told), each.key, about)
        for each in families().by_key.values()
        for about in MEMBERS[each.key](spec)
        if each.has(about.full_name)
    ]
    # What no element of the document stands for comes last.
    return tuple(sorted(found, key=lambda each: (not each.rule.place.offset, each.rule.place.offset)))


def family(key: str) -> tuple[Derived[Subject], ...]:
    """Give the rules of one family that can be judged."""
    return judgeable(derived(), key)


def _rule(
    prefix: str,
    spec: Grammar,
    kind: Family,
    about: Subject,
    places: Mapping[tuple[tuple[str, str], ...], int],
    known: Iterable[Provision],
    told: Mapping[tuple[tuple[str, str], ...], Description],
) -> Rule:
    path = about.path
    described = told.get(path) if kind.key in DESCRIBES else None
    words = {**_words(spec, kind, about), "described": described.text if described else ""}
    name = kind.name.format(**words)
    # The name of a family tells of the field what there is to tell.
    outer = [value for element, value in path if element != "field"]
    within = [path[0][0]] if path and path[0][0] != "class" else []
    return Rule(
        id=f"{prefix}/{'.'.join([*within, *outer, name])}",
        document=prefix,
        name=name,
        section=section_of(path),
        place=Place((*path, ("rule", name)), places.get(path, 0)),
        text=kind.text.format(**words),
        scenario=kind.scenario.format(**words),
        scenario_is_ours=True,
        on_failure=kind.error or None,
        level=_level(kind, about, known),
        binds=kind.binds,
        judged=kind.judged,
        testability=kind.testability,
        reason=kind.reason,
        reading=kind.reading,
        claims=(described.claim,) if described else (),
        related=(*_related(about, known), *_kept(prefix, kind, about), *kind.see),
        implements=implemented(kind.key, about.method, spec),
    )


SENT = "carries"
"""The family about what a server fills the fields of its methods with."""
DESCRIBES = (SENT, "property")
"""The families whose rules claim the description of a field: of an argument, of a property."""


OBLIGED = re.compile(r"\bserver (MUST|SHOULD|MAY)\b")
"""How a rule of the document obliges a server."""


def _demanded(about: Subject, known: Iterable[Provision]) -> Iterator[Level]:
    """Give the levels at which the document's rules about a field or its domain oblige a server."""
    assert about.field is not None
    field, domain = about.path, (("domain", about.field.domain),)
    for each in known:
        if each.place.path[:-1] in (field, domain):
            yield from (Level(keyword.lower()) for keyword in OBLIGED.findall(each.text))


def _level(kind: Family, about: Subject, known: Iterable[Provision]) -> Level:
    asked: Iterable[Level] = _demanded(about, known) if kind.key == SENT else ()
    level = min((kind.level, *asked), key=list(Level).index)
    if about.method is None or about.content is None:
        return level
    role = "client" if kind.key == "client" else "server"
    return max(level, duty(about.method, about.content, role), key=list(Level).index)


def _kept(prefix: str, kind: Family, about: Subject) -> Iterator[str]:
    """Name the rules of the family "keeps" about a field that a rule says is filled."""
    for each in about.field.asserts if kind.key == SENT and about.field else ():
        yield f"{prefix}/{about.full_name}.keeps-{each.check}"


def _related(about: Subject, known: Iterable[Provision]) -> tuple[str, ...]:
    """Name the document's own rules about the same field, or with the same error."""
    if about.constant is not None:
        return tuple(each.id for each in known if each.on_failure == about.constant.name)
    if about.field is None:
        return ()
    path, domain = about.path, (("domain", about.field.domain),)
    return tuple(
        each.id for each in known if path == each.place.path[: len(path)] or each.place.path[:1] == domain
    )


def _words(spec: Grammar, kind: Family, about: Subject) -> Mapping[str, str]:
    """Give the names to fill into the sentences of a family."""
    words = {"types": ", ".join(each.name for each in spec.constants if each.name in FRAME_TYPES)}
    if about.content is not None:
        words["class"] = about.content.name
    if (method := about.method) is not None and about.content is not None:
        role = "server" if serves(method) else "client"
        words["method"] = method.full_name
        words["duty"] = str(duty(method, about.content, role))
        words["responses"] = " or ".join(f"{method.class_name}.{each}" for each in method.responses)
    if about.field is not None:
        words["field"] = about.field.name
        words |= {"decides": kind.decides, "trial": kind.trial.format(**words)}
    if (check := about.check) is not None and about.method is not None:
        place = f"{about.method.class_name}.{check.method}"
        words["check"] = check.check
        words["constraint"] = (
            families().constraints[check.check].format(value=check.value, field=check.field, method=place)
        )
    if (constant := about.constant) is not None:
        soft = constant.error_class == "soft-error"
        words |= {"constant": constant.name, "code": str(constant.value)}
        words |= {"class": (constant.error_class or "").replace("-", " ")}
        words |= {"closes": "channel" if soft else "connection"}
    if about.type is not None:
        words |= {"type": about.type.name, "tag": about.type.tag}
    return words


FRAME_TYPES = ("frame-method", "frame-header", "frame-body", "frame-heartbeat")
