"""`amqp-conformance judge`: the watches on what somebody else has captured."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.engine.captured import judge_capture
from conformance.engine.conclusion import MISSED
from conformance.evidence.captured import CaptureError
from conformance.evidence.kinds import Line
from conformance.evidence.printable import printable
from conformance.evidence.results import rule_results
from conformance.gate.gate import Exit
from conformance.render.terminal import matrix
from spec.catalogue import catalogue
from spec.rules import Level, Role


def judge_file(path: Path, level: Level, role: Role, console: Console) -> int:
    """Judge those in a role in a capture, and print what each rule came to; returns the exit status.

    Raises CaptureError for a file that cannot be read, or in which no protocol is known.
    """
    judged = judge_capture(path, role)
    if not judged:
        none = "no connection in it speaks a protocol that is known"
        raise CaptureError(f"{path}: {none} (a run keeps all of its own with --capture all)")
    rules = {rule.id: rule for rule in catalogue().rules}
    watched = tuple(rules[each] for each in dict.fromkeys(each.rule for each in judged))
    lines = (Line(0.0, "capture", number, None, each) for number, each in enumerate(judged, 1))
    matrix(rule_results(lines), watched, console)
    missed = (MISSED[Level.MUST], MISSED[Level.SHOULD])
    broken = [each for each in judged if each.verdict in missed and level.covers(each.level)]
    for each in broken:
        console.print(Text(f"  {each.rule}: {printable(each.detail)}"))
    rest = "1 rule is broken" if len(broken) == 1 else f"{len(broken) or 'no'} rules are broken"
    console.print(Text(f"\n{rest} at the level {level}", style="bold red" if broken else "bold green"))
    return int(Exit.NOT_MET if broken else Exit.MET)
