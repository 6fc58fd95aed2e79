"""What a peer wrote, held against the definition of its type: a frame by its descriptor, then field by field.

The keys of maps are left to section 2.8.13, the fields of an error to section 2.8.14: one fault, one rule.
"""

from collections.abc import Iterator
from typing import Any

from harness.amqp1_0.wire.composites import Composite, described_by
from harness.amqp1_0.wire.decoding import decode
from harness.amqp1_0.wire.frames import AMQP, Frame
from harness.amqp1_0.wire.generated import attribute
from harness.amqp1_0.wire.performatives import Error
from harness.amqp1_0.wire.types import Described, Map
from harness.wire.units import DecodeError


def named_by(frame: Frame) -> type[Composite] | None:
    """Give the type that an AMQP frame's descriptor names, whether or not the rest can be read."""
    if frame.type != AMQP or not frame.body.startswith(b"\0"):
        return None
    try:
        descriptor, _ = decode(frame.body, 1)
    except DecodeError:
        return None
    return described_by(descriptor)


def has_a_value(frame: Frame) -> bool:
    """Say whether the body of a frame begins with a whole value, whatever it means."""
    try:
        return bool(decode(frame.body))
    except DecodeError:
        return False


def departures(frame: Frame) -> list[str]:
    """List what in a frame's performative is not as its type is defined; nothing where all is."""
    try:
        performative, _ = frame.read()
    except DecodeError as failure:
        return [str(failure)]
    return [] if performative is None else list(_departures(performative))


def departures_of_error(error: Any) -> list[str]:
    """List the departures in an error field's value that is an error by its descriptor."""
    return list(_departures(error)) if isinstance(error, Error) else ["an error that is no list"]


def is_error(value: Any) -> bool:
    """Say whether a value is an error by its descriptor, in whatever form."""
    return isinstance(value, Error) or (
        isinstance(value, Described) and described_by(value.descriptor) is Error
    )


def _departures(composite: Composite) -> Iterator[str]:
    if composite.unknown:
        yield f"{len(composite.unknown)} fields too many"
    for breach in composite.breaches():
        value = None if "." in breach.field else composite.carried(attribute(breach.field))
        if "." not in breach.field and not isinstance(value, Map) and not _is_unlisted(value):
            yield f"{breach.field} {breach.what}"


def _is_unlisted(value: Any) -> bool:
    return is_error(value) and not isinstance(value, Error)
