"""The targets that can be named: `embedded`, `process:NAME`, `docker:IMAGE`, `client:NAME`, any URL."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness.targets import custody
from harness.targets.client.described import CLIENT, MemoryClient
from harness.targets.embedded import EMBEDDED, EmbeddedTarget
from harness.targets.process import PROCESS
from harness.targets.target import Kind, Known, Target, TargetError, UrlTarget
from harness.targets.through import KNOWN, ThroughTarget, placed
from harness.wire.tls import Security
from spec.applicability import protocol
from spec.rules import Role

ANYTHING = Known(
    "amqp://user:password@host:port/vhost",
    True,
    "",
    "anything that listens; amqps:// for TLS, [::1] for IPv6",
)
URL = Kind(UrlTarget, lambda given: UrlTarget(given["url"]), lambda: (ANYTHING,))


def _docker(named: str) -> Target:
    # The engine's client takes its time to import, and most commands do without.
    from harness.targets.docker.target import container_target

    return container_target(named)


def _attach_docker(given: Mapping[str, Any]) -> Target:
    from harness.targets.docker.target import attach_container

    return attach_container(given)


def _known_docker() -> tuple[Known, ...]:
    from harness.targets.docker.target import known_containers

    return known_containers()


def _clean_docker() -> Iterable[str]:
    from harness.targets.docker.custody import clean_up

    return clean_up()


def _through(named: str) -> Target:
    return placed(named, target)


def _attach_through(given: Mapping[str, Any]) -> Target:
    return ThroughTarget(given["through"], attach(given["behind"]), given["ports"])


DOCKER = Kind(make=_docker, attach=_attach_docker, known=_known_docker)
KINDS: Mapping[str, Kind] = {
    "embedded": EMBEDDED,
    "process": PROCESS,
    "docker": DOCKER,
    "client": CLIENT,
    "url": URL,
    "through": Kind(_through, _attach_through, lambda: (KNOWN,)),
}
"""The kinds of targets, by what stands before the colon of their name."""


def target(named: str, security: Security | None = None) -> Target:
    """Make the target called `named`, reached as `security` says.

    Raises TargetError, which names the known ones, when there is none of that name, and for options it has no
    use for.
    """
    found = _target(named)
    if security is not None:
        found.secure(security)
    return found


def _target(named: str) -> Target:
    if "://" in named and not named.startswith("through:"):
        return UrlTarget(named)
    kind, _, rest = named.partition(":")
    if kind not in KINDS or kind == "url":
        if re.fullmatch(r"[\w.-]+:\d+(/.*)?", named):
            raise TargetError(f"there is no target {named!r}; did you mean amqp://{named}?")
        known = ", ".join(each.name for each in known_targets())
        # What stands behind the colon may be a password: a URL without its scheme.
        raise TargetError(f"there is no target {kind!r}; known are {known}")
    return KINDS[kind].make(rest)


def stand_in(role: Role, change: Any = None, document: str = "0-9-1") -> Target:
    """Give what stands for targets in a role, in memory: our reference peers, or our own client.

    `change` makes it deviate (see harness.peers.deviation); a client is that of a document's protocol.
    """
    return EmbeddedTarget(change) if role is Role.SERVER else MemoryClient(protocol(document), change)


def attach(given: Mapping[str, Any], security: Security | None = None) -> Target:
    """Attach to a target that another process has started, by its `attachment`, reached in the same way."""
    found = KINDS[given["kind"]].attach(given)
    if security is not None:
        found.secure(security)
    return found


def known_targets() -> tuple[Known, ...]:
    """List all targets that can be named, each with whether it can start here."""
    return tuple(known for kind in KINDS.values() for known in kind.known())


CLEANERS: tuple[Callable[[], Iterable[str]], ...] = (_clean_docker, custody.sweep)
"""What removes leftovers of one kind; gives a sentence for each. First come those that may have to refuse."""


def clean() -> list[str]:
    """Remove what killed runs left on this machine; return a sentence for each leftover.

    Nothing that belongs to a living run is touched. Raises TargetError where leftovers cannot be looked for.
    """
    return [sentence for cleaner in CLEANERS for sentence in cleaner()]
