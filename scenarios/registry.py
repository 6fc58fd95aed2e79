"""Scenarios, watchers and deviations register themselves under the rule they belong to."""

import gc
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial, update_wrapper
from importlib import import_module
from typing import Any, TypeVar

import scenarios
from harness.peers.deviation import Deviation
from harness.play.watching import Fold, Gaps, Pattern, Watching
from spec.applicability import protocol
from spec.rules import Role


@dataclass(frozen=True, slots=True)
class Scenario:
    """An executable scenario: `play` takes the fixture of its document.

    `needs` are facilities of the target; `slow` ones start first because their outcome takes seconds by
    nature, or many leave it at silence, which is waited for; `disruptive` ones may harm others on a shared
    broker; `alone` ones run while no other does. A generator function yields where it wants the target
    restarted. `role` is that of the targets it judges.
    """

    rule: str
    name: str
    play: Callable[[Any], Any]
    needs: frozenset[str]
    slow: bool
    disruptive: bool
    alone: bool
    role: Role = Role.SERVER

    @property
    def test(self) -> str:
        """Identity of this test: the rule's, and the scenario's name."""
        return f"{self.rule}[{self.name}]"

    @property
    def exclusive(self) -> bool:
        """Whether it is interrupted by a restart of the target, and so must run while no other does."""
        return inspect.isgeneratorfunction(self.play)

    @property
    def does(self) -> str:
        """What the check does, in one paragraph."""
        return inspect.getdoc(self.play) or ""


@dataclass(frozen=True, slots=True)
class Watch:
    """A passive rule: a fold over a finished connection.

    `during` is a rule whose scenarios give an occasion; they are played when nothing else does. Where the
    server decides whether an occasion comes, `never` says what it means that none did: the rule is
    inapplicable then. Else it is inconclusive. `role` is that of the targets it judges.
    """

    rule: str
    name: str
    fold: Fold
    during: str
    never: str = ""
    role: Role = Role.SERVER

    @property
    def test(self) -> str:
        return f"{self.rule}[{self.name}]"

    @property
    def does(self) -> str:
        """What the check looks at, in one paragraph."""
        return inspect.getdoc(self.fold.step) or ""


@dataclass(frozen=True, slots=True)
class Checks:
    """All that has registered, by rule; `deviations` are those of servers, `of_clients` those of clients."""

    scenarios: dict[str, list[Scenario]]
    watches: dict[str, list[Watch]]
    deviations: dict[str, list[Deviation]]
    of_clients: dict[str, list[Deviation]] = field(default_factory=dict)

    def of(self, rule: str, *roles: Role) -> list[Scenario | Watch]:
        """Give the checks of one rule, all or those for targets in some roles."""
        found: list[Scenario | Watch] = [*self.scenarios.get(rule, ()), *self.watches.get(rule, ())]
        return [each for each in found if not roles or each.role in roles]

    def passive(self, rule: str, role: Role) -> list[Watch]:
        """Give the watches of one rule for targets in a role."""
        return [each for each in self.watches.get(rule, ()) if each.role is role]

    def deviating(self, role: Role) -> dict[str, list[Deviation]]:
        """Give the deviations of targets in a role, by rule."""
        return self.deviations if role is Role.SERVER else self.of_clients

    def deviations_of(self, rule: str, *roles: Role) -> list[Deviation]:
        """Give the deviations of one rule, all or those of targets in some roles."""
        return [each for role in roles or Role for each in self.deviating(role).get(rule, ())]


RARELY = 50_000
"""New objects after which garbage in cycles is looked for: of what judging a rule takes little is."""

_CHECKS = Checks({}, {}, {})


Play = TypeVar("Play", bound=Callable[..., Any])


def scenario(
    rule: str,
    *,
    needs: Iterable[str] = (),
    slow: bool = False,
    disruptive: bool = False,
    alone: bool = False,
    role: Role = Role.SERVER,
) -> Callable[[Play], Play]:
    """Register a function as a scenario of `rule` (its full identity), for targets in a `role`."""

    def register(play: Play) -> Play:
        entry = Scenario(rule, play.__name__, play, frozenset(needs), slow, disruptive, alone, role)
        _CHECKS.scenarios.setdefault(rule, []).append(entry)
        _keep_deviations(rule, play, role)
        return play

    return register


def watch(
    rule: str,
    *,
    during: str,
    looks_at: Pattern,
    gap: Gaps = Gaps.BEARS,
    never: str = "",
    role: Role = Role.SERVER,
    of_clients: str = "",
    never_of_clients: str = "",
    **how: Any,
) -> Callable[[Play], Play]:
    """Register the step of a fold as the check of a passive rule.

    It sees every connection of the run; the scenarios of the rule `during` give an occasion. `never` and
    `role` are as in Watch, the rest as in Fold. A fold that looks at clients as well as at servers names the
    rule whose scenarios give one `of_clients`, and why there may be none (`never_of_clients`). Raises
    ValueError for a state that nobody tells what a gap means to it.
    """
    if gap is Gaps.BEARS and ("start" in how or "whole" in how):
        raise ValueError(f"the watch of {rule} remembers something: a gap means something to it")

    def register(step: Play) -> Play:
        fold = Fold(step, looks_at, gap, **how)
        named = step.__name__
        entries = [Watch(rule, named, fold, during, never, role)]
        if of_clients:
            entries.append(
                Watch(rule, f"{named}_of_clients", fold, of_clients, never_of_clients or never, Role.CLIENT)
            )
        for each in entries:
            _CHECKS.watches.setdefault(rule, []).append(each)
            _keep_deviations(rule, step, each.role)
        return step

    return register


def scenarios_for(subjects: Iterable[tuple[str, Any]], **how: Any) -> Callable[[Play], Play]:
    """Register one function for a family of rules: it takes the fixture and what its rule is about.

    `subjects` are the rules' identities with what each is about; `how` is as for `scenario`, or a function of
    the subject. So may be the change of a deviation; where it returns None that rule has no such deviation.
    """

    def register(play: Play) -> Play:
        for rule, subject in subjects:
            of_this = {name: each(subject) if callable(each) else each for name, each in how.items()}
            scenario(rule, **of_this)(_about(play, subject))
        return play

    return register


def watches_for(subjects: Iterable[tuple[str, Any]], **how: Any) -> Callable[[Play], Play]:
    """Register one step for a family of passive rules: it takes what its rule is about behind the rest.

    `how` is as for `watch`, but each a function of the subject, except for what a gap means.
    """

    def register(step: Play) -> Play:
        for rule, subject in subjects:
            of_this = {name: each(subject) if callable(each) else each for name, each in how.items()}
            watch(rule, **of_this)(_about(step, subject))
        return step

    return register


def _about(check: Callable[..., Any], subject: Any) -> Callable[[Any], Any]:
    """Give the check of one rule of a family, with its deviations."""

    *_, last = inspect.signature(check).parameters
    of_this_rule = update_wrapper(partial(check, **{last: subject}), check)
    broken = check.__dict__.get("broken_by", ())
    made = [(says, change(subject) if callable(change) else change, role) for says, change, role in broken]
    of_this_rule.__dict__["broken_by"] = [each for each in made if each[1] is not None]
    return of_this_rule


def broken_by(says: str, change: Any, role: Role = Role.SERVER) -> Callable[[Play], Play]:
    """Register beside a check a faulty peer in a `role` that breaks its rule; `says` how it does."""

    def register(check: Play) -> Play:
        # Decorators apply from the bottom up: the one of the rule comes last and takes these.
        check.__dict__.setdefault("broken_by", []).insert(0, (says, change, role))
        return check

    return register


def _keep_deviations(rule: str, check: Callable[..., Any], role: Role) -> None:
    for says, change, whose in check.__dict__.get("broken_by", ()):
        if whose is role:
            _CHECKS.deviating(role).setdefault(rule, []).append(Deviation(rule, says, change, role))


@cache
def checks() -> Checks:
    """Import every module of scenarios and return what they registered."""
    gc.disable()  # nothing of this is ever garbage: looking for some, again and again, is for nothing
    try:
        for module in _modules():
            import_module(module)
    finally:
        gc.enable()
    gc.freeze()
    gc.set_threshold(RARELY)
    return _CHECKS


@cache
def watching(document: str, only: frozenset[str] = frozenset(), role: Role = Role.SERVER) -> Watching:
    """Give the passive rules of a protocol, by its prefix, for targets in a `role`, or `only` some."""
    return Watching(
        (rule, each.fold)
        for rule, watches in checks().watches.items()
        if not only or rule in only  # before all else: hundreds of judgements are each about one
        for each in watches
        if each.role is role and protocol(rule) == document
    )


def _modules() -> Iterator[str]:
    for found in pkgutil.walk_packages(scenarios.__path__, "scenarios."):
        if ".tests" not in found.name and found.name != __name__:
            yield found.name
