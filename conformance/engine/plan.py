"""What a run is about, and what follows from that alone: its rules, its cases, when its budget is spent."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.engine.cases import Case, cases
from conformance.engine.options import Options
from conformance.engine.scope import Scope, apart_of
from conformance.evidence.keeping import EventWriter, wall_clock
from conformance.evidence.kinds import Line
from harness.play.context import Deadline
from harness.targets.target import Target
from scenarios.registry import checks
from spec.catalogue import catalogue
from spec.rules import Role, Rule
from spec.selection import meant_alone, select


@dataclass(frozen=True)
class Plan:
    """What a run is about for all who judge in it; `started` in seconds since the epoch."""

    options: Options
    folder: Path
    run: str
    started: float
    role: Role
    scope: Scope = field(default_factory=Scope)

    @cached_property
    def deadline(self) -> Deadline:
        """When the budget of the run is spent, the same in all processes."""
        left = self.started + self.options.budget - time.time()
        return Deadline.after(left, f"the run's budget of {self.options.budget:g} s is spent")

    @cached_property
    def asked(self) -> tuple[Rule, ...]:
        """The rules that were asked for, whatever the target speaks. Raises SelectorError."""
        return select(catalogue().rules, self.options.selectors, catalogue().aliases)

    @cached_property
    def documents(self) -> frozenset[str]:
        """The documents that were asked for by name. Raises SelectorError."""
        return meant_alone(catalogue().rules, self.options.selectors, catalogue().aliases)

    @cached_property
    def selected(self) -> tuple[Rule, ...]:
        """The rules that were asked for, of the protocols that the target speaks."""
        return self.scope.rules(self.asked)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the protocols that the target speaks: what a certification is about."""
        return self.scope.rules(catalogue().rules)

    def cases(self, target: Target) -> list[Case]:
        """Give the cases of the selected rules, in the order they run on the target."""
        apart = apart_of(target)
        return cases(self.selected, checks(), self.role, self.options.shuffle, apart, target.single)

    def writer(self, worker: str, beside: list[Line] | None = None) -> EventWriter:
        """Give the writer to which a worker of that name tells what it sees; `beside` gets it as well."""
        return EventWriter(self.folder, worker, wall_clock(self.started), beside)

    def plain(self) -> dict[str, Any]:
        return {
            "options": asdict(self.options),
            "folder": str(self.folder),
            "run": self.run,
            "started": self.started,
            "role": self.role.value,
            "scope": self.scope.plain(),
        }

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Plan:
        """Give the plan from what `plain` gave."""
        scope, options = Scope.of(told["scope"]), Options.of(told["options"])
        return cls(options, Path(told["folder"]), told["run"], told["started"], Role(told["role"]), scope)
