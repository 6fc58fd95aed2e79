"""TLS: ends and silence told apart, octets whole, and one clear sentence for whatever goes wrong."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.amqp0_9_1.peer import Peer
from harness.dialect import dialect
from harness.peers.peer import PeerConnection, PeerServer
from harness.peers.serve import TcpPeer
from harness.peers.tls_server import TlsServer
from harness.targets.named import target
from harness.targets.target import Target, TargetError, UrlTarget
from harness.wire.tests.tls_peer import Certificates, make_certificates, openssl, server_context
from harness.wire.tls import BadSecurity, Security, TlsTransport, client_context, speaks_tls
from harness.wire.transport import End, MemoryTransport, TcpTransport, Unreachable, VirtualClock

Said = bytes | End | None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the same from another authority."""
    return make_certificates(tmp_path_factory.mktemp("others"))


class Echo:
    """Says what it hears; "bye" and "gone" end it with FIN and RST. Server and connection in one."""

    def __init__(self) -> None:
        self.closed: str | None = None
        self.hung_up = False
        self._said = b""

    def connect(self, now: float) -> PeerConnection:
        return self

    def use(self, facility: str) -> dict[str, str]:
        raise KeyError(facility)

    def restart(self) -> None:
        raise KeyError("restart")

    def receive(self, octets: bytes) -> None:
        self._said += octets
        self.closed = {b"bye": "fin", b"gone": "rst"}.get(octets)

    def hang_up(self) -> None:
        self.hung_up = True

    def take(self) -> bytes:
        said, self._said = self._said, b""
        return said

    def next_timer(self) -> float | None:
        return None

    def tick(self, now: float) -> None:
        pass


class Says(Echo):
    """Answers whatever comes first with the same octets, then ends, or says nothing more."""

    def __init__(self, answer: bytes, end: str | None = None) -> None:
        super().__init__()
        self._answer, self._ends = answer, end

    def receive(self, octets: bytes) -> None:
        self._said, self._answer = self._said + self._answer, b""
        self.closed = self._ends


class Tired(Echo):
    """Lets go at once."""

    def __init__(self, end: str) -> None:
        super().__init__()
        self.closed = end


def trusting(made: Certificates, **others: str) -> ssl.SSLContext:
    return client_context(Security(ca=made.file("ca.pem"), **others))  # type: ignore[arg-type]


def in_memory(
    server: PeerServer, context: ssl.SSLContext, host: str = "localhost", clock: VirtualClock | None = None
) -> TlsTransport:
    return TlsTransport(MemoryTransport(server, clock or VirtualClock()), context, host)


# -- carrying octets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_what_is_sent_arrives(made: Certificates, host: str) -> None:
    transport = in_memory(TlsServer(Echo(), server_context(made)), trusting(made), host)
    assert transport.send(b"hello")
    assert transport.receive(1.0) == b"hello"
    assert transport.endpoint == "memory (TLSv1.3)"


def test_much_arrives_whole_and_in_order(made: Certificates) -> None:
    transport = in_memory(TlsServer(Echo(), server_context(made)), trusting(made))
    octets = bytes(range(256)) * 4096
    assert transport.send(octets)
    came = b""
    while isinstance(piece := transport.receive(1.0), bytes):
        came += piece
    assert came == octets


class Slowly:
    """Hands over what comes from below octet by octet."""

    def __init__(self, below: MemoryTransport) -> None:
        self._below, self._kept = below, b""
        self.endpoint, self.now, self.send, self.close = below.endpoint, below.now, below.send, below.close

    def receive(self, deadline: float) -> Said:
        if not self._kept:
            seen = self._below.receive(deadline)
            if not isinstance(seen, bytes):
                return seen
            self._kept = seen
        octet, self._kept = self._kept[:1], self._kept[1:]
        return octet


def test_records_may_come_octet_by_octet(made: Certificates) -> None:
    below = Slowly(MemoryTransport(TlsServer(Echo(), server_context(made)), VirtualClock()))
    transport = TlsTransport(below, trusting(made), "localhost")
    transport.send(b"hello")
    assert transport.receive(1.0) == b"hello"


# -- ends and silence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "abrupt", "end", "notified"),
    [(b"bye", False, End.FIN, True), (b"bye", True, End.FIN, False), (b"gone", False, End.RST, False)],
)
def test_ends_are_told_apart(made: Certificates, word: bytes, abrupt: bool, end: End, notified: bool) -> None:
    transport = in_memory(TlsServer(Echo(), server_context(made), abrupt), trusting(made))
    transport.send(word)
    assert transport.receive(1.0) == word
    assert transport.receive(2.0) is end
    assert transport.receive(3.0) is end
    assert transport.notified is notified


def test_silence_lasts_to_the_deadline(made: Certificates) -> None:
    clock = VirtualClock()
    transport = in_memory(TlsServer(Echo(), server_context(made)), trusting(made), clock=clock)
    assert transport.receive(4.0) is None
    assert transport.now() == clock.seconds == 4.0


def test_a_deadline_that_has_passed_still_takes_what_has_come(made: Certificates) -> None:
    transport = in_memory(TlsServer(Echo(), server_context(made)), trusting(made))
    transport.send(b"hello")
    assert transport.receive(0.0) == b"hello"


def test_what_is_no_tls_counts_as_broken_off(made: Certificates) -> None:
    server = TlsServer(Echo(), server_context(made))
    transport = in_memory(server, trusting(made))
    transport.send(b"hello")
    assert transport.receive(1.0) == b"hello"
    server.connections[0].injected = b"x" * 100
    assert transport.receive(1.0) is End.RST
    assert not transport.send(b"hello")


@pytest.mark.parametrize("reset", [False, True])
def test_our_end_is_announced_unless_we_reset(made: Certificates, reset: bool) -> None:
    server = TlsServer(Echo(), server_context(made))
    in_memory(server, trusting(made)).close(reset)
    assert server.connections[0].heard_close_notify is not reset
    assert server.connections[0].inner.hung_up  # type: ignore[attr-defined]


class Chatter:
    """Says its beginning octet by octet, one each second, and then one more octet for ever."""

    endpoint = "chatter"

    def __init__(self, beginning: bytes) -> None:
        self._left, self._seconds, self.closed = iter(beginning), 0.0, False

    def now(self) -> float:
        return self._seconds

    def send(self, octets: bytes) -> bool:
        return True

    def receive(self, deadline: float) -> Said:
        self._seconds += 1.0
        return bytes((next(self._left, 0),))

    def close(self, reset: bool = False) -> None:
        self.closed = True


def test_a_handshake_that_drips_is_given_up(made: Certificates) -> None:
    # A record of 16384 octets with a ServerHello as long begins, and goes on octet by octet.
    chatter = Chatter(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    with pytest.raises(Unreachable, match="does not complete a TLS handshake within 5 s"):
        TlsTransport(chatter, trusting(made), "localhost")
    assert chatter.closed
    assert chatter.now() == 6.0


# -- what goes wrong -----------------------------------------------------------------------------------


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(Unreachable) as raised:
        action()
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_another_authority_is_not_trusted(made: Certificates, others: Certificates) -> None:
    said = refusal(lambda: in_memory(TlsServer(Echo(), server_context(made)), trusting(others)))
    assert said == (
        "the certificate of memory is not signed by an authority that is trusted here (its own can be given"
        " with --tls-ca)"
    )


@pytest.mark.parametrize("host", ["broker.example", "192.0.2.7"])
def test_a_certificate_for_another_host_is_refused(made: Certificates, host: str) -> None:
    said = refusal(lambda: in_memory(TlsServer(Echo(), server_context(made)), trusting(made), host))
    assert said == "the certificate of memory is for another host"


def test_an_expired_certificate_is_refused(made: Certificates, tmp_path: Path) -> None:
    request, expired = str(tmp_path / "request.pem"), str(tmp_path / "server.pem")
    openssl(
        "req", "-new", "-config", made.file("server.cnf"), "-key", made.file("server.key"), "-out", request
    )
    openssl(
        "x509", "-req", "-in", request, "-CA", made.file("ca.pem"), "-CAkey", made.file("ca.key"),
        "-days", "-1", "-CAcreateserial", "-CAserial", str(tmp_path / "serial"), "-out", expired,
        "-extfile", made.file("server.cnf"), "-extensions", "extensions",
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(expired, made.file("server.key"))
    said = refusal(lambda: in_memory(TlsServer(Echo(), context), trusting(made)))
    assert said == "the certificate of memory has expired"


def test_insecure_trusts_any_certificate_for_any_host(made: Certificates) -> None:
    context = client_context(Security(insecure=True))
    transport = in_memory(TlsServer(Echo(), server_context(made)), context, "broker.example")
    transport.send(b"hello")
    assert transport.receive(1.0) == b"hello"


@pytest.mark.parametrize(
    ("peer", "sentence"),
    [
        (Says(b"AMQP\0\0\x09\x01", "fin"), "memory does not speak TLS but AMQP (a plain port is reached by amqp://)"),
        (Says(b"HTTP/1.1 400\r\n", "fin"),
         "memory does not speak TLS but something else (a plain port is reached by amqp://)"),
        (Echo(), "memory breaks the TLS handshake off: "),
        (Says(b""), "memory does not complete a TLS handshake within 5 s"),
        (Says(b"", "fin"), "memory ends the connection instead of a TLS handshake"),
        (Tired("rst"), "memory resets the connection instead of a TLS handshake"),
        (Says(b"\x15\x03\x03\x00\x02\x02\x46"), "memory speaks no version of TLS that is accepted here"),
    ],
)  # fmt: skip
def test_what_is_no_tls_gets_a_sentence(made: Certificates, peer: Echo, sentence: str) -> None:
    assert refusal(lambda: in_memory(peer, trusting(made))).startswith(sentence)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_certificate_may_be_demanded(
    made: Certificates, others: Certificates, version: ssl.TLSVersion
) -> None:
    context = server_context(made, demands=made.file("ca.pem"))
    context.maximum_version = version

    def talk(client: ssl.SSLContext) -> Said:
        transport = in_memory(TlsServer(Echo(), context), client)
        transport.send(b"hello")
        return transport.receive(1.0)

    shown = trusting(made, certificate=made.file("client.pem"), key=made.file("client.key"))
    assert talk(shown) == b"hello"
    assert "(--tls-cert and --tls-key)" in refusal(lambda: talk(trusting(made)))
    stranger = trusting(made, certificate=others.file("client.pem"), key=others.file("client.key"))
    assert "does not accept the client certificate" in refusal(lambda: talk(stranger))


# -- files ---------------------------------------------------------------------------------------------


def test_a_key_may_stand_with_its_certificate(made: Certificates, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text(Path(made.file("client.pem")).read_text() + Path(made.file("client.key")).read_text())
    client_context(Security(certificate=str(both)))


def test_files_that_cannot_be_used_get_a_sentence(made: Certificates, tmp_path: Path) -> None:
    text, locked = tmp_path / "text.pem", tmp_path / "locked.key"
    text.write_text("no certificate")
    openssl("pkey", "-in", made.file("client.key"), "-aes128", "-passout", "pass:word", "-out", str(locked))
    client, key, ca = made.file("client.pem"), made.file("client.key"), made.file("ca.pem")
    missing = "cannot be read: No such file or directory"
    for security, sentence in {
        Security(ca="/no/such.pem"): f"--tls-ca /no/such.pem {missing}",
        Security(ca=str(text)): f"--tls-ca {text} holds no certificate in PEM form",
        Security(certificate="/no/such.pem"): f"--tls-cert /no/such.pem {missing}",
        Security(certificate=client, key="/no.key"): f"--tls-key /no.key {missing}",
        Security(certificate=client, key=made.file("server.key")):
            f"the key in {made.file('server.key')} does not match the certificate in {client}",
        Security(certificate=client, key=str(locked)):
            f"the key in {locked} is encrypted: give one without a pass phrase",
        Security(certificate=str(text)): f"{text} and {text} hold no certificate and key in PEM form",
        Security(key=key): "--tls-key means nothing without --tls-cert",
        Security(ca=ca, insecure=True):
            "--tls-insecure trusts every certificate: --tls-ca means nothing beside it",
    }.items():  # fmt: skip
        with pytest.raises(BadSecurity) as raised:
            client_context(security)
        assert str(raised.value) == sentence
        with pytest.raises(TargetError) as told:
            target("amqps://broker", security)
        assert str(told.value) == sentence


def test_options_of_tls_mean_nothing_without_it(made: Certificates) -> None:
    for name in ("amqp://broker", "embedded"):
        with pytest.raises(TargetError, match=r"--tls-insecure means nothing for .*not reached by TLS"):
            target(name, Security(insecure=True))


# -- targets over TCP ----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_target_is_reached_by_either_ip_with_and_without_tls(
    made: Certificates, host: str, tls: bool, tmp_path: Path
) -> None:
    server: PeerServer = TlsServer(Peer(), server_context(made)) if tls else Peer()
    # The certificate names ::1 nowhere, so its authority alone would not do.
    security = Security(insecure=True) if tls else Security()
    with TcpPeer(server, host=host) as peer:
        shown = f"[{host}]" if ":" in host else host
        one = target(f"{'amqps' if tls else 'amqp'}://{shown}:{peer.port}", security)
        assert dialect("0-9-1").speaker.probe(one).product == "AMQP conformance reference peer"
        transport = one.connect("0-9-1")
        assert transport.endpoint.startswith(f"{shown}:{peer.port}")
        transport.close()


def test_tls_where_none_is_expected_is_said(made: Certificates) -> None:
    with TcpPeer(TlsServer(Peer(), server_context(made))) as peer:
        one: Target = UrlTarget(f"amqp://127.0.0.1:{peer.port}")
        assert refusal(lambda: dialect("0-9-1").speaker.probe(one)).endswith("; it speaks TLS (amqps://)")
        below = TcpTransport("127.0.0.1", peer.port, time.monotonic())
        assert speaks_tls(below, 2.0)


def test_a_plain_port_does_not_speak_tls() -> None:
    assert not speaks_tls(MemoryTransport(Peer(), VirtualClock()), 2.0)
    assert not speaks_tls(MemoryTransport(Says(b""), VirtualClock()), 2.0)


def test_what_a_run_says_of_its_security_names_no_directory() -> None:
    security = Security(ca="/home/ann/ca.pem", certificate="/home/ann/me.pem", key="/home/ann/me.key")
    told = security.describe(tls=True)
    assert "/home" not in str(told)
    assert told["certificate-verified"] is True
    assert replace(security, insecure=True).describe(tls=True)["certificate-verified"] is False
