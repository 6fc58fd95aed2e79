"""Fuzzing: targets are plain functions of octets, so that hypothesis and atheris can both feed them.

A target returns, or raises: then what it tried broke. The typed refusals of what is tested are caught in the
target itself. Atheris is the extra `[fuzz]`; it follows the branches that octets take and looks for new ones.
"""

import argparse
import importlib
import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from harness.targets.description import parse
from harness.targets.target import TargetError, endpoint_of

Target = Callable[[bytes], None]
T = TypeVar("T")

LONGEST = 4096
"""Octets of one input."""
SLOWEST = 10
"""Seconds one input may take before it counts as a hang."""
MEMORY = 400
"""MiB the process may need, its own growth of corpus and branches included."""
BROKE = Path(".fuzz")
"""Where the octets that broke something are left."""


class Draws:
    """Decisions made from octets: the same octets, the same decisions. Past their end everything is zero."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def octets(self, count: int) -> bytes:
        """Take the next `count` octets, or what is left."""
        taken = self._data[self._at : self._at + count]
        self._at += len(taken)
        return taken

    def number(self, size: int = 1) -> int:
        """Take an unsigned number of `size` octets."""
        return int.from_bytes(self.octets(size))

    def one_of(self, choices: Sequence[T]) -> T:
        """Take one of at most 65536 choices."""
        return choices[self.number(1 if len(choices) <= 256 else 2) % len(choices)]

    def flag(self) -> bool:
        return bool(self.number() & 1)

    def piece(self) -> bytes:
        return self.octets(self.number())

    def rest(self) -> bytes:
        return self.octets(len(self._data))

    def cut(self, octets: bytes) -> Iterable[bytes]:
        """Cut these octets into pieces."""
        while octets:
            size = self.number() or len(octets)
            yield octets[:size]
            octets = octets[size:]


# -- readers that know no protocol ---------------------------------------------------------------------


def text_of(data: bytes) -> str:
    """Make a text of octets in which anything may stand, lone surrogates included."""
    return data.decode("utf-8", "surrogateescape")


HARSH = (
    b"[" * 5000,
    b'{"a":' * 5000,
    b"{a=" * 5000,
    b"9" * 5000,
    b"9" * 400,
    b"NaN",
    b"nan",
    b"1e999",
    b"inf",
    b"1e308",
    b"true",
    b"null",
    b'"\\ud800"',
    b"\xff",
    b"\0",
    b"[]",
    b"{}",
    b'""',
    b"-1",
)
"""What readers have stumbled over before: nesting, numbers too long or not finite, other types."""


def damaged(draws: Draws, whole: bytes) -> bytes:
    """Replace some of `whole`, or return octets of the fuzzer's own instead."""
    if draws.number() < 32:
        return draws.rest()
    octets = bytearray(whole)
    for _ in range(draws.number() % 4):
        start = draws.number(2) % (len(octets) + 1)
        behind = start + draws.number() % 32
        if draws.flag():
            # A whole value, as JSON and TOML delimit it.
            start = next((at + 1 for at in range(start, -1, -1) if octets[at : at + 1] in b":="), start)
            behind = next((at for at in range(start, len(octets)) if octets[at] in b",}\n"), len(octets))
        octets[start:behind] = draws.octets(draws.number() % 32) if draws.flag() else draws.one_of(HARSH)
    return bytes(octets)


URL = b"amqp://user:password@[::1%25lo]:5672/a%2Fb"
DESCRIPTION = b"""product = "P"
about = "A"
protocols = ["0-9-1"]
[endpoint]
port = "amqp"
user = "u"
password = "p"
virtual_host = "/"
[process]
package = "p"
requires = ["p"]
version = ["p", "--version"]
within = 60
patience = 5.5
workers = 4
ports = ["amqp"]
environment = {HOME = "{directory}"}
[[process.links]]
at = "a"
to = ["b"]
[[process.run]]
name = "p"
command = ["p", "{port.amqp}"]
ready = "amqp"
[facilities.restart]
steps = [{stop = "p"}, {run = ["p"]}, {start = "p"}, {await = "amqp"}]
arguments = {name = "x"}
returns = {name = "{name}"}
"""


def endpoint(data: bytes) -> None:
    """Read a target's URL, or refuse it; what was read gives the same URL again."""
    with suppress(TargetError):
        read = endpoint_of(text_of(damaged(Draws(data), URL)))
        assert endpoint_of(read.url(with_password=True)) == read


def description(data: bytes) -> None:
    """Read a target's description, or refuse it; the times in it are some that one can wait for."""
    with suppress(TargetError):
        read = parse(text_of(damaged(Draws(data), DESCRIPTION)), "a.toml")
        assert 0 < read.within < float("inf")
        assert 0 < read.patience < float("inf")


TARGETS: Mapping[str, Target] = {"endpoint": endpoint, "description": description}


# -- running them --------------------------------------------------------------------------------------


def main(module: str, arguments: Sequence[str] | None = None) -> int:
    """Fuzz the TARGETS of `module`, all or one; returns 1 when something broke, 2 without atheris, else 0."""
    targets: Mapping[str, Target] = importlib.import_module(module).TARGETS
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted(targets), help="one target; all unless given")
    parser.add_argument("--seconds", type=int, default=60, help="for all of them together (60)")
    parser.add_argument("--corpus", type=Path, help="keeps the octets that took new branches, by target")
    options = parser.parse_args(arguments)
    chosen = [options.name] if options.name else list(targets)
    share = max(1, options.seconds // len(chosen))
    if not _instrument():
        sys.stderr.write('atheris is not installed here: pip install -e ".[fuzz]" brings it\n')
        return 2
    return max(_in_a_process(name, targets[name], share, options.corpus) for name in chosen)


def _instrument() -> bool:
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        return False
    # Only the house: branches of the standard library would drown its own.
    for function in list(_functions()):
        atheris.instrument_func(function)
    return True


def _functions() -> Iterable[types.FunctionType]:
    packages = ("spec", "harness", "conformance", "tomllib")
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] in packages]
    waiting: list[Any] = [value for module in modules for value in vars(module).values()]
    met: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in met:
            continue
        met.add(id(value))
        if isinstance(value, types.FunctionType):
            yield value
        elif isinstance(value, property):
            waiting.append(value.fget)
        elif isinstance(value, (staticmethod, classmethod)):
            waiting.append(value.__func__)
        elif isinstance(value, type) and value.__module__.partition(".")[0] in packages:
            waiting += vars(value).values()


def _in_a_process(name: str, target: Target, seconds: int, corpus: Path | None) -> int:
    sys.stderr.write(f"== {name}, {seconds} s\n")
    sys.stderr.flush()
    with tempfile.TemporaryDirectory() as seeds:
        # Without them atheris begins with a single octet, and takes long to come to many steps.
        for number in range(16):
            (Path(seeds) / str(number)).write_bytes(Random(number).randbytes(64 << number % 6))
        child = os.fork()
        if not child:
            _fuzz(name, target, seconds, [*_kept(corpus, name), seeds])
        _, status = os.waitpid(child, 0)
    return 1 if status else 0


def _kept(corpus: Path | None, name: str) -> list[str]:
    if corpus is None:
        return []
    (corpus / name).mkdir(parents=True, exist_ok=True)
    return [str(corpus / name)]


def _fuzz(name: str, target: Target, seconds: int, places: Sequence[str]) -> None:
    atheris = importlib.import_module("atheris")
    limits = {"max_total_time": seconds, "max_len": LONGEST, "timeout": SLOWEST, "rss_limit_mb": MEMORY}
    flags = [f"-{key}={value}" for key, value in limits.items()]
    BROKE.mkdir(exist_ok=True)
    atheris.Setup([name, *flags, "-len_control=0", f"-artifact_prefix={BROKE}/{name}-", *places], target)
    atheris.Fuzz()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main("harness.trials.fuzz"))
