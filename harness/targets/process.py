"""Brokers as processes of their own: own ports, own data, gone without a trace when they stop.

How a broker is started and asked is in its description (`harness/targets/description.py`); nothing here knows
one.
"""

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from harness.targets.custody import Custody, end, marks, signal_all, stop_all
from harness.targets.described import DescribedTarget, said
from harness.targets.description import Description, Program, descriptions, fill
from harness.targets.sockets import tables_here
from harness.targets.target import Endpoint, Kind, Known, Target, TargetError
from harness.wire.sasl import PLAIN
from harness.wire.tls import Security

LOOPBACK = "127.0.0.1"
POLL = 0.005  # seconds between two looks at a port
VERSION_WITHIN = 10.0  # seconds
HANDED_OVER: list[subprocess.Popen[bytes]] = []
"""Children of this process that belong to another's target; their owner ends them."""
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


class ProcessTarget(DescribedTarget):
    """A broker started from its description.

    The one that calls `start` owns it; others `attach` to the same directory and ports, use facilities, and
    leave the end to the owner.
    """

    def __init__(self, name: str, description: Description) -> None:
        super().__init__(f"process:{name}", description)
        self.tls = bool(description.tls)
        self._key = name
        self._description = description
        self._custody: Custody | None = None
        self._place: Path | None = None
        self._ports: dict[str, int] = {}
        self._children: list[subprocess.Popen[bytes]] = []
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._kept_logs: Mapping[str, bytes] = {}

    def start(self) -> None:
        """Start every process in order, each when the one before is ready. Raises TargetError."""
        if self._place is not None:
            return
        if missing := self._description.missing():
            raise TargetError(f"{self.name} cannot start here: {missing}")
        self._context = None  # each start has files of its own
        self._custody = Custody()
        self._place = self._custody.directory
        try:
            self._ports = free_ports(self._description.ports)
            self._furnish()
            for command in self._description.before:
                self._command(tuple(fill(word, self._values()) for word in command))
            for program in self._description.programs:
                self._start(program)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the processes and remove their directory; `logs` stay readable.

        They are killed: their data goes as well, so there is nothing to wait for.
        """
        custody, self._custody = self._custody, None
        if custody is None:
            return
        try:
            end(custody.directory, None, signal.SIGKILL, 0.0)
            self._kept_logs = self.logs()
        finally:
            self._place = None
            custody.close()
            self._reap()

    def attachment(self) -> dict[str, Any]:
        """Give directory and ports, for another process on this machine; no directory before `start`."""
        return {
            "kind": "process",
            "rest": self._key,
            "directory": str(self._place or ""),
            "ports": self._ports,
        }

    def attach(self, directory: Path, ports: Mapping[str, int]) -> Self:
        """Join a started target of the same name."""
        self._place, self._ports = directory, dict(ports)
        self._children = HANDED_OVER
        return self

    def endpoint(self) -> Endpoint:
        """Give the loopback endpoint with the described user. Raises TargetError before `start`."""
        self._directory()
        login = self._description.login
        port, how = self._ports[login.port], self.security.mechanism
        return Endpoint(LOOPBACK, port, login.user, login.password, login.virtual_host, self.tls, how)

    @property
    def security(self) -> Security:
        """As asked for; what the description names stands in for what was not given."""
        asked = super().security
        if asked.mechanism == PLAIN:
            asked = replace(asked, mechanism=self._description.mechanism)
        if self._place is None or not self.tls:
            return asked
        described = {name: fill(file, self._values()) for name, file in self._description.tls.items()}
        if asked.insecure:
            described.pop("ca", None)
        if asked.certificate:
            described.pop("certificate", None)
            described.pop("key", None)
        return replace(
            asked,
            ca=asked.ca or described.get("ca", ""),
            certificate=asked.certificate or described.get("certificate", ""),
            key=asked.key or described.get("key", ""),
        )

    def logs(self) -> Mapping[str, bytes]:
        """Return what the processes wrote, by file name; after `stop` what they had written until then."""
        if self._place is None:
            return self._kept_logs
        files = sorted(file for file in (self._place / "logs").glob("*") if file.is_file())
        return {file.name: content for file in files if (content := file.read_bytes())}

    def describe(self) -> Mapping[str, object]:
        """Give product, version as installed, protocols, address and facilities."""
        return {
            "kind": "process",
            "product": self.product,
            "version": self._version(),
            "protocols": sorted(self.protocols or ()),
            "facilities": sorted(self.facilities),
            "endpoint": self.endpoint().url() if self._place else "",
        }

    def _directory(self) -> Path:
        if self._place is None:
            raise TargetError(f"{self.name} is not running.")
        return self._place

    def _values(self) -> dict[str, str]:
        login = self._description.login
        return {
            "directory": str(self._directory()),
            "logs": str(self._directory() / "logs"),
            **self._fetched(),
            "user": login.user,
            "password": login.password,
            "virtual_host": login.virtual_host,
            **{f"port.{name}": str(port) for name, port in self._ports.items()},
        }

    def _sockets(self) -> tuple[int, str]:
        return self.endpoint().port, tables_here()

    def _fetched(self) -> dict[str, str]:
        fetched = self._description.fetched
        return {"fetched": str(fetched.directory())} if fetched.name else {}

    def _furnish(self) -> None:
        """Make the links, files and directories that the description asks for."""
        directory, values = self._directory(), self._values()
        (directory / "logs").mkdir()
        for links in self._description.links:
            (directory / links.at).mkdir(parents=True, exist_ok=True)
            for pattern in links.to:
                for found in sorted(Path("/").glob(pattern.removeprefix("/"))):
                    (directory / links.at / found.name).symlink_to(found)
        for name, text in self._files.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(fill(text, values), encoding="utf-8")

    def _environment(self, program: str) -> dict[str, str]:
        """Make a clean environment: settings meant for another broker on this machine must not reach ours."""
        described = {name: fill(text, self._values()) for name, text in self._description.environment.items()}
        basic = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
        return basic | described | marks(self._directory(), program)

    def _step(self, action: str, operands: tuple[str, ...]) -> None:
        programs = {program.name: program for program in self._description.programs}
        match action:
            case "run":
                self._command(operands)
            case "await":
                self._await(operands[0])
            case "start":
                self._start(programs[operands[0]])
            case "pause":
                if not stop_all(self._directory(), operands[0]):
                    raise TargetError(f"{operands[0]} was told to pause, and goes on")
            case "resume":
                signal_all(self._directory(), operands[0], signal.SIGCONT)
            case _:
                self._stop(operands[0])

    def _command(self, command: tuple[str, ...]) -> None:
        within, shown = self._description.within, Path(command[0]).name
        try:
            done = subprocess.run(
                command,
                cwd=self._directory(),
                env=self._environment("command"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=within,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TargetError(f"{shown} did not end within {within:g} s.") from None
        except OSError as error:
            raise TargetError(f"{shown} could not be run: {error.strerror}.") from None
        if done.returncode != 0:
            raise TargetError(
                f"{shown} ended with status {done.returncode}: {said(done.stderr or done.stdout)}"
            )

    def _start(self, program: Program) -> None:
        values = self._values()
        log = self._directory() / "logs" / f"{program.name}.log"
        with log.open("ab") as output:
            before = output.tell()
            try:
                process = subprocess.Popen(
                    [fill(word, values) for word in program.command],
                    cwd=self._directory(),
                    env=self._environment(program.name),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C in a terminal is for the suite, which then stops it
                )
            except OSError as error:
                raise TargetError(f"{program.name} could not be run: {error.strerror}.") from None
        self._children.append(process)
        self._running[program.name] = process

        def written() -> str:
            return log.read_bytes()[before:].decode(errors="replace")

        def ended() -> str:
            if process.poll() is None:
                return ""
            status = process.returncode
            return f"{program.name} ended with status {status} before it was ready: {said(written())}"

        self._await(program.ready, ended)
        self._until(lambda: program.says in written(), ended, f"{program.name} did not say {program.says!r}")

    def _stop(self, name: str) -> None:
        end(self._directory(), name, signal.SIGTERM, self._description.patience)
        if process := self._running.pop(name, None):
            # What dies loses its marks first, its files and ports last: its successor would find them taken.
            try:
                process.wait(self._description.within)
            except subprocess.TimeoutExpired:
                raise TargetError(f"{name} did not end within {self._description.within:g} s.") from None
        self._reap()

    def _reap(self) -> None:
        self._children[:] = [process for process in self._children if process.poll() is None]

    def _await(self, port: str, ended: Callable[[], str] = str) -> None:
        """Return when `port` accepts a connection. Raises TargetError when it `ended`, or time is over."""
        self._until(lambda: accepts(self._ports[port]), ended, f"nothing listened on port {port!r}")

    def _until(self, reached: Callable[[], bool], ended: Callable[[], str], failure: str) -> None:
        """Return when `reached`. Raises TargetError: what `ended` says, or `failure` if time is over."""
        within = self._description.within
        deadline = time.monotonic() + within
        while not reached():
            if reason := ended():
                raise TargetError(f"{self.name}: {reason}")
            if time.monotonic() > deadline:
                raise TargetError(f"{self.name}: {failure} within {within:g} s.")
            time.sleep(POLL)

    def _version(self) -> str:
        """Return what the version command prints; empty where it fails, as for one's own build."""
        command = [fill(word, self._fetched()) for word in self._description.version]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=VERSION_WITHIN, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""


def accepts(port: int) -> bool:
    """Say whether something on the loopback interface accepts a connection to `port`."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True


def free_ports(names: tuple[str, ...]) -> dict[str, int]:
    """Find a free port on the loopback interface for each name. Raises TargetError when there is none.

    They lie below the range that the system hands to outgoing connections: no client can take the port of a
    broker that is just restarting, and looking whether it listens cannot connect to itself.
    """
    end = int(EPHEMERAL.read_text().split()[0]) if EPHEMERAL.exists() else 32768
    start = max(1024, end - 16384)
    ports: dict[str, int] = {}
    with ExitStack() as held:
        for _ in range(1000):
            if len(ports) == len(names):
                return ports
            candidate = start + secrets.randbelow(end - start)
            listener = held.enter_context(socket.socket())
            try:
                listener.bind((LOOPBACK, candidate))
            except OSError:
                continue
            ports[names[len(ports)]] = candidate
    raise TargetError(f"No free port was found on {LOOPBACK} from {start} to {end - 1}.")


def process_target(name: str) -> ProcessTarget:
    """Make the described target of that name, not started. Raises TargetError for an unknown one."""
    known = descriptions()
    if name not in known:
        raise TargetError(f"there is no target 'process:{name}'; described are {', '.join(known)}")
    return ProcessTarget(name, known[name])


def _attach(given: Mapping[str, Any]) -> Target:
    found = process_target(given["rest"])
    return found.attach(Path(given["directory"]), given["ports"]) if given["directory"] else found


def _known() -> tuple[Known, ...]:
    return tuple(
        Known(f"process:{name}", not (why := described.missing()), why, described.about)
        for name, described in descriptions().items()
    )


PROCESS = Kind(make=process_target, attach=_attach, known=_known)
