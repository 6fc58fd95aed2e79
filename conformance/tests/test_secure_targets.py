"""TLS, IPv6 and SASL as a user asks for them: by URL and options, on real listeners."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from conformance.evidence.folder import read_run
from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.tests.commands import Command
from harness.amqp0_9_1.peer import Peer, Policy
from harness.peers.peer import PeerServer
from harness.peers.serve import TcpPeer
from harness.peers.tls_server import TlsServer
from harness.targets.process import process_target
from harness.targets.target import Target
from harness.wire.journal import Octets, Opened
from harness.wire.sasl import MECHANISMS
from harness.wire.tests.tls_peer import Certificates, make_certificates, server_context

RULE = "0-9-1/channel.open.state"
DURABLE = "0-9-1/queue.declare.durable.persistence"
RESTRICTED = "0-9-1/connection.open.virtual-host.security"
DECLARING = "0-9-1/queue.bind.exchange.exchange-existence"
ONE = ("run", RULE, "--parallel", "0")
real = pytest.mark.broker("rabbitmq-tls")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def rabbitmq() -> Iterator[Target]:
    """A RabbitMQ that listens with TLS alone."""
    with process_target("rabbitmq-tls") as started:
        yield started


def sentence(done: CompletedProcess[str]) -> str:
    """Say what the command said of its failure: at the end of its report, or as its only word."""
    return " ".join((done.stdout + done.stderr).split())


def settings(run: Path) -> dict[str, object]:
    security = json.loads((run / "run.json").read_text())["environment"]["security"]
    assert isinstance(security, dict)
    return security


def mechanism_of(run: Path) -> set[str]:
    """Give the mechanisms of all Start-Ok in the evidence."""
    said = [line.event.says for line in read(run) if isinstance(line.event, Octets)]
    return {
        word.removeprefix("mechanism=")
        for each in said
        if each.startswith("connection.start-ok")
        for word in each.split()
        if word.startswith("mechanism=")
    }


# -- RabbitMQ ------------------------------------------------------------------------------------------


@real
def test_a_started_target_is_judged_over_tls_by_certificate(
    amqp_conformance: Command, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    amqp_conformance(
        "run", "0-9-1/channel.*", RESTRICTED, DURABLE, "--target", "process:rabbitmq-tls",
        "--mechanism", "EXTERNAL", "--parallel", "2", "--output", run,
    )  # fmt: skip
    assert verify(run).state is State.OK
    found = {each.rule: each.verdict for each in rule_results(read(run))}
    assert set(found.values()) >= {Verdict.PASS}
    assert not {Verdict.ERROR, Verdict.INCONCLUSIVE} & set(found.values())
    # It was restarted, so its listener and its plugin came back.
    assert found[DURABLE] is Verdict.PASS
    lines = read(run)
    assert {line.worker for line in lines} >= {"main", "gw0", "gw1"}
    opened = [line.event.endpoint for line in lines if isinstance(line.event, Opened)]
    assert all(endpoint.endswith("(TLSv1.3)") for endpoint in opened)
    # A rule about another user needs a password for it.
    assert mechanism_of(run) >= {"EXTERNAL", "PLAIN"}
    assert settings(run) == {
        "mechanism": "EXTERNAL",
        "tls": True,
        "certificate-verified": True,
        "authority": "ca.pem",
        "client-certificate": "client.pem",
    }


@real
@pytest.mark.parametrize(
    ("mechanism", "shows", "parallel"),
    [("PLAIN", False, "0"), ("AMQPLAIN", False, "0"), ("EXTERNAL", True, "2")],
)
def test_a_url_is_judged_over_tls(
    rabbitmq: Target, amqp_conformance: Command, tmp_path: Path, mechanism: str, shows: bool, parallel: str
) -> None:
    run, files = tmp_path / "run", rabbitmq.security
    client = ["--tls-cert", files.certificate, "--tls-key", files.key] if shows else []
    amqp_conformance(
        "run", RULE, "--target", f"amqps://guest:guest@localhost:{rabbitmq.endpoint().port}/",
        "--tls-ca", files.ca, *client, "--mechanism", mechanism, "--parallel", parallel, "--output", run,
    )  # fmt: skip
    assert [each.verdict for each in rule_results(read(run))] == [Verdict.PASS]
    assert mechanism_of(run) == {mechanism}
    assert read_run(run).product == "RabbitMQ"


@real
def test_external_needs_a_certificate(rabbitmq: Target, amqp_conformance: Command) -> None:
    address = f"amqps://localhost:{rabbitmq.endpoint().port}"
    done = amqp_conformance(
        *ONE, "--target", address, "--tls-ca", rabbitmq.security.ca, "--mechanism", "EXTERNAL"
    )
    assert done.returncode == 3
    assert "connection.start-ok was answered by" in sentence(done)


@real
def test_a_real_server_that_is_not_trusted_is_not_judged(rabbitmq: Target, amqp_conformance: Command) -> None:
    address = f"127.0.0.1:{rabbitmq.endpoint().port}"
    done = amqp_conformance(*ONE, "--target", f"amqps://{address}")
    assert done.returncode == 3
    assert f"the certificate of {address} is not signed by an authority" in sentence(done)
    plain = amqp_conformance(*ONE, "--target", f"amqp://{address}")
    assert plain.returncode == 3
    assert "it speaks TLS (amqps://)" in sentence(plain)


# -- any listener --------------------------------------------------------------------------------------


def test_trusting_anybody_is_recorded(made: Certificates, amqp_conformance: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with TcpPeer(TlsServer(Peer(), server_context(made)), host="::1") as peer:
        done = amqp_conformance(
            *ONE,
            "--target",
            f"amqps://guest:guest@[::1]:{peer.port}",
            "--tls-insecure",
            "--output",
            run,
        )
    assert done.returncode in (0, 1)
    assert [each.verdict for each in rule_results(read(run))] == [Verdict.PASS]
    assert settings(run)["certificate-verified"] is False


def test_what_was_judged_over_tls_is_replayed_and_cleaned_over_tls(
    made: Certificates, amqp_conformance: Command, tmp_path: Path
) -> None:
    run, files = tmp_path / "run", ("--tls-ca", made.file("ca.pem"))
    with TcpPeer(TlsServer(Peer(), server_context(made))) as peer:
        address = f"amqps://guest:guest@127.0.0.1:{peer.port}"
        amqp_conformance("run", DECLARING, "--parallel", "0", "--target", address, *files, "--output", run)
        assert amqp_conformance("replay", run, DECLARING, "--target", address, *files).returncode == 0
        assert amqp_conformance("clean", run, "--target", address, *files).returncode == 0
        # Without the authority neither may get through.
        assert amqp_conformance("clean", run, "--target", address).returncode == 3


def refusing(made: Certificates, version: ssl.TLSVersion) -> PeerServer:
    context = server_context(made, demands=made.file("ca.pem"))
    context.maximum_version = version
    return TlsServer(Peer(), context)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_demanded_certificate_is_asked_of_the_user(
    made: Certificates, amqp_conformance: Command, version: ssl.TLSVersion
) -> None:
    with TcpPeer(refusing(made, version)) as peer:
        address = f"amqps://127.0.0.1:{peer.port}"
        done = amqp_conformance(*ONE, "--target", address, "--tls-ca", made.file("ca.pem"))
    assert done.returncode == 3
    assert "demands a client certificate (--tls-cert and --tls-key)" in sentence(done)


def test_tls_to_a_plain_port_is_said(amqp_conformance: Command) -> None:
    with TcpPeer(Peer()) as peer:
        done = amqp_conformance(*ONE, "--target", f"amqps://127.0.0.1:{peer.port}")
    assert done.returncode == 3
    assert "does not speak TLS but AMQP (a plain port is reached by amqp://)" in sentence(done)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "amqps://127.0.0.1:1", "--tls-ca", "no.pem"), "--tls-ca no.pem cannot be read"),
        (("--target", "amqp://127.0.0.1:1", "--tls-insecure"), "means nothing for amqp://guest@127.0.0.1:1"),
        (("--mechanism", "SCRAM"), "there is no SASL mechanism 'SCRAM' here; known are PLAIN"),
    ],
)
def test_options_that_cannot_be_are_wrong_usage(
    amqp_conformance: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = amqp_conformance(*ONE, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.glob("runs/*"))


def test_a_mechanism_that_is_not_offered_is_said(amqp_conformance: Command) -> None:
    done = amqp_conformance(*ONE, "--mechanism", "AMQPLAIN")
    assert done.returncode == 3
    assert "embedded does not offer the SASL mechanism AMQPLAIN, only PLAIN" in sentence(done)


@pytest.mark.parametrize("mechanism", ["PLAIN", "AMQPLAIN"])
@pytest.mark.parametrize("sasl", ["initial response", "secure"])
def test_no_mechanism_leaves_the_password_in_a_run(
    amqp_conformance: Command, tmp_path: Path, mechanism: str, sasl: str
) -> None:
    secret, run = "Sesame-4711", tmp_path / "run"
    policy = replace(Policy(), mechanisms=tuple(MECHANISMS), sasl=sasl)  # type: ignore[arg-type]
    with TcpPeer(Peer(policy, users={"ann": secret})) as peer:
        address = f"amqp://ann:{secret}@127.0.0.1:{peer.port}"
        amqp_conformance(*ONE, "--target", address, "--mechanism", mechanism, "--output", run)
    assert [each.verdict for each in rule_results(read(run))] == [Verdict.PASS]
    assert mechanism_of(run) == {mechanism}
    # Octets are kept in hexadecimal; base64 depends on where in a group of three the password begins.
    forms = {secret.encode(), secret.encode().hex().encode()}
    forms |= {base64.b64encode(b"\0" * lead + secret.encode())[4:-4] for lead in range(3)}
    for path in run.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not [form for form in forms if form in content], path.name
