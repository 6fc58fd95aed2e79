"""Every rule of the catalogue as a parametrized test; what is judged stands in `scenarios/`."""

from collections.abc import Callable

from conformance.engine.cases import Case
from conformance.evidence.kinds import Judged


def test_rule(case: Case, verdict: Callable[[Case], Judged], show: Callable[[Judged], None]) -> None:
    show(verdict(case))
