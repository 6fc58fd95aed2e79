"""What can happen to every reference peer, whatever it speaks, and its turn when something does."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

E = TypeVar("E", covariant=True)


class Event:
    """Something that happened, other than that the client said something."""

    __slots__ = ()


class Waited(Event):
    """The time a state lasts at most is over."""


class Silence(Event):
    """Nothing arrived for longer than the peer puts up with."""


class HungUp(Event):
    """The client's side of the socket is gone."""


class Restarting(Event):
    """The server goes down and comes up again."""


class Turn(ABC, Generic[E]):
    """An `event` being answered, and the name of the `row` that was taken for it; protocols add their own."""

    # Filled by protocols themselves: one is made for every event.
    __slots__ = ("event", "row")
    event: E
    row: str

    @abstractmethod
    def say(self, reply: Any) -> None:
        """Say what a row answers."""
