"""Faults of a client, of any protocol, that no interposer has words for: what it hears, its socket."""

from collections.abc import Callable
from dataclasses import dataclass

from harness.peers.peer import ConnectionAround, PeerConnection, PeerServer, ServerAround


@dataclass(frozen=True, slots=True)
class Ears:
    """Between a client and any server: what it `hears` of what comes at once.

    One that `stays` never closes its socket; one that is `deaf` does not see that the server has. All of them
    end their stream by closing their socket, as they do at once behind what is said that `leaves` matches.
    `keeps_alive` says whether they have TCP keep-alive on. Octets that one `ends_at` are to it as if the
    socket had been closed before them.
    """

    hears: Callable[[bytes], bytes] = lambda octets: octets
    stays: bool = False
    deaf: bool = False
    leaves: Callable[[bytes], bool] = lambda _: False
    keeps_alive: bool = True
    ends_at: bytes = b""

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections are heard so."""
        return _Server(self, server)


def stays() -> Ears:
    """Leaves its socket open, whatever comes."""
    return Ears(stays=True)


def deaf_to_the_end() -> Ears:
    """Does not see that the server has closed the socket."""
    return Ears(deaf=True)


def knows_no_half_close() -> Ears:
    """Closes its socket where it should end its stream alone."""
    return Ears()


def leaves_behind(said: Callable[[bytes], bool]) -> Ears:
    """Closes its socket behind something that it says."""
    return Ears(leaves=said)


def keeps_nothing_alive() -> Ears:
    """Has TCP keep-alive off."""
    return Ears(keeps_alive=False)


def mishears(said: bytes, heard: bytes = b"") -> Ears:
    """Takes some octets for others, or does not hear them."""
    return Ears(lambda octets: octets.replace(said, heard))


def loses_pieces(below: int) -> Ears:
    """Loses what comes in pieces of less than so many octets."""
    return Ears(lambda octets: octets if len(octets) >= below else b"")


class _Server(ServerAround):
    def __init__(self, ears: Ears, server: PeerServer) -> None:
        super().__init__(server)
        self._ears = ears

    def around(self, connection: PeerConnection) -> PeerConnection:
        return _Heard(self._ears, connection)


class _Heard(ConnectionAround):
    def __init__(self, ears: Ears, inner: PeerConnection) -> None:
        super().__init__(inner)
        self._ears = ears
        self._left = False
        """It has closed its socket, or takes it for closed."""

    @property
    def closed(self) -> str | None:
        return "fin" if self._left else None if self._ears.deaf else self.inner.closed

    def receive(self, octets: bytes) -> None:
        if not self._left:
            self.inner.receive(octets)
        if self._ears.leaves(octets):
            self.hang_up()
            self._left = True

    def take(self) -> bytes:
        # What is not heard must not end what may come at once behind it.
        while not self._left and (octets := self.inner.take()):
            if self._ears.ends_at:
                octets, met, _ = octets.partition(self._ears.ends_at)
                self._left = bool(met)
            if heard := self._ears.hears(octets):
                return heard
        return b""

    def hang_up(self) -> None:
        if not self._ears.stays:
            self.inner.hang_up()
