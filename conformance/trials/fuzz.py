"""Fuzz targets of the runner: everything it reads from files and users.

`python -m conformance.trials.fuzz [NAME] [--seconds N]` runs them under atheris, see `harness.trials.fuzz`.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path

from conformance.evidence.folder import RUN_FILE, RunInfo, read_run
from conformance.evidence.keeping import EventWriter
from conformance.evidence.kinds import EvidenceError, Line, TestStarted, decode, encode
from conformance.evidence.stream import merge, read, verify
from conformance.gate.baseline_file import BaselineError, load
from harness.trials import fuzz
from harness.trials.fuzz import Draws, Target, damaged, main, text_of
from spec.catalogue import catalogue
from spec.rules import Role, Rule
from spec.selection import SelectorError, select

# Lines and files to damage: the fuzzer gets far only from something valid.
LINE = encode(Line(0.5, "main", 1, None, TestStarted("a[b]", "a")))
ENTRY = """[[accepted]]
rule = "0-9-1/queue.bind.unique"
verdict = "fail"
signature = "silence"
sentence = "The server MUST."
reading = "as it stands"
frame = "queue.bind"
reason = "known"
product = "RabbitMQ"
versions = ">=3.10,<3.11"
expires = 2030-01-01
"""
INFO = RunInfo(
    run="r", started="2026-01-01T00:00:00Z", suite="0.1.0", target="embedded", files={"a/b": "0" * 64}
)
RUN = json.dumps(asdict(INFO))


def line(data: bytes) -> None:
    """Read or refuse a line of the evidence; what was read is written and read as the same."""
    text = damaged(Draws(data), LINE)
    with suppress(EvidenceError):
        found = decode(text)
        assert decode(encode(found)) == found


def stream(data: bytes) -> None:
    """Read, merge and verify a folder of damaged evidence, or refuse it."""
    draws = Draws(data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with EventWriter(folder, "main", lambda: 0.0) as writer, writer.test("a[b]", "a"):
            pass
        worker = folder / "events-main.jsonl"
        if draws.flag():
            merge(folder)
            worker = folder / "events.jsonl"
        worker.write_bytes(damaged(draws, worker.read_bytes()))
        assert verify(folder).sentence
        with suppress(EvidenceError):
            found = read(folder)
            merge(folder)
            assert read(folder) == found


def run_file(data: bytes) -> None:
    """Read or refuse a run's description."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / RUN_FILE).write_bytes(damaged(Draws(data), RUN.encode()))
        with suppress(EvidenceError):
            assert isinstance(read_run(Path(name)).run, str)
        assert verify(Path(name)).sentence


def baseline(data: bytes) -> None:
    """Read or refuse a baseline."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "baseline.toml"
        path.write_bytes(damaged(Draws(data), ENTRY.encode()))
        with suppress(BaselineError):
            for each in load(path).accepted:
                each.concerns("RabbitMQ", "3.10.8", Role.SERVER)


def selectors(data: bytes) -> None:
    """Find the rules that selectors mean, or refuse them in one sentence."""
    with suppress(SelectorError):
        assert select(_rules(), text_of(data).split("\n"))


@cache
def _rules() -> tuple[Rule, ...]:
    return catalogue().rules


TARGETS: Mapping[str, Target] = {
    **fuzz.TARGETS,
    "line": line,
    "stream": stream,
    "run-file": run_file,
    "baseline": baseline,
    "selectors": selectors,
}

if __name__ == "__main__":
    sys.exit(main("conformance.trials.fuzz"))
