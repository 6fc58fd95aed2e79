"""Whole runs that must come to the same verdicts, whatever lies between us and the target.

`python -m conformance.proof.undisturbed TARGET [NAME…]` judges TARGET once as it is and once with each NAME:
one that `through:NAME:TARGET` knows, or `busy` for two loops that compute beside the run. `--rules=SELECTOR`
judges only these. It prints each rule whose verdict differs, and fails if one differs that is not
inconclusive now. Heavy: some hours for a real broker and all names.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from conformance.evidence.kinds import RunEnded
from conformance.evidence.results import RuleResult, rule_results
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from harness.targets.through import names

BUSY = "busy"
LOOPS = 2
BUDGET = 14_400
"""Seconds for one run."""
EXCUSED = frozenset({Verdict.INCONCLUSIVE})
"""What a rule may become where octets do not get through in time: it is named, and nobody is accused."""
WHOLE = frozenset({Exit.MET, Exit.NOT_MET})
"""What a run ends with that judged all it was to judge."""


class BrokenOff(Exception):
    """A run did not come to its end; the message is its own sentence."""


@contextmanager
def busy_loops() -> Iterator[None]:
    """Run loops that compute for nothing, each in a process of its own."""
    loop = [sys.executable, "-c", "while True: pass"]
    with ExitStack() as stack:
        for _ in range(LOOPS):
            process = subprocess.Popen(loop)
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def judged(target: str, folder: Path, selectors: Sequence[str] = ()) -> Mapping[str, RuleResult]:
    """Give what each rule comes to in a run of its own. Raises BrokenOff where that did not end."""
    command = [
        sys.executable, "-m", "conformance.commands.cli", "run", *selectors,
        "--target", target, "--output", str(folder), "--budget", str(BUDGET),
    ]  # fmt: skip
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    ends = [line.event for line in read(folder, "run-ended") if isinstance(line.event, RunEnded)]
    if not ends or ends[-1].exit_status not in WHOLE:
        raise BrokenOff(ends[-1].sentence if ends else f"{target}: the run did not end")
    return {each.rule: each for each in rule_results(read(folder, "judged"))}


def disturbed(
    name: str, target: str, folder: Path, selectors: Sequence[str] = ()
) -> Mapping[str, RuleResult]:
    """Judge as `judged` does, with what has that name."""
    if name != BUSY:
        return judged(f"through:{name}:{target}", folder, selectors)
    with busy_loops():
        return judged(target, folder, selectors)


def differences(
    quiet: Mapping[str, RuleResult], other: Mapping[str, RuleResult]
) -> Iterator[tuple[bool, str]]:
    """Give each rule that came to another verdict, in one line, and whether that is excused."""
    for rule, before in quiet.items():
        now = other.get(rule)
        verdict = now.verdict if now else Verdict.NOT_RUN
        if verdict is not before.verdict:
            told = f"{rule}: {before.verdict} → {verdict} {now.signature if now else ''}"
            yield verdict in EXCUSED, told.rstrip()


def main(arguments: Sequence[str]) -> int:
    """Judge and compare; 1 when a verdict differs without excuse, or a run does not come to its end."""
    target, *chosen = arguments
    rules = tuple(each.removeprefix("--rules=") for each in chosen if each.startswith("--rules="))
    wanted = [each for each in chosen if not each.startswith("--rules=")] or [BUSY, *names()]
    place = Path(os.environ.get("RUNS") or tempfile.mkdtemp(prefix="undisturbed-"))
    try:
        quiet = judged(target, place / "quiet", rules)
    except BrokenOff as broken:
        sys.stdout.write(f"! {broken}\n")
        return 1
    worse = not quiet
    for name in wanted:
        for excused, told in _compared(name, quiet, target, place / name, rules):
            worse |= not excused
            sys.stdout.write(f"{'  ' if excused else '! '}{told}\n")
            sys.stdout.flush()
    return int(worse)


def _compared(
    name: str, quiet: Mapping[str, RuleResult], target: str, folder: Path, rules: Sequence[str]
) -> Iterator[tuple[bool, str]]:
    try:
        found = list(differences(quiet, disturbed(name, target, folder, rules)))
    except BrokenOff as broken:
        yield False, f"{name}: {broken}"
        return
    yield True, f"{name}: {len(found)} of {len(quiet)} rules differ"
    yield from found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
