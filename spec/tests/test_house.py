"""The house: imports run one way and in no circle, and what protocols share knows none of them."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from harness.dialect import HOMES

ROOT = Path(__file__).parents[2]
ORDER = ["spec", "harness", "scenarios", "conformance", "reports"]
PROTOCOLS = {
    "amqp0_9_1": "amqp0_9_1",
    "amqp1_0": "amqp1_0",
    "amqp_fast": "amqp_fast",
    "rabbitmq": "amqp0_9_1",
}
"""By folder: what only some products promise is of the protocol that it adds to."""
ROOM = 16
"""So many modules may stand in one folder, `__init__` left out."""
TOLD = {
    "conformance.evidence",
    "conformance.gate",
    "conformance.render",
    "conformance.causes",
    "conformance.interop.folder",
    "conformance.interop.outcomes",
}
"""What the reports need of a run: what it kept, what it came to and why, how that is told."""
COMMANDS = {
    "reports.commands.cli": {
        "conformance.commands.cli",
        "conformance.engine.options",
        "conformance.several.sides",
    },
    "reports.causes.computing": {"conformance.proof.detection"},
    "reports.commands.certify": {
        "conformance.commands.run",
        "conformance.engine.options",
        "conformance.several.parent",
    },
}
"""Who hangs on the same command line."""


def imported(path: Path, known: frozenset[str] | None = None) -> set[str]:
    """List what a module imports, also where only types are checked: modules, and names with their module.

    Where modules are `known`, only those.
    """
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= full if known is None else full & known
            if known is None or not full <= known:
                found.add(node.module)
    return found if known is None else found & known


def modules() -> dict[str, Path]:
    """Find the modules of the house by name, tests left out."""
    paths = [path for package in ORDER for path in (ROOT / package).rglob("*.py")]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
        if "tests" not in path.parts and path.name != "conftest.py"
    }


MODULES = modules()
IMPORTS = {name: imported(path, frozenset(MODULES)) for name, path in MODULES.items()}


def package(module: str) -> str:
    return module.partition(".")[0]


def test_every_protocol_has_a_home() -> None:
    assert {f"harness.{each}" for each in PROTOCOLS.values()} == set(HOMES.values())


def protocol(module: str) -> str | None:
    """Name the protocol a module is about; None where protocols share it."""
    return next((PROTOCOLS[each] for each in module.split(".")[1:2] if each in PROTOCOLS), None)


def is_told(module: str) -> bool:
    return any(module == each or module.startswith(f"{each}.") for each in TOLD)


def upward(importer: str, module: str) -> bool:
    return ORDER.index(package(module)) > ORDER.index(package(importer))


def to_a_protocol(importer: str, module: str) -> bool:
    return package(importer) != "spec" and protocol(importer) is None and protocol(module) is not None


def to_another_protocol(importer: str, module: str) -> bool:
    return None not in (protocol(importer), protocol(module)) and protocol(importer) != protocol(module)


def to_more_than_is_told(importer: str, module: str) -> bool:
    inside = package(importer) == "reports" and package(module) == "conformance" and "." in module
    return inside and not is_told(module) and module not in COMMANDS.get(importer, set())


def to_a_trial(importer: str, module: str) -> bool:
    return "trials" in module.split(".") and "trials" not in importer.split(".")


RULES: list[Callable[[str, str], bool]] = [
    upward,
    to_a_protocol,
    to_another_protocol,
    to_more_than_is_told,
    to_a_trial,
]


@pytest.mark.parametrize("wrong", RULES)
def test_nothing_is_imported(wrong: Callable[[str, str], bool]) -> None:
    found = [(name, each) for name, imports in IMPORTS.items() for each in imports if wrong(name, each)]
    assert found == []


@pytest.mark.parametrize(
    ("wrong", "importer", "module"),
    [
        (upward, "harness.play.link", "conformance.engine.judge"),
        (to_a_protocol, "harness.trials.hostile", "harness.amqp0_9_1.wire.frames"),
        (to_a_protocol, "conformance.engine.judge", "scenarios.amqp1_0"),
        (to_another_protocol, "scenarios.amqp1_0.connections", "harness.amqp0_9_1.wire.frames"),
        (to_more_than_is_told, "reports.model.rows", "conformance.engine.judge"),
        (to_a_trial, "harness.amqp0_9_1.dialect", "harness.amqp0_9_1.trials.benchmark"),
    ],
)
def test_each_of_these_would_be_seen(wrong: Callable[[str, str], bool], importer: str, module: str) -> None:
    assert wrong(importer, module)


def test_imports_are_found(tmp_path: Path) -> None:
    example = tmp_path / "example.py"
    example.write_text("if TYPE_CHECKING:\n    from conformance.engine import judge\nimport harness.play\n")
    assert {"conformance.engine.judge", "harness.play"} <= imported(example)


def test_no_imports_run_in_a_circle() -> None:
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]), pytrace=False)


def test_a_folder_is_taken_in_at_a_glance() -> None:
    folders = [path.parent.relative_to(ROOT) for path in MODULES.values() if path.name != "__init__.py"]
    assert {str(folder): count for folder, count in Counter(folders).items() if count > ROOM} == {}


def is_in_a_peer(module: str) -> bool:
    return "peer" in module.split(".")


def loose(source: str) -> list[str]:
    """List what the type checker is told not to look at: what is `Any`, cast, or to be ignored."""
    return [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if (token.type == tokenize.NAME and token.string in ("Any", "cast"))
        or (token.type == tokenize.STRING and "typing.Any" in token.string)
        or (token.type == tokenize.COMMENT and "type: ignore" in token.string)
    ]


def test_the_rows_of_the_peers_are_typed() -> None:
    peers = {name: path for name, path in MODULES.items() if is_in_a_peer(name)}
    assert {name: found for name, path in peers.items() if (found := loose(path.read_text()))} == {}
    faults = {name: each for name in peers for each in IMPORTS[name] if "broken" in each.split(".")}
    assert faults == {}, "turns of any kind are for faults"


@pytest.mark.parametrize(
    "source",
    [
        "def condition(turn: Turn[Any, None]) -> bool: ...",
        "def effect(turn: Turn) -> Any: ...",
        "class Turn:\n    subject: Any = None",
        "from typing import Any as Whatever",
        "import typing\nsubject: typing.Any",
        "import typing\nsubject: 'typing.Any'",
        "queue = cast(Queue, turn.subject)",
        "return turn.subject.name  # type: ignore[attr-defined]",
    ],
)
def test_what_is_not_typed_would_be_seen(source: str) -> None:
    assert loose(source)
    assert not loose('"""Any other frame."""\nsubject: Anything')
