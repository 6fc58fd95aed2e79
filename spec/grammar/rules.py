"""The rules that the grammar of AMQP 0-9-1 itself obliges to, derived from the untouched XML.

A method with `<chassis name="server" implement="MUST">` and a `<response>` makes a rule, so does an
`<assert>`, a constant with an error class, a content property; `spec.grammar.families` says what it says.
Only the types of field tables stand in no XML: they are those of the grammar in 4.2.1 of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spec.grammar.bits import BITS, MEANINGS
from spec.grammar.current import NEWLY_NAMED
from spec.grammar.families import FAMILIES
from spec.grammar.family import Family
from spec.grammar.implements import implemented
from spec.grammar.members import (
    CONTESTED,
    DISPUTED,
    DISPUTED_READING,
    OUT_OF_REACH,
    READINGS,
    STRONGER,
    UNPROVOKED,
)
from spec.grammar.sent import READINGS as READINGS_OF_SENT
from spec.grammar.sent import SEE, SENT
from spec.readers.amqp0_9_1 import DOCUMENT, Assert, Class, Constant, Field, Grammar, Method, grammar
from spec.readers.descriptions import Description, descriptions
from spec.readers.provisions import Provision, beginnings, provisions, section_of
from spec.rules import Level, Place, Rule, Testability

PREFIX = "0-9-1/grammar"


@dataclass(frozen=True, slots=True)
class TableType:
    """A type of values in field tables: its tag and its name in the grammar of 4.2.1."""

    tag: str
    name: str


TABLE_TYPES = tuple(
    TableType(*each.split(maxsplit=1))
    for each in (
        "t boolean", "b short-short-int", "B short-short-uint", "U short-int", "u short-uint", "I long-int",
        "i long-uint", "L long-long-int", "l long-long-uint", "f float", "d double", "D decimal-value",
        "s short-string", "S long-string", "A field-array", "T timestamp", "F field-table", "V no-field",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """What a derived rule is about; what its family has no use for is None."""

    content: Class | None = None
    method: Method | None = None
    field: Field | None = None
    check: Assert | None = None
    constant: Constant | None = None
    type: TableType | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """A rule with the family it belongs to and what it is about."""

    rule: Rule
    family: str
    about: Subject


def serves(method: Method) -> bool:
    """Whether a server has to do with a method that it receives."""
    return "server" in method.chassis


def from_server(method: Method) -> bool:
    """Whether a server sends the method: a client has to do with it."""
    return "client" in method.chassis


def duty(method: Method, owner: Class, role: str) -> Level:
    """The weaker of what class and method ask of a role; a method that is not for that role says nothing."""
    asked = [each.chassis[role] for each in (owner, method) if role in each.chassis]
    return max((Level(each.lower()) for each in asked), key=list(Level).index)


def _methods(spec: Grammar, fits: Callable[[Method], bool]) -> Iterator[Subject]:
    for owner in spec.classes:
        yield from (Subject(owner, each) for each in owner.methods if fits(each))


def _of_channels(method: Method) -> bool:
    return method.class_name != "connection"


def _lengthy(method: Method) -> Field | None:
    """The first argument that carries a length of its own."""
    return next((each for each in method.fields if each.type in ("shortstr", "longstr", "table")), None)


def _with_field(spec: Grammar) -> Iterator[Subject]:
    for each in _methods(spec, serves):
        if each.method and (field := _lengthy(each.method)):
            yield Subject(each.content, each.method, field)


def _arguments(spec: Grammar, fits: Callable[[Method], bool]) -> Iterator[Subject]:
    for each in _methods(spec, fits):
        for field in each.method.fields if each.method else ():
            yield Subject(each.content, each.method, field)


def _asserted(spec: Grammar, fits: Callable[[Method], bool]) -> Iterator[Subject]:
    for each in _arguments(spec, fits):
        for check in each.field.asserts if each.field else ():
            yield Subject(each.content, each.method, each.field, check)


def _naming_a_queue(spec: Grammar) -> Iterator[Subject]:
    taking = _arguments(spec, lambda method: serves(method) and method.full_name != NEWLY_NAMED)
    return (each for each in taking if each.field and each.field.domain == "queue-name")


def _deciding(spec: Grammar) -> Iterator[Subject]:
    return (each for each in _arguments(spec, serves) if _full_name(each) in MEANINGS)


def _properties(spec: Grammar) -> Iterator[Subject]:
    for owner in spec.classes:
        yield from (Subject(owner, field=field) for field in owner.properties)


def _constants(spec: Grammar, fits: Callable[[Constant], bool]) -> Iterator[Subject]:
    yield from (Subject(constant=each) for each in spec.constants if fits(each))


def _content_bearing(spec: Grammar) -> Iterator[Subject]:
    return _methods(spec, lambda each: serves(each) and each.content)


MEMBERS: Mapping[str, Callable[[Grammar], Iterable[Subject]]] = {
    "answers": lambda spec: _methods(spec, lambda each: serves(each) and bool(each.responses)),
    "implemented": lambda spec: _methods(spec, lambda each: serves(each) and not each.responses),
    "client": lambda spec: _methods(spec, from_server),
    "no-wait": lambda spec: _methods(
        spec, lambda each: serves(each) and any(field.domain == "no-wait" for field in each.fields)
    ),
    "assert": lambda spec: _asserted(spec, serves),
    "keeps": lambda spec: _asserted(spec, from_server),
    "current": _naming_a_queue,
    "bit": _deciding,
    "carries": lambda spec: _arguments(spec, from_server),
    "level": lambda spec: _constants(
        spec, lambda each: each.error_class is not None and each.name not in UNPROVOKED
    ),
    "kept-level": lambda spec: _constants(spec, lambda each: each.name in UNPROVOKED),
    "property": _properties,
    "table": lambda _: (Subject(type=each) for each in TABLE_TYPES),
    "truncated": lambda spec: _methods(spec, lambda each: serves(each) and bool(each.fields)),
    "overlong": _with_field,
    "trailing": lambda spec: _methods(spec, serves),
    "channel-zero": lambda spec: _methods(spec, lambda each: serves(each) and _of_channels(each)),
    "unopened": lambda spec: _methods(
        spec, lambda each: serves(each) and _of_channels(each) and each.full_name != "channel.open"
    ),
    "misplaced": lambda spec: _methods(spec, lambda each: serves(each) and not _of_channels(each)),
    "wrong-way": lambda spec: _methods(
        spec, lambda each: from_server(each) and not serves(each) and _of_channels(each)
    ),
    "unknown-method": lambda spec: (Subject(owner) for owner in spec.classes),
    "unknown-class": lambda _: (Subject(),),
    "frame": lambda spec: _constants(spec, lambda each: each.name in ("frame-header", "frame-body")),
    "undefined-type": lambda _: (Subject(),),
    "content-missing": _content_bearing,
    "content-class": _content_bearing,
    "content-header": _content_bearing,
    "content-body": _content_bearing,
}
"""What belongs to each family, read from the grammar."""


@cache
def derived(path: Path = DOCUMENT, prefix: str = PREFIX) -> tuple[Derived, ...]:
    """Every rule the grammar in the XML at `path` obliges to, in the order of the document.

    Raises DocumentError when the file is no such document.
    """
    spec, places = grammar(path), beginnings(path, ("class", "method", "field", "constant"))
    known = provisions(path, prefix.partition("/")[0])
    told = {each.path: each for each in descriptions(path)}
    found = [
        Derived(_rule(prefix, spec, each, about, places, known, told), each.key, about)
        for each in FAMILIES
        for about in MEMBERS[each.key](spec)
    ]
    # What no element of the document stands for comes last.
    return tuple(sorted(found, key=lambda each: (not each.rule.place.offset, each.rule.place.offset)))


def family(key: str) -> tuple[Derived, ...]:
    """The rules of one family that can be judged on a server."""
    judged = (Testability.ACTIVE, Testability.PASSIVE)
    return tuple(each for each in derived() if each.family == key and each.rule.testability in judged)


def _rule(
    prefix: str,
    spec: Grammar,
    kind: Family,
    about: Subject,
    places: Mapping[tuple[tuple[str, str], ...], int],
    known: Iterable[Provision],
    told: Mapping[tuple[tuple[str, str], ...], Description],
) -> Rule:
    path = _path(about)
    described = told.get(path) if kind.key in DESCRIBES else None
    words = {**_words(spec, about), "described": described.text if described else ""}
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
        testability=Testability.UNTESTABLE if _out_of_reach(kind, about) else kind.testability,
        reason=_reason(kind, about),
        reading=_reading(kind, about),
        claims=(described.claim,) if described else (),
        related=(*_related(path, about, known), *_in_prose(prefix, kind), *_beside(prefix, kind, about)),
        implements=implemented(kind.key, about.method, spec),
    )


DESCRIBES = (SENT.key, "property")
"""The families whose rules claim the description of a field: of an argument, of a property."""


def _path(about: Subject) -> tuple[tuple[str, str], ...]:
    """The elements a subject stands in, from the root down."""
    steps = {
        "class": about.content,
        "method": about.method,
        "field": about.field,
        "constant": about.constant,
        "table": about.type,
    }
    return tuple((element, each.name) for element, each in steps.items() if each is not None)


def _subject_name(about: Subject) -> str:
    """A subject's own name, without those of what it stands in."""
    return _path(about)[-1][1] if _path(about) else ""


OBLIGED = re.compile(r"\bserver (MUST|SHOULD|MAY)\b")
"""How a rule of the document obliges a server."""


def _demanded(about: Subject, known: Iterable[Provision]) -> Iterator[Level]:
    """What the document's rules about a field or its domain ask of a server."""
    assert about.field is not None
    field, domain = _path(about), (("domain", about.field.domain),)
    for each in known:
        if each.place.path[:-1] in (field, domain):
            yield from (Level(keyword.lower()) for keyword in OBLIGED.findall(each.text))


def _level(kind: Family, about: Subject, known: Iterable[Provision]) -> Level:
    levels = [Level.MUST if (kind.key, _subject_name(about)) in STRONGER else kind.most]
    if kind.key == SENT.key:
        levels = [min((kind.most, *_demanded(about, known)), key=list(Level).index)]
    if about.method is not None and about.content is not None:
        levels.append(duty(about.method, about.content, "client" if kind.key == "client" else "server"))
    if _is_disputed(about):
        levels.append(Level.SHOULD)
    return max(levels, key=list(Level).index)


def _reason(kind: Family, about: Subject) -> str:
    stronger = STRONGER.get((kind.key, _subject_name(about)), "")
    return _out_of_reach(kind, about) or stronger or (DISPUTED if _is_disputed(about) else kind.reason)


def _reading(kind: Family, about: Subject) -> str:
    default = DISPUTED_READING if _is_disputed(about) else kind.reading
    if kind.key == SENT.key:
        return READINGS_OF_SENT.get(_full_name(about), default)
    if kind.key == BITS.key:
        return MEANINGS[_full_name(about)].reading
    return READINGS.get((kind.key, _subject_name(about)), default)


def _in_prose(prefix: str, kind: Family) -> tuple[str, ...]:
    """The rules of the prose about what the family is about."""
    protocol = prefix.partition("/")[0]
    return tuple(f"{protocol}/prose/{each}" for each in kind.see)


def _beside(prefix: str, kind: Family, about: Subject) -> tuple[str, ...]:
    """The rules about what a server fills a field with that are named for it alone."""
    protocol = prefix.partition("/")[0]
    if kind.key != SENT.key or about.field is None:
        return ()
    kept = (f"{prefix}/{_full_name(about)}.keeps-{each.check}" for each in about.field.asserts)
    return (*kept, *(f"{protocol}/{each}" for each in SEE.get(_full_name(about), ())))


def _full_name(about: Subject) -> str:
    """Class, method and field, as the readings of their rules are kept."""
    return ".".join(name for _, name in _path(about))


def _is_disputed(about: Subject) -> bool:
    return about.type is not None and about.type.tag in CONTESTED


def _out_of_reach(kind: Family, about: Subject) -> str:
    """Why a rule cannot be judged on a server although its family can; empty when it can."""
    if kind.key == "client":
        return ""
    reasons = OUT_OF_REACH.get(kind.key, {})
    if about.method is not None and about.method.full_name in reasons:
        return reasons[about.method.full_name]
    return reasons.get(_subject_name(about), "")


def _related(
    path: tuple[tuple[str, str], ...], about: Subject, known: Iterable[Provision]
) -> tuple[str, ...]:
    """The document's own rules about the same field, or with the same error."""
    if about.constant is not None:
        return tuple(each.id for each in known if each.on_failure == about.constant.name)
    if about.field is None:
        return ()
    domain = (("domain", about.field.domain),)
    return tuple(
        each.id for each in known if path == each.place.path[: len(path)] or each.place.path[:1] == domain
    )


CONSTRAINTS: Mapping[str, str] = {
    "notnull": "not null",
    "length": "at most {value} octets long",
    "regexp": "of the form {value}",
    "le": "at most the {field} of {method}",
}
"""What a check of an `<assert>` demands."""


def _words(spec: Grammar, about: Subject) -> Mapping[str, str]:
    """The names a family's sentences have places for."""
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
        if (meaning := MEANINGS.get(_full_name(about))) is not None:
            words |= {"decides": meaning.decides, "trial": meaning.trial.format(**words)}
    if (check := about.check) is not None and about.method is not None:
        place = f"{about.method.class_name}.{check.method}"
        words["check"] = check.check
        words["constraint"] = CONSTRAINTS[check.check].format(
            value=check.value, field=check.field, method=place
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
