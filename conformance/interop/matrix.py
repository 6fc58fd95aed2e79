"""What the legs of a run say together: cells of clients and brokers, and pairs derived from legs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from conformance.interop.outcomes import Leg, Outcome, Stage, worst


@dataclass(frozen=True, slots=True)
class Cell:
    """A client at a broker in one case: its leg to send, the broker's of that form, and those to receive."""

    send: Leg | None
    broker: Leg | None
    receive: tuple[Leg, ...]
    played: tuple[Leg, ...]

    @property
    def legs(self) -> tuple[Leg, ...]:
        return tuple(
            each for each in (self.send, self.broker, *self.receive, *self.played) if each is not None
        )

    @property
    def outcome(self) -> Outcome:
        """Give the worst of it; that a form of others was not tried says nothing of this client."""
        found = (leg.outcome for leg in self.legs if leg.leg is not Stage.PLAYED or leg.fails)
        return worst(outcome for outcome in found if outcome is not Outcome.UNTRIED)


@dataclass(frozen=True, slots=True)
class Pair:
    """What one client sends and another gets, in one case, derived from three legs."""

    legs: tuple[Leg, ...]
    played: Leg | None

    @property
    def outcome(self) -> Outcome:
        """Give the worst of the three; what was played to prove them can contradict it."""
        found = [each.outcome for each in self.legs]
        if self.played is not None and self.played.outcome is Outcome.CONTRADICTED:
            found.append(Outcome.CONTRADICTED)
        return worst(found)


@dataclass(frozen=True)
class Matrix:
    """All legs of a run, found by who, where and what."""

    legs: Sequence[Leg] = field(repr=False)

    @cached_property
    def clients(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sorted(leg.client for leg in self.legs if leg.client)))

    @cached_property
    def brokers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(leg.broker for leg in self.legs))

    @cached_property
    def cases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(leg.case for leg in self.legs))

    def version_of(self, client: str = "", broker: str = "") -> str:
        """Give the version of a client, or of a broker."""
        for leg in self.legs:
            if client and leg.client == client and leg.client_version:
                return leg.client_version
            if broker and leg.broker == broker:
                return leg.broker_version
        return ""

    def cell(self, client: str, broker: str, case: str) -> Cell:
        own = self._of.get((broker, case, client), {})
        send = next(iter(own.get(Stage.SEND, ())), None)
        passed = self._through(broker, case, send)
        return Cell(send, passed, tuple(own.get(Stage.RECEIVE, ())), tuple(own.get(Stage.PLAYED, ())))

    def pair(self, sender: str, receiver: str, broker: str, case: str) -> Pair:
        """Derive a pair: what is sent, what the broker makes of it, what the receiver makes of that."""
        send = self.cell(sender, broker, case).send
        legs = [send, self._through(broker, case, send)]
        own = self._of.get((broker, case, receiver), {})
        if send is not None and send.form:
            legs += [each for each in own.get(Stage.RECEIVE, ()) if each.form == send.form]
        played = next((each for each in own.get(Stage.PLAYED, ()) if each.other == sender), None)
        return Pair(tuple(each for each in legs if each is not None), played)

    def of_broker(self, broker: str, case: str) -> tuple[Leg, ...]:
        """Give all legs of a broker in a case: one for each form that went in."""
        return tuple(self._of.get((broker, case, ""), {}).get(Stage.BROKER, ()))

    def _through(self, broker: str, case: str, send: Leg | None) -> Leg | None:
        if send is None or not send.form:
            return None
        return next((each for each in self.of_broker(broker, case) if each.form == send.form), None)

    @cached_property
    def _of(self) -> Mapping[tuple[str, str, str], Mapping[Stage, list[Leg]]]:
        found: dict[tuple[str, str, str], dict[Stage, list[Leg]]] = defaultdict(lambda: defaultdict(list))
        for leg in self.legs:
            found[leg.broker, leg.case, leg.client][leg.leg].append(leg)
        return found


def counted(outcomes: Iterable[Outcome]) -> dict[Outcome, int]:
    """Count outcomes, the best first."""
    found = list(outcomes)
    return {each: found.count(each) for each in Outcome if each in found}
