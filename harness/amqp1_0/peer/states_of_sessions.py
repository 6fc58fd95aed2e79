"""The session state machine as the document draws it: figure 2.30 of section 2.5.5, and what its text allows.

Rows are made from both: where a begin or an end that arrives leads, what may be said, and where it leads.
What no row permits to say is not said.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from harness.amqp1_0.peer import traffic, windows
from harness.amqp1_0.peer.events import (
    Saying,
    SayingBegin,
    SayingEnd,
    SayingEndError,
    SayingFrame,
    SessionState,
)
from harness.amqp1_0.peer.turn import SessionRow as Row
from harness.amqp1_0.peer.turn import SessionTurn
from harness.amqp1_0.wire.performatives import Begin, End
from harness.peers.rows import AnyRow

UNMAPPED = SessionState.UNMAPPED
BEGIN_SENT = SessionState.BEGIN_SENT
BEGIN_RCVD = SessionState.BEGIN_RCVD
MAPPED = SessionState.MAPPED
END_SENT = SessionState.END_SENT
END_RCVD = SessionState.END_RCVD
DISCARDING = SessionState.DISCARDING


class Legal(NamedTuple):
    """What the text of section 2.5.5 says of frames in a state, other than the arrows of its figure."""

    sends: bool
    receives: bool


LEGAL: Final[Mapping[SessionState, Legal]] = {
    UNMAPPED: Legal(sends=False, receives=False),
    BEGIN_SENT: Legal(sends=True, receives=False),
    BEGIN_RCVD: Legal(sends=False, receives=True),
    MAPPED: Legal(sends=True, receives=True),
    END_SENT: Legal(sends=False, receives=True),
    END_RCVD: Legal(sends=True, receives=False),
    DISCARDING: Legal(sends=False, receives=True),
}
"""Section 2.5.5."""


class Arrow(NamedTuple):
    """An arrow of figure 2.30: R received, S sent."""

    at: SessionState
    trigger: Literal["R:BEGIN", "S:BEGIN", "R:END", "S:END", "S:END(error)"]
    to: SessionState


ARROWS: Final = (
    Arrow(UNMAPPED, "S:BEGIN", BEGIN_SENT),
    Arrow(UNMAPPED, "R:BEGIN", BEGIN_RCVD),
    Arrow(BEGIN_SENT, "R:BEGIN", MAPPED),
    Arrow(BEGIN_RCVD, "S:BEGIN", MAPPED),
    Arrow(MAPPED, "S:END(error)", DISCARDING),
    Arrow(MAPPED, "S:END", END_SENT),
    Arrow(MAPPED, "R:END", END_RCVD),
    Arrow(DISCARDING, "R:END", UNMAPPED),
    Arrow(END_SENT, "R:END", UNMAPPED),
    Arrow(END_RCVD, "S:END", UNMAPPED),
)
"""Figure 2.30."""


# -- rows from the figure ------------------------------------------------------------------------------


def say(turn: SessionTurn[Saying]) -> None:
    turn.connection.say(turn.event.said, turn.session.channel, turn.event.payload)


def map_it(turn: SessionTurn[Begin]) -> None:
    """Give the session a channel in either direction, where it has none."""
    if turn.session.state is UNMAPPED:
        traffic.map_session(turn.peer, turn.session)
    windows.learn_begin(turn.session, turn.event)


def let_go(turn: SessionTurn[object]) -> None:
    """Let the links go, and what they have not settled go back."""
    traffic.let_go(turn.peer, turn.session)


def unmap(turn: SessionTurn[object]) -> None:
    """Free the channel: the session is no more."""
    traffic.unmap_session(turn.session)


Made = Callable[[str, SessionState, SessionState], AnyRow]
_ROWS: Final[Mapping[str, Made]] = {
    "R:BEGIN": lambda name, at, to: Row(name, at, Begin, effects=(map_it,), next=to),
    "S:BEGIN": lambda name, at, to: Row(name, at, SayingBegin, effects=(say,), next=to),
    "R:END": lambda name, at, to: Row(name, at, End, effects=(unmap,) if to is UNMAPPED else (), next=to),
    "S:END": lambda name, at, to: Row(
        name, at, SayingEnd, effects=(say, unmap) if to is UNMAPPED else (let_go, say), next=to
    ),
    "S:END(error)": lambda name, at, to: Row(name, at, SayingEndError, effects=(let_go, say), next=to),
}


def _row(arrow: Arrow) -> AnyRow:
    return _ROWS[arrow.trigger](f"{arrow.at.name}: {arrow.trigger}", arrow.at, arrow.to)


RECEIVED: tuple[AnyRow, ...] = tuple(_row(each) for each in ARROWS if each.trigger.startswith("R:"))
SAID: tuple[AnyRow, ...] = (
    *(_row(each) for each in ARROWS if each.trigger.startswith("S:")),
    *(
        Row(f"{state.name}: S:frame", state, SayingFrame, effects=(say,))
        for state, legal in LEGAL.items()
        if legal.sends
    ),
)
