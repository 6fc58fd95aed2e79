"""The house: imports run one way, and the protocol stays below the runner."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ORDER = ["spec", "harness", "scenarios", "conformance", "reports"]
PROTOCOLS = tuple(f"{package}.{protocol}" for package in ORDER[:3] for protocol in ("amqp0_9_1", "amqp1_0"))


def modules(package: str) -> Iterator[Path]:
    return (path for path in (ROOT / package).rglob("*.py") if "tests" not in path.parts)


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("package", ORDER)
def test_nothing_imports_upward(package: str) -> None:
    above = ORDER[ORDER.index(package) + 1 :]
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(package)
        for name in imported(path)
        if name.partition(".")[0] in above
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["conformance", "reports"])
def test_the_runner_knows_no_protocol(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(package)
        for name in imported(path)
        if name.startswith(PROTOCOLS)
    ]
    assert wrong == []


def test_the_checks_above_would_see_an_import(tmp_path: Path) -> None:
    example = tmp_path / "example.py"
    example.write_text("from conformance import judge\nimport harness.amqp0_9_1.peer\n")
    assert {"conformance.engine.judge", "harness.amqp0_9_1.peer"} <= imported(example)


def test_reports_need_only_the_evidence_of_conformance() -> None:
    evidence = {
        "events", "kinds", "results", "verdicts", "run_folder", "gate", "explanation", "printable", "capture",
    }  # fmt: skip
    # they hang on the same command line
    commands = {"cli.py": {"cli", "sides"}, "certify.py": {"running", "several"}}
    for path in modules("reports"):
        names = {name.split(".")[1] for name in imported(path) if name.startswith("conformance.")}
        assert names <= evidence | commands.get(path.name, set()), path
