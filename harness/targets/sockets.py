"""What the kernel says of sockets: which clients a broker serves, and on which of both keep-alive is on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
ESTABLISHED, OWN_TIMER = "01", "02"
"""A connection in use; the timer of the socket's own, which runs in such a one for keep-alive alone."""


@dataclass(frozen=True, slots=True)
class Served:
    """A connection as its server's socket has it: the client's port, and whether keep-alive is on."""

    client: int
    kept_alive: bool


def served(port: int, tables: str) -> Iterator[Served]:
    """Yield the connections of the server on `port`, as the kernel's `tables` of TCP sockets list them.

    While something sent is not yet acknowledged another timer hides that of keep-alive.
    """
    for local, remote, kept_alive in _established(tables):
        if local == port:
            yield Served(remote, kept_alive)


def connecting(port: int, tables: str) -> Iterator[bool]:
    """Yield of each client's socket that is connected to `port` on this machine whether keep-alive is on."""
    for _, remote, kept_alive in _established(tables):
        if remote == port:
            yield kept_alive


def _established(tables: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the ports of both ends of each socket in use, its own first, and whether keep-alive is on."""
    for line in tables.splitlines():
        fields = line.split()
        if len(fields) < 6 or fields[3] != ESTABLISHED:
            continue
        local, remote = (int(each.rsplit(":", 1)[1], 16) for each in fields[1:3])
        yield local, remote, fields[5].startswith(OWN_TIMER)


def tables_here() -> str:
    """Read the kernel's tables of this machine's TCP sockets; empty where it has none to read."""
    return "".join(each.read_text(encoding="ascii") for each in TABLES if each.exists())


def as_text(connections: Iterator[Served]) -> dict[str, str]:
    """Give the clients' ports as a facility returns them: all, and those with keep-alive."""
    found = list(connections)
    return {
        "clients": " ".join(str(each.client) for each in found),
        "kept-alive": " ".join(str(each.client) for each in found if each.kept_alive),
    }
