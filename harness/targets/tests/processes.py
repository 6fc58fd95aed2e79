"""Stubs of brokers as processes, and what a broker's log says: for tests of descriptions and of targets."""

import json
import os
import sys
import time

from harness.targets.description import parse
from harness.targets.process import ProcessTarget
from harness.targets.target import Target

LISTENER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    listener.accept()[0].close()
"""


def text_of(command: list[str], within: float = 20, facilities: str = "") -> str:
    """Describe one process on one port, run by `command`."""
    return f"""
product = "stub"
about = "a stub"
protocols = ["0-9-1"]
[endpoint]
port = "amqp"
user = "ann"
password = "word"
virtual_host = "/"
[process]
package = "stub"
requires = ["sh"]
version = ["echo", "1.2"]
ports = ["amqp"]
within = {within}
patience = 5
[[process.run]]
name = "broker"
command = {json.dumps(command)}
ready = "amqp"
{facilities}
"""


def stub(command: list[str], within: float = 20, facilities: str = "") -> ProcessTarget:
    """Make a target from such a description."""
    return ProcessTarget("stub", parse(text_of(command, within, facilities), "stub.toml"))


def listener(facilities: str = "") -> ProcessTarget:
    """Make a target that accepts connections and says nothing."""
    return stub([sys.executable, "-c", LISTENER, "{port.amqp}"], facilities=facilities)


def logged(one: Target, words: bytes) -> bool:
    """Say whether the broker's log says so; it is written a moment after the command has returned."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if words in one.logs()["broker.log"]:
            return True
        os.sched_yield()
    return False
