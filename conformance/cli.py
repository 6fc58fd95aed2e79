"""The command line: a thin layer over the catalogue, the pytest suite and the evidence of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from conformance.gate import Exit
from conformance.kinds import EvidenceError
from harness.target import TargetError
from harness.transport import Unreachable
from spec.rules import Level
from spec.selection import SelectorError
from spec.xml import DocumentError

LEVELS = click.Choice([str(level) for level in Level])


class Sentence(click.Group):
    """A group whose expected errors are one sentence on standard error and an exit status."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; wrong usage exits 2, an unreachable target 3."""
        try:
            return super().invoke(context)
        except (SelectorError, DocumentError, EvidenceError, TargetError, KeyError) as failure:
            end(str(failure), Exit.NOTHING)
        except Unreachable as failure:
            end(str(failure), Exit.UNREACHABLE)


def end(sentence: str, status: Exit) -> NoReturn:
    """Say why and exit."""
    click.echo(f"amqp-conformance: {sentence}", err=True)
    sys.exit(int(status))


@click.group(cls=Sentence, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="amqp-conformance")
def main() -> None:
    """Judge an AMQP broker by every rule of the documents.

    Exit status: 0 the gate is met; 1 not certified, or unexpected verdicts; 2 wrong usage, or nothing was
    selected; 3 the target could not be reached or died.
    """


@main.command()
@click.argument("selectors", nargs=-1)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def rules(selectors: tuple[str, ...], form: str) -> None:
    """List the catalogue, all of it or what SELECTORS mean.

    Example: amqp-conformance rules class:queue level:must
    """
    from conformance.show import rules_json, rules_table
    from spec.catalogue import catalogue
    from spec.selection import select

    chosen = select(catalogue().rules, selectors, catalogue().aliases)
    if form == "json":
        click.echo(rules_json(chosen))
    else:
        Console().print(rules_table(chosen))


@main.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Explain RULE: what it asks, of whom, how it is read, and what the check does.

    Example: amqp-conformance explain 0-9-1/queue.declare.exclusive.exclusive
    """
    from conformance.show import rule_page
    from spec.catalogue import catalogue

    Console().print(rule_page(catalogue()[rule]))


@main.command()
@click.argument("selectors", nargs=-1)
@click.option("--target", default="embedded", show_default=True, help="embedded, amqp://…, process:NAME")
@click.option("--level", type=LEVELS, default="must", show_default=True, help="the level of the gate")
@click.option("--profile", type=click.Choice(["document", "vendor"]), default="document", show_default=True)
@click.option("--baseline", type=click.Path(path_type=Path), help="accepted verdicts (TOML)")
@click.option(
    "--parallel", type=click.IntRange(min=0), help="workers (default: the target's own, 4 for a URL)"
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="the run's folder (default: new, under runs/)"
)
@click.option("--shuffle", type=int, metavar="SEED", help="another order, to show that none matters")
@click.option("--disruptive", is_flag=True, help="allow what may harm others on a shared target")
def run(selectors: tuple[str, ...], **chosen: Any) -> None:
    """Judge a target, write the run's folder, exit by the gate.

    Example: amqp-conformance run --target amqp://guest:guest@localhost:5672 --level must
    """
    from conformance.running import run_suite

    sys.exit(run_suite(selectors, Console(), **chosen))


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("rule")
@click.option("--target", help="judge here instead (the run's own target by default)")
def replay(run: Path, rule: str, target: str | None) -> None:
    """Judge RULE of RUN again and print both exchanges side by side.

    The password comes from --target or from AMQP_PASSWORD, never from the run.

    Example: amqp-conformance replay runs/20261120-101500-1a2b3c4d 0-9-1/channel.open.state
    """
    from conformance.replaying import replay_rule

    sys.exit(replay_rule(run, rule, target, Console()))


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
def verify(run: Path) -> None:
    """Check a run's footer and hashes.

    Example: amqp-conformance verify runs/20261120-101500-1a2b3c4d
    """
    from conformance.events import State
    from conformance.events import verify as check

    found = check(run)
    click.echo(f"{found.state}: {found.sentence}")
    sys.exit(int(Exit.MET if found.state is State.OK else Exit.NOT_MET))


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--target", help="clean here (the run's own target by default)")
def clean(run: Path, target: str | None) -> None:
    """Remove from its target what a crashed RUN left there.

    The password comes from --target or from AMQP_PASSWORD, never from the run.

    Example: amqp-conformance clean runs/20261120-101500-1a2b3c4d
    """
    from conformance.replaying import clean_up

    sys.exit(clean_up(run, target))


@main.command()
@click.argument("selectors", nargs=-1)
@click.option("--latency", type=float, metavar="SECONDS", help="over TCP with this latency each way")
def detect(selectors: tuple[str, ...], latency: float | None) -> None:
    """Prove that the checks can fail: judge every rule on peers that break it.

    Example: amqp-conformance detect class:queue
    """
    from conformance.detecting import detect_rules

    sys.exit(detect_rules(selectors, latency, Console()))


@main.command()
def targets() -> None:
    """List the known targets, whether each can start here, and why not.

    Example: amqp-conformance targets
    """
    from conformance.show import targets_table

    Console().print(targets_table())


if __name__ == "__main__":
    main()
