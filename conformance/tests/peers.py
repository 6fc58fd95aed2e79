"""Brokers for tests: the reference peer as a process that a user would describe, and its description."""

from __future__ import annotations

import json
import sys
from pathlib import Path

SCRIPT = """
import signal, sys
from harness.dialect import dialect
from harness.peers.serve import TcpPeer

peer = dialect("0-9-1").proof.peer()
with TcpPeer(peer, port=int(sys.argv[1])):
    signal.pause()
"""
ROOT = Path(__file__).parents[2]
RESTART = '[facilities.restart]\nsteps = [{ stop = "broker" }, { start = "broker" }]\n'


def description(script: str = SCRIPT, more: str = RESTART, protocols: str = '"0-9-1"') -> str:
    """Give a description of a broker that is this script, called with its port."""
    return f"""
product = "Mine"
about = "a broker of a user"
protocols = [{protocols}]
[endpoint]
port = "amqp"
user = "guest"
password = "guest"
virtual_host = "/"
[process]
package = "mine"
requires = [{json.dumps(sys.executable)}]
version = ["echo", "1.2"]
ports = ["amqp"]
within = 20
patience = 5
[process.environment]
PYTHONPATH = {json.dumps(str(ROOT))}
[[process.run]]
name = "broker"
command = [{json.dumps(sys.executable)}, "-c", {json.dumps(script)}, "{{port.amqp}}"]
ready = "amqp"
{more}
"""
