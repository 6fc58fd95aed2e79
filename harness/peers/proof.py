"""What proves that checks can fail and are fair: a reference peer, faulty and legal variants of it, fakes.

A protocol brings its tables, its policies and its words for what is on the wire; the rest is the same for
all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar

from harness.peers.deviation import Mutant
from harness.peers.fakes import Replacement
from harness.peers.faults import Fault
from harness.peers.footprint import Difference, Footprint, Traced, Units, differing, observed, used
from harness.peers.interposer import Interposer
from harness.peers.peer import PeerServer
from harness.peers.reference import ReferencePeer
from harness.peers.rows import AnyRow, AnyTables, State
from harness.wire.journal import Event

AnyPolicy = TypeVar("AnyPolicy")
AnyFault = TypeVar("AnyFault", bound=Fault[Any])


# Compared by identity: there is one for each protocol, and what it computes is kept by it.
@dataclass(frozen=True, eq=False)
class Proof(Generic[AnyPolicy, AnyFault]):
    """The reference peer of a protocol, and what is tried on its checks.

    - `make` makes a peer of a policy, its tables, and a set that takes the names of what it uses of them.
    - `tables` are its behaviour, `default` its policy; `policies` are the legal variants by name: no scenario
      may fail on any of them.
    - `fault` and `interposer` are the protocol's classes of changes: one of another protocol leaves the peer
      as it is.
    - `wrong_answer` is what no row answers, with its name.
    - `units` finds what a change may look at in an exchange, `events` is the class of what a peer is sent.
    - `harmless` are interposers that change nothing that matters: none may change a verdict. `fakes` put a
      peer that knows no rule in the reference peer's place. Both by what they do.
    - `inherited` are the names of rows that are another document's: its checks notice their mutants.
    - `broad` are faults of a whole peer, by what it does: they break no rule alone, and many show them.
    """

    make: Callable[[AnyPolicy, Any, set[str]], PeerServer]
    tables: AnyTables
    default: AnyPolicy
    policies: Mapping[str, AnyPolicy]
    fault: type[AnyFault]
    interposer: type[Interposer]
    wrong_answer: tuple[str, Callable[[Any], object]]
    units: Units
    events: type
    harmless: Mapping[str, Interposer]
    fakes: Mapping[str, Replacement]
    inherited: frozenset[str] = frozenset()
    broad: Mapping[str, AnyFault] = field(default_factory=dict)

    def peer(
        self, change: object = None, policy: object = None, clock: Callable[[], float] | None = None
    ) -> PeerServer:
        """Make a fresh reference peer; `change` is that of a deviation, `policy` one of `policies`.

        `clock` says what time it is where it is served, in seconds.
        """
        if isinstance(change, Replacement) and change in self.fakes.values():
            return change.make()
        taken: set[str] = set()
        tables = _tables(self, change) if isinstance(change, self.fault) else self.tables
        chosen = policy if isinstance(policy, type(self.default)) else self.default
        if change is None:
            tables = tables.referring_to(observed(tables.strategies, taken))
            chosen = observed(chosen, taken)
        peer = self.make(chosen, tables, taken)
        if clock is not None and isinstance(peer, ReferencePeer):
            peer.clock = clock
        return change.before(peer) if isinstance(change, self.interposer) else peer

    def mutants(self) -> Iterator[Mutant[AnyFault]]:
        """Mutate the tables mechanically: every row dropped, misled, and answering wrongly."""
        name, wrong_answer = self.wrong_answer
        for row in (each for each in self.tables if each.name not in self.inherited):
            yield Mutant(row.name, "dropped", self.fault.drops(row.name))
            if row.effects:
                yield Mutant(row.name, "has no effect", self.fault.changes(row.name, effects=()))
            if row.answer is not None:
                change = self.fault.changes(row.name, answer=wrong_answer)
                yield Mutant(row.name, f"answers {name}", change)
            if (wrong := _wrong_state(row)) is not None:
                yield Mutant(row.name, f"goes to {wrong.name}", self.fault.changes(row.name, next=wrong))

    def footprint(self, peer: PeerServer, events: Iterable[Event]) -> Footprint:
        """Find what an exchange used of a clean reference peer."""
        assert isinstance(peer, Traced)
        return used(peer.taken or (), events, self.units)

    def touches(self, change: object, clean: Footprint) -> bool:
        """Say whether a deviation's change, or one of `policies`, could show in such an exchange."""
        if isinstance(change, self.fault):
            return _difference(self, change).shows(clean, self.events)
        if isinstance(change, type(self.default)):
            return not differing(change, self.default).isdisjoint(clean.taken)
        return not isinstance(change, self.interposer) or change.shows(clean)


def _wrong_state(row: AnyRow) -> State | None:
    first = row.state[0] if isinstance(row.state, tuple) else row.state
    if not isinstance(first, State):
        return None
    right = row.next or first
    return next(each for each in type(first) if each is not right)


@lru_cache(maxsize=32)
def _tables(proof: Proof[Any, Any], fault: Fault[Any]) -> AnyTables:
    changed: AnyTables = fault.change(proof.tables)
    return changed


@lru_cache(maxsize=32)
def _difference(proof: Proof[Any, Any], fault: Fault[Any]) -> Difference:
    return Difference.between(_tables(proof, fault), proof.tables)
