"""What a run is asked to do, once: click's and pytest's options are made of the fields of `Options`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Flag, auto
from typing import Any, TypeVar, get_args, get_type_hints

from conformance.evidence.capture import Captures
from harness.targets.port import PATIENCE
from harness.wire.sasl import MECHANISMS, PLAIN
from harness.wire.tls import Security
from spec.rules import Level

Value = TypeVar("Value")


class By(Flag):
    """Who takes an option. A worker, or the child that judges one of several targets, is told all of them."""

    TARGETS = auto()
    """`run` and `certify`, which judge each of several values."""
    RUN = auto()
    """`run` and `certify`."""
    REACH = auto()
    """All commands that reach a target, a replay too."""
    PYTEST = auto()
    CAPTURE = auto()
    """`judge`, which has a file in the target's place."""
    KEPT = auto()
    """The description of a run keeps the value."""


JUDGING = By.RUN | By.PYTEST
REACHING = By.REACH | By.PYTEST


@dataclass(frozen=True, slots=True)
class Option:
    """How a field of `Options` is asked for.

    pytest has an option named like ours where `pytest_flag` says what ours is called there. With the
    `metavar` PATH it is a file or a directory. A number is not below `least`, and greater than
    `above`; with `shown` a help names the default. `kind` is the type of one value.
    """

    by: By
    help: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: int | None = None
    above: float | None = None
    shown: bool = False
    flag: str = ""
    pytest_flag: str = ""
    name: str = ""
    kind: type = str
    default: Any = None

    @property
    def several(self) -> bool:
        """Whether it may be given more than once."""
        return isinstance(self.default, tuple)


def _asked(default: Value, option: Option) -> Value:
    told: Value = field(default=default, metadata={"asked": option})
    return told


LEVEL = Option(
    JUDGING | By.CAPTURE | By.KEPT,
    "certify at this level: the rules at or above it have to hold",
    choices=tuple(map(str, Level)),
    shown=True,
)
FAIL_ON = Option(
    JUDGING | By.KEPT,
    "with warn the exit status is 1 for a warning, too, such as a missed SHOULD, at whatever level",
    choices=("fail", "warn"),
    shown=True,
)
PROFILE = Option(
    JUDGING | By.KEPT,
    "who has the last word where sentences of a document contradict each other: 'document' warns of a reading"
    " that is only tolerated, 'vendor' takes it for as good (--profile vendor)",
    choices=("document", "vendor"),
    shown=True,
)
BUDGET = Option(JUDGING, "judge no longer than this; the rest is not-run", "SECONDS", above=0, shown=True)
CAPTURED = "connections in capture.pcapng: all, or those that findings were made on"
CAPTURE = Option(JUDGING, CAPTURED, choices=tuple(map(str, Captures)), shown=True, pytest_flag="--pcap")
RULES = Option(By.PYTEST, "judge only these rules", "SELECTOR", flag="--rules")
TARGET = "embedded, amqp://…, process:NAME, docker:IMAGE; several are judged at once"
LABEL = Option(
    JUDGING | By.KEPT,
    "what tells this build from others of its version, its commit and branch perhaps: part of its name",
    "TEXT",
)
BASELINE = (
    "accepted verdicts (TOML), or @NAME of some that come with the suite; those about this version count"
)
PARALLEL = "judge so many cases at once (default: the target's own number, 4 for a URL)"
FIRST_ANSWER = "how long what listens at a URL may take for its first octets"
OUTPUT = "the run's folder (default: new, under runs/); of several targets each has one in it"


@dataclass(frozen=True, slots=True, repr=False)  # a target's URL has a password in it
class Options:
    """What a run was asked to do; plain values, so that it can travel.

    `parallel` cases are judged at once, None for as many as the target says, `at_once` of them in each
    process; `arguments` is what pytest was called with.
    """

    target: str = _asked("embedded", Option(By.TARGETS | By.PYTEST, TARGET))
    selectors: tuple[str, ...] = _asked((), RULES)
    level: str = _asked("must", LEVEL)
    fail_on: str = _asked("fail", FAIL_ON)
    profile: str = _asked("document", PROFILE)
    label: str = _asked("", LABEL)
    baseline: tuple[str, ...] = _asked((), Option(JUDGING, BASELINE, "PATH"))
    parallel: int | None = _asked(None, Option(By.RUN, PARALLEL, least=0))
    output: str | None = _asked(None, Option(JUDGING, OUTPUT, "PATH"))
    capture: str = _asked(str(Captures.FINDINGS), CAPTURE)
    at_once: int = _asked(1, Option(By.PYTEST, "judge so many in each process", "N"))
    shuffle: int | None = _asked(None, Option(JUDGING, "another order, to show that none matters", "SEED"))
    disruptive: bool = _asked(False, Option(JUDGING, "allow what may harm others on a shared target"))
    budget: float = _asked(600.0, BUDGET)
    verbose: bool = _asked(False, Option(By.RUN, "tell all: passes too, and the octets of each finding"))
    tls_ca: str = _asked("", Option(REACHING, "trust these authorities (PEM)", "FILE"))
    tls_cert: str = _asked("", Option(REACHING, "the client's certificate (PEM)", "FILE"))
    tls_key: str = _asked("", Option(REACHING, "its key, if it stands in another file", "FILE"))
    tls_insecure: bool = _asked(False, Option(REACHING, "trust any certificate; the run says so"))
    mechanism: str = _asked(PLAIN, Option(REACHING, f"SASL: {', '.join(MECHANISMS)}", "NAME", shown=True))
    first_answer: float = _asked(PATIENCE, Option(REACHING, FIRST_ANSWER, "SECONDS", above=0, shown=True))
    arguments: tuple[str, ...] = ()

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Options:
        """Give the options from plain values, in which lists may stand for tuples."""
        tuples: dict[str, Any] = {name: tuple(each) for name, each in plain.items() if isinstance(each, list)}
        return replace(cls(**plain), **tuples)

    @property
    def security(self) -> Security:
        """How the target is to be reached."""
        return Security(self.tls_ca, self.tls_cert, self.tls_key, self.tls_insecure, self.mechanism)

    def without_tls(self) -> Options:
        """Give the same options without what means something only to a target that is reached by TLS."""
        of_tls = [each for each in asked(By.REACH) if each.name.startswith("tls_")]
        defaults: dict[str, Any] = {each.name: each.default for each in of_tls}
        return replace(self, **defaults)

    def kept(self, target: str) -> dict[str, Any]:
        """Give what a run's description keeps; `target` is the target's name, without a password."""
        told = {each.name: getattr(self, each.name) for each in asked(By.KEPT)}
        return told | {"arguments": tuple(each.replace(self.target, target) for each in self.arguments)}

    def words(self) -> list[str]:
        """Give the options on pytest's command line."""
        told: list[str] = []
        for each in asked(By.PYTEST):
            value = getattr(self, each.name)
            if each.kind is bool:
                told += [each.flag] if value else []
            elif value not in (None, ""):
                told += [f"{each.flag}={one}" for one in (value if each.several else [value])]
        return told


def asked(by: By) -> list[Option]:
    """Give the options that one of these takes, in the order of the fields."""
    types = get_type_hints(Options)
    return [
        replace(
            told,
            flag=(by & By.PYTEST and told.pytest_flag) or told.flag or f"--{each.name.replace('_', '-')}",
            name=each.name,
            kind=next(iter(get_args(types[each.name])), types[each.name]),
            default=each.default,
        )
        for each in fields(Options)
        if (told := each.metadata.get("asked")) and told.by & by
    ]
