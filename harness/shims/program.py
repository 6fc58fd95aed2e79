"""A shim as a program of its own: started, told what to do by lines, ended when it hangs."""

import json
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from harness.shims.contract import LONGEST, Kind, Refused, ShimLost

PARTING = 1.0
"""Seconds that a shim has to end once nothing more can be told."""
DUMPING = 0.3
"""Seconds that a shim which hangs has to say where it does: JVMs and Go write their stacks at SIGQUIT."""
MEMORY = 4 << 30
"""Octets that a shim may allocate: what a server announces must not cost this machine its memory."""
BUSY = 600
"""Seconds of a processor that a shim may use."""
HELLO = "hello"
STARTING = 60.0
"""Seconds that the answer to hello may take: it asks nothing of the library, and a busy machine is slow to
start what gives it."""


class Program:
    """A running shim; implements harness.shims.contract.Shim. Raises ShimLost where it cannot be run.

    `within` are the seconds that a command may take by the library's own clock, unless it is given others: a
    shim that is silent for half as long again and two seconds hangs, and is killed; `wait` may take as long
    as it is told, and hello as long as starting may take. What it writes to stderr goes to `log`.
    `environment` is all that it gets.
    """

    def __init__(
        self,
        command: Sequence[str],
        within: float,
        log: BinaryIO,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._within = within
        self._number = 0
        self._read = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C in a terminal is for the suite, which then ends it
            )
        except OSError as error:
            raise ShimLost(f"{command[0]} could not be run: {error.strerror}") from None
        with suppress(ProcessLookupError):
            resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
            resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (BUSY, BUSY))

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Tell it a command and give its answer. Raises Refused, or ShimLost."""
        self._number += 1
        told = {"id": self._number, "do": command, "within": self._within, **arguments}
        self._tell(json.dumps(told).encode() + b"\n", command)
        patience = 1.5 * float(told["within"]) + 2.0 + float(arguments.get("for", 0.0))
        if command == HELLO:
            patience = max(patience, STARTING)
        answer = self._answer(self._line(time.monotonic() + patience, command))
        if answer.get("id") != self._number or ("ok" in answer) == ("error" in answer):
            raise self._end(f"the shim answered {command} with {json.dumps(answer)[:200]}")
        if "error" in answer:
            raise self._refused(answer["error"], command)
        found: Mapping[str, Any] = answer["ok"]
        return found

    def _refused(self, error: Any, command: str) -> Exception:
        try:
            kind, code = Kind(error["kind"]), error.get("code", error.get("condition", ""))
        except (KeyError, TypeError, ValueError):
            return self._end(f"the shim answered {command} with the error {json.dumps(error)[:200]}")
        text, native, level = (str(error.get(name) or "") for name in ("text", "native", "level"))
        return Refused(kind, text, native, level, code if isinstance(code, int) else str(code or ""))

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Give it no time inside."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)  # it leads a session of its own

    def end(self) -> None:
        """End it: nothing more can be told, and after a moment it is killed."""
        assert self._process.stdin
        assert self._process.stdout
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(PARTING)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._process.stdout.close()

    def _tell(self, line: bytes, command: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError:
            raise self._ended(command) from None
        except ValueError:
            raise ShimLost("the shim has been ended") from None

    def _line(self, until: float, command: str) -> bytes:
        """Take the next line that it writes, up to a time on the clock of time.monotonic()."""
        assert self._process.stdout
        while b"\n" not in self._read:
            if len(self._read) > LONGEST:
                raise self._end(f"the shim answered {command} with a line of more than {LONGEST >> 20} MiB")
            left = max(until - time.monotonic(), 0.0)
            if not select.select([self._process.stdout], [], [], left)[0]:
                self._process.send_signal(signal.SIGQUIT)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(DUMPING)
                raise self._end(f"the shim hangs: no answer to {command}", hangs=True)
            octets = os.read(self._process.stdout.fileno(), 1 << 16)
            if not octets:
                raise self._ended(command)
            self._read += octets
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _answer(self, line: bytes) -> Mapping[str, Any]:
        try:
            answer = json.loads(line)
        except RecursionError:  # it is we who cannot read what is so deep
            return {
                "id": self._number,
                "error": {"kind": Kind.INTERNAL, "text": "an answer too deep to read"},
            }
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._end(f"the shim wrote what is no answer: {line[:100]!r}")
        return answer

    def _ended(self, command: str) -> ShimLost:
        with suppress(subprocess.TimeoutExpired):  # what it ended with shows a little later
            self._process.wait(PARTING)
        return self._end(f"the shim ended amid {command}")

    def _end(self, why: str, hangs: bool = False) -> ShimLost:
        self._signal(signal.SIGKILL)
        self.end()
        return ShimLost(f"{why} (status {self._process.returncode})", hangs)
