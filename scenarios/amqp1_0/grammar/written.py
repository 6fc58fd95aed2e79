"""What may be written in more than one way: descriptors, lists, nulls at their end, fields, defaults."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from harness.amqp1_0.broken.deviations import Interposer, rejects, rejects_frames
from harness.amqp1_0.broken.harmless import shortest
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.encoding import array, encode, typed
from harness.amqp1_0.wire.frames import Frame
from harness.amqp1_0.wire.generated import GRAMMAR, attribute, code_of
from harness.amqp1_0.wire.performatives import AmqpError
from harness.amqp1_0.wire.types import As, Described, Map, Symbol
from scenarios.amqp1_0.grammar.uses import (
    NARROW,
    Change,
    Ground,
    as_usual,
    frame_of,
    kind,
    needs,
    of,
    part,
    within,
)
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp1_0.members import Subject, encodings
from spec.readers.amqp1_0 import Encoding

Form = Callable[[Any], Any]
"""Gives a value of a field as it is to be written."""
VALUES: Final[Mapping[str, Any]] = {
    "hostname": "localhost",
    "outgoing-locales": Symbol("en-US"),
    "incoming-locales": Symbol("en-US"),
    "offered-capabilities": Symbol("conformance:unheard-of"),
    "desired-capabilities": Symbol("conformance:unheard-of"),
    "properties": Map([(Symbol("conformance:unheard-of"), "nothing")]),
    "info": Map([(Symbol("conformance:unheard-of"), "nothing")]),
    "handle-max": NARROW,
    "unsettled": Map(),
    "incomplete-unsettled": False,
    "max-message-size": 0,
    "available": 0,
    "settled": False,
}
"""Values of fields that are not usually there; of booleans it is the default."""


def is_written_otherwise(about: Subject) -> Callable[[Frame], bool]:
    """Match frames with the composite of a rule that is not in its shortest form."""

    def meets(frame: Frame) -> bool:
        said = performative_of(frame)
        if not isinstance(said, frame_of(about)) or part(about, said) is None:
            return False
        return not frame.body.startswith(encode(shortest(said)))

    return meets


def knows_one_form(about: Subject) -> Interposer:
    """Refuses what is not in its shortest form."""
    return rejects_frames(is_written_otherwise(about), AmqpError.DECODE_ERROR)


def does_the_same(container: Container, about: Subject, *changes: Change) -> None:
    """Judge that the composite does what it is for with each of these changes, as it usually does."""
    ground = Ground(container)
    ground.use(about).does(as_usual)
    for change in changes:
        ground.judges(about, change)


# -- the composite -------------------------------------------------------------------------------------


@scenarios_for(of("by-symbol"), needs=needs, slow=True)
@broken_by("knows its number only", knows_one_form)
def the_symbol_names_it(container: Container, about: Subject) -> None:
    """With the symbol for a descriptor the performative does what it is for, as it does with the number."""
    does_the_same(container, about, lambda it: it.sent_as(descriptor=Symbol(it.spec.descriptor)))


@scenarios_for(of("wide-number"), needs=needs)
@broken_by("knows a number of one octet only", knows_one_form)
def the_number_may_be_wide(container: Container, about: Subject) -> None:
    """With an ulong of eight octets for a descriptor the performative does what it is for."""
    wide = code_of("ulong", 8)
    does_the_same(container, about, lambda it: it.sent_as(descriptor=As(wide, it.spec.code)))


@scenarios_for(of("list32"), needs=needs)
@broken_by("knows no list32", knows_one_form)
def the_list_may_be_wide(container: Container, about: Subject) -> None:
    """With its fields in a list32 the performative does what it is for."""
    wide = code_of("list", 4)
    does_the_same(container, about, lambda it: Described(it.descriptor, As(wide, it.elements())))


@scenarios_for(of("nulls"), needs=needs)
@broken_by("takes no null for what has no value", knows_one_form)
def nulls_may_stand_at_the_end(container: Container, about: Subject) -> None:
    """With a null for each field at its end that has no value the performative does what it is for."""
    does_the_same(container, about, lambda it: it.sent_as(width=len(it.spec.fields)))


# -- its fields ----------------------------------------------------------------------------------------


def holds(encoding: Encoding, value: Any) -> bool:
    """Say whether an encoding can hold a value that is no larger than one octet says."""
    if isinstance(value, bool):
        return encoding.name in ("boolean", str(value).lower())
    return not isinstance(value, int) or int(value) < 256**encoding.width


def forms(about: Subject, value: Any) -> Iterator[Form]:
    """Give how a field can be written that holds such a value: alone and, where it may be, in an array."""
    field = about.given
    elementary = GRAMMAR.elementary(field.type)
    yield from (partial(As, each.code) for each in encodings(GRAMMAR, field) if holds(each, value))
    if field.multiple:
        codes = (code_of("array", width) for width in (1, 4))
        yield from (partial(in_an_array, code, elementary) for code in codes)


def in_an_array(code: int, elementary: str, single: Any) -> As:
    return As(code, array(elementary, [single]))


def filled(about: Subject, form: Form = as_usual) -> Change:
    """Write the field a rule is about in this form, with a value where it usually has none."""
    name = attribute(about.given.name)
    return lambda usual: usual.replace(**{name: form(value_of(about, usual))})


def value_of(about: Subject, usual: Composite) -> Any:
    """Give the value that the field a rule is about usually has, or one it can have."""
    field = about.given
    value = usual.carried(attribute(field.name))
    return typed(GRAMMAR.elementary(field.type), VALUES.get(field.name, False)) if value is None else value


@scenarios_for(of("encoded"), needs=needs)
@broken_by("knows its shortest form only", knows_one_form)
def every_encoding_of_a_field_means_the_same(container: Container, about: Subject) -> None:
    """With the field in each encoding that can hold its value the performative does what it is for."""
    ground = Ground(container)
    control = ground.use(about)
    control.does(within(about, filled(about)))
    for form in forms(about, value_of(about, part(about, control.usual))):
        ground.judges(about, filled(about, form))


def is_default(about: Subject) -> Callable[[Composite], bool]:
    """Match composites in which the default of a field is written out."""
    name = attribute(about.given.name)
    return lambda said: said.carried(name) is not None and said.carried(name) == default(about, said)


def default(about: Subject, usual: Composite) -> Any:
    """Give what the field a rule is about means where it is left out."""
    name = attribute(about.given.name)
    meant = getattr(usual.replace(**{name: None}), name)
    return typed(GRAMMAR.elementary(about.given.type), meant)


@scenarios_for(of("default"), needs=needs)
@broken_by(
    "refuses what is written out",
    lambda about: rejects(kind(about), AmqpError.NOT_IMPLEMENTED, when=is_default(about)),
)
def the_default_may_be_written_out(container: Container, about: Subject) -> None:
    """Without the field, and with its default written out, the performative does what it is for."""
    name = attribute(about.given.name)
    does_the_same(
        container,
        about,
        lambda it: it.replace(**{name: None}),
        lambda it: it.replace(**{name: default(about, it)}),
    )
