"""The connection state machine as the document draws it: figures 2.23 and 2.24 of sections 2.4.6 and 2.4.7.

`LEGAL` is figure 2.24 and `ARROWS` figure 2.23. Rows are made from both: what may be said, and where it
leads; where a header, an open or a close that arrives leads. What no row permits to send is not sent.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from harness.amqp1_0.peer.events import (
    AmqpHeader,
    ConnectionState,
    ForeignHeader,
    SaslHeader,
    Sending,
    SendingClose,
    SendingError,
    SendingFrame,
    SendingHeader,
    SendingOpen,
)
from harness.amqp1_0.peer.turn import ConnectionRow as Row
from harness.amqp1_0.peer.turn import ConnectionTurn
from harness.amqp1_0.wire.performatives import Close, Open
from harness.peers.rows import AnyRow

START = ConnectionState.START
HDR_RCVD = ConnectionState.HDR_RCVD
HDR_SENT = ConnectionState.HDR_SENT
HDR_EXCH = ConnectionState.HDR_EXCH
OPEN_RCVD = ConnectionState.OPEN_RCVD
OPEN_SENT = ConnectionState.OPEN_SENT
OPEN_PIPE = ConnectionState.OPEN_PIPE
CLOSE_PIPE = ConnectionState.CLOSE_PIPE
OC_PIPE = ConnectionState.OC_PIPE
OPENED = ConnectionState.OPENED
CLOSE_RCVD = ConnectionState.CLOSE_RCVD
CLOSE_SENT = ConnectionState.CLOSE_SENT
DISCARDING = ConnectionState.DISCARDING
END = ConnectionState.END

Kinds = Literal["HDR", "OPEN", "any", "known", "none"]
Action = Literal["", "TCP Close", "TCP Close for Read", "TCP Close for Write"]


class Legal(NamedTuple):
    """A row of figure 2.24; "known" are frames known a priori to conform to the partner's limits."""

    sends: Kinds
    receives: Kinds
    action: Action = ""


LEGAL: Final[Mapping[ConnectionState, Legal]] = {
    START: Legal("HDR", "HDR"),
    HDR_RCVD: Legal("HDR", "OPEN"),
    HDR_SENT: Legal("OPEN", "HDR"),
    HDR_EXCH: Legal("OPEN", "OPEN"),
    OPEN_RCVD: Legal("OPEN", "any"),
    OPEN_SENT: Legal("known", "OPEN"),
    OPEN_PIPE: Legal("known", "HDR"),
    CLOSE_PIPE: Legal("none", "OPEN", "TCP Close for Write"),
    OC_PIPE: Legal("none", "HDR", "TCP Close for Write"),
    OPENED: Legal("any", "any"),
    CLOSE_RCVD: Legal("any", "none", "TCP Close for Read"),
    CLOSE_SENT: Legal("none", "any", "TCP Close for Write"),
    DISCARDING: Legal("none", "any", "TCP Close for Write"),
    END: Legal("none", "none", "TCP Close"),
}
"""Figure 2.24."""


class Arrow(NamedTuple):
    """An arrow of figure 2.23: R received, S sent; "R:HDR!" is a header that differs from ours."""

    at: ConnectionState
    trigger: Literal["R:HDR", "R:HDR!", "S:HDR", "S:HDR!", "R:OPEN", "S:OPEN", "R:CLOSE", "S:CLOSE"]
    to: ConnectionState


ARROWS: Final = (
    Arrow(START, "R:HDR", HDR_RCVD),
    Arrow(START, "S:HDR", HDR_SENT),
    Arrow(HDR_RCVD, "S:HDR!", END),
    Arrow(HDR_RCVD, "S:HDR", HDR_EXCH),
    Arrow(HDR_SENT, "R:HDR!", END),
    Arrow(HDR_SENT, "R:HDR", HDR_EXCH),
    Arrow(HDR_SENT, "S:OPEN", OPEN_PIPE),
    Arrow(HDR_EXCH, "R:OPEN", OPEN_RCVD),
    Arrow(HDR_EXCH, "S:OPEN", OPEN_SENT),
    Arrow(OPEN_PIPE, "R:HDR!", END),
    Arrow(OPEN_PIPE, "R:HDR", OPEN_SENT),
    Arrow(OPEN_PIPE, "S:CLOSE", OC_PIPE),
    Arrow(OPEN_RCVD, "S:OPEN", OPENED),
    Arrow(OPEN_SENT, "R:OPEN", OPENED),
    Arrow(OPEN_SENT, "S:CLOSE", CLOSE_PIPE),
    Arrow(OC_PIPE, "R:HDR!", END),
    Arrow(OC_PIPE, "R:HDR", CLOSE_PIPE),
    Arrow(CLOSE_PIPE, "R:OPEN", CLOSE_SENT),
    Arrow(OPENED, "R:CLOSE", CLOSE_RCVD),
    Arrow(OPENED, "S:CLOSE", CLOSE_SENT),
    Arrow(CLOSE_RCVD, "S:CLOSE", END),
    Arrow(CLOSE_SENT, "R:CLOSE", END),
    Arrow(DISCARDING, "R:CLOSE", END),
)
"""Figure 2.23, with DISCARDING for the variant of CLOSE_SENT that its text describes."""


# -- rows from the figures -----------------------------------------------------------------------------


def write(turn: ConnectionTurn[Sending]) -> None:
    turn.connection.put(turn.event.octets)


def stand_by_our_open(turn: ConnectionTurn[SendingOpen]) -> None:
    """Hold to our limits from here on: the client may know them."""
    turn.connection.stand_by_our_open()


def take_limits(turn: ConnectionTurn[Open]) -> None:
    """Keep within what the client accepts, from here on (2.4.1)."""
    turn.connection.take_limits(turn.event)


def differs_from_theirs(turn: ConnectionTurn[SendingHeader]) -> bool:
    return turn.event.octets != turn.connection.header


Made = Callable[[str, ConnectionState, ConnectionState], AnyRow]
_ANY_HEADER = (AmqpHeader, SaslHeader, ForeignHeader)
_ROWS: Final[Mapping[str, Made]] = {
    # In START there is none of ours yet that it could differ from.
    "R:HDR": lambda name, at, to: Row(name, at, _ANY_HEADER if at is START else AmqpHeader, next=to),
    "R:HDR!": lambda name, at, to: Row(name, at, (SaslHeader, ForeignHeader), next=to),
    "S:HDR": lambda name, at, to: Row(name, at, SendingHeader, effects=(write,), next=to),
    "S:HDR!": lambda name, at, to: Row(name, at, SendingHeader, differs_from_theirs, (write,), next=to),
    "R:OPEN": lambda name, at, to: Row(name, at, Open, effects=(take_limits,), next=to),
    "S:OPEN": lambda name, at, to: Row(name, at, SendingOpen, effects=(write, stand_by_our_open), next=to),
    "R:CLOSE": lambda name, at, to: Row(name, at, Close, next=to),
    "S:CLOSE": lambda name, at, to: Row(name, at, (SendingClose, SendingError), effects=(write,), next=to),
}


def _row(arrow: Arrow) -> AnyRow:
    return _ROWS[arrow.trigger](f"{arrow.at.name}: {arrow.trigger}", arrow.at, arrow.to)


ERROR_IS_SENT = Row(
    "OPENED: S:CLOSE because of an error", OPENED, SendingError, effects=(write,), next=DISCARDING
)
"""The variant of OPENED's arrow that section 2.4.6 has for DISCARDING."""
FRAMES_ARE_SENT = tuple(
    Row(f"{state.name}: S:frame", state, SendingFrame, effects=(write,))
    for state, legal in LEGAL.items()
    if legal.sends in ("any", "known")
)
SENT = (ERROR_IS_SENT, *(_row(each) for each in ARROWS if each.trigger.startswith("S:")), *FRAMES_ARE_SENT)
RECEIVED = tuple(_row(each) for each in ARROWS if each.trigger.startswith("R:"))
