import ast
import subprocess
import sys

from harness.amqp1_0.wire import performatives
from harness.amqp1_0.wire.composites import CLASSES
from harness.amqp1_0.wire.generated import class_name
from harness.amqp1_0.wire.stub import STUB, stub
from spec.readers.amqp1_0 import grammar

TREE = ast.parse(STUB.read_text())


def test_the_stub_was_written_from_this_grammar() -> None:
    assert STUB.read_text() == stub(grammar()), "run `python -m harness.amqp1_0.wire.stub`"


def test_the_stub_names_what_is_there_at_run_time() -> None:
    composites = {class_name(name): kind for name, kind in CLASSES.items()}
    declared = {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef)}
    assert {*composites} <= {*declared}
    for name, node in declared.items():
        there = getattr(performatives, name)
        members = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        if name not in composites:
            assert [each.target.id for each in members if isinstance(each.target, ast.Name)] == [*vars(there)]
            continue
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        assert [each.name for each in methods] == [*there.names, "__init__"]
        assert [argument.arg for argument in methods[-1].args.args] == ["self", *there.names]


def test_the_stub_names_every_constant() -> None:
    for node in TREE.body:
        if isinstance(node, ast.AnnAssign):
            assert isinstance(node.target, ast.Name)
            assert isinstance(getattr(performatives, node.target.id), int)


def test_the_stub_needs_no_formatting() -> None:
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, str(STUB)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
