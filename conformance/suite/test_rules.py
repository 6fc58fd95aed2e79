"""Every rule of the catalogue as a parametrized test; what is judged stands in `scenarios/`."""

from collections.abc import Callable

from conformance.cases import Case
from conformance.events import Judged
from conformance.run import Run


def test_rule(case: Case, run: Run, show: Callable[[Judged], None]) -> None:
    """Judge one rule by one of its checks."""
    show(run.verdict(case))
