"""Process targets that are reached by TLS: what is prepared before they start, and whose files count."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.targets.description import parse
from harness.targets.process import ProcessTarget
from harness.targets.target import TargetError
from harness.wire.tls import Security

pytestmark = pytest.mark.usefixtures("temporary")

LISTENER = """
import pathlib, socket, sys, time
assert pathlib.Path("made").read_text() == "one two"
kept = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(600)
"""
TEXT = f"""
product = "stub"
about = "a listener"
protocols = ["0-9-1"]
[endpoint]
port = "amqp"
user = "ann"
password = "word"
virtual_host = "/"
tls = {{ ca = "{{directory}}/ca.pem", certificate = "{{directory}}/me.pem", key = "{{directory}}/me.key" }}
[process]
package = "stub"
requires = ["sh"]
version = ["true"]
ports = ["amqp"]
within = 20
patience = 1
before = [["sh", "-c", "printf one > {{directory}}/made"], ["sh", "-c", "printf ' two' >> made"]]
[[process.run]]
name = "broker"
command = ['{sys.executable}', "-c", '''{LISTENER}''', "{{port.amqp}}"]
ready = "amqp"
"""


def stub(text: str = TEXT) -> ProcessTarget:
    return ProcessTarget("stub", parse(text, "stub.toml"))


def test_the_directory_is_prepared_in_order_before_anything_starts(temporary: Path) -> None:
    with stub() as one:
        (directory,) = temporary.iterdir()
        assert (directory / "made").read_text() == "one two"
        assert one.endpoint().url() == f"amqps://ann@127.0.0.1:{one.endpoint().port}/%2F"
    assert not list(temporary.iterdir())


def test_a_preparation_that_fails_is_reported_and_leaves_nothing(temporary: Path) -> None:
    failing = TEXT.replace("printf one > {directory}/made", "echo no disk >&2; exit 3")
    with pytest.raises(TargetError, match="sh ended with status 3: no disk"):
        stub(failing).start()
    assert not list(temporary.iterdir())


def test_the_described_files_stand_in_for_those_not_given() -> None:
    with stub() as one:
        own = str(one._directory())
        described = Security(f"{own}/ca.pem", f"{own}/me.pem", f"{own}/me.key", mechanism="EXTERNAL")
        one.secure(Security(mechanism="EXTERNAL"))
        assert one.security == described
        one.secure(Security(ca="/other.pem"))
        assert one.security == Security("/other.pem", f"{own}/me.pem", f"{own}/me.key")
        # A key belongs to its certificate, and whoever trusts anybody needs no authority.
        one.secure(Security(certificate="/mine.pem"))
        assert one.security == Security(f"{own}/ca.pem", "/mine.pem")
        one.secure(Security(insecure=True))
        assert one.security == Security("", f"{own}/me.pem", f"{own}/me.key", insecure=True)
        assert one.endpoint().tls


def test_a_worker_that_attaches_uses_the_same_files() -> None:
    with stub() as one:
        other = stub().attach(one._directory(), one._ports)
        other.secure(Security(mechanism="EXTERNAL"))
        assert other.security.ca == one.security.ca
        assert other.endpoint().mechanism == "EXTERNAL"
