"""Certificates for servers behind TLS, and what those accept: for tests of TLS."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.targets.brokers_required import REQUIRED
from harness.targets.description import descriptions, fill


@dataclass(frozen=True)
class Certificates:
    """A directory of PEM files made as the target rabbitmq-tls makes its own."""

    directory: Path

    def file(self, name: str) -> str:
        return str(self.directory / name)


def make_certificates(directory: Path) -> Certificates:
    """Make those of an authority, a server (127.0.0.1, localhost) and a client (guest), or skip."""
    if shutil.which("openssl") is None:
        if os.environ.get(REQUIRED):
            pytest.fail("openssl not found")
        pytest.skip("openssl not found")
    directory.mkdir(parents=True, exist_ok=True)
    described = descriptions()["rabbitmq-tls"]
    values = {"directory": str(directory), "user": "guest", "port.amqp": "0"}
    for name, text in described.files.items():
        (directory / name).write_text(fill(text, values))
    for command in described.before:
        openssl(*(fill(word, values) for word in command[1:]))
    return Certificates(directory)


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def server_context(made: Certificates, demands: str = "") -> ssl.SSLContext:
    """Make a server's context; `demands` is the authority that a client's certificate must be signed by."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.file("server.pem"), made.file("server.key"))
    if demands:
        context.load_verify_locations(demands)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
