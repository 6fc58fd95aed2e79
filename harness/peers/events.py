"""What can happen to every reference peer, whatever protocol it speaks: time passes, and somebody goes."""


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
