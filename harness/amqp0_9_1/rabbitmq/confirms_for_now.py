"""For now: messages are confirmed."""

from harness.amqp0_9_1.peer.entities import Channel, Publication
from harness.amqp0_9_1.peer.events import ChannelState, ContentComplete
from harness.amqp0_9_1.peer.tables.basic import route_now
from harness.amqp0_9_1.peer.turn import ChannelRow, ChannelTurn, LifeRow, LifeTurn, Reply
from harness.amqp0_9_1.wire.vocabulary import Basic, Confirm
from harness.peers.rows import answering

_CONFIRMING: dict[Channel, int] = {}


def begin(turn: ChannelTurn[Confirm.Select]) -> None:
    _CONFIRMING[turn.channel] = 0


def confirms(turn: LifeTurn[ContentComplete, Publication]) -> bool:
    return turn.subject.channel in _CONFIRMING


def confirm(turn: LifeTurn[ContentComplete, Publication]) -> Reply:
    channel = turn.subject.channel
    _CONFIRMING[channel] += 1
    kind = Basic.Nack if turn.subject.message.turned_away else Basic.Ack
    return kind(_CONFIRMING[channel])


CONFIRMS = (
    ChannelRow(
        "confirm.select: begins",
        ChannelState.OPEN,
        Confirm.Select,
        effects=(begin,),
        answer=answering(Confirm.SelectOk()),
    ),
    LifeRow("confirm: for now", Publication, ContentComplete, confirms, (route_now,), confirm),
)
