"""Which composite types and fields of Part 2 belong to each family of rules, read from their definitions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from spec.readers.amqp1_0 import Choice, Composite, Encoding, Field, Grammar, Primitive, Restricted
from spec.readers.definitions import Definition


@dataclass(frozen=True, slots=True)
class Subject:
    """What a derived rule is about: a composite type, or a field of it."""

    composite: Composite
    field: Field | None = None

    @property
    def full_name(self) -> str:
        """Type and field, as families name their members ("begin.handle-max")."""
        return self.composite.name if self.field is None else f"{self.composite.name}.{self.given.name}"

    @property
    def given(self) -> Field:
        """The field of a rule that is about one."""
        assert self.field is not None
        return self.field


def encodings(grammar: Grammar, field: Field) -> tuple[Encoding, ...]:
    """Give the encodings of a field's type; none where it is a composite type, or any of several."""
    kind = grammar.types.get(grammar.elementary(field.type))
    composite = isinstance(grammar.types.get(field.type), Composite)
    return kind.encodings if isinstance(kind, Primitive) and not composite else ()


def choices(grammar: Grammar, field: Field) -> tuple[Choice, ...]:
    """Give the values that a field is restricted to, none where any of its type will do."""
    kind = grammar.types.get(field.type)
    return kind.choices if isinstance(kind, Restricted) else ()


def _whole(fits: Callable[[Composite], bool]) -> Callable[[Grammar, Definition], bool]:
    return lambda _, each: each.field is None and fits(each.composite)


def _field(fits: Callable[[Grammar, Field], bool]) -> Callable[[Grammar, Definition], bool]:
    return lambda grammar, each: each.field is not None and fits(grammar, each.field)


def _any(_: object) -> bool:
    return True


def _is_performative(composite: Composite) -> bool:
    return "frame" in composite.provides


def _has_other_values(grammar: Grammar, field: Field) -> bool:
    """Say whether the type of a restricted field has more values than the choices."""
    return bool(choices(grammar, field)) and grammar.elementary(field.type) != "boolean"


MEMBERS: Mapping[str, Callable[[Grammar, Definition], bool]] = {
    "by-symbol": _whole(_any),
    "wide-number": _whole(_any),
    "list32": _whole(_any),
    "nulls": _whole(_any),
    "list": _whole(_is_performative),
    "sent": _field(lambda *_: True),
    "encoded": _field(lambda grammar, field: len(encodings(grammar, field)) > 1),
    "default": _field(lambda _, field: field.default is not None),
    "mandatory": _field(lambda _, field: field.mandatory),
    "typed": _field(lambda *_: True),
    "choice": _field(_has_other_values),
}
"""What belongs to each family: whether a definition does."""


def members(
    key: str, grammar: Grammar, defined: Iterable[Definition]
) -> Iterator[tuple[Definition, Subject]]:
    """Give the definitions that belong to a family, each with what its rule is about."""
    for each in defined:
        if MEMBERS[key](grammar, each):
            yield each, Subject(each.composite, each.field)
