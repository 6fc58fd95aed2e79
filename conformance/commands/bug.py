"""`amqp-conformance bug`: findings as they are handed to a vendor."""

from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from conformance.bug.folder import Written, write_all
from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from conformance.gate.gate import Exit
from conformance.render.rendering import load


def write_bugs(run: Path, rule: str | None, output: Path, console: Console) -> int:
    """Write a folder for each finding of a run, or for those of one rule; 0 whatever could be made of them.

    Raises EvidenceError where there is no such finding, and where `output` holds something already.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise EvidenceError(f"{output} is not empty; bug needs a folder of its own")
    report = load(run)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("scripts tried on a peer without the fault")
        done = write_all(
            report, rule, output, lambda now, all_: progress.update(task, completed=now, total=all_)
        )
    for each in done:
        console.print(Text(_told(each)), soft_wrap=True)
    scripts = sum(bool(each.handed.text) for each in done)
    findings = "1 finding" if len(done) == 1 else f"{len(done)} findings"
    console.print(Text(f"\n{findings}, {scripts} with a script"))
    return int(Exit.MET)


def _told(written: Written) -> str:
    why = "" if written.handed.text else f" (no script: {written.handed.why})"
    return printable(f"{written.folder}{why}")
