"""TLS (RFC 8446, RFC 5246) around any transport, without a socket of its own.

The layer below says when octets come, how the peer ends and when a deadline passes; so FIN, RST and silence
stay what they are, and the same code runs over TCP and in memory.
"""

import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.wire.transport import End, Nameable, Queueing, Transport, Unreachable

HANDSHAKE = 5.0
"""Seconds that a TLS handshake may take."""
_CHUNK = 65536
_TELLING = 4
"""Octets by which a TLS record and a protocol header are known."""


class BadSecurity(ValueError):
    """The files or options for TLS cannot be used; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Security:
    """How a target is reached: whom to trust, what to show, and how to log in; plain values, to travel.

    `ca` is a PEM file with the authorities that are trusted instead of the system's; `certificate` and `key`
    are the client's own PEM files (a key may stand in the certificate's file); `insecure` trusts any
    certificate for any host; `mechanism` is a name in `harness.wire.sasl.MECHANISMS`.
    """

    ca: str = ""
    certificate: str = ""
    key: str = ""
    insecure: bool = False
    mechanism: str = "PLAIN"

    @property
    def tls_options(self) -> tuple[str, ...]:
        """The options given that mean something with TLS only, as a user writes them."""
        given = {
            "--tls-ca": self.ca, "--tls-cert": self.certificate, "--tls-key": self.key,
            "--tls-insecure": self.insecure,
        }  # fmt: skip
        return tuple(name for name, value in given.items() if value)

    def describe(self, tls: bool) -> Mapping[str, object]:
        """Give facts for the run's description: names of files, and whether the certificate was verified."""
        if not tls:
            return {"mechanism": self.mechanism, "tls": False}
        return {
            "mechanism": self.mechanism,
            "tls": True,
            "certificate-verified": not self.insecure,
            "authority": Path(self.ca).name if self.ca else "the system's",
            "client-certificate": Path(self.certificate).name,
        }


def client_context(security: Security) -> ssl.SSLContext:
    """Make the context of our client. Raises BadSecurity for files or options that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.options |= ssl.OP_NO_RENEGOTIATION
    if security.insecure:
        if security.ca:
            raise BadSecurity("--tls-insecure trusts every certificate: --tls-ca means nothing beside it")
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif security.ca:
        _readable("--tls-ca", security.ca)
        try:
            context.load_verify_locations(cafile=security.ca)
        except ssl.SSLError:
            raise BadSecurity(f"--tls-ca {security.ca} holds no certificate in PEM form") from None
    else:
        context.load_default_certs()
    _show_certificate(context, security)
    return context


def _show_certificate(context: ssl.SSLContext, security: Security) -> None:
    certificate, key = security.certificate, security.key or security.certificate
    if not certificate:
        if key:
            raise BadSecurity("--tls-key means nothing without --tls-cert")
        return
    _readable("--tls-cert", certificate)
    _readable("--tls-key", key)

    def no_pass_phrase() -> str:
        raise BadSecurity(f"the key in {key} is encrypted: give one without a pass phrase")

    try:
        context.load_cert_chain(certificate, key, no_pass_phrase)
    except ssl.SSLError as failure:
        if failure.reason == "KEY_VALUES_MISMATCH":
            raise BadSecurity(f"the key in {key} does not match the certificate in {certificate}") from None
        raise BadSecurity(f"{certificate} and {key} hold no certificate and key in PEM form") from None


def _readable(option: str, file: str) -> None:
    # OpenSSL would not say which of the files it is.
    try:
        Path(file).open("rb").close()
    except OSError as failure:
        raise BadSecurity(f"{option} {file} cannot be read: {failure.strerror}") from None


_NOT_TRUSTED = "is not signed by an authority that is trusted here (its own can be given with --tls-ca)"
_VERIFICATION: Mapping[int, str] = {
    9: "is not yet valid",
    10: "has expired",
    18: _NOT_TRUSTED,
    19: _NOT_TRUSTED,
    20: _NOT_TRUSTED,
    21: _NOT_TRUSTED,
    62: "is for another host",
    64: "is for another host",
}
"""What OpenSSL's codes of verification mean (X509_V_ERR_…)."""

_WANTS_CERTIFICATE = "demands a client certificate (--tls-cert and --tls-key)"
_NOT_ACCEPTED = "does not accept the client certificate"
_ALERTS: Mapping[str, str] = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": _WANTS_CERTIFICATE,
    # Before 1.3 a missing certificate has no alert of its own.
    "SSLV3_ALERT_HANDSHAKE_FAILURE": f"finds no cipher in common, or {_WANTS_CERTIFICATE}",
    "TLSV1_ALERT_UNKNOWN_CA": f"{_NOT_ACCEPTED}: it does not know the authority that signed it",
    "SSLV3_ALERT_BAD_CERTIFICATE": _NOT_ACCEPTED,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _NOT_ACCEPTED,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": f"{_NOT_ACCEPTED}: it has expired",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": f"{_NOT_ACCEPTED}: it is not made for clients",
    "TLSV1_ALERT_PROTOCOL_VERSION": "speaks no version of TLS that is accepted here",
}
"""What the peer's alerts mean for the user, by OpenSSL's reason."""


class TlsTransport:
    """TLS over `below` to the server called `host`; the handshake is done when this returns.

    It may take `within` seconds. `notified` says whether close_notify came before the peer's FIN (a proper
    end). Raises Unreachable with one sentence; `below` is closed then.
    """

    def __init__(
        self, below: Transport, context: ssl.SSLContext, host: str, within: float = HANDSHAKE
    ) -> None:
        self._below = below
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=host)
        self._first = b""
        self._heard = False
        self._end: End | None = None
        self.notified = False
        self.endpoint = below.endpoint
        try:
            self._shake_hands(within)
        except BaseException:
            below.close()
            raise
        self.endpoint = f"{below.endpoint} ({self._tls.version()})"

    @property
    def client(self) -> str:
        """The port of our end; empty where the transport below does not know it."""
        return self._below.client if isinstance(self._below, Nameable) else ""

    def now(self) -> float:
        return self._below.now()

    def send(self, octets: bytes) -> bool:
        """Send all octets; return False when the peer is gone."""
        left = memoryview(octets)
        try:
            while left:
                left = left[self._tls.write(left[:_CHUNK]) :]
                if not self._flush():
                    return False
        except ssl.SSLError:
            return False
        return True

    def outgoing(self) -> int:
        """Count the octets of TLS that are still on their way."""
        return self._below.outgoing() if isinstance(self._below, Queueing) else 0

    def receive(self, deadline: float) -> bytes | End | None:
        """Return the next octets, how the peer ended, or None when `deadline` passes in silence.

        close_notify and FIN without it are both End.FIN. A fatal alert, or something that is not TLS, is
        End.RST: what was on its way is lost. Raises Unreachable when that comes before any octet: TLS 1.3
        servers refuse clients only after the handshake.
        """
        late = False
        while True:
            if (whole := self._decrypted()) is not None:
                return whole
            # What is only TLS's own must not hold us beyond the deadline.
            if late:
                return None
            late = self.now() > deadline
            seen = self._below.receive(deadline)
            if seen is None:
                return None
            self._feed(seen)

    def close(self, reset: bool = False) -> None:
        """Send close_notify and close our side; with `reset` nothing is sent and the peer sees RST."""
        if not reset and self._end is None:
            # It would wait for the peer's close_notify; we do not.
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush()
        self._below.close(reset)

    def _feed(self, seen: bytes | End) -> None:
        if seen is End.RST:
            self._end = seen
        elif seen is End.FIN:
            self._in.write_eof()
        else:
            assert isinstance(seen, bytes)
            self._first = (self._first + seen)[:8]
            self._in.write(seen)

    def _decrypted(self) -> bytes | End | None:
        if self._end is not None:
            return self._end
        try:
            octets = self._tls.read(_CHUNK)
        except ssl.SSLWantReadError:
            self._flush()
            return None
        except ssl.SSLEOFError:
            self._end = End.FIN
        except ssl.SSLError as failure:
            self._flush()
            if not self._heard:
                self._below.close()
                raise Unreachable(self._sentence(failure)) from None
            self._end = End.RST
        else:
            if octets:
                self._heard = True
                return octets
            # This is how the library reports close_notify.
            self._end, self.notified = End.FIN, True
        return self._end

    def _flush(self) -> bool:
        octets = self._out.read()
        return not octets or self._below.send(octets)

    def _shake_hands(self, within: float) -> None:
        deadline = self.now() + within
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as failure:
                self._flush()  # the alert that tells the peer why
                raise Unreachable(self._sentence(failure)) from None
            else:
                self._flush()
                return
            self._flush()
            seen = self._below.receive(deadline)
            if seen is None or self.now() > deadline:
                raise Unreachable(f"{self.endpoint} does not complete a TLS handshake within {within:g} s")
            if seen is End.RST:
                raise Unreachable(f"{self.endpoint} resets the connection instead of a TLS handshake")
            self._feed(seen)

    def _sentence(self, failure: ssl.SSLError) -> str:
        if isinstance(failure, ssl.SSLCertVerificationError):
            what = _VERIFICATION.get(failure.verify_code, f"is refused: {failure.verify_message}")
            return f"the certificate of {self.endpoint} {what}"
        if isinstance(failure, ssl.SSLEOFError):
            return f"{self.endpoint} ends the connection instead of a TLS handshake"
        if self._first and not _is_record(self._first):
            said = "AMQP" if self._first.startswith(b"AMQP") else "something else"
            return f"{self.endpoint} does not speak TLS but {said} (a plain port is reached by amqp://)"
        reason = failure.reason or str(failure)
        told = _ALERTS.get(reason, f"breaks the TLS handshake off: {reason.replace('_', ' ').lower()}")
        return f"{self.endpoint} {told}"


def _is_record(octets: bytes) -> bool:
    return octets[:1] in (b"\x15", b"\x16", b"\x17") and octets[1:2] in (b"", b"\x03")


def anyone() -> ssl.SSLContext:
    """Make a context that shakes hands with any server, certificate or not: nothing secret may follow."""
    context = client_context(Security(insecure=True))
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def client_hello() -> bytes:
    """Make what a client of TLS says first of all."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = anyone().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    return outgoing.read()


def answer_to_hello(below: Transport, within: float) -> bytes | End | None:
    """Send a ClientHello first of all, and return what comes within so many seconds; closes `below`."""
    try:
        below.send(client_hello())
        deadline, first = below.now() + within, b""
        while len(first) < _TELLING:
            seen = below.receive(deadline)
            if not isinstance(seen, bytes):
                return first or seen
            first += seen
        return first
    finally:
        below.close()


def is_tls(seen: bytes | End | None) -> bool:
    """Say whether an answer to a ClientHello is a TLS record."""
    return isinstance(seen, bytes) and len(seen) >= _TELLING and _is_record(seen)


def speaks_tls(below: Transport, within: float) -> bool:
    """Say whether a server answers a ClientHello with a TLS record within so many seconds; closes `below`."""
    return is_tls(answer_to_hello(below, within))
