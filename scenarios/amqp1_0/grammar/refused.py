"""What is not as defined is refused: no list, a field missing, of another type, with another value."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from harness.amqp1_0.broken.deviations import Interposer, forwards, ignores_frames
from harness.amqp1_0.client.container import Container
from harness.amqp1_0.client.outcomes import Refusal, answered, begun, detached, refused
from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.composites import Composite, choices
from harness.amqp1_0.wire.definitions import named_by
from harness.amqp1_0.wire.frames import Frame
from harness.amqp1_0.wire.generated import GRAMMAR, attribute
from harness.amqp1_0.wire.performatives import Attach, Begin, End, Role, Source, Target
from harness.amqp1_0.wire.types import As, Described, Map, Ubyte, Ulong
from scenarios.amqp1_0.grammar.uses import EXAMPLES, Change, Ground, Use, as_usual, kind, needs, of
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp1_0.members import Subject

STR8 = 0xA1
"""The code of a short string."""


# -- how it is refused ---------------------------------------------------------------------------------


def refuses_an_open(use: Use, ground: Ground) -> None:
    """Judge that the connection is refused."""
    del ground
    use.connection.refuses(*refused(Refusal.OPENING))


def refuses_a_begin(use: Use, ground: Ground) -> None:
    """Judge that session or connection end; what is not mapped cannot be ended: a begin may come before."""
    del ground
    fitting = refused(Refusal.ON_SESSION)
    patience = use.connection.context.patience.close
    if isinstance(use.connection.within(patience, *fitting, begun(use.channel)), Begin):
        use.connection.tries(End(), *fitting, channel=use.channel)


def refuses_an_attach(use: Use, ground: Ground) -> None:
    """Judge that link, session or connection end; an attach without the terminus may come before (2.6.3)."""
    session = use.session
    seen = session.expect(*on_a_link(), answered(Attach))
    if isinstance(seen, Attach):
        session.judge("an attach without a target", "an attach with its target", seen.target is None)
        session.expect(*on_a_link())
    del ground


def refuses(use: Use, ground: Ground) -> None:
    """Judge that link, session or connection end, before an attach behind is answered."""
    session = use.session
    session.send(session.the_attach(Role.RECEIVER, source=Source(ground.address), target=Target()))
    session.expect(*on_a_link())


def on_a_link() -> tuple[Any, ...]:
    """Give the legal outcomes of a refusal of what is said about a link."""
    preferred, *others = refused(Refusal.ON_SESSION)
    return (preferred | detached(), *others)


REFUSING: Final[Mapping[str, Callable[[Use, Ground], None]]] = {
    "open": refuses_an_open,
    "begin": refuses_a_begin,
    "attach": refuses_an_attach,
}
"""How performatives are refused; others before what is sent behind them is answered."""


def is_refused(container: Container, about: Subject, change: Change) -> None:
    """Judge that a performative that does what it is for as it usually is, is refused with this change."""
    ground = Ground(container)
    ground.use(about).does(as_usual)
    use = ground.use(about)
    use.send(change)
    REFUSING.get(about.composite.name, refuses)(use, ground)


# -- what is wrong -------------------------------------------------------------------------------------


def name(about: Subject) -> str:
    return attribute(about.given.name)


def breaks(about: Subject) -> Callable[[Composite], bool]:
    """Match composites in which the field of a rule is not as defined."""
    field = about.given.name
    return lambda said: any(each.field == field for each in said.breaches())


def reads_something_else(about: Subject) -> Interposer:
    """Does as if the field were as defined."""
    meant: dict[str, Any] = {name(about): EXAMPLES[about.composite.name].carried(name(about))}
    return forwards(kind(about), when=breaks(about), **meant)


def is_no_list(about: Subject) -> Callable[[Frame], bool]:
    return lambda frame: named_by(frame) is kind(about) and performative_of(frame) is None


def passes_over_no_list(about: Subject) -> Interposer:
    """Takes no notice of what has the descriptor and is no list."""
    return ignores_frames(is_no_list(about))


def of_another_type(about: Subject) -> Any:
    """Give a value of another type than that of a field."""
    textual = GRAMMAR.elementary(about.given.type) in ("string", "symbol")
    return Ulong(7) if textual else As(STR8, "text")


def none_of_the_choices(about: Subject) -> Ubyte:
    """Give the number behind the last of the choices of a field."""
    return Ubyte(max(choices(about.given.type).values()) + 1)


@scenarios_for(of("list"), needs=needs, slow=True)
@broken_by("passes over it", passes_over_no_list)
def a_map_is_no_performative(container: Container, about: Subject) -> None:
    """A map with the descriptor of the performative is refused."""
    is_refused(container, about, lambda it: Described(it.descriptor, Map()))


@scenarios_for(of("mandatory"), needs=needs, slow=True)
@broken_by("does without", reads_something_else)
def a_field_that_has_to_be_there_is_missed(container: Container, about: Subject) -> None:
    """The performative with null for a mandatory field is refused."""
    is_refused(container, about, lambda it: it.replace(**{name(about): None}))


@scenarios_for(of("typed"), needs=needs, slow=True)
@broken_by("takes what it is not", reads_something_else)
def a_field_of_another_type_is_refused(container: Container, about: Subject) -> None:
    """The performative with a value of another type for the field is refused."""
    is_refused(container, about, lambda it: it.replace(**{name(about): of_another_type(about)}))


@scenarios_for(of("choice"), needs=needs, slow=True)
@broken_by("takes it for another", reads_something_else)
def a_value_that_is_no_choice_is_refused(container: Container, about: Subject) -> None:
    """The performative with the number behind the last of the choices for the field is refused."""
    is_refused(container, about, lambda it: it.replace(**{name(about): none_of_the_choices(about)}))
