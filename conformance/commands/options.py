"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from harness.targets.given import also
from harness.wire.sasl import MECHANISMS, PLAIN
from harness.wire.tls import Security


def security_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how a target is reached: `tls_…` and `mechanism`."""
    options = (
        click.option("--tls-ca", default="", metavar="FILE", help="trust these authorities (PEM)"),
        click.option("--tls-cert", default="", metavar="FILE", help="the client's certificate (PEM)"),
        click.option("--tls-key", default="", metavar="FILE", help="its key, if it stands in another file"),
        click.option("--tls-insecure", is_flag=True, help="trust any certificate; the run says so"),
        click.option(
            "--mechanism",
            default=PLAIN,
            metavar="NAME",
            show_default=True,
            help=f"SASL: {', '.join(MECHANISMS)}",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def security(tls_ca: str, tls_cert: str, tls_key: str, tls_insecure: bool, mechanism: str) -> Security:
    """What the options mean."""
    return Security(tls_ca, tls_cert, tls_key, tls_insecure, mechanism)


def targets_option(command: Callable[..., None]) -> Callable[..., None]:
    """The option that adds a user's own descriptions of targets; the command itself sees nothing of it."""
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
    """Until the command has ended the targets in these files are known."""
    context.with_resource(also(files))
