"""Connections that are not to end for our silence while a scenario waits for something beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Protocol, runtime_checkable


@runtime_checkable
class Stays(Protocol):
    """The link of a protocol in which we have to say something now and then."""

    def keep_up(self) -> float | None:
        """Send what is due; give the seconds until something is again, None for never."""


@contextmanager
def kept_up(links: Collection[object]) -> Iterator[None]:
    """Send what keeps the connections of `links` alive while the block does something else.

    The block may not use them, nor write anything down. Raises what sending raised.
    """
    kept = [each for each in links if isinstance(each, Stays)]
    if _next(kept) is None:
        yield
        return
    over = Event()

    def stay() -> None:
        while (wait := _next(kept)) is not None and not over.wait(wait):
            pass

    with ThreadPoolExecutor(1) as aside:
        staying = aside.submit(stay)
        try:
            yield
        finally:
            over.set()
        staying.result()


def _next(kept: Collection[Stays]) -> float | None:
    return min((wait for each in kept if (wait := each.keep_up()) is not None), default=None)
