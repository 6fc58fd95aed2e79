"""Several judges of one process: they wait beside each other, and are asked for verdicts in any order."""

import threading
from collections import Counter
from typing import cast

import pytest

from conformance.engine.cases import Case
from conformance.engine.panel import Panel
from conformance.engine.worker import Worker
from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from spec.catalogue import catalogue

CASES = [Case(rule, None) for rule in catalogue().rules[:6]]


class Judging:
    """Stands for a worker: counts what it judges; a case of `together` waits until all of them are judged."""

    judged: Counter[str]

    def __init__(self, judged: Counter[str], together: threading.Barrier | None = None) -> None:
        self.judged, self.together, self.left = judged, together, False

    def verdict(self, case: Case) -> Judged:
        self.judged[case.id] += 1
        if self.together is not None:
            self.together.wait(30)
        return case.not_run("judged")

    def leave(self) -> None:
        self.left = True


def panel_of(runs: list[Judging], cases: list[Case], known: tuple[Judged, ...] = ()) -> Panel:
    return Panel(cast(list[Worker], runs), cases, known)


def test_as_many_are_judged_at_once_as_there_are_judges() -> None:
    judged: Counter[str] = Counter()
    together = threading.Barrier(3)  # with fewer at once nobody gets past it
    panel = panel_of([Judging(judged, together) for _ in range(3)], CASES)
    assert [panel.verdict(case).test for case in reversed(CASES)] == [case.id for case in reversed(CASES)]
    assert judged == {case.id: 1 for case in CASES}


def test_what_was_judged_before_is_not_judged_again() -> None:
    judged: Counter[str] = Counter()
    before = Judged(test=CASES[0].id, rule=CASES[0].rule.id, verdict=Verdict.PASS)
    panel = panel_of([Judging(judged)], CASES, (before,))
    assert panel.verdict(CASES[0]) is before
    assert panel.verdict(CASES[5]).verdict is Verdict.NOT_RUN
    assert judged == {case.id: 1 for case in CASES[1:]}


def test_what_breaks_is_raised_where_the_verdict_is_asked_for_and_the_others_go_on() -> None:
    class Broken(Judging):
        def verdict(self, case: Case) -> Judged:
            if case is CASES[2]:
                raise RuntimeError("broken")
            return super().verdict(case)

    judged: Counter[str] = Counter()
    panel = panel_of([Broken(judged)], CASES)
    with pytest.raises(RuntimeError, match="broken"):
        panel.verdict(CASES[2])
    assert panel.verdict(CASES[5])
    assert len(judged) == 5


def test_who_leaves_begins_nothing_more_and_waits_for_nobody_who_is_stuck() -> None:
    judged: Counter[str] = Counter()
    never = threading.Barrier(2)
    stuck, free = Judging(judged, never), Judging(judged)
    panel = panel_of([stuck], CASES)
    done = panel_of([free], CASES[:1])
    done.verdict(CASES[0])
    done.leave()
    panel.leave()
    never.abort()
    assert (free.left, stuck.left) == (True, False)
    with pytest.raises(threading.BrokenBarrierError):
        panel.verdict(CASES[0])
    assert sum(judged.values()) == 2
