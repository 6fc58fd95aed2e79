"""The pytest side of a run: options, generated items, the late phase, the gate's exit status.

Loaded by `conformance/suite/conftest.py` alone; no pytest entry point is registered.
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.alluredir import follow_verdicts, told_to_allure
from conformance.cases import Case
from conformance.events import Judged
from conformance.run import Options, Run
from conformance.verdicts import Outcome
from harness.target import TargetError
from scenarios.registry import checks
from spec.rules import Level
from spec.selection import SelectorError

RUN = pytest.StashKey[Run]()
SHOW = "amqp-conformance-report"


def add_options(parser: pytest.Parser) -> None:
    """Declare the options of a run."""
    group = parser.getgroup("amqp-conformance")
    group.addoption("--target", default="embedded", help="what to judge: embedded, amqp://…, process:NAME")
    group.addoption("--rules", action="append", default=[], metavar="SELECTOR", help="judge only these rules")
    group.addoption("--level", default="must", choices=[str(level) for level in Level])
    group.addoption("--profile", default="document", choices=["document", "vendor"])
    group.addoption("--baseline", metavar="FILE", help="accepted verdicts")
    group.addoption("--output", metavar="DIR", help="the run's folder (default: a new one under runs/)")
    group.addoption("--shuffle", type=int, metavar="SEED", help="another order, to show that none matters")
    group.addoption("--disruptive", action="store_true", help="allow what may harm others on a shared target")
    group.addoption(
        "--budget", type=float, default=600.0, metavar="SECONDS", help="judge no longer than this"
    )
    group.addoption("--tls-ca", default="", metavar="FILE", help="trust these authorities (PEM)")
    group.addoption("--tls-cert", default="", metavar="FILE", help="the client's certificate (PEM)")
    group.addoption("--tls-key", default="", metavar="FILE", help="its key, if it stands in another file")
    group.addoption("--tls-insecure", action="store_true", help="trust any certificate; the run says so")
    group.addoption("--mechanism", default="PLAIN", metavar="NAME", help="the SASL mechanism")


def options(config: pytest.Config) -> Options:
    """The options of a run as pytest got them."""
    get = config.getoption
    return Options(
        target=get("--target"),
        selectors=tuple(get("--rules")),
        level=get("--level"),
        profile=get("--profile"),
        baseline=get("--baseline"),
        output=get("--output"),
        shuffle=get("--shuffle"),
        disruptive=get("--disruptive"),
        budget=get("--budget"),
        tls_ca=get("--tls-ca"),
        tls_cert=get("--tls-cert"),
        tls_key=get("--tls-key"),
        tls_insecure=get("--tls-insecure"),
        mechanism=get("--mechanism"),
        arguments=tuple(str(each) for each in config.invocation_params.args),
    )


class Suite:
    """Hooks of one process, controller or worker, registered when the suite is about to run."""

    def __init__(self, run: Run, distributed: bool) -> None:
        self.run = run
        self.distributed = distributed
        self.died: str | None = None

    @property
    def _worker(self) -> bool:
        return not self.run.controller

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One item per case."""
        if "case" in metafunc.fixturenames:
            found = self.run.cases()
            metafunc.parametrize("case", found, ids=[case.id for case in found])

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Cases in their order; what must wait for everything else is left to the controller."""
        places = {case.id: place for place, case in enumerate(self.run.cases())}
        items.sort(key=lambda item: places[case_of(item).id])
        if self._worker:
            late = [item for item in items if case_of(item).late]
            items[:] = [item for item in items if not case_of(item).late]
            config.hook.pytest_deselected(items=late)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which run it belongs to (xdist)."""
        node.workerinput["amqp_conformance"] = self.run.for_worker()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Remember that a worker died: what it was judging is lost, though another one takes its place."""
        if error is not None:
            self.died = f"worker {node.gateway.id} died: {str(error).splitlines()[0]}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Any:
        """After the workers have ended, play the late cases in the controller."""
        done = yield
        if self.distributed:
            self.run.hear()
            session.perform_collect()
            late = [item for item in session.items if case_of(item).late]
            for place, item in enumerate(late):
                following = late[place + 1] if place + 1 < len(late) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return done

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember that the suite itself broke: such a run is partial and certifies nothing."""
        self.run.cut = f"the suite broke: {excinfo.exconly()}"

    @pytest.hookimpl(trylast=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Remember that the run was cut short."""
        self.run.cut = "interrupted"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Close the run; the gate decides the exit status."""
        if self._worker:
            self.run.leave()
            return
        self.run.cut = self.run.cut or self.died
        session.exitstatus = int(self.run.finish())


def case_of(item: pytest.Item) -> Case:
    """The case an item was generated from."""
    assert isinstance(item, pytest.Function)
    case = item.callspec.params["case"]
    assert isinstance(case, Case)
    return case


def configure(config: pytest.Config) -> None:
    """Begin the run, or attach to it in a worker.

    Raises pytest.UsageError for a selector that means nothing and a target that cannot exist here.
    """
    if config.option.collectonly or config.option.help:
        return
    given = getattr(config, "workerinput", None)
    try:
        checks()
        run = Run.begin(options(config)) if given is None else _attach(given)
    except (SelectorError, TargetError) as failure:
        raise pytest.UsageError(str(failure)) from None
    config.stash[RUN] = run
    follow_verdicts(config)
    distributed = given is None and bool(
        config.getoption("tx", None) or config.getoption("numprocesses", None)
    )
    config.pluginmanager.register(Suite(run, distributed), SHOW)


def _attach(given: dict[str, Any]) -> Run:
    return Run.attach(given["amqp_conformance"], given["workerid"], given["workercount"])


def show(judged: Judged, record: Any) -> None:
    """Let pytest show a verdict as the table of verdicts says."""
    told_to_allure(judged)
    record("verdict", str(judged.verdict))
    record("rule", judged.rule)
    record("level", str(judged.level))
    told = f"{judged.verdict}: {judged.detail or judged.signature}"
    match judged.verdict.row.pytest:
        case Outcome.FAILED:
            pytest.fail(told, pytrace=False)
        case Outcome.SKIPPED:
            pytest.skip(told)
