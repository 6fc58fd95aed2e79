"""A turn of a reference peer: one event being answered, with what conditions, effects and answers look at."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

E = TypeVar("E", covariant=True)


class Turn(ABC, Generic[E]):
    """An `event` being answered, and the name of the `row` that was taken for it; protocols add their own."""

    # Filled by protocols themselves: one is made for every event.
    __slots__ = ("event", "row")
    event: E
    row: str

    @abstractmethod
    def say(self, reply: Any) -> None:
        """Say what a row answers."""
