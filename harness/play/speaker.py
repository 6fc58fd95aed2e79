"""How a protocol is spoken to a target: sessions of scenarios, looks at what it is and what it promises."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_hex
from typing import Any, Generic

from harness.play.context import Context, Patience
from harness.play.expect import Barrier, Blocked, ControlFailed, Stop
from harness.play.fixture import AnyFixture, played, visiting
from harness.play.leniency import Steps
from harness.play.promises import Look, Promise, promised
from harness.targets.target import Target
from harness.wire.journal import Breached
from harness.wire.transport import NotSpoken, Unreachable


@dataclass(frozen=True, slots=True)
class Banner:
    """What a target says of itself: product and version as it names them, and all `properties` it told.

    `round_trip` is the shortest measured, in seconds. Where a target breaks rules while a connection is
    opened, `breaches` are the faults that were read all the same, and `barrier` is where it goes no further.
    """

    product: str
    version: str
    properties: Mapping[str, Any]
    round_trip: float
    breaches: tuple[Breached, ...] = ()
    barrier: Barrier | None = None


@dataclass(frozen=True, slots=True)
class Opening(Generic[AnyFixture]):
    """How a connection is opened, and how to tell why a target does not open it.

    - `trips` opens one and measures round trips, in seconds. Raises Stop where it goes no further.
    - `told` is what the target told of itself meanwhile.
    - `steps` are those of the opening.
    - `speaks` says whether the target speaks the protocol as far as it went, though it failed there.
    - `is_free_to_go` says whether it may have ended the connection without breaking a rule.
    - `is_foreign` says whether it speaks another protocol.
    - `refuses_us` says whether it does not accept who we are.
    """

    trips: Callable[[AnyFixture, Target], Iterator[float]]
    told: Callable[[AnyFixture], Mapping[str, Any]]
    steps: Steps
    speaks: Callable[[ControlFailed, AnyFixture], bool]
    is_free_to_go: Callable[[ControlFailed, AnyFixture], bool]
    is_foreign: Callable[[ControlFailed], bool]
    refuses_us: Callable[[ControlFailed], bool]

    def barrier(self, failure: Stop, fixture: AnyFixture) -> Barrier:
        """Give the barrier that a target met, or raise the `failure` where it may go. Raises OverBudget."""
        if not isinstance(failure, ControlFailed) or failure.what not in self.steps.each:
            raise failure
        breaches, rule = fixture.context.breaches, self.steps.each[failure.what].rule
        if not self.speaks(failure, fixture):
            raise failure
        if not breaches and (not rule or self.is_free_to_go(failure, fixture)):
            raise failure
        self._hear_out(fixture)
        return self.steps.barrier(failure.what, failure.actual, breaches)

    def _hear_out(self, fixture: AnyFixture) -> None:
        """Listen until no more octets come: who goes on to talk pauses longer on a busy machine."""
        context, heard = fixture.context, -1
        pause = context.patience.quiet
        while heard < context.octets:
            heard = context.octets
            fixture.newest.link.listen(pause)
            pause = context.patience.answer


def keeps_all(_: Any, __: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Remove nothing, where what a scenario names goes with its connection."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Speaker(Generic[AnyFixture]):
    """How scenarios of a `document` speak to a target, in a protocol that people call by its `name`.

    - `fixture` makes what a scenario is handed.
    - `opening` is how a connection is opened; `asks` checks that a new client is served.
    - `looks` check, by facility, that it does what it is for; facilities without one are not checked.
    - `removes` deletes entities by kind and name, and yields a sentence for each that is left.
    - `header` is what a client says first, and any server answers.
    """

    document: str
    name: str
    fixture: Callable[[Target, Context], AnyFixture]
    opening: Opening[AnyFixture]
    asks: Callable[[AnyFixture], object]
    looks: Mapping[str, Look[AnyFixture]] = field(default_factory=dict)
    removes: Callable[[AnyFixture, Iterable[tuple[str, str]]], Iterator[str]] = keeps_all
    header: bytes = b""

    def session(self, target: Target, context: Context) -> AbstractContextManager[AnyFixture]:
        """Hand out the fixture of one scenario; on exit nothing of it is left on the target."""
        return played(self.fixture(target, context))

    def _visit(
        self, target: Target, within: float, barrier: Barrier | None = None, patience: Patience | None = None
    ) -> AbstractContextManager[AnyFixture]:
        made, prefix = partial(self.fixture, target), f"probe-{token_hex(4)}"
        return visiting(made, target, within, prefix, barrier, patience)

    def probe(self, target: Target, within: float = 30.0) -> Banner:
        """Open a connection in `within` seconds, keep the shortest round trip, and return what was found.

        Raises Unreachable where nothing listens, or where what answers lets nobody in or talks without end,
        and NotSpoken where it speaks another protocol; the message is one sentence.
        """
        trips, met = [0.0], None
        try:
            with self._visit(target, within) as fixture:
                try:
                    trips = list(self.opening.trips(fixture, target))
                except Stop as failure:
                    met = self.opening.barrier(failure, fixture)
                told = self.opening.told(fixture)
                breaches = tuple(fixture.context.breaches)
        except Stop as failure:
            raise self._not_opened(target, failure) from None
        product, version = (str(told.get(name, "")) for name in ("product", "version"))
        return Banner(product, version, told, min(trips, default=0.0), breaches, met)

    def _not_opened(self, target: Target, failure: Stop) -> Unreachable:
        refused = isinstance(failure, ControlFailed) and self.opening.refuses_us(failure)
        hint = "; are user and password right?" if refused else ""
        if target.answers_tls():
            hint = "; it speaks TLS (amqps://)"
        foreign = isinstance(failure, ControlFailed) and self.opening.is_foreign(failure)
        sentence = f"{target.name} does not open an {self.name} connection: {failure}{hint}"
        return NotSpoken(sentence) if foreign else Unreachable(sentence)

    def serves(self, target: Target, within: float = 60.0, barrier: Barrier | None = None) -> None:
        """Make sure that a new client is served in `within` seconds up to a `barrier`. Raises Unreachable.

        An answer may take a third of that: nobody is judged here, and who is taken for gone ends a run.
        """
        usual, enough = Patience(), within / 3
        patience = replace(usual, answer=max(usual.answer, enough), close=max(usual.close, enough))
        try:
            with self._visit(target, within, barrier, patience) as fixture:
                self.asks(fixture)
        except Blocked:
            return  # as far as ever
        except Stop as failure:
            raise Unreachable(f"{target.name} no longer serves a new client: {failure}") from None

    def remove(self, target: Target, context: Context, entities: Iterable[tuple[str, str]]) -> list[str]:
        """Delete entities by kind and name; return a sentence for each that could not be removed."""
        fixture = self.fixture(target, context)
        try:
            return list(self.removes(fixture, entities))
        finally:
            fixture.hang_up()

    def promises(self) -> Mapping[str, Promise]:
        """Give what facilities promise in this protocol, by the facility's name."""
        return {facility: promised(self._visit, look) for facility, look in self.looks.items()}
