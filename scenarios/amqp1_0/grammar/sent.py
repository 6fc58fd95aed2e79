"""What the server puts into the fields of its performatives: values of their types, some where it must."""

from collections.abc import Mapping
from typing import Any, Final

from harness.amqp1_0.broken.deviations import Interposer, rewrites
from harness.amqp1_0.client.transcript import Passage
from harness.amqp1_0.wire.performatives import Close, Error
from harness.play.watching import Found, Pattern, came
from scenarios.amqp1_0.grammar.refused import name, of_another_type
from scenarios.amqp1_0.grammar.uses import frame_of, kind, of, part
from scenarios.amqp1_0.performatives.s2_7_1_open import OURS_IS_WRONG, carries
from scenarios.registry import broken_by, watches_for
from spec.grammar.amqp1_0.members import Subject

OCCASIONS: Final[Mapping[str, str]] = {
    "open": "1-0/2.4.1.open-answered",
    "begin": "1-0/2.5.1.begin-answered",
    "attach": "1-0/2.6.3.attach-answered",
    "flow": "1-0/2.7.4.echo-answered",
    "transfer": "1-0/2.6.14.whole-message",
    "disposition": "1-0/2.7.5.first-settles",
    "detach": "1-0/2.6.4.detach-answered",
    "end": "1-0/2.5.2.end-answered",
    "close": "1-0/2.4.3.close-answered",
    "error": "1-0/2.8.15.decode-error",
}
"""Rules whose scenarios have the server send the composite."""
FILLED: Final[Mapping[str, str]] = {
    "attach.snd-settle-mode": "1-0/2.7.3.sender-mode-respected",
    "attach.unsettled": "1-0/grammar/attach.unsettled.encoded",
    "flow.drain": "1-0/2.7.4.drain-mode-told",
    "transfer.settled": "1-0/2.7.5.settled-mode-kept",
    "transfer.more": "1-0/2.5.6.multi-frame-counts-frames",
    "detach.closed": "1-0/2.6.6.close-answered",
    "detach.error": "1-0/2.6.3.unknown-link-has-no-terminus",
    "end.error": "1-0/2.5.4.unable-ends",
    "close.error": "1-0/2.8.15.decode-error",
}
"""Rules whose scenarios give a field a value that is rarely there."""


def occasion(about: Subject) -> str:
    return FILLED.get(about.full_name, OCCASIONS[about.composite.name])


def where(about: Subject) -> Pattern:
    return came(*frame_of(about))


def never(about: Subject) -> str:
    """Say what it means that no occasion came: that an optional field was never filled."""
    return (
        "" if about.given.mandatory else f"the server never says {about.given.name} of {about.composite.name}"
    )


def writes(about: Subject, value: object) -> Interposer:
    """Sends another value in the field a rule is about."""
    change: dict[str, Any] = {name(about): value}
    if kind(about) is Error:
        return rewrites(Close, when=carries("error"), error=lambda it: it.replace(**change))
    return rewrites(kind(about), **change)


def leaves_out(about: Subject) -> Interposer | None:
    """Sends nothing in a field that is mandatory."""
    return writes(about, None) if about.given.mandatory else None


def until(about: Subject) -> Pattern:
    """Stop at what we send that is not as defined; an error tells of it, and repeats nothing."""
    return () if "error" in (about.composite.name, about.given.type) else OURS_IS_WRONG


def what_is_there(each: Passage, about: Subject) -> Found:
    """Say whether the field is as defined, where the composite has come and need or does have it."""
    field, said = about.given, part(about, each.said)
    if not isinstance(said, kind(about)) or (said.carried(name(about)) is None and not field.mandatory):
        return None
    wrong = [breach.what for breach in said.breaches() if breach.field == field.name]
    return not wrong or f"{about.full_name} at {each.at:.4f} s {wrong[0]}"


@watches_for(of("sent"), during=occasion, looks_at=where, until=until, never=never)
@broken_by("has another type there", lambda about: writes(about, of_another_type(about)))
@broken_by("has nothing there", leaves_out)
def the_field_is_as_defined(each: Passage, about: Subject) -> Found:
    """The field is of its type in every such composite of the run, and there where it is mandatory."""
    return what_is_there(each, about)
