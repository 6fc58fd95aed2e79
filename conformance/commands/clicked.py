"""Options that several commands share."""

from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import click

from conformance.engine.options import By, Option, asked
from conformance.evidence.folder import newest
from harness.targets.given import also
from spec.catalogue import catalogue
from spec.selection import select

Command = Callable[..., None]


def options_of(by: By) -> Callable[[Command], Command]:
    """Add to a command the options of a run that are taken `by` it, under the names of their fields.

    What takes several targets gets them as `targets`.
    """

    def decorated(command: Command) -> Command:
        for option in reversed(asked(by)):
            command = _option(option)(command)
        return command

    return decorated


def _option(option: Option) -> Callable[[Command], Command]:
    each = By.TARGETS in option.by
    return click.option(
        option.flag,
        f"{option.name}s" if each else option.name,
        type=_type(option),
        is_flag=option.kind is bool,
        multiple=each or option.several,
        default=(option.default,) if each else option.default,
        show_default=option.default if each else option.shown,
        metavar=option.metavar,
        help=option.help,
    )


def _type(option: Option) -> object:
    if option.choices:
        return click.Choice(option.choices)
    if option.metavar == "PATH":
        return click.Path()
    if option.least is not None:
        return click.IntRange(min=option.least)
    if option.above is not None:
        return click.FloatRange(min=option.above, min_open=True)
    return option.kind


class RunFolder(click.Path):
    """The folder of a run; `latest` is the one that began last where runs are put by default."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Give the folder. Raises EvidenceError where there is no latest run."""
        return newest() if value == LATEST else super().convert(value, param, ctx)


LATEST = "latest"
RUN = RunFolder()


def also_called(command: click.Command, old: str) -> click.Command:
    """Give a command under an `old` name, which works and which no help shows."""
    alias = copy(command)
    alias.name, alias.hidden = old, True
    return alias


def tell_selected(selectors: Sequence[str]) -> None:
    """Say on standard error how many rules were selected, where selectors are given. Raises SelectorError."""
    if selectors:
        whole = catalogue().rules
        count = len(select(whole, selectors, catalogue().aliases))
        click.echo(f"{count} of {len(whole)} rules selected", err=True)


def targets_option(command: Command) -> Command:
    """Add the option for a user's own descriptions of targets; the command itself sees nothing of it."""
    return click.option(
        "--targets",
        "described",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_describe,
        help="a description of a target of your own (TOML)",
    )(command)


def _describe(context: click.Context, option: click.Parameter, files: tuple[Path, ...]) -> None:  # noqa: ARG001
    """Make the targets in these files known until the command has ended."""
    context.with_resource(also(files))
