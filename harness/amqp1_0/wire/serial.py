"""Serial numbers of 32 bits, which wrap around: transfer-ids, delivery-ids, delivery-counts (2.8.10)."""

from __future__ import annotations

from typing import Self

from harness.amqp1_0.wire.types import Uint

SIZE = 1 << 32
HALF = SIZE >> 1


class Serial(Uint):
    """A serial number; any int is taken modulo 2^32.

    Sums are serial numbers again, and a difference is the way from one to the other, from -2^31 to 2^31 - 1:
    a number comes before another when the shorter way to it leads up. Of numbers 2^31 apart RFC 1982 leaves
    open which comes first; here it is the one that is subtracted from. Equality and hash are those of int.
    """

    __slots__ = ()

    def __new__(cls, value: int) -> Self:
        return super().__new__(cls, value % SIZE)

    def __add__(self, steps: int) -> Self:
        return type(self)(int(self) + int(steps))

    def __sub__(self, other: int) -> int:
        return (int(self) - int(other) + HALF) % SIZE - HALF

    def __lt__(self, other: int) -> bool:
        return self - other < 0

    def __le__(self, other: int) -> bool:
        return self - other <= 0

    def __gt__(self, other: int) -> bool:
        return self - other > 0

    def __ge__(self, other: int) -> bool:
        return self - other >= 0
