"""Policies: where a document allows several behaviours, the choice of a reference peer as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

AnyPolicy = TypeVar("AnyPolicy")


def variants(
    default: AnyPolicy, others: Mapping[str, Iterable[object]], says: Callable[[object], str]
) -> Mapping[str, AnyPolicy]:
    """Make every single departure from a `default` policy, by a name that says which.

    `default` is a dataclass, `others` holds by field the values that are legal as well, `says` puts one of
    them into words. Raises ValueError where two have one name.
    """
    made: dict[str, AnyPolicy] = {}
    for field, values in others.items():
        for value in values:
            name = f"{field} = {says(value)}"
            if name in made:
                raise ValueError(f"two variants have the name {name!r}")
            made[name] = replace(default, **{field: value})  # type: ignore[type-var]
    return made
