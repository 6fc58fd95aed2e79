"""Publisher confirms: what is published on a channel is counted, and confirmed when it was routed."""

from harness.amqp0_9_1.peer.entities import Publication
from harness.amqp0_9_1.peer.events import ChannelState, ContentComplete
from harness.amqp0_9_1.peer.life import is_transacted
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.basic import route_now
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, LifeRow, LifeTurn, Reply
from harness.amqp0_9_1.rabbitmq.routing.exchanges import policy_of
from harness.amqp0_9_1.rabbitmq.timing import later
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic, Confirm, Tx
from harness.peers.rows import answering

LATER = 0.002
"""Seconds in which confirmations are gathered, by the policy."""
Published = LifeTurn[ContentComplete, Publication]


def wants_no_answer(turn: ChannelTurn[Confirm.Select]) -> bool:
    return turn.event.nowait


def begin_confirming(turn: ChannelTurn[Confirm.Select]) -> None:
    """Confirm what is published from now on; once begun, the counting goes on."""
    turn.channel.confirming = True


def is_confirming(turn: ChannelTurn[Tx.Select]) -> bool:
    return turn.channel.confirming


def is_to_be_confirmed(turn: Published) -> bool:
    return turn.subject.channel.confirming


def is_confirmed_later(turn: Published) -> bool:
    return is_to_be_confirmed(turn) and policy_of(turn).confirmations != "one by one"


def count_it(turn: Published) -> None:
    """Give the publication the next number of its channel."""
    channel = turn.subject.channel
    channel.published += 1
    turn.subject.number = channel.published


def confirmation(turn: Published) -> Reply:
    """Answer with Ack, or with Nack where a queue would not have the message."""
    return _confirmation(turn.subject)


def _confirmation(publication: Publication) -> Basic.Ack | Basic.Nack:
    turned_away = publication.message.turned_away
    return (Basic.Nack if turned_away else Basic.Ack)(publication.number)


def gather(turn: Published) -> None:
    """Keep the publication until its confirmation is due."""
    channel = turn.subject.channel
    channel.unconfirmed.append(turn.subject)
    if len(channel.unconfirmed) == 1:
        later(turn, LATER, lambda _: _confirm_all(turn))


def _confirm_all(turn: Published) -> None:
    channel = turn.subject.channel
    gathered, channel.unconfirmed = channel.unconfirmed, []
    if not channel.delivers:
        return
    taken = [each for each in gathered if not each.message.turned_away]
    replies = [_confirmation(each) for each in gathered if each.message.turned_away]
    if policy_of(turn).confirmations == "several at once" and taken:
        replies.append(Basic.Ack(taken[-1].number, multiple=True))
    else:
        replies += [_confirmation(each) for each in reversed(taken)]
    for reply in replies:
        channel.connection.send(channel.number, reply)


_select = Row("confirm.select", ChannelState.OPEN, Confirm.Select)
_published = LifeRow("publication", Publication, ContentComplete)
CONFIRMS = (
    _select("refuses a transacted channel", is_transacted, answer=refuse(PRECONDITION_FAILED)),
    _select("begins without an answer", wants_no_answer, (begin_confirming,)),
    _select("begins", effects=(begin_confirming,), answer=answering(Confirm.SelectOk())),
    Row(
        "tx.select: refuses a channel that confirms",
        ChannelState.OPEN,
        Tx.Select,
        is_confirming,
        answer=refuse(PRECONDITION_FAILED),
    ),
    _published("is confirmed later", is_confirmed_later, (count_it, route_now, gather)),
    _published("is confirmed", is_to_be_confirmed, (count_it, route_now), confirmation),
)
