"""What takes too long for every change: the tests try a sample of it, `make endurance` the whole."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

WHOLE = bool(os.environ.get("AMQP_CONFORMANCE_ENDURANCE"))
"""Whether nothing is left out; set by `make endurance`, which runs the tests with the marker `endurance`."""

T = TypeVar("T")


def some(everything: Sequence[T], count: int, seed: object = 0) -> list[T]:
    """Give a sample of `count`, the same every time and in the same order; all in `make endurance`."""
    if WHOLE or count >= len(everything):
        return list(everything)
    kept = sorted(random.Random(f"{seed}").sample(range(len(everything)), count))
    return [everything[each] for each in kept]
