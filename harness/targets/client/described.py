"""Targets that connect: a client library behind a shim, told to connect to a server of ours.

A description says how the shim is run: a TOML file with `product`, `about`, `protocols` and `[client]`:

- `command`: the shim as a list of words, where `{python}` is the Python that runs the suite, `{clients}` the
  folder of the shims that come with the suite, and `{fetched}` what was built for it;
- `requires`: executables that must be there; `modules`: modules of that Python that must be;
- `fetched`: the `name` of a directory in AMQP_CONFORMANCE_CACHE, and the command that makes it, `by`;
- `environment`: what the shim gets beside PATH, HOME and LANG;
- `within`: seconds that the library may take for what it is told;
- `workers`: how many of it are told what to do side by side, 8 unless given;
- `apart`: selects rules that a library which misses them may not come back from: it is started anew behind.
"""

import importlib.resources
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, BinaryIO, cast

from harness.dialect import of
from harness.peers.peer import PeerServer
from harness.peers.serve import TcpPeer
from harness.shims.contract import Shim, ShimLost
from harness.shims.program import Program
from harness.targets.client.tap import MemoryClock, RealClock, Tap
from harness.targets.client.target import BeforeServer, ClientTarget, Place
from harness.targets.description import Fetched, bundled, fetched, fill, form
from harness.targets.sockets import connecting, tables_here
from harness.targets.strict_toml import read
from harness.targets.target import Kind, Known, Target, TargetError
from harness.wire.transport import MemoryTransport, Transport, VirtualClock

OWN = "0-9-1"
OWN_NAMES = {OWN: "own", "1-0": "own-1-0"}
"""What our own clients are called, by their protocols."""
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")
"""What a shim gets of the environment."""


@dataclass(frozen=True, slots=True)
class ClientDescription:
    """A client library as described in a file; see the module for the keys."""

    product: str
    about: str
    protocols: frozenset[str]
    command: tuple[str, ...]
    requires: tuple[str, ...]
    modules: tuple[str, ...]
    within: float
    fetched: Fetched = field(default_factory=lambda: Fetched("", ""))
    environment: Mapping[str, str] = field(default_factory=dict)
    workers: int = 8
    apart: tuple[str, ...] = ()

    def missing(self) -> str:
        """Say in one sentence what keeps it from starting on this machine; empty if nothing does."""
        if absent := [name for name in self.requires if shutil.which(name) is None]:
            return f"{', '.join(absent)} not found"
        if absent := [name for name in self.modules if find_spec(name) is None]:
            lacking = ", ".join(absent)
            return f"{lacking} is not installed beside the suite (pipx inject amqp-conformance {lacking})"
        if self.fetched.name and not self.fetched.directory().is_dir():
            return f"{self.fetched.directory()} is not there; run {self.fetched.command()} to build it"
        return ""

    def places(self) -> Mapping[str, str]:
        """Give what the placeholders of the command and the environment stand for on this machine."""
        clients = str(importlib.resources.files("ci") / "clients")
        return {"python": sys.executable, "clients": clients, "fetched": str(self.fetched.directory())}

    def program(self, log: BinaryIO) -> Program:
        """Start the shim; its stderr goes to `log`. Raises TargetError, and ShimLost where it cannot run."""
        if missing := self.missing():
            raise TargetError(f"{self.product} cannot start here: {missing}")
        places = self.places()
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        given = {name: fill(value, places) for name, value in self.environment.items()}
        command = [fill(word, places) for word in self.command]
        return Program(command, self.within, log, kept | given)


def parse(text: str, source: str) -> ClientDescription:
    """Read the description of a client; `source` names it in errors. Raises TargetError, one sentence."""
    top = read(text, source)
    if form(top) != "client":
        raise top.wrong(f"it describes a {form(top)}, not a client")
    client = top.table("client")
    described = ClientDescription(
        product=top.text("product"),
        about=top.text("about"),
        protocols=frozenset(top.texts("protocols")),
        command=client.texts("command"),
        requires=client.texts("requires", needed=False),
        modules=client.texts("modules", needed=False),
        within=client.seconds("within"),
        fetched=fetched(client),
        environment=client.mapping("environment"),
        workers=client.number("workers", 8),
        apart=client.texts("apart", needed=False),
    )
    top.finish()
    return described


def clients() -> dict[str, ClientDescription]:
    return {
        name: parse(text, f"{name}.toml")
        for name, text in bundled().items()
        if form(read(text, f"{name}.toml")) == "client"
    }


class ProgramClient(ClientTarget):
    """A client whose shim runs as a program; our servers are on loopback, its stderr is its log."""

    def __init__(self, key: str, described: ClientDescription, change: BeforeServer | None = None) -> None:
        super().__init__(change)
        self.name = f"client:{key}"
        self.protocols = described.protocols
        self.workers, self.apart = described.workers, described.apart
        self.within = described.within
        self._key, self._described = key, described
        self._program: Program | None = None
        self._log: BinaryIO | None = None
        self._kept = b""

    def start(self) -> None:
        self._log = self._log or cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed by `stop`
        try:
            self._program = self._described.program(self._log)
        except ShimLost as failure:
            raise TargetError(f"{self.name}: {failure}") from None

    def stop(self) -> None:
        self._end()
        if self._log is not None:
            self._kept = self._written()
            self._log.close()
            self._log = None

    def _end(self) -> None:
        if self._program is not None:
            self._program.end()
            self._program = None

    @property
    def shim(self) -> Shim:
        if self._program is None:
            raise TargetError(f"{self.name} is not running")
        return self._program

    def use(self, facility: str) -> Mapping[str, str]:
        if facility != "restart":
            return super().use(facility)
        self._end()
        self.start()
        return {}

    @contextmanager
    def serves(self, server: PeerServer) -> Iterator[tuple[Place, Tap]]:
        tap = Tap(server, RealClock(lambda: time.monotonic() - self._zero))
        with TcpPeer(self._deviating(tap)) as served:
            yield ("127.0.0.1", served.port), tap

    @contextmanager
    def halted(self) -> Iterator[None]:
        if self._program is None:
            raise TargetError(f"{self.name} is not running")
        with self._program.halted():
            yield

    def keeps_alive(self, place: Place) -> bool | None:
        seen = list(connecting(place[1], tables_here()))
        return all(seen) if seen else None

    def logs(self) -> Mapping[str, bytes]:
        text = self._written() if self._log is not None else self._kept
        return {"client.log": text} if text else {}

    def _written(self) -> bytes:
        assert self._log is not None
        # The shim writes where this file stands: it must not be moved.
        descriptor = self._log.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)

    def describe(self) -> Mapping[str, object]:
        return {"kind": "client", "product": self._described.product, "command": self._described.command}

    def attachment(self) -> dict[str, Any]:
        """Give the name: every process starts one of its own."""
        return {"kind": "client", "rest": self._key}


class MemoryClient(ClientTarget):
    """Our own client in this process, with our server in memory on a virtual clock."""

    def __init__(self, protocol: str = OWN, change: BeforeServer | None = None) -> None:
        super().__init__(change)
        self.name = f"client:{OWN_NAMES[protocol]}"
        self.protocols = frozenset({protocol})
        self._protocol = protocol
        self._clock = VirtualClock()
        self._servers: list[PeerServer] = []
        self._shim = self._made()

    def _made(self) -> Shim:
        make: Callable[[Callable[[str, int], Transport]], Shim] = of(self._protocol, "shims.own").Own
        return make(lambda _, port: MemoryTransport(self._servers[port], self._clock))

    @property
    def shim(self) -> Shim:
        return self._shim

    def use(self, facility: str) -> Mapping[str, str]:
        if facility != "restart":
            return super().use(facility)
        self._shim = self._made()
        return {}

    @contextmanager
    def serves(self, server: PeerServer) -> Iterator[tuple[Place, Tap]]:
        tap = Tap(server, MemoryClock(self._clock))
        self._servers.append(self._deviating(tap))
        yield ("memory", len(self._servers) - 1), tap

    def keeps_alive(self, place: Place) -> bool | None:  # noqa: ARG002 - one that has it off says so itself
        return bool(getattr(self._change, "keeps_alive", True))

    def attachment(self) -> dict[str, Any]:
        return {"kind": "client", "rest": OWN_NAMES[self._protocol]}


def _make(key: str) -> Target:
    for protocol, name in OWN_NAMES.items():
        if key == name:
            return MemoryClient(protocol)
    known = clients()
    if key not in known:
        names = ", ".join((*OWN_NAMES.values(), *known))
        raise TargetError(
            f"there is no target 'client:{key}'; described are {names}; --targets FILE adds your own"
        )
    return ProgramClient(key, known[key])


def _known() -> tuple[Known, ...]:
    ours = (
        Known(f"client:{name}", True, "", f"our own client of {protocol}, with our server in memory")
        for protocol, name in OWN_NAMES.items()
    )
    return (
        *ours,
        *(
            Known(f"client:{name}", not (why := described.missing()), why, described.about)
            for name, described in clients().items()
        ),
    )


CLIENT = Kind(make=_make, attach=lambda given: _make(given["rest"]), known=_known)
