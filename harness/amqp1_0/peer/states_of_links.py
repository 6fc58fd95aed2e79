"""The states of a link endpoint, for which the document has sentences and no figure (2.6.2 to 2.6.6).

Its handles say where it stands (2.6.2): attached with both, half attached with the input or the output
handle alone, detached with none. Each arrow names the section that tells it; rows are made from them. What
no row permits to say is not said.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from harness.amqp1_0.peer.events import (
    LinkState,
    Saying,
    SayingAttach,
    SayingClosing,
    SayingDetach,
    SayingDetachError,
)
from harness.amqp1_0.peer.turn import LinkRow as Row
from harness.amqp1_0.peer.turn import LinkTurn
from harness.amqp1_0.wire.performatives import Attach, Detach
from harness.peers.rows import AnyRow

DETACHED = LinkState.DETACHED
ATTACH_SENT = LinkState.ATTACH_SENT
ATTACH_RCVD = LinkState.ATTACH_RCVD
ATTACHED = LinkState.ATTACHED
DETACH_SENT = LinkState.DETACH_SENT
DETACH_RCVD = LinkState.DETACH_RCVD
ERRED = LinkState.ERRED
SUSPENDED = LinkState.SUSPENDED


class Arrow(NamedTuple):
    """What leads from a state to another: R received, S sent; `told` in a section."""

    at: LinkState
    trigger: Literal["R:ATTACH", "S:ATTACH", "R:DETACH", "S:DETACH", "S:DETACH(closed)", "S:DETACH(error)"]
    to: LinkState
    told: str


ARROWS: Final = (
    Arrow(DETACHED, "R:ATTACH", ATTACH_RCVD, "2.6.3"),
    Arrow(DETACHED, "S:ATTACH", ATTACH_SENT, "2.6.3"),
    Arrow(ATTACH_RCVD, "S:ATTACH", ATTACHED, "2.6.3"),
    Arrow(ATTACH_SENT, "R:ATTACH", ATTACHED, "2.6.3"),
    Arrow(ATTACHED, "R:DETACH", DETACH_RCVD, "2.6.4"),
    Arrow(ATTACHED, "S:DETACH(error)", ERRED, "2.6.5"),
    Arrow(ATTACHED, "S:DETACH", DETACH_SENT, "2.6.4"),
    Arrow(ATTACH_SENT, "S:DETACH(error)", ERRED, "2.6.5"),
    Arrow(DETACH_RCVD, "S:DETACH(closed)", DETACHED, "2.6.6"),
    Arrow(DETACH_RCVD, "S:DETACH", SUSPENDED, "2.6.4"),
    Arrow(DETACH_SENT, "R:DETACH", SUSPENDED, "2.6.4"),
    Arrow(DETACH_SENT, "S:ATTACH", ATTACHED, "2.6.4"),
    Arrow(ERRED, "R:DETACH", DETACHED, "2.6.5"),
    Arrow(SUSPENDED, "R:ATTACH", ATTACH_RCVD, "2.6.4"),
    Arrow(SUSPENDED, "S:ATTACH", ATTACH_SENT, "2.6.4"),
)
"""Sections 2.6.3 to 2.6.6. DETACHED is an endpoint that was never there or is destroyed, SUSPENDED one that
lives on without handles; the attach behind our own detach, before the partner's, is that of figure 2.38."""


# -- rows from the arrows ------------------------------------------------------------------------------


def say(turn: LinkTurn[Saying]) -> None:
    """Say it on the session, if that may."""
    turn.connection.say_on(turn.session, turn.event.said)


def stop(turn: LinkTurn[Saying]) -> None:
    """Send nothing more."""
    turn.link.credit = 0


def keep_name(turn: LinkTurn[Detach]) -> None:
    """Remember a link in error that the client has not closed: it can be resumed, not reattached (2.6.5)."""
    key = turn.link.key
    if key is not None and not turn.event.closed and len(turn.session.errant) < turn.peer.limits.links:
        turn.session.errant.add(key[2])


Made = Callable[[str, LinkState, LinkState], AnyRow]
_ROWS: Final[Mapping[str, Made]] = {
    "R:ATTACH": lambda name, at, to: Row(name, at, Attach, next=to),
    "S:ATTACH": lambda name, at, to: Row(name, at, SayingAttach, effects=(say,), next=to),
    "R:DETACH": lambda name, at, to: Row(
        name, at, Detach, effects=(keep_name,) if at is ERRED else (), next=to
    ),
    "S:DETACH": lambda name, at, to: Row(name, at, SayingDetach, effects=(say,), next=to),
    "S:DETACH(closed)": lambda name, at, to: Row(name, at, SayingClosing, effects=(say,), next=to),
    "S:DETACH(error)": lambda name, at, to: Row(name, at, SayingDetachError, effects=(stop, say), next=to),
}


def _row(arrow: Arrow) -> AnyRow:
    return _ROWS[arrow.trigger](f"{arrow.at.name}: {arrow.trigger}", arrow.at, arrow.to)


RECEIVED: tuple[AnyRow, ...] = tuple(_row(each) for each in ARROWS if each.trigger.startswith("R:"))
SAID: tuple[AnyRow, ...] = tuple(_row(each) for each in ARROWS if each.trigger.startswith("S:"))
