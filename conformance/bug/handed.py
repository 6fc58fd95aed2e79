"""What is handed over of a finding; no script leaves that the reference peer does not prove.

A script has to end with 0 where nothing is wrong; that it ends with 1 where something is, it has from what
was recorded.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.bug.exchange import Exchange, NoScript
from conformance.bug.player import GONE, THERE, UNTOLD
from conformance.bug.script import script
from harness.dialect import dialect
from harness.peers.serve import TcpPeer

LONGEST = 120.0
"""Seconds a script may take; it waits three for what does not come."""
ROOMY = "max_frame_size = not stated"
"""The legal variant that takes frames as large as those of a broker which asked for them."""
Use = Callable[[str], Mapping[str, str]]
"""Uses a facility of a broker by its name, and gives what it made."""


@dataclass(frozen=True, slots=True)
class Handed:
    """A script, and the facilities that make what its broker has to have before; or `why` there is none."""

    text: str = ""
    why: str = ""
    sources: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def handed(exchange: Exchange, about: str, document: str, name: str) -> Handed:
    """Make the script of an exchange, and prove it on the reference peer of a document."""
    try:
        given = exchange.data(about)
    except NoScript as failure:
        return Handed(why=str(failure))
    last = ""
    for each in _ways(given):
        text = script(each, name)
        for policy in _policies(document):
            status, last = _on_reference(text, exchange.sources, document, policy)
            if status == GONE:
                return Handed(text, "", exchange.sources)
            if status == THERE:
                break
    return Handed(why=f"it would not tell a peer without the fault: {last}")


def arguments(sources: Mapping[str, tuple[str, str]], use: Use) -> list[str]:
    """Give the options of a script whose broker makes by its facilities what has to be there."""
    made: dict[str, Mapping[str, str]] = {}
    told = []
    for name, (facility, key) in sources.items():
        if key == "address" or facility not in made:
            made[facility] = use(facility)
        told += [f"--{name}", made[facility][key]]
    return told


def played(file: Path, host: str, port: int, options: list[str]) -> tuple[int, str]:
    """Play a script; give its exit status and its last line, or say that it takes too long."""
    command = [sys.executable, "-I", str(file), host, str(port), *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return UNTOLD, f"it is not done within {LONGEST:g} s"
    said = (done.stdout or done.stderr).strip().splitlines()
    return done.returncode, said[-1] if said else ""


def _ways(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the ways to decide: what a fault does to octets is looked at only where its words tell nothing."""
    return [given] if given["legal"] or not given["octets"] else [{**given, "octets": ""}, given]


def _policies(document: str) -> Iterator[object]:
    """Give the legal ways to serve on which a script is proved: as usual, then with room for large frames."""
    yield None
    yield from (policy for says, policy in dialect(document).proof.policies.items() if says == ROOMY)


def _on_reference(
    text: str, sources: Mapping[str, tuple[str, str]], document: str, policy: object
) -> tuple[int, str]:
    peer = dialect(document).proof.peer(None, policy, time.monotonic)
    with tempfile.TemporaryDirectory() as scratch, TcpPeer(peer) as served:
        file = Path(scratch) / "script.py"
        file.write_text(text, encoding="utf-8")
        try:
            options = arguments(sources, served.use)
        except KeyError as failure:
            return UNTOLD, f"it has no facility {failure}"
        return played(file, "127.0.0.1", served.port, options)
