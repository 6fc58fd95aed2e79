"""The cases: what is asked of every client, in the words of the contract of shims, from a TOML file.

    [[case]]
    name = "headers.i8.least"
    about = "4.2.1 field type b"
    value = { i8 = "-128" }        # short for the header "v"; in 1.0 for a body of that value
    forms = ["62 80"]              # what our own end sends, too: the octets of the header "v", letter first

`body`, `properties`, `header`, `application`, `annotations` are as in the contract. `exact`: what is added
to the message counts, too. `settled`: it is got without an acknowledgement, by default in 0-9-1 alone;
`by = "receive"`: by a consumer; `again`: it was given back before. `send` holds more arguments.
"""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.interop.comparing import SECTIONS, fields
from harness.targets.target import TargetError

BODY = "m"
"""The body of messages that are about something else."""
KEYS = {"name", "about", "value", "body", "forms", "exact", "settled", "by", "again", "send", *SECTIONS}


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is asked of a client, and what of the document it is about."""

    name: str
    about: str
    message: Mapping[str, Any]
    forms: tuple[bytes, ...] = ()
    exact: bool = False
    settled: bool = True
    by: str = "get"
    again: bool = False
    send: Mapping[str, Any] = field(default_factory=dict)

    def about_it(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Give of a message what this case is about: what it asks for, and all of it where it is exact."""
        if self.exact:
            return dict(message)
        kept = {name: each for name, each in message.items() if name not in SECTIONS}
        for section in SECTIONS:
            asked = dict(fields(self.message.get(section)))
            told = {name: each for name, each in fields(message.get(section)) if name in asked}
            if told:
                kept[section] = told
        return kept

    @property
    def size(self) -> int:
        """Give how many octets the body has, so that nobody waits too short for it."""
        body = self.message.get("body", "")
        return int(body.get("fill", 0)) if isinstance(body, Mapping) else len(body)


def cases(protocol: str, globs: Sequence[str] = (), source: Path | None = None) -> tuple[Case, ...]:
    """Read the cases of a protocol, those whose names match one of `globs`. Raises TargetError."""
    file = source or importlib.resources.files("ci") / "interop" / f"{protocol}.toml"
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))["case"]
        found = tuple(_case(entry, protocol) for entry in entries)
    except (OSError, tomllib.TOMLDecodeError, KeyError, ValueError) as failure:
        raise TargetError(f"{file}: {failure}") from None
    names = [each.name for each in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TargetError(f"{file}: {', '.join(sorted(twice))} is there twice")
    return tuple(each for each in found if not globs or any(fnmatchcase(each.name, glob) for glob in globs))


def _case(entry: Mapping[str, Any], protocol: str) -> Case:
    if unknown := set(entry) - KEYS:
        raise ValueError(f"{entry.get('name')}: there is no {', '.join(sorted(unknown))}")
    message = {name: told(entry[name]) for name in SECTIONS if name in entry}
    message["body"] = entry.get("body", BODY)
    if "value" in entry and protocol == "0-9-1":
        message["properties"] = {"headers": {"map": [["v", told(entry["value"])]]}}
    elif "value" in entry:
        message["body"] = {"value": told(entry["value"])}
    return Case(
        name=entry["name"],
        about=entry["about"],
        message=message,
        forms=tuple(bytes.fromhex(each) for each in entry.get("forms", ())),
        exact=entry.get("exact", False),
        settled=entry.get("settled", protocol == "0-9-1"),
        by=entry.get("by", "get"),
        again=entry.get("again", False),
        send=entry.get("send", {}),
    )


def told(value: Any) -> Any:
    """Give a value as lines have it: TOML has no null, so `{ null = true }` stands for one."""
    if value == {"null": True}:
        return None
    if isinstance(value, Mapping):
        return {name: told(each) for name, each in value.items()}
    return [told(each) for each in value] if isinstance(value, list) else value
