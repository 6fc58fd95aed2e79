"""What a run is asked to do, wherever it is asked: on a command line, in pytest, by a replay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from harness.wire.tls import Security


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked to do; plain values, so that it can travel to a worker."""

    target: str = field(default="embedded", repr=False)  # a URL has a password in it
    selectors: tuple[str, ...] = ()
    level: str = "must"
    profile: str = "document"
    baseline: tuple[str, ...] = ()
    output: str | None = None
    shuffle: int | None = None
    disruptive: bool = False
    budget: float = 600.0
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_insecure: bool = False
    mechanism: str = "PLAIN"
    arguments: tuple[str, ...] = ()

    @property
    def security(self) -> Security:
        """How the target is to be reached."""
        return Security(self.tls_ca, self.tls_cert, self.tls_key, self.tls_insecure, self.mechanism)

    def reached(self, security: Security) -> Options:
        """The same, with the target reached in another way."""
        return replace(
            self,
            tls_ca=security.ca,
            tls_cert=security.certificate,
            tls_key=security.key,
            tls_insecure=security.insecure,
            mechanism=security.mechanism,
        )
