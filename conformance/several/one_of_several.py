"""One of several targets that are judged at once: a process of its own, told what to do by its parent.

The first line on standard input is a JSON object, the run's `Options`. Standard output
carries one JSON object per line (see `told`), nothing else. Standard input stays open as long as the parent
wants the run to go on: at its end, which the system brings about when the parent is killed, the run is cut
short and still leaves a readable folder.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path

from conformance.commands.run import play_suite
from conformance.engine.options import Options
from conformance.gate.baseline_file import BaselineError
from conformance.gate.gate import Exit
from conformance.render.progress import Follower
from harness.targets.target import TargetError
from spec.selection import SelectorError


class Told(Follower):
    """Tells the parent: `{"total": N}` once the target is there, then `{"rule": …, "verdict": …}`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def say(self, **what: object) -> None:
        """Write one line. A parent that is gone hears nothing: the end of standard input says so as well."""
        try:
            os.write(self._descriptor, json.dumps(what).encode("ascii") + b"\n")
        except BrokenPipeError:
            self._descriptor = os.open(os.devnull, os.O_WRONLY)

    def begin(self, total: int) -> None:
        self.say(total=total)

    def move(self, verdict: str, rule: str) -> None:
        self.say(rule=rule, verdict=verdict)


def main() -> int:
    """Judge as standard input says; the last line on standard output is the end, or why there is none."""
    told = Told(os.dup(1))
    os.dup2(2, 1)  # whatever else is printed here is for the log
    options = Options.of(json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_watch, args=(threading.main_thread().ident,), daemon=True).start()
    try:
        gate = play_suite(options, told).gate
    except (SelectorError, TargetError, BaselineError) as failure:
        told.say(broke=str(failure))
        return int(Exit.UNREACHABLE)
    except KeyboardInterrupt:
        told.say(broke="interrupted before anything was judged", status=int(Exit.INTERRUPTED))
        return int(Exit.INTERRUPTED)
    told.say(status=int(gate.exit_status), sentence=gate.sentence)
    return int(gate.exit_status)


def _watch(main_thread: int) -> None:
    sys.stdin.buffer.read()
    for pid in _workers():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
    signal.pthread_kill(main_thread, signal.SIGINT)


def _workers() -> list[int]:
    others = [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if int(entry.name) != os.getpid()]
    return [pid for pid in others if _group_of(pid) == os.getpgrp() == os.getpid()]


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def start_words() -> list[str]:
    """Give the command that starts this module, whatever the directory of the user holds."""
    return [sys.executable, "-P", "-m", "conformance.several.one_of_several"]


ROOT = Path(__file__).parents[2]
"""Where the packages are that the parent runs."""

if __name__ == "__main__":
    sys.exit(main())
