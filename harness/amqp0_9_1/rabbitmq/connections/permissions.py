"""What a user may do in a virtual host: everything, or for the one user without permissions nothing."""

from typing import Any, Final

from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, Basic, Exchange, Queue

POWERLESS: Final = "powerless"
"""The user who may enter a virtual host and use nothing there; the password is the same."""


def may_do_nothing(turn: ChannelTurn[object]) -> bool:
    return turn.connection.user == POWERLESS


def may_not_look(turn: ChannelTurn[Any]) -> bool:
    return may_do_nothing(turn) and turn.event.passive


def may_not_configure(turn: ChannelTurn[Any]) -> bool:
    """Say whether something would be made or deleted, or only looked for."""
    return may_do_nothing(turn) and not getattr(turn.event, "passive", False)


_refused = refuse(ACCESS_REFUSED)
PERMISSIONS = (
    Row(
        "access: refuses to look",
        ChannelState.OPEN,
        (Queue.Declare, Exchange.Declare),
        may_not_look,
        answer=_refused,
    ),
    Row(
        "access: refuses to configure",
        ChannelState.OPEN,
        (Queue.Declare, Exchange.Declare, Queue.Delete, Exchange.Delete),
        may_not_configure,
        answer=_refused,
    ),
    Row(
        "access: refuses to bind",
        ChannelState.OPEN,
        (Queue.Bind, Queue.Unbind, Exchange.Bind, Exchange.Unbind),
        may_do_nothing,
        answer=_refused,
    ),
    Row("access: refuses to write", ChannelState.OPEN, Basic.Publish, may_do_nothing, answer=_refused),
    Row(
        "access: refuses to read",
        ChannelState.OPEN,
        (Basic.Get, Basic.Consume, Queue.Purge),
        may_do_nothing,
        answer=_refused,
    ),
)
