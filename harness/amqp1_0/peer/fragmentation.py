"""A message in several transfers as the document draws it: figures 2.57 and 2.58 of section 2.6.14."""

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple


class Sent(Enum):
    """Where a message stands that goes out."""

    NOT_SENT = "nothing sent"
    SENDING = "more is to be sent"
    SENT = "all sent"
    ABORTED = "given up"


class Received(Enum):
    """Where a message stands that comes in."""

    NOT_RCVD = "nothing received"
    RECEIVING = "more is to come"
    RECEIVED = "all received"
    ABORTED = "given up by the sender"


class Outgoing(NamedTuple):
    """An arrow of figure 2.57: a transfer that is sent."""

    at: Sent
    more: bool
    aborted: bool
    to: Sent


class Incoming(NamedTuple):
    """An arrow of figure 2.58: a transfer that is received."""

    at: Received
    more: bool
    aborted: bool
    to: Received


OUTGOING: Final = (
    Outgoing(Sent.NOT_SENT, more=True, aborted=False, to=Sent.SENDING),
    Outgoing(Sent.NOT_SENT, more=False, aborted=False, to=Sent.SENT),
    Outgoing(Sent.SENDING, more=True, aborted=False, to=Sent.SENDING),
    Outgoing(Sent.SENDING, more=False, aborted=False, to=Sent.SENT),
    Outgoing(Sent.SENDING, more=False, aborted=True, to=Sent.ABORTED),
)
"""Figure 2.57."""
INCOMING: Final = (
    Incoming(Received.NOT_RCVD, more=True, aborted=False, to=Received.RECEIVING),
    Incoming(Received.NOT_RCVD, more=False, aborted=False, to=Received.RECEIVED),
    Incoming(Received.RECEIVING, more=True, aborted=False, to=Received.RECEIVING),
    Incoming(Received.RECEIVING, more=False, aborted=False, to=Received.RECEIVED),
    Incoming(Received.RECEIVING, more=False, aborted=True, to=Received.ABORTED),
)
"""Figure 2.58."""


def sending(pieces: int) -> Iterator[Outgoing]:
    """Give the arrows on which a message in so many pieces is sent."""
    at = Sent.NOT_SENT
    for left in reversed(range(pieces)):
        to = Sent.SENDING if left else Sent.SENT
        yield next(each for each in OUTGOING if (each.at, each.to) == (at, to))
        at = to


def receiving(begun: bool, more: bool, aborted: bool) -> Received:
    """Say where a transfer leads, of a message that is `begun` or not.

    Of one that is aborted, what it says of more means nothing (2.7.5); where it is the first as well, which
    the figure does not have, it begins what it aborts.
    """
    at = Received.RECEIVING if begun or aborted else Received.NOT_RCVD
    said = (at, more and not aborted, aborted)
    return next(each.to for each in INCOMING if (each.at, each.more, each.aborted) == said)
