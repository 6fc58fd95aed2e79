"""A run: all clients at one broker after the other; while one is played, the next is started."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from conformance.interop.cases import Case
from conformance.interop.known import Known, is_known
from conformance.interop.outcomes import Leg, Outcome, Stage
from conformance.interop.play.brokers import Running, running
from conformance.interop.play.lane import Lane
from conformance.interop.play.measuring import Meter
from conformance.interop.play.protocol import Wire
from conformance.interop.play.session import Session
from conformance.interop.play.shims import starter
from conformance.render.board import Board
from harness.targets.client.described import ClientDescription
from harness.targets.target import Target, TargetError


@dataclass
class Run:
    """What a run has come to so far; `broke` says by broker why it could not be played."""

    legs: list[Leg] = field(default_factory=list)
    broke: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    """By broker: how long all of it took, and each client, which are side by side."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Who is to be played with what, and where their logs go."""

    wire: Wire
    clients: Mapping[str, ClientDescription | None]
    goals: Sequence[Target]
    cases: Sequence[Case]
    logs: Path
    known: Sequence[Known] = ()


@dataclass(frozen=True, slots=True)
class _Shown:
    """Shows how far a broker is."""

    board: Board
    name: str

    def expect(self, total: int) -> None:
        self.board.begin(self.name, total)

    def move(self, outcome: str, what: str) -> None:
        self.board.move(self.name, outcome, what)


def play(plan: Plan, board: Board) -> Run:
    """Play the plan. A broker that cannot be started, or not kept, costs only what is its own."""
    run = Run()
    with ExitStack() as whole, ThreadPoolExecutor(1) as ahead:
        coming = _begin(plan, 0, ahead, whole)
        for number, goal in enumerate(plan.goals):
            began, sentence, taken = time.monotonic(), "", dict[str, float]()
            here, coming = _wait(coming), _begin(plan, number + 1, ahead, whole)
            try:
                started, stack = here.result()
                with stack:
                    session = _session(plan, started, board, stack)
                    run.legs += session.play()
                    taken |= session.seconds
            except TargetError as failure:
                run.broke[goal.name] = sentence = str(failure)
            taken["all"] = time.monotonic() - began
            run.seconds[goal.name] = {client: round(each, 1) for client, each in taken.items()}
            board.end(goal.name, sentence or f"done in {taken['all']:.0f} s")
    return run


def _wait(coming: Future[tuple[Running, ExitStack]]) -> Future[tuple[Running, ExitStack]]:
    """Wait until a broker has started, or has not: no two are started at once."""
    coming.exception()
    return coming


def _begin(
    plan: Plan, number: int, ahead: ThreadPoolExecutor, whole: ExitStack
) -> Future[tuple[Running, ExitStack]]:
    """Start a broker beside what is played; whatever happens, it ends with the whole."""

    def start() -> tuple[Running, ExitStack]:
        stack = whole.enter_context(ExitStack())
        return stack.enter_context(running(plan.goals[number], plan.wire)), stack

    return ahead.submit(start) if number < len(plan.goals) else Future()


def _session(plan: Plan, started: Running, board: Board, stack: ExitStack) -> Session:
    """Put every client before a broker; they leave it with the stack."""
    blank = Leg(plan.wire.name, "", "", started.name, started.version, "", Stage.SEND, Outcome.SAME)
    lanes = {}
    for name, described in plan.clients.items():
        log = plan.logs / f"{_plain(name)}@{_plain(started.name)}.log"
        start = starter(described, plan.wire.name, log)
        lanes[name] = stack.enter_context(Lane(plan.wire, started.broker, start, started.address))
    shown = _Shown(board, started.name)
    return Session(Meter(plan.wire, blank), lanes, plan.cases, shown, partial(is_known, plan.known))


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)
