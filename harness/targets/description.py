"""Descriptions of targets: a TOML file says how a broker is started, reached and asked for facilities.

The files are data; a new broker needs one file and no code. Top level: `product`, `about`, `protocols`,
and `documents` about what only some products promise where it is to be judged by them whatever it tells.
`[endpoint]`: `port` (one of the named ports), `user`, `password`, `virtual_host`; for a process `mechanism`
where PLAIN is not offered; where that port speaks TLS, `[endpoint.tls]` with the PEM files that a client
needs: `ca`, `certificate`, `key`. A file has either `[container]`, which
`harness/targets/docker/description.py` explains, `[client]`, which `harness/targets/client/described.py`
does, or `[process]`:

- `package`: the Debian package that brings it; `requires`: executables that must be there;
- `fetched`: where no package brings all of it: the `name` of a directory, and the command that makes it,
  `by`, which may begin with a script of the suite. The directory lies in AMQP_CONFORMANCE_CACHE,
  ~/.cache/amqp-conformance if not set;
- `version`: a command that prints the version; `within`: seconds a start or a command may take; `patience`:
  seconds that a process has to end by itself when a facility stops it (SIGTERM, then SIGKILL);
- `workers`: how many cases are judged at once, 4 unless given; `apart`: selects rules whose cases may end the
  broker or leave it stuck, which are judged one by one behind the others, when it can be started again;
- `single`: true where a case may leave it stuck for all others, so that it is judged by one at a time: as
  many of it are started as cases are judged at once;
- `ports`: names for free loopback ports;
- `links`: `at` a directory, symbolic links `to` what these patterns match; `files`: written before the start;
- `calm`: what stands in these files for the sake of rules about time, and what stands there instead when the
  broker is only played with (interop): a client must not be ended for the heartbeats of a busy machine;
- `before`: commands, each a list of words, that prepare the directory after that;
- `environment`: all that the commands get beside PATH and LANG;
- `run`: the processes in the order of their start: `name`, `command`, `ready` (a port that accepts
  connections), and where that is too early `says`, a text that it prints when it is ready.

`[facilities.NAME]`: `steps` of `{run = [...]}`, `{await = PORT}`, `{stop = PROCESS}`, `{start = PROCESS}`,
`{pause = PROCESS}` and `{resume = PROCESS}` (between these two it gets no time and forgets nothing);
`arguments` with their defaults, in the order `Target.use` takes them; `returns`.

In `returns`, `{log}` is all that it has logged so far, `{clients}` the ports of the clients connected to it,
and `{kept-alive}` those of them for whose connection it has TCP keep-alive on.

Texts may hold `{directory}`, `{logs}`, `{fetched}`, `{port.NAME}`, `{user}`, `{password}`, `{virtual_host}`,
and in facilities `{unique}` (fresh at every use) and their own arguments; in `version` `{fetched}` alone.
"""

import importlib.resources
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from harness.targets.given import given
from harness.targets.strict_toml import Table, read
from harness.targets.target import TargetError
from harness.wire.sasl import MECHANISMS, PLAIN
from spec.applicability import optional

PLACEHOLDER = re.compile(r"\{([a-z][a-z_.-]*)\}")
CACHE = "AMQP_CONFORMANCE_CACHE"
OF_A_PROCESS = ("stop", "start", "pause", "resume")
"""What a step may do to a process."""
FORMS = ("process", "container", "client")
"""What a file can describe; the last is told by `harness/targets/client/described.py`."""
SEEN = ("log", "clients", "kept-alive")
"""Placeholders of `returns` that tell of the running target."""


@dataclass(frozen=True, slots=True)
class Login:
    """`[endpoint]`: the named port and the credentials of a full user."""

    port: str
    user: str
    password: str
    virtual_host: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """`[process.fetched]`: a directory in the cache, and the command that makes it; both empty for none."""

    name: str
    by: str

    def directory(self) -> Path:
        """Give its place on this machine, there or not; nothing that is there may be changed."""
        cache = os.environ.get(CACHE) or "~/.cache/amqp-conformance"
        return Path(cache).expanduser().absolute() / self.name

    def command(self) -> str:
        """Give the command that makes it, as it can be typed here: scripts of the suite lie where it lies."""
        program, *rest = shlex.split(self.by)
        script = Path(str(importlib.resources.files("ci"))).parent / program
        if script.is_file():
            here = script.is_relative_to(Path.cwd())
            program = str(script.relative_to(Path.cwd()) if here else script)
        return shlex.join([program, *rest])


@dataclass(frozen=True, slots=True)
class Links:
    """`[[process.links]]`: a directory of links to what the patterns match."""

    at: str
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """`[[process.run]]`: one process to run."""

    name: str
    command: tuple[str, ...]
    ready: str
    says: str


@dataclass(frozen=True, slots=True)
class Facility:
    """`[facilities.NAME]`: what `Target.use` does. A step is one action and what it acts on."""

    steps: tuple[tuple[str, tuple[str, ...]], ...]
    arguments: Mapping[str, str]
    returns: Mapping[str, str]
    makes: int = 1
    """How many of what it returns its steps make at once; each has a {number}, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a target in any form is described by. `protocols` is None where nobody says which it speaks."""

    product: str
    about: str
    protocols: frozenset[str] | None
    documents: frozenset[str]
    login: Login
    version: tuple[str, ...]
    within: float
    workers: int
    single: bool = False
    apart: tuple[str, ...]
    patience: float
    files: Mapping[str, str]
    calm: Mapping[str, str]
    environment: Mapping[str, str]
    facilities: Mapping[str, Facility]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description(Described):
    """A broker as a process, as described in a file; see the module for the keys."""

    mechanism: str
    tls: Mapping[str, str]
    package: str
    requires: tuple[str, ...]
    fetched: Fetched
    ports: tuple[str, ...]
    links: tuple[Links, ...]
    before: tuple[tuple[str, ...], ...]
    programs: tuple[Program, ...]

    def missing(self) -> str:
        """Say in one sentence what keeps it from starting on this machine; empty if nothing does."""
        absent = [name for name in self.requires if shutil.which(name) is None]
        if absent:
            return f"{', '.join(absent)} not found; the Debian package {self.package} brings it."
        if self.fetched.name and not self.fetched.directory().is_dir():
            return f"{self.fetched.directory()} is not there; run {self.fetched.command()} to fetch it."
        return ""


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in `text`. Raises TargetError for one that `values` lacks."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise TargetError(
                f"The placeholder {match[0]} is not known here; known are: {', '.join(values)}."
            )
        return values[match[1]]

    return PLACEHOLDER.sub(value, text)


def bundled() -> dict[str, str]:
    """Give the texts of the descriptions by name: those that come with the suite, sorted, then users' own.

    Raises TargetError for a file of theirs that cannot be one.
    """
    folder = importlib.resources.files("ci") / "targets"
    files = {entry.name.removesuffix(".toml"): entry for entry in folder.iterdir()}
    texts = {
        name: files[name].read_text(encoding="utf-8")
        for name in sorted(files)
        if files[name].name.endswith(".toml")
    }
    return texts | given(texts)


def descriptions() -> dict[str, Description]:
    return {
        name: parse(text, f"{name}.toml")
        for name, text in bundled().items()
        if form(read(text, f"{name}.toml")) == "process"
    }


def form(top: Table) -> str:
    """Give the form a file describes, one of `FORMS`. Raises TargetError unless it is just one."""
    there = [name for name in FORMS if top.has(name)]
    if len(there) > 1:
        raise top.wrong(f"it has both {' and '.join(there)}; the second form needs a file of its own")
    return there[0] if there else "process"


def shared(top: Table, login: Table, inner: Table, actions: tuple[str, ...]) -> dict[str, Any]:
    """Read the arguments of a `Described` from the file, its endpoint and its form; steps are `actions`."""
    return {
        "product": top.text("product"),
        "about": top.text("about"),
        "protocols": frozenset(top.texts("protocols")),
        "documents": _documents(top),
        "login": Login(*(login.text(name.name) for name in fields(Login))),
        "within": inner.seconds("within"),
        "patience": inner.seconds("patience"),
        "workers": inner.number("workers", 4),
        "single": inner.flag("single"),
        "apart": inner.texts("apart", needed=False),
        "files": inner.mapping("files"),
        "calm": _calm(inner),
        "environment": inner.mapping("environment"),
        "facilities": top.each("facilities", lambda table: _facility(table, actions)),
    }


def _calm(inner: Table) -> Mapping[str, str]:
    calm, texts = inner.mapping("calm"), inner.mapping("files").values()
    if vain := [old for old in calm if sum(text.count(old) for text in texts) != 1]:
        raise inner.wrong(f"calm: {vain[0]!r} does not stand just once in files")
    return calm


def _documents(top: Table) -> frozenset[str]:
    named = frozenset(top.texts("documents", needed=False))
    if unknown := named - optional().keys():
        raise top.wrong(f"documents: {', '.join(sorted(unknown))} is none that a description can claim")
    return named


def parse(text: str, source: str) -> Description:
    """Read the description of a process; `source` names it in errors. Raises TargetError, one sentence."""
    top = read(text, source)
    if form(top) != "process":
        raise top.wrong(f"it describes a {form(top)}, not a process")
    login, process = top.table("endpoint"), top.table("process")
    described = Description(
        **shared(top, login, process, ("run", "await", *OF_A_PROCESS)),
        mechanism=_mechanism(login),
        tls=_tls(login),
        package=process.text("package"),
        requires=process.texts("requires"),
        fetched=fetched(process),
        version=process.texts("version"),
        ports=process.texts("ports"),
        links=tuple(Links(entry.text("at"), entry.texts("to")) for entry in process.tables("links")),
        before=process.commands("before"),
        programs=tuple(_program(entry) for entry in process.tables("run")),
    )
    top.finish()
    outside = [name for name in described.files if name.startswith("/") or ".." in name.split("/")]
    if outside:
        raise process.wrong(f"files: {', '.join(outside)} is not a name inside the directory")
    _check_names(described, source)
    return described


def _mechanism(login: Table) -> str:
    if (named := login.text("mechanism", PLAIN)) not in MECHANISMS:
        raise login.wrong(f"mechanism: {named} is none of {', '.join(MECHANISMS)}")
    return named


def _tls(login: Table) -> dict[str, str]:
    files = login.mapping("tls")
    if unknown := set(files) - {"ca", "certificate", "key"}:
        raise login.wrong(f"tls: {', '.join(sorted(unknown))} is not a key that is known here")
    return files


def fetched(process: Table) -> Fetched:
    """Read `fetched` of a process or client. Raises TargetError."""
    keys = process.mapping("fetched")
    if keys and (set(keys) != {"name", "by"} or not all(keys.values())):
        raise process.wrong("fetched must hold name and by, and nothing else")
    return Fetched(keys.get("name", ""), keys.get("by", ""))


def _program(table: Table) -> Program:
    return Program(table.text("name"), table.texts("command"), table.text("ready"), table.text("says", ""))


def _facility(table: Table, actions: tuple[str, ...]) -> Facility:
    steps = []
    for step in table.tables("steps"):
        action = step.only(actions)
        steps.append((action, step.texts(action) if action == "run" else (step.text(action),)))
    facility = Facility(
        tuple(steps), table.mapping("arguments"), table.mapping("returns"), table.number("makes", 1)
    )
    if not steps and not facility.returns:
        raise table.wrong("steps are missing, and nothing is returned")
    return facility


def _check_names(described: Description, source: str) -> None:
    """Raise TargetError for a port or process that is referred to but not declared."""
    ports, programs = set(described.ports), {program.name for program in described.programs}
    steps = [step for facility in described.facilities.values() for step in facility.steps]
    used_ports = {described.login.port, *(program.ready for program in described.programs)}
    used_ports |= {names[0] for action, names in steps if action == "await"}
    used_programs = {names[0] for action, names in steps if action in OF_A_PROCESS}
    for kind, unknown in (("port", used_ports - ports), ("process", used_programs - programs)):
        if unknown:
            raise TargetError(f"{source}: {kind} {', '.join(sorted(unknown))} is used but not declared.")
    if not programs:
        raise TargetError(f"{source}: process.run is missing.")
