"""The targets that can be named: `embedded`, `process:NAME`, and anything at a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.embedded import EMBEDDED
from harness.process import PROCESS
from harness.target import Kind, Known, Target, TargetError, UrlTarget

ANYTHING = Known("amqp://user:password@host:port/vhost", True, "", "anything that listens")
URL = Kind(UrlTarget, lambda given: UrlTarget(given["url"]), lambda: (ANYTHING,))
KINDS: Mapping[str, Kind] = {"embedded": EMBEDDED, "process": PROCESS, "url": URL}
"""The kinds of targets, by what stands before the colon of their name."""


def target(named: str) -> Target:
    """The target called `named`. Raises TargetError with the known ones when there is none."""
    if "://" in named:
        return UrlTarget(named)
    kind, _, rest = named.partition(":")
    if kind not in KINDS or kind == "url":
        known = ", ".join(each.name for each in known_targets())
        raise TargetError(f"there is no target {named!r}; known are {known}")
    return KINDS[kind].make(rest)


def attach(given: Mapping[str, Any]) -> Target:
    """A target that another process has started, from its `attachment`."""
    return KINDS[given["kind"]].attach(given)


def known_targets() -> tuple[Known, ...]:
    """All targets that can be named, and whether each can start here."""
    return tuple(known for kind in KINDS.values() for known in kind.known())
