"""What a user reads: help with examples, completion in the shell, exit statuses as documented."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from conformance.commands.cli import main
from conformance.gate.gate import Exit
from conformance.tests.commands import Command, environment
from harness.amqp0_9_1.peer import Peer
from harness.peers.serve import TcpPeer

README = Path(__file__).parents[3] / "README.md"
JUDGING = README.parent / "conformance" / "README.md"


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


COMMANDS = sorted(commands())


def help_of(*command: str) -> str:
    done = CliRunner().invoke(main, [*command, "--help"], prog_name="amqp-conformance")
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_shows_an_example_that_parses(command: tuple[str, ...]) -> None:
    shown = " ".join(help_of(*command).split())
    example = re.search(r"Example: amqp-conformance (.*?)(?: Options:| Commands:|$)", shown)
    assert example is not None, shown
    words = example[1].split()
    context: click.Context = click.Context(main)
    node: click.Command = main
    while isinstance(node, click.Group) and words:
        name = words.pop(0)
        child = node.get_command(context, name)
        assert child is not None, name
        node = child
    node.make_context(node.name, words, resilient_parsing=False)


def test_the_examples_are_of_their_own_commands() -> None:
    for command in COMMANDS:
        assert f"Example: amqp-conformance {' '.join(command)}" in " ".join(help_of(*command).split())


def test_help_documents_every_exit_status() -> None:
    shown = " ".join(help_of().split())
    readmes = [" ".join(page.read_text().split()) for page in (README, JUDGING)]
    for text in (shown, *readmes):
        statuses = text[text.index("Exit status: ") :]
        assert [str(int(each)) for each in Exit] == ["0", "1", "2", "3", "130"]
        assert all(re.search(rf"\b{int(each)} \w", statuses) for each in Exit)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_works(shell: str) -> None:
    program = [
        sys.executable,
        "-c",
        "from conformance.commands.cli import main; main(prog_name='amqp-conformance')",
    ]

    def completed(instruction: str, **words: str) -> str:
        settings = environment() | {"_AMQP_CONFORMANCE_COMPLETE": instruction} | words
        return subprocess.run(program, env=settings, capture_output=True, text=True, check=False).stdout

    if shell != "bash":  # the source for bash asks the bash that is there for its version
        assert "_AMQP_CONFORMANCE_COMPLETE" in completed(f"{shell}_source")
    words = {"COMP_WORDS": "amqp-conformance base", "COMP_CWORD": "base" if shell == "fish" else "1"}
    assert "baseline" in completed(f"{shell}_complete", **words)
    assert f"{shell}_source" in JUDGING.read_text()


BINDS = "0-9-1/queue.bind.exchange.exchange-existence"
NOT_THERE = "amqp://127.0.0.1:1"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("run", BINDS), Exit.MET),
        (("run", BINDS, "--target", NOT_THERE), Exit.UNREACHABLE),
        (("run", "0-9-1/tx.not-immediate"), Exit.NOTHING),
        (("run", "no.such.rule"), Exit.NOTHING),
        (("run", "--no-such-option"), Exit.NOTHING),
        (("run", "--verify", "1"), Exit.NOTHING),
        (("no-such-command",), Exit.NOTHING),
        (("explain", "no.such.rule"), Exit.NOTHING),
        (("explain", BINDS), Exit.MET),
        (("rules", BINDS), Exit.MET),
        (("targets",), Exit.MET),
        (("verify", "no-such-run"), Exit.NOT_MET),
        (("replay", "no-such-run", BINDS), Exit.NOTHING),
        (("clean", "no-such-run"), Exit.NOTHING),
        (("clean", "no-such-run", "--target", NOT_THERE), Exit.NOTHING),
        (("baseline", "update", "no-such-run", "--baseline", "b.toml"), Exit.NOTHING),
        (("render", "no-such-run"), Exit.NOTHING),
        (("judge", "no-such-file"), Exit.NOTHING),
    ],
)
def test_exit_statuses_are_as_documented(
    amqp_conformance: Command, arguments: tuple[str, ...], status: Exit
) -> None:
    done = amqp_conformance(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    if status is Exit.NOTHING and not done.stdout:
        assert done.stderr.strip()


def test_a_rule_that_fails_ends_with_1(amqp_conformance: Command) -> None:
    """On a URL a rule that needs a restart cannot be judged, and that does not meet the gate."""
    with TcpPeer(Peer()) as served:
        address = f"amqp://127.0.0.1:{served.port}"
        done = amqp_conformance("run", "0-9-1/basic.01", "--target", address, "--parallel", "0")
    assert done.returncode == Exit.NOT_MET


def test_what_is_wrong_is_one_sentence_without_quotes_around_it(amqp_conformance: Command) -> None:
    for arguments in (("explain", "no.such.rule"), ("run", "no.such.rule"), ("run", "--target", "nonsense")):
        told = amqp_conformance(*arguments).stderr.strip()
        assert told.count("\n") == 0, told
        assert re.match(r"amqp-conformance: \w", told), told


def test_who_cannot_be_reached_is_told_at_once_and_nothing_else_is_told_of_it(
    amqp_conformance: Command,
) -> None:
    done = amqp_conformance("run", "--target", NOT_THERE, "--parallel", "4")
    assert done.returncode == Exit.UNREACHABLE
    slowly = [line for line in done.stderr.splitlines() if re.search(r"\d cases judged after \d+ s$", line)]
    told = [line for line in done.stderr.splitlines() if line not in slowly]
    assert len(told) == 1
    assert told[0].endswith("127.0.0.1:1 cannot be reached: Connection refused")
    assert "nothing was judged; 127.0.0.1:1 cannot be reached" in done.stdout
    assert "left out" not in done.stdout
