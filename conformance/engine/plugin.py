"""The pytest side of a run: options, generated items, the late phase, the gate's exit status.

Where several processes judge, each takes its part of the cases, and may judge several of them at once.
Loaded by `conformance/suite/conftest.py` alone: sessions of pytest about something else know nothing of it.
"""

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.cases import Case
from conformance.engine.controller import STARTING, Controller
from conformance.engine.ending import Cause
from conformance.engine.options import By, Options, asked
from conformance.engine.panel import Panel
from conformance.engine.worker import Worker
from conformance.evidence.kinds import Judged
from conformance.evidence.printable import printable
from conformance.evidence.room import Room
from conformance.evidence.stream import read
from conformance.evidence.verdicts import PytestOutcome
from conformance.render.alluredir import follow_verdicts, told_to_allure
from conformance.render.longrepr import longrepr
from harness.targets.target import TargetError
from scenarios.registry import checks
from spec.selection import SelectorError

CONTROLLER = pytest.StashKey[Controller]()
VERDICT = pytest.StashKey[Callable[[Case], Judged]]()
"""Says what a case comes to."""
FOLDER = pytest.StashKey[Path]()
"""The folder of the run."""
SHOW = "amqp-conformance-report"
INTERRUPTED = (Cause.INTERRUPTED, "interrupted")


def add_options(parser: pytest.Parser) -> None:
    """Declare the options of a run."""
    group = parser.getgroup("amqp-conformance")
    for each in asked(By.PYTEST):
        more: dict[str, Any] = {"action": "store_true"}
        if each.kind is not bool:
            more = {
                "action": "append" if each.several else "store",
                "type": each.kind,
                "choices": each.choices or None,
                "metavar": each.metavar,
            }
        default = list(each.default) if each.several else each.default
        group.addoption(each.flag, default=default, help=each.help, **more)


def options(config: pytest.Config) -> Options:
    """Give the options of a run as pytest got them."""
    given = {each.name: config.getoption(each.flag) for each in asked(By.PYTEST)}
    return Options.of(given | {"arguments": [str(each) for each in config.invocation_params.args]})


def heed_interrupts(end: Callable[[Cause, str], None]) -> Callable[[], None]:
    """Let the run `end` also at a Ctrl-C that Python loses; gives what undoes it."""

    def interrupted(number: int, frame: object) -> None:  # noqa: ARG001 - a handler's arguments
        end(*INTERRUPTED)
        raise KeyboardInterrupt

    def undo() -> None:
        if signal.getsignal(signal.SIGINT) is interrupted:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupted)
    return undo


class ControllerHooks:
    """Hooks of the controller, or of the only process, registered when the suite is about to run."""

    def __init__(self, controller: Controller, distributed: bool) -> None:
        self.controller = controller
        self.distributed = distributed
        self.died: str | None = None
        self._parts: dict[str, int] = {}
        self._session: pytest.Session | None = None
        self._count = 0

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one item per case."""
        _generate(metafunc, self.controller.cases())

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which run it belongs to, and which part of the cases is its own (xdist)."""
        free = set(range(node.workerinput["workercount"])) - set(self._parts.values())
        self._parts[node.gateway.id] = min(free)
        node.workerinput["amqp_conformance"] = self.controller.for_worker() | {"part": min(free)}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Remember that a worker died: what it was judging is lost, though another one takes its place."""
        if error is not None:
            self.died = f"worker {node.gateway.id} died: {str(error).splitlines()[0]}"
            del self._parts[node.gateway.id]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Any:
        """Play the late cases in the controller, after the workers have ended."""
        self._session, self._count = session, len(self.controller.cases())
        done = yield
        if self.distributed:
            self.controller.hear()
            session.perform_collect()
            late = [item for item in session.items if case_of(item).late]
            for place, item in enumerate(late):
                following = late[place + 1] if place + 1 < len(late) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return done

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        """Let pytest count all cases: what one worker has collected is only its part of them."""
        if self._session is not None:
            self._session.testscollected = self._count

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember that the suite itself broke: such a run is partial and certifies nothing."""
        self.controller.end(Cause.BROKEN, f"the suite broke: {excinfo.exconly()}")

    @pytest.hookimpl(trylast=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Remember that the run was cut short."""
        self.controller.end(*INTERRUPTED)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Close the run; the gate decides the exit status."""
        if self.died:
            self.controller.end(Cause.WORKER_DIED, self.died)
        session.exitstatus = int(self.controller.finish().gate.exit_status)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say behind pytest's own summary what the run came to, and where it is."""
        if closed := self.controller.closed:
            terminalreporter.write_line(
                printable(f"{closed.gate.sentence}; the run is in {closed.plan.folder}")
            )


class WorkerHooks:
    """Hooks of one process, which judges its part of the cases and leaves the late ones to the controller."""

    def __init__(self, given: dict[str, Any], worker: str, workers: int) -> None:
        run = given["amqp_conformance"]
        at_once = run["plan"]["options"]["at_once"]
        names = [worker] if at_once == 1 else [f"{worker}-{number}" for number in range(at_once)]
        room = Room.among(workers)
        self.workers = [Worker.attach(run, name, room) for name in names]
        early = [case for case in self.workers[0].cases() if not case.late]
        self.cases = early[run["part"] :: workers]
        self._panel: Panel | None = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one item per case, in the order they are begun: so each is told about when it ends.

        Where no judge ever waits the last case is asked for first: each answer would take the processor.
        """
        waits = self.workers[0].target.workers > 0
        _generate(metafunc, self.cases if waits else self.cases[::-1])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave no item where there is no case: pytest makes one that is skipped."""
        if not self.cases:
            items.clear()

    def verdict(self, case: Case) -> Judged:
        """Give the verdict on one of its cases; all of them are begun with the first."""
        if self._panel is None:
            self._panel = Panel(self.workers, self.cases, self._known())
        return self._panel.verdict(case)

    def _known(self) -> list[Judged]:
        lines = read(self.workers[0].plan.folder, "judged")
        return [line.event for line in lines if isinstance(line.event, Judged)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End its part, also where none of it was begun."""
        if self._panel is not None:
            self._panel.leave()
            return
        for worker in self.workers:
            worker.leave()


def _generate(metafunc: pytest.Metafunc, found: list[Case]) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", found, ids=[case.id for case in found])


def case_of(item: pytest.Item) -> Case:
    assert isinstance(item, pytest.Function)
    case = item.callspec.params["case"]
    assert isinstance(case, Case)
    return case


def configure(config: pytest.Config) -> None:
    """Begin the run, or attach to it in a worker.

    Raises pytest.UsageError for a selector that means nothing and a target that cannot exist here. A run that
    is interrupted before it can judge is closed here, and ends pytest.
    """
    if config.option.collectonly or config.option.help:
        return
    given = getattr(config, "workerinput", None)
    if given is not None:
        checks()
        hooks = WorkerHooks(given, given["workerid"], given["workercount"])
        _settle(config, hooks.verdict, hooks.workers[0].plan.folder, hooks)
        return
    distributed = bool(config.getoption("tx", None) or config.getoption("numprocesses", None))
    try:
        controller = Controller.begin(options(config))
    except (SelectorError, TargetError) as failure:
        raise pytest.UsageError(str(failure)) from None
    if controller.ending.lost:  # workers would find nothing to judge
        distributed, config.option.tx = False, []
    if distributed:
        config.option.dist = "each"  # a process that knows its part from the start can judge ahead in it
    config.add_cleanup(heed_interrupts(controller.end))
    config.stash[CONTROLLER] = controller
    _settle(config, controller.verdict, controller.plan.folder, ControllerHooks(controller, distributed))
    if controller.ending.lost == STARTING:  # who wants it to end does not wait for workers
        controller.finish()
        pytest.exit(STARTING)


def _settle(config: pytest.Config, verdict: Callable[[Case], Judged], folder: Path, hooks: object) -> None:
    config.stash[VERDICT] = verdict
    config.stash[FOLDER] = folder
    follow_verdicts(config)
    config.pluginmanager.register(hooks, SHOW)


def show(judged: Judged, folder: Path, properties: list[tuple[str, object]]) -> None:
    """Let pytest show a verdict as the table of verdicts says."""
    told_to_allure(judged)
    properties += [("verdict", str(judged.verdict)), ("rule", judged.rule), ("level", str(judged.level))]
    match judged.verdict.row.pytest:
        case PytestOutcome.FAILED:
            pytest.fail(longrepr(judged, folder), pytrace=False)
        case PytestOutcome.SKIPPED:
            pytest.skip(f"{judged.verdict}: {judged.detail or judged.signature}")
