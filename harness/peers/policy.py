"""Policies: where a document allows several behaviours, the choice of a reference peer as data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from enum import EnumType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

AnyPolicy = TypeVar("AnyPolicy")


def variants(
    default: AnyPolicy, others: Mapping[str, Iterable[object]], says: Callable[[object], str]
) -> Mapping[str, AnyPolicy]:
    """Make every single departure from a `default` policy, by a name that says which.

    `default` is a dataclass, `others` holds by field the values that are legal as well, where its type does
    not list them; `says` puts one into words. Raises ValueError where two have one name.
    """
    made: dict[str, AnyPolicy] = {}
    types = get_type_hints(type(default))
    for field in (each.name for each in fields(default)):  # type: ignore[arg-type]
        for value in others.get(field) or _listed(types[field], getattr(default, field)):
            name = f"{field} = {says(value)}"
            if name in made:
                raise ValueError(f"two variants have the name {name!r}")
            made[name] = replace(default, **{field: value})  # type: ignore[type-var]
    return made


def _listed(kind: Any, chosen: object) -> list[object]:
    """Give what a type lists beside the choice: other literals or members, the other truth value."""
    values = (False, True) if kind is bool else get_args(kind) if get_origin(kind) is Literal else ()
    return [each for each in (kind if isinstance(kind, EnumType) else values) if each != chosen]
