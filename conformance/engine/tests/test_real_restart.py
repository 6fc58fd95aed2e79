"""What only a real stop of the process loses is found: what it remembers does not count as kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.evidence.results import rule_results
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.tests.commands import Command
from conformance.tests.peers import RESTART, description

FORGETFUL = """
import os, pathlib, signal, sys
from harness.dialect import dialect
from harness.peers.serve import TcpPeer

peer = dialect("0-9-1").proof.peer()
pathlib.Path("pid").write_text(str(os.getpid()))
with TcpPeer(peer, port=int(sys.argv[1])) as served:
    signal.signal(signal.SIGUSR1, lambda *_: (served.restart(), pathlib.Path("restarted").touch()))
    while True:
        signal.pause()
"""
"""Keeps what is durable in its memory alone; told so, it drops what is not, writes a file, and goes on."""
QUICK = """
[facilities.restart]
steps = [
    { run = ["sh", "-c", "rm -f restarted; kill -USR1 $(cat pid)"] },
    { run = ["sh", "-c", "until [ -e restarted ]; do sleep 0.01; done"] },
    { await = "amqp" },
]
"""
KEPT = (
    "0-9-1/queue.declare.durable.persistence",
    "0-9-1/prose/3.1.3.durable-exchange-lasts",
    "0-9-1/queue.bind.durable-exchange",
    "0-9-1/basic.01",
    "0-9-1/prose/1.4.3.persistent-survives-restart",
)


@pytest.mark.parametrize(("restart", "passing"), [(QUICK, set(KEPT)), (RESTART, set[str]())])
def test_what_is_kept_in_memory_survives_a_quick_restart_alone(
    amqp_conformance: Command, tmp_path: Path, restart: str, passing: set[str]
) -> None:
    (tmp_path / "mine.toml").write_text(description(FORGETFUL, restart))
    told = ("--target", "process:mine", "--targets", tmp_path / "mine.toml", "--output", tmp_path / "run")
    done = amqp_conformance("run", *KEPT, *told)
    results = rule_results(read(tmp_path / "run", "judged"))
    assert len(results) == len(KEPT)
    assert {each.rule for each in results if each.verdict is Verdict.PASS} == passing, done.stdout
