import ast
import subprocess
import sys

from harness.amqp0_9_1.wire import vocabulary
from harness.amqp0_9_1.wire.stub import STUB, stub
from spec import applicability


def test_the_stub_was_written_from_this_grammar() -> None:
    words = applicability.vocabulary("0-9-1")
    assert STUB.read_text() == stub(words), "run `python -m harness.amqp0_9_1.wire.stub`"


def test_the_stub_names_what_is_there_at_run_time() -> None:
    tree = ast.parse(STUB.read_text())
    for node in tree.body:
        if isinstance(node, ast.AnnAssign):
            assert isinstance(node.target, ast.Name)
            assert hasattr(vocabulary, node.target.id)
        if isinstance(node, ast.ClassDef):
            group = getattr(vocabulary, node.name)
            assert [each.name for each in node.body if isinstance(each, ast.ClassDef)] == [*vars(group)]
            for each in node.body:
                assert isinstance(each, ast.ClassDef)
                kind = getattr(group, each.name)
                fields = [line.target for line in each.body if isinstance(line, ast.AnnAssign)]
                assert {name.id for name in fields if isinstance(name, ast.Name)} == {*kind.names}
                [start] = [line for line in each.body if isinstance(line, ast.FunctionDef)]
                code = kind.__init__.__code__
                arguments = [argument.arg for argument in (*start.args.args, *start.args.kwonlyargs)]
                assert arguments == [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]


def test_the_stub_needs_no_formatting() -> None:
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, str(STUB)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
