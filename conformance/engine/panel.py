"""Several judges of one process: while some wait for a target to answer, the others go on.

Each has its own attachment to the target, its own names there and its own stream of evidence, as processes
have that judge beside each other; a thread costs no time to start, and most of a run is waiting.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future

from conformance.engine.cases import Case
from conformance.engine.worker import Worker
from conformance.evidence.kinds import Judged

PARTING = 1.0
"""Seconds for judges to end who have nothing left to judge."""


class Panel:
    """Judges the cases not yet `known`, in order, as many at once as there are `workers`; begins at once."""

    def __init__(
        self, workers: Sequence[Worker], cases: Iterable[Case], known: Iterable[Judged] = ()
    ) -> None:
        self._verdicts: dict[str, Future[Judged]] = {}
        for judged in known:
            self._future(judged.test).set_result(judged)
        self._waiting = deque(case for case in cases if case.id not in self._verdicts)
        for case in self._waiting:
            self._future(case.id)
        self._judges = [
            (each, threading.Thread(target=self._sit, args=(each,), daemon=True)) for each in workers
        ]
        for _, judge in self._judges:
            judge.start()

    def verdict(self, case: Case) -> Judged:
        """Give the verdict on one of the cases; waits for it. Raises what broke while it was judged."""
        return self._verdicts[case.id].result()

    def leave(self) -> None:
        """End the part of each judge. One that is interrupted ends with the process."""
        self._waiting.clear()
        parting = time.monotonic() + PARTING
        for worker, judge in self._judges:
            judge.join(max(0.0, parting - time.monotonic()))
            if not judge.is_alive():
                worker.leave()

    def _future(self, test: str) -> Future[Judged]:
        return self._verdicts.setdefault(test, Future())

    def _sit(self, worker: Worker) -> None:
        while self._waiting:
            try:
                case = self._waiting.popleft()
            except IndexError:  # another one was quicker
                return
            try:
                self._verdicts[case.id].set_result(worker.verdict(case))
            except BaseException as broke:  # it is raised where the verdict is asked for
                self._verdicts[case.id].set_exception(broke)
