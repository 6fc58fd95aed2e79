"""Which rules one and the same fault of a peer breaks, so that it is not counted for several."""

import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spec.readers.xml import DocumentError
from spec.rules import Fault, Rule

KEYS = {"is", "rules"}


def faults(path: Path, living: Collection[str]) -> tuple[Fault, ...]:
    """Read the faults in the TOML file at `path`; `living` are the identities of the catalogue, in its order.

    Raises DocumentError, one sentence, for a file or a fault that is not in order.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as failure:
        raise DocumentError(f"{path}: cannot be read: {failure}") from failure
    return tuple(_fault(path, entry, living) for entry in content.get("fault", ()))


def with_faults(rules: Iterable[Rule], known: Iterable[Fault]) -> tuple[Rule, ...]:
    """Add to each rule those of the `known` faults that break it."""
    breaks: dict[str, tuple[Fault, ...]] = {}
    for fault in known:
        for identity in fault.rules:
            breaks[identity] = (*breaks.get(identity, ()), fault)
    return tuple(replace(rule, faults=breaks[rule.id]) if rule.id in breaks else rule for rule in rules)


def _fault(path: Path, entry: Mapping[str, Any], living: Collection[str]) -> Fault:
    says, named = entry.get("is"), entry.get("rules", [])
    if set(entry) != KEYS or not isinstance(says, str) or not says.strip():
        raise DocumentError(f"{path}: a fault has a text under 'is', its rules under 'rules', nothing else.")
    if unknown := [each for each in named if each not in living]:
        raise DocumentError(f"{path}: {unknown[0]!r} is no rule that a peer can break ({says}).")
    if len(set(named)) < 2 or len(set(named)) != len(named):
        raise DocumentError(f"{path}: a fault breaks several rules, each named once ({says}).")
    return Fault(says, tuple(each for each in living if each in named))
