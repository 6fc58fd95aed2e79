"""How checks register, and what is true of all of them."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import scenarios
from harness.dialect import documents
from harness.play.context import RESTART
from scenarios.registry import Scenario, Watch, checks, watching
from spec.rules import Role

SCENARIOS = [each for found in checks().scenarios.values() for each in found]
WATCHES = [each for found in checks().watches.values() for each in found]
CHECKS: list[Scenario | Watch] = [*SCENARIOS, *WATCHES]
HERE = Path(scenarios.__path__[0])
MODULES = sorted(path for path in HERE.rglob("*.py") if "tests" not in path.parts)


def test_every_check_says_what_it_judges() -> None:
    assert [each.test for each in CHECKS if not each.does] == []


def test_identities_are_unique() -> None:
    tests = [each.test for each in CHECKS]
    assert len(tests) == len(set(tests))


def test_every_deviation_says_what_it_does_wrong_and_no_rule_has_one_twice() -> None:
    for rule, broken in checks().deviations.items():
        said = [each.says for each in broken]
        assert all(said), rule
        assert len(said) == len(set(said)), rule


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(HERE)))
def test_no_socket_sleep_time_out_or_swallowed_error_in_a_scenario(module: Path) -> None:
    tree = ast.parse(module.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not imported & {"socket", "time", "asyncio", "threading", "harness.wire.transport"}
    caught = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    assert caught == []


def test_a_restart_makes_a_scenario_exclusive() -> None:
    assert any(each.exclusive for each in SCENARIOS)
    for each in SCENARIOS:
        assert each.exclusive == inspect.isgeneratorfunction(each.play)
        if each.exclusive:
            assert "RESTART" in inspect.getsource(each.play)
    assert RESTART.value == "restart"


def test_a_passive_rule_names_a_rule_that_gives_an_occasion() -> None:
    assert WATCHES
    for each in WATCHES:
        assert any(found.role is each.role for found in checks().scenarios[each.during])


def test_a_connection_is_looked_at_by_the_watches_of_its_protocol() -> None:
    found = {
        (document, role): watching(document, role=role).rules for document in documents() for role in Role
    }
    assert sorted(rule for rules in found.values() for rule in rules) == sorted(each.rule for each in WATCHES)
    assert all(rule.startswith(f"{document}/") for (document, _), rules in found.items() for rule in rules)
    first = found["1-0", Role.SERVER][:1]
    assert watching("1-0", frozenset(first)).rules == first


def test_scenarios_and_watches_are_found_together() -> None:
    rule = WATCHES[0].rule
    assert any(isinstance(each, Watch) for each in checks().of(rule))
    assert all(isinstance(each, Scenario | Watch) for each in checks().of(rule))
    assert checks().of("0-9-1/no.such") == []
