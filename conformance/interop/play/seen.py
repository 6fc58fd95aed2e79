"""What a lane sees of a case, and what comes of it where something went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.interop.outcomes import Form, Outcome
from conformance.interop.play.passing import Content
from harness.shims.contract import Kind

OUTCOMES: Mapping[Kind, Outcome] = {
    Kind.UNSUPPORTED: Outcome.UNSUPPORTED,
    Kind.UNKNOWN: Outcome.UNSUPPORTED,
    Kind.LOCAL: Outcome.REFUSED,
    Kind.CLOSED: Outcome.CLOSED,
    Kind.LOST: Outcome.LOST,
    Kind.TIMEOUT: Outcome.LOST,
    Kind.INTERNAL: Outcome.CRASHED,
}


@dataclass(eq=False)
class Failed(Exception):
    """A leg came to an end before anything could be compared."""

    outcome: Outcome
    detail: str
    kind: str = ""
    native: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a client put on the wire, and what came out of the broker: a form, or why none."""

    form: Form
    after: Form | Failed


@dataclass(frozen=True, slots=True)
class Got:
    """What was delivered to a client, what it told of it, and what it sent when told to send it again."""

    delivered: Content
    told: Mapping[str, Any]
    echo: Form | Failed
