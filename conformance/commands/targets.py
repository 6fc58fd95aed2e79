"""`amqp-conformance targets`: the known ones, a description held against its broker, what was left behind."""

import sys
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from conformance.commands.clicked import options_of, targets_option
from conformance.engine.options import By, Options
from conformance.evidence.printable import printable


@click.group(invoke_without_command=True)
@targets_option
@click.pass_context
def targets(context: click.Context) -> None:
    """List the known targets, whether each can start here, and why not.

    Example: amqp-conformance targets
    """
    if context.invoked_subcommand is None:
        from conformance.commands.show import show_targets

        show_targets(Console())


@targets.command()
@click.argument("name")
@targets_option
@options_of(By.REACH)
def check(name: str, **reached: Any) -> None:
    """Start the target NAME and try all that its description promises.

    Its protocols, then each facility once. Exit status: 1 if a promise is not kept, 3 if it does not start or
    does not answer.

    Example: amqp-conformance targets check process:mine --targets mine.toml
    """
    from conformance.commands.target_check import check_target

    sys.exit(check_target(name, Options(**reached), Console()))


@targets.command()
@targets_option
def clean() -> None:
    """Remove what runs that were killed have left on this machine: processes, containers, directories.

    What belongs to a run that is still going on is left alone.

    Example: amqp-conformance targets clean
    """
    from harness.targets.named import clean as remove_leftovers

    removed = remove_leftovers()
    for sentence in removed:
        click.echo(f"removed: {printable(sentence)}")
    if not removed:
        Console().print(Text("nothing was left behind"))
