"""What a target logs: whether a fault made it write a line of a kind that the same without it does not."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from harness.play.expect import ControlFailed
from harness.play.link import Link

LOOK = 0.1
"""Seconds between two looks."""
SETTLED = 1.0
"""Seconds without a new line, after which what has been done is taken for logged."""
WORD = re.compile(r"\w+")


def kind(line: str) -> str:
    """Keep the words of a line that hold no digit: no times, ports, numbers of processes, most names."""
    return " ".join(word for word in WORD.findall(line) if word.isalpha())


class Log:
    """A target's log from now on, as far as `read` shows it, and never kept; `link` keeps judgements."""

    def __init__(self, read: Callable[[], str], link: Link[Any, Any]) -> None:
        self._read, self._link = read, link
        self._usual: set[str] = set()
        self._before = self._lines()

    @contextmanager
    def usual(self) -> Iterator[None]:
        """Learn which kinds of lines count for nothing. Raises ControlFailed when the connection ends."""
        self._before = self._lines()
        yield
        seen = self._settled()
        if self._link.ended is not None:
            raise ControlFailed("a connection that waits", f"socket closed ({self._link.ended})")
        self._usual |= self._kinds(seen)
        self._before = seen

    def gains(self, what: str) -> None:
        """Judge that a line of another kind than usual has been logged since the last look. Raises Unmet."""
        until = self._link.now() + self._link.context.patience.close
        while not (new := self._kinds(self._lines()) - self._usual) and self._waits(until):
            pass
        self._link.judged(f"{what} is logged", "only what is always logged", bool(new))
        self._before = self._settled()

    def _settled(self) -> Counter[str]:
        seen, until = self._lines(), self._link.now() + SETTLED
        while self._waits(until):
            if (lines := self._lines()) != seen:
                seen, until = lines, self._link.now() + SETTLED
        return seen

    def _waits(self, until: float) -> bool:
        if self._link.now() >= until or self._link.ended is not None:
            return False
        self._link.listen(LOOK)
        return True

    def _lines(self) -> Counter[str]:
        return Counter(self._read().splitlines())

    def _kinds(self, lines: Counter[str]) -> set[str]:
        return {kind(line) for line in lines - self._before} - {""}
