"""What is judged: a target, reachable and with its facilities, whatever protocol it speaks."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from ssl import SSLContext
from typing import Any, Self
from urllib.parse import SplitResult, quote, unquote, urlsplit

from harness.wire.sasl import UnknownMechanism, mechanism
from harness.wire.tls import BadSecurity, Security, TlsTransport, client_context, speaks_tls
from harness.wire.transport import TcpTransport, Transport, Unreachable
from spec.rules import Role

PORTS = {"amqp": 5672, "amqps": 5671}
CONNECTED = 5.0
"""Seconds that opening a TCP connection may take."""


class TargetError(Exception):
    """A target cannot be had or used; the message is one clear sentence."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how to connect; plain values, so that it can travel to a worker."""

    host: str
    port: int
    user: str = "guest"
    password: str = field(default="guest", repr=False)
    virtual_host: str = "/"
    tls: bool = False
    mechanism: str = "PLAIN"

    def url(self, with_password: bool = False) -> str:
        """Give the endpoint as a URL, without its password unless asked for."""
        secret = f":{quote(self.password, safe='')}" if with_password else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "amqps" if self.tls else "amqp"
        path = quote(self.virtual_host, safe="")
        return f"{scheme}://{quote(self.user, safe='')}{secret}@{host}:{self.port}/{path}"


class Target(ABC):
    """What is judged: a broker that is connected to, or with the `role` of a client something that connects.

    - `name` is as the user gave it, without a password.
    - `facilities` are what can be done to it beside talking ("restart", "second-vhost", …).
    - `shared` is true where others may use it too, `ephemeral` where nothing of it outlives the run.
    - `workers` is how many cases are judged at once by default: more than there are cores, because most of
      the time nobody computes. A `single` one bears one judge at a time: each starts one of its own.
    - `apart` selects rules that are judged after all others, one by one, when a target that ends can be
      started again.
    - `tls` is true where it is reached by TLS, `unmet` where nobody has said what listens there.
    - `protocols` are those it is said to speak, None where nobody says; `documents` are those it is said to
      keep among the documents about what only some products promise.
    """

    name: str = ""
    role = Role.SERVER
    facilities: frozenset[str] = frozenset()
    protocols: frozenset[str] | None = None
    documents: frozenset[str] = frozenset()
    shared = False
    ephemeral = False
    workers = 4
    single = False
    apart: tuple[str, ...] = ()
    tls = False
    unmet = False

    def __init__(self) -> None:
        self._zero = time.monotonic()
        self._security = Security()
        self._context: SSLContext | None = None

    def at_once(self, rules: int) -> int:  # noqa: ARG002 - whoever waits for nothing counts them
        """Say how many cases are judged at once by default where so many `rules` are: 0 for one by one."""
        return self.workers

    @property
    def security(self) -> Security:
        """How it is reached: whom we trust, what we show, how we log in."""
        return self._security

    def secure(self, security: Security) -> None:
        """Reach it in this way. Raises TargetError when that cannot be, or means nothing here."""
        try:
            mechanism(security.mechanism)
        except UnknownMechanism as failure:
            raise TargetError(str(failure)) from None
        if security.tls_options and not self.tls:
            options = ", ".join(security.tls_options)
            raise TargetError(
                f"{options} means nothing for {self.name}, which is not reached by TLS (amqps://)"
            )
        self._security, self._context = security, None

    def calm(self) -> None:  # noqa: B027 - most have nothing to leave out
        """Start without what only rules about time need, such as heartbeats; to be said before it starts."""

    @abstractmethod
    def endpoint(self) -> Endpoint:
        """Say where connections are made and as whom; port 0 for a peer in memory."""

    @abstractmethod
    def attachment(self) -> dict[str, Any]:
        """Give what another process needs to `attach` to this started target, as plain values."""

    def connect(self, document: str) -> Transport:  # noqa: ARG002 - over TCP every protocol has one port
        """Open a connection for the protocol of a document, whoever opens it. Raises Unreachable."""
        transport = self.bare()
        return TlsTransport(transport, self._trust(), self.endpoint().host) if self.tls else transport

    def bare(self, within: float = CONNECTED) -> Transport:
        """Open a connection in `within` seconds on which nothing is said yet. Raises Unreachable."""
        endpoint = self.endpoint()
        return TcpTransport(endpoint.host, endpoint.port, self._zero, within)

    def secure_port(self, document: str) -> Transport:  # noqa: ARG002 - as above
        """Open a connection to its port for TLS, on which nothing is said yet, not even TLS's own.

        The facility "secure-port" says which port it is. Raises Unreachable, TargetError, and KeyError where
        the facility names none.
        """
        return TcpTransport(self.endpoint().host, int(self.use("secure-port")["port"]), self._zero)

    def answers_tls(self) -> bool:
        """Say whether a port thought to be plain answers in TLS; False where we speak TLS already."""
        if self.tls or not self.endpoint().port:
            return False
        try:
            return speaks_tls(self.bare(), within=2.0)
        except Unreachable:
            return False

    def _trust(self) -> SSLContext:
        if self._context is None:
            try:
                self._context = client_context(self.security)
            except BadSecurity as failure:
                raise TargetError(str(failure)) from None
        return self._context

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:  # noqa: B027 - most targets are not ours to start
        """Start it, if that is ours to do. Raises TargetError."""

    def stop(self) -> None:  # noqa: B027
        """Stop what `start` started; may be called more than once."""

    def use(self, facility: str) -> Mapping[str, str]:
        """Use a facility and return what it made. Raises TargetError when there is none of that name."""
        raise TargetError(f"{self.name} has no facility {facility!r}")

    def used_by(self, document: str) -> Callable[[str], Mapping[str, str]]:  # noqa: ARG002
        """Give `use` as the scenarios of a document call it: a target may be a server for each protocol."""
        return self.use

    def logs(self) -> Mapping[str, bytes]:
        """Read the broker's own logs by file name, if they are ours to read."""
        return {}

    def describe(self) -> Mapping[str, object]:
        """Give facts for the run's description, without credentials."""
        return {"facilities": sorted(self.facilities)}


class UrlTarget(Target):
    """Anything that listens at a URL; others may use it, and nothing can be done to it beside talking."""

    shared = True
    unmet = True

    def __init__(self, url: str) -> None:
        super().__init__()
        self._endpoint = endpoint_of(url)
        self.name = self._endpoint.url()
        self.tls = self._endpoint.tls

    def secure(self, security: Security) -> None:
        """Reach it in this way. Raises TargetError also for files that cannot be used: they are read now."""
        super().secure(security)
        if self.tls:
            self._trust()

    def endpoint(self) -> Endpoint:
        return replace(self._endpoint, mechanism=self.security.mechanism)

    def attachment(self) -> dict[str, Any]:
        """Give the URL with its password: it goes to our own workers only."""
        return {"kind": "url", "url": self._endpoint.url(with_password=True)}


def endpoint_of(url: str) -> Endpoint:
    """Read `amqp://user:password@host:port/vhost` strictly; all but scheme and host may be left out.

    User and password default to guest, the port to 5672 (5671 with TLS), the virtual host to "/" (for a bare
    trailing slash too). Raises TargetError saying what is wrong, without quoting what may be a password.
    """
    if not url.isprintable() or " " in url:
        raise TargetError("the target's URL contains white space or control characters")
    if re.search(r"%(?![0-9A-Fa-f]{2})", url):
        raise TargetError("the target's URL has a % without two hexadecimal digits after it")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise TargetError("the target's URL has a malformed host") from None
    if parts.scheme not in PORTS:
        raise TargetError(f"the scheme {parts.scheme!r} is none of {', '.join(PORTS)}")
    if not host:
        raise TargetError("the target's URL names no host")
    if parts.query or parts.fragment:
        raise TargetError("the target's URL has a query or fragment, which means nothing here")
    path = parts.path[1:]
    if "/" in path:
        raise TargetError("the target's URL has more than one path segment: write / in a virtual host as %2F")
    try:
        user, password, virtual_host = (
            unquote(text, errors="strict")
            for text in (
                parts.username or "guest",
                "guest" if parts.password is None else parts.password,
                path or "/",
            )
        )
    except UnicodeDecodeError:
        raise TargetError("the target's URL has percent-encoded octets that are not UTF-8") from None
    return Endpoint(host, _port(parts), user, password, virtual_host, tls=parts.scheme == "amqps")


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0 or parts.netloc.endswith(":"):
        raise TargetError("the port in the target's URL is not a number from 1 to 65535")
    return port or PORTS[parts.scheme]


@dataclass(frozen=True, slots=True)
class Known:
    """A target that can be named, and whether it can start here; `why` not, in one sentence."""

    name: str
    starts_here: bool
    why: str
    about: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of target: how to make one from what follows its name, and how to attach to a running one."""

    make: Callable[[str], Target]
    attach: Callable[[Mapping[str, Any]], Target]
    known: Callable[[], tuple[Known, ...]]
