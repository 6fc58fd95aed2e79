"""What cuts a stream of octets into units, whatever protocol they are of, without I/O."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Unit_co = TypeVar("Unit_co", covariant=True)


@dataclass(slots=True)
class Reader(ABC, Generic[Unit_co]):
    """Cuts a stream of octets into units; after something that cannot be read it is `broken`.

    `limit` bounds the octets a unit may announce: a peer that announces 4 GiB costs no memory. Once it is
    broken at most `limit` octets of what follows are kept, for `rest`.
    """

    limit: int = 1 << 20
    pending: bytearray = field(default_factory=bytearray)
    broken: bool = False

    def feed(self, octets: bytes) -> Iterator[tuple[bytes, Unit_co]]:
        if self.broken:
            self.pending += octets[: max(self.limit - len(self.pending), 0)]
            return iter(())
        if self.pending:
            self.pending += octets
            if self._lacks_octets():
                return iter(())
            octets = bytes(self.pending)
            self.pending.clear()
        return iter(self._cut(octets))

    def rest(self) -> bytes:
        """Return what is left unread: at the end of the stream, an incomplete unit."""
        return bytes(self.pending)

    @abstractmethod
    def _lacks_octets(self) -> bool:
        """Say whether this is surely no whole unit yet: a large one in small pieces is copied once."""

    @abstractmethod
    def _cut(self, octets: bytes) -> list[tuple[bytes, Unit_co]]:
        """Return the complete units. What is left becomes pending; what cannot be read is the last unit."""
