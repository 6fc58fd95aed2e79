"""Descriptions of targets: a TOML file says how a broker is started, reached and asked for facilities.

The files are data; a new broker needs one file and no code. Top level: `product`, `about`, `protocols`.
`[endpoint]`: `port` (one of the named ports), `user`, `password`, `virtual_host`; where that port speaks TLS,
`[endpoint.tls]` with the PEM files that a client needs: `ca`, `certificate`, `key`. `[process]`:

- `package`: the Debian package that brings it; `requires`: executables that must be there;
- `version`: a command that prints the version; `within`: seconds a start or a command may take; `patience`:
  seconds that a process has to end by itself when a facility stops it (SIGTERM, then SIGKILL);
- `workers`: how many processes judge it at once, 4 unless given; `ports`: names for free loopback ports;
- `links`: `at` a directory, symbolic links `to` what these patterns match; `files`: written before the start;
- `before`: commands, each a list of words, that prepare the directory after that;
- `environment`: all that the commands get beside PATH and LANG;
- `run`: the processes in the order of their start: `name`, `command`, `ready` (a port that accepts
  connections).

`[facilities.NAME]`: `steps` of `{run = [...]}`, `{await = PORT}`, `{stop = PROCESS}`, `{start = PROCESS}`;
`arguments` with their defaults, in the order `Target.use` takes them; `returns`.

Texts may hold `{directory}`, `{logs}`, `{port.NAME}`, `{user}`, `{password}`, `{virtual_host}`, and in
facilities `{unique}` (fresh at every use) and the facility's own arguments.
"""

from __future__ import annotations

import importlib.resources
import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from harness.target import TargetError

PLACEHOLDER = re.compile(r"\{([a-z][a-z_.-]*)\}")
LONGEST = 24 * 60 * 60
"""Seconds; what is longer is a slip of the pen."""


@dataclass(frozen=True, slots=True)
class Login:
    """`[endpoint]`: the named port and the credentials of a full user."""

    port: str
    user: str
    password: str
    virtual_host: str


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


@dataclass(frozen=True, slots=True)
class Facility:
    """`[facilities.NAME]`: what `Target.use` does. A step is one action and what it acts on."""

    steps: tuple[tuple[str, tuple[str, ...]], ...]
    arguments: Mapping[str, str]
    returns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Description:
    """One target as described in a file; see the module for the keys."""

    product: str
    about: str
    protocols: frozenset[str]
    login: Login
    tls: Mapping[str, str]
    package: str
    requires: tuple[str, ...]
    version: tuple[str, ...]
    within: float
    workers: int
    patience: float
    ports: tuple[str, ...]
    links: tuple[Links, ...]
    files: Mapping[str, str]
    before: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]
    programs: tuple[Program, ...]
    facilities: Mapping[str, Facility]

    def missing(self) -> str:
        """One sentence on what keeps it from starting on this machine; empty if nothing does."""
        absent = [name for name in self.requires if shutil.which(name) is None]
        if not absent:
            return ""
        return f"{', '.join(absent)} not found; the Debian package {self.package} brings it."


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with its placeholders replaced. Raises `TargetError` for one that `values` lacks."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise TargetError(
                f"The placeholder {match[0]} is not known here; known are: {', '.join(values)}."
            )
        return values[match[1]]

    return PLACEHOLDER.sub(value, text)


def descriptions() -> dict[str, Description]:
    """The descriptions that come with the suite, by name, in alphabetical order."""
    folder = importlib.resources.files("ci") / "targets"
    files = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".toml")),
        key=lambda file: file.name.removesuffix(".toml"),
    )
    return {
        entry.name.removesuffix(".toml"): parse(entry.read_text(encoding="utf-8"), entry.name)
        for entry in files
    }


def parse(text: str, source: str) -> Description:
    """Read one description; `source` names it in errors. Raises `TargetError` for what is wrong with it."""
    try:
        top = Table(tomllib.loads(text), source)
    except ValueError as error:  # TOML's own errors, and numbers of too many digits
        raise TargetError(f"{source}: {error}.") from None
    except RecursionError:
        raise TargetError(f"{source}: it is nested too deeply.") from None
    login = top.table("endpoint")
    process = top.table("process")
    described = Description(
        product=top.text("product"),
        about=top.text("about"),
        protocols=frozenset(top.texts("protocols")),
        login=Login(*(login.text(name.name) for name in fields(Login))),
        tls=_tls(login),
        package=process.text("package"),
        requires=process.texts("requires"),
        version=process.texts("version"),
        within=process.seconds("within"),
        patience=process.seconds("patience"),
        workers=process.number("workers", 4),
        ports=process.texts("ports"),
        links=tuple(Links(entry.text("at"), entry.texts("to")) for entry in process.tables("links")),
        files=process.mapping("files"),
        before=process.commands("before"),
        environment=process.mapping("environment"),
        programs=tuple(_program(entry) for entry in process.tables("run")),
        facilities=top.each("facilities", _facility),
    )
    top.finish()
    _check_names(described, source)
    return described


def _tls(login: Table) -> dict[str, str]:
    files = login.mapping("tls")
    if unknown := set(files) - {"ca", "certificate", "key"}:
        raise login.wrong(f"tls: {', '.join(sorted(unknown))} is not a key that is known here")
    return files


def _program(table: Table) -> Program:
    return Program(table.text("name"), table.texts("command"), table.text("ready"))


def _facility(table: Table) -> Facility:
    steps = []
    for step in table.tables("steps"):
        action = step.only(("run", "await", "stop", "start"))
        steps.append((action, step.texts(action) if action == "run" else (step.text(action),)))
    if not steps:
        raise table.wrong("steps are missing")
    return Facility(tuple(steps), table.mapping("arguments"), table.mapping("returns"))


def _check_names(described: Description, source: str) -> None:
    """Every port and process that is referred to must be declared."""
    ports, programs = set(described.ports), {program.name for program in described.programs}
    steps = [step for facility in described.facilities.values() for step in facility.steps]
    used_ports = {described.login.port, *(program.ready for program in described.programs)}
    used_ports |= {names[0] for action, names in steps if action == "await"}
    used_programs = {names[0] for action, names in steps if action in ("stop", "start")}
    for kind, unknown in (("port", used_ports - ports), ("process", used_programs - programs)):
        if unknown:
            raise TargetError(f"{source}: {kind} {', '.join(sorted(unknown))} is used but not declared.")
    if not programs:
        raise TargetError(f"{source}: process.run is missing.")


class Table:
    """A TOML table that is read key by key; wrong types, and keys nobody asked for, are errors."""

    def __init__(self, content: dict[str, Any], where: str) -> None:
        self._content = content
        self._where = where
        self._unread = set(content)
        self._inner: list[Table] = []

    def wrong(self, reason: str) -> TargetError:
        """The error for this table."""
        return TargetError(f"{self._where}: {reason}.")

    def text(self, key: str) -> str:
        """A string that must be there."""
        return cast("str", self._get(key, str))

    def seconds(self, key: str) -> float:
        """A positive number that must be there, and that one can wait for."""
        value = self._get(key, (int, float))
        if not 0 < value <= LONGEST:
            raise self.wrong(f"{key} must be more than 0 and at most {LONGEST} (a day)")
        return float(value)

    def number(self, key: str, default: int) -> int:
        """A whole number, not negative; `default` if it is not there."""
        value = int(self._get(key, int, default))
        if value < 0:
            raise self.wrong(f"{key} must not be negative")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings that must be there and not be empty."""
        values = self._get(key, list)
        if not values or not all(isinstance(value, str) for value in values):
            raise self.wrong(f"{key} must be a list of strings")
        return tuple(values)

    def commands(self, key: str) -> tuple[tuple[str, ...], ...]:
        """A list of commands, each a list of strings; empty if it is not there."""
        values = self._get(key, list, [])
        for words in values:
            if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
                raise self.wrong(f"{key} must be a list of lists of strings")
        return tuple(tuple(words) for words in values)

    def mapping(self, key: str) -> dict[str, str]:
        """A table of strings; empty if it is not there."""
        values = self._get(key, dict, {})
        if not all(isinstance(value, str) for value in values.values()):
            raise self.wrong(f"{key} must hold strings")
        return dict(values)

    def table(self, key: str) -> Table:
        """An inner table that must be there."""
        return self._within(self._get(key, dict), key)

    def tables(self, key: str) -> list[Table]:
        """A list of tables; empty if it is not there."""
        values = self._get(key, list, [])
        if not all(isinstance(value, dict) for value in values):
            raise self.wrong(f"{key} must be a list of tables")
        return [self._within(value, f"{key}[{number}]") for number, value in enumerate(values)]

    def each(self, key: str, read: Any) -> dict[str, Any]:
        """What `read` makes of each table inside the table `key`; empty if it is not there."""
        outer = self._within(self._get(key, dict, {}), key)
        return {name: read(outer.table(name)) for name in outer._content}

    def only(self, allowed: tuple[str, ...]) -> str:
        """The one key of this table, which must be one of `allowed`."""
        keys = list(self._content)
        if len(keys) != 1 or keys[0] not in allowed:
            raise self.wrong(f"has {', '.join(keys) or 'nothing'} where one of {', '.join(allowed)} belongs")
        return keys[0]

    def finish(self) -> None:
        """Raise for the first key, here or further in, that was not read."""
        for key in sorted(self._unread):
            raise self.wrong(f"{key} is not a key that is known here")
        for table in self._inner:
            table.finish()

    def _within(self, content: dict[str, Any], key: str) -> Table:
        self._inner.append(Table(content, f"{self._where}: {key}"))
        return self._inner[-1]

    def _get(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        self._unread.discard(key)
        value = self._content.get(key, default)
        if value is None:
            raise self.wrong(f"{key} is missing")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(f"{key} has the wrong type")
        return value
