"""The command line: a thin layer over the catalogue, the pytest suite and the evidence of runs."""

import sys
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource
from rich.console import Console

from conformance.causes.dictionary import DictionaryError
from conformance.commands.clicked import RUN as RUN
from conformance.commands.clicked import RunFolder as RunFolder
from conformance.commands.clicked import also_called as also_called
from conformance.commands.clicked import options_of, targets_option
from conformance.commands.interop import interop
from conformance.commands.targets import targets as targets_group
from conformance.engine.options import By, Options
from conformance.evidence.captured import CaptureError
from conformance.evidence.kinds import EvidenceError
from conformance.gate.baseline_file import BaselineError
from conformance.gate.gate import Exit
from harness.targets.target import TargetError
from harness.wire.transport import Unreachable
from spec.readers.xml import DocumentError
from spec.rules import Level, Role
from spec.selection import SelectorError

EXPECTED = (
    SelectorError, DocumentError, EvidenceError, CaptureError, BaselineError, DictionaryError, TargetError,
    KeyError,
)  # fmt: skip
"""What a user can do wrong."""
REPORTS = ("terminal", "html", "junit", "allure", "github", "gitlab", "tap", "badge")


class Sentence(click.Group):
    """A group whose expected errors are one sentence on standard error and an exit status."""

    expected: tuple[type[Exception], ...] = EXPECTED

    def invoke(self, context: click.Context) -> Any:
        """Run the command; wrong usage exits 2, an unreachable target 3."""
        try:
            return super().invoke(context)
        except self.expected as failure:
            end(str(failure), Exit.NOTHING)
        except Unreachable as failure:
            end(str(failure), Exit.UNREACHABLE)
        except KeyboardInterrupt:
            end("interrupted", Exit.INTERRUPTED)


def end(sentence: str, status: Exit) -> NoReturn:
    """Say why and exit."""
    click.echo(f"amqp-conformance: {sentence}", err=True)
    sys.exit(int(status))


@click.group(cls=Sentence, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="amqp-conformance")
def main() -> None:
    """Judge an AMQP broker by every rule of the documents.

    Exit status: 0 the gate is met; 1 not certified, or unexpected verdicts; 2 wrong usage, or nothing was
    selected; 3 the target could not be reached or died; 130 interrupted.

    Where a RUN is named, `latest` is the one in runs/ that began last.
    """


@main.command()
@click.argument("selectors", nargs=-1)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def rules(selectors: tuple[str, ...], form: str) -> None:
    """List the catalogue, all of it or what SELECTORS mean.

    Example: amqp-conformance rules class:queue level:must
    """
    from conformance.commands.show import rules_json, show_rules
    from spec.catalogue import catalogue
    from spec.selection import select

    chosen = select(catalogue().rules, selectors, catalogue().aliases)
    if form == "json":
        click.echo(rules_json(chosen))
    else:
        show_rules(chosen, Console())


@main.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Explain RULE: what it asks, of whom, how it is read, and what the check does.

    Example: amqp-conformance explain 0-9-1/queue.declare.exclusive.exclusive
    """
    from conformance.commands.show import rule_page
    from spec.catalogue import catalogue

    Console().print(rule_page(catalogue()[rule]))


def with_clients(targets: tuple[str, ...], clients: tuple[str, ...]) -> tuple[str, ...]:
    """Add the client libraries to the targets; the default target counts where there are none."""
    source = click.get_current_context().get_parameter_source("targets")
    asked = targets if source is ParameterSource.COMMANDLINE or not clients else ()
    return (*asked, *(f"client:{each}" for each in clients))


@main.command()
@click.argument("selectors", nargs=-1)
@options_of(By.TARGETS)
@click.option(
    "--client", "clients", multiple=True, metavar="NAME", help="a client library: --target client:NAME"
)
@targets_option
@options_of(By.RUN)
@click.option(
    "--repeat",
    "times",
    type=click.IntRange(min=2),
    metavar="N",
    help="judge N times in other orders; exit 1 if runs differ",
)
@click.option("--verify", "times_before", type=click.IntRange(min=2), hidden=True)
@click.option("--list", "dry", is_flag=True, help="say what would be judged and declared, and touch nothing")
@options_of(By.REACH)
def run(
    selectors: tuple[str, ...],
    targets: tuple[str, ...],
    clients: tuple[str, ...],
    times: int | None,
    times_before: int | None,
    dry: bool,
    **chosen: Any,
) -> None:
    """Judge a target, write the run's folder, exit by the gate.

    Several targets are judged at once, each in a process and a folder of its own, and compared at the end;
    all other options count for each of them. Exit status: 3 if one could not be judged, else 1 if one misses
    its gate, else 2 if nothing that was selected fits one, else 0.

    A client library is told by its shim to connect to a server of ours, and is judged by what it sends.

    With baselines of which none is about this version of a product that they know, nobody has read it yet:
    its findings are reported and do not gate.

    Example: amqp-conformance run --target amqp://guest:guest@localhost:5672 --level must
    """
    targets = with_clients(targets, clients)
    options = Options(selectors=selectors, target=targets[0], **chosen)
    times = times or times_before
    if len(targets) > 1:
        if times or dry:
            end("--repeat and --list are for one target", Exit.NOTHING)
        from conformance.several.parent import run_several

        sys.exit(int(run_several(options, targets, Console()).status))
    if dry:
        from conformance.commands.listing import list_suite

        sys.exit(list_suite(options, Console()))
    if times:
        from conformance.commands.verify import verify_suite

        sys.exit(verify_suite(options, times, Console()))
    from conformance.commands.run import run_suite

    sys.exit(run_suite(options, Console()))


@main.command()
@click.argument("run", type=RUN)
@click.argument("rule", required=False)
@click.option("--target", help="judge here instead (the run's own target by default)")
@targets_option
@options_of(By.REACH)
def replay(run: Path, rule: str | None, target: str | None, **reached: Any) -> None:
    """Judge RULE of RUN again and print both exchanges side by side; without RULE all findings, in short.

    Exit status: 0 if what is judged again comes to the same, else 1.

    The password comes from --target or from AMQP_PASSWORD, never from the run.

    Example: amqp-conformance replay runs/20261120-101500-1a2b3c4d 0-9-1/channel.open.state
    """
    from conformance.commands.replay import replay_findings, replay_rule

    if rule is None:
        sys.exit(replay_findings(run, target, Console(), Options(**reached)))
    sys.exit(replay_rule(run, rule, target, Console(), Options(**reached)))


@main.command()
@click.argument("run", type=RUN)
@click.option("--all", "every", is_flag=True, help="name all rules under each cause")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="how"
)
def diagnose(run: Path, every: bool, form: str) -> None:
    """Group the findings of RUN by the known faults that explain them best, each finding once.

    A cause changes no verdict: it says where to look first.

    Example: amqp-conformance diagnose runs/20261120-101500-1a2b3c4d
    """
    from conformance.commands.diagnose import diagnose_run

    sys.exit(diagnose_run(run, every, form, Console()))


@main.command()
@click.argument("run", type=RUN)
@click.argument("rule", required=False)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="an empty or new folder")
def bug(run: Path, rule: str | None, output: Path) -> None:
    """Write what a vendor needs of the finding on RULE of RUN, or of all: a report, a capture, a script.

    The script needs Python alone. It plays the exchange against a broker, and ends with 1 while the fault is
    there, with 0 when it is gone; it was seen to do the latter on a peer without the fault.

    Example: amqp-conformance bug runs/20261120-101500-1a2b3c4d 0-9-1/channel.open.state --output bug
    """
    from conformance.commands.bug import write_bugs

    sys.exit(write_bugs(run, rule, output, Console()))


@main.command()
@click.argument("capture", type=click.Path(path_type=Path))
@options_of(By.CAPTURE)
@click.option(
    "--role",
    type=click.Choice(list(map(str, Role))),
    default=str(Role.SERVER),
    show_default=True,
    help="who is judged",
)
def judge(capture: Path, level: str, role: str) -> None:
    """Judge those who talk in CAPTURE, a pcapng file, by the rules that every connection shows.

    Exit status: 0 none of these rules is broken at the level; 1 one is; 2 the file cannot be read, or holds
    no connection whose protocol is known. A run keeps all of its connections with `--capture all`.

    Example: amqp-conformance judge runs/20261120-101500-1a2b3c4d/capture.pcapng
    """
    from conformance.commands.judge import judge_file

    sys.exit(judge_file(capture, Level(level), Role(role), Console()))


@main.command()
@click.argument("run", type=RUN)
@click.option("--format", "form", type=click.Choice(REPORTS), help="only this report, on standard output")
@click.option("--output", type=click.Path(path_type=Path), help="where the files go (default: into RUN)")
def render(run: Path, form: str | None, output: Path | None) -> None:
    """Write the reports of RUN, a finished or a broken-off one, from its events.

    Without --format all files are written; allure is always a folder of files. Nothing is judged anew.

    Example: amqp-conformance render runs/20261120-101500-1a2b3c4d --format github
    """
    from conformance.render.rendering import render_run

    render_run(run, form, output, Console())


@main.command()
@click.argument("run", type=RUN)
def check(run: Path) -> None:
    """Check that RUN is as it was written: its footer and the hashes of its files.

    Example: amqp-conformance check runs/20261120-101500-1a2b3c4d
    """
    from conformance.evidence.stream import State, verify

    found = verify(run)
    click.echo(f"{found.state}: {found.sentence}")
    sys.exit(int(Exit.MET if found.state is State.OK else Exit.NOT_MET))


@main.command()
@click.argument("run", type=RUN)
@click.option("--target", help="clean here (the run's own target by default)")
@targets_option
@options_of(By.REACH)
def clean(run: Path, target: str | None, **reached: Any) -> None:
    """Remove from its target what a crashed RUN left there.

    The password comes from --target or from AMQP_PASSWORD, never from the run.

    Example: amqp-conformance clean runs/20261120-101500-1a2b3c4d
    """
    from conformance.commands.replay import clean_up

    sys.exit(clean_up(run, target, Options(**reached)))


@main.group()
def baseline() -> None:
    """Keep the list of verdicts that are accepted.

    Example: amqp-conformance baseline update runs/20261120-101500-1a2b3c4d --baseline accepted.toml
    """


@baseline.command()
@click.argument("run", type=RUN)
@click.option("--baseline", "file", type=click.Path(path_type=Path), required=True, metavar="FILE")
@click.option("--dry-run", is_flag=True, help="print what would change, and change nothing")
def update(run: Path, file: Path, dry_run: bool) -> None:
    """Bring FILE up to date with RUN: add what is new, remove what RUN has shown to be gone.

    Findings that are alike share an entry, with the rule's own sentence and an empty reason: no gate takes
    the file before somebody fills that in. What is still blank is listed with its line.

    Example: amqp-conformance baseline update runs/20261120-101500-1a2b3c4d --baseline accepted.toml
    """
    from conformance.gate.baseline_update import update_baseline

    sys.exit(update_baseline(run, file, dry_run, Console()))


@main.command()
@click.argument("selectors", nargs=-1)
@click.option("--latency", type=float, metavar="SECONDS", help="over TCP with this latency each way")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE", help="also as JSON, for `site --detection`"
)
@click.option("--clients", is_flag=True, help="the checks of clients, on our own client in memory")
def detect(selectors: tuple[str, ...], latency: float | None, output: Path | None, clients: bool) -> None:
    """Prove that the checks can fail: judge every rule on peers that break it.

    Example: amqp-conformance detect class:queue
    """
    from conformance.commands.detect import detect_rules

    if clients and latency is not None:
        end("--latency is for the checks of servers", Exit.NOTHING)
    role = Role.CLIENT if clients else Role.SERVER
    sys.exit(detect_rules(selectors, latency, Console(), output, role))


main.add_command(targets_group)
main.add_command(interop)
main.add_command(also_called(check, "verify"))


if __name__ == "__main__":
    main()
