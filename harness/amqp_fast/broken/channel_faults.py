"""Faults of channels: what acknowledging, committing, rolling back and closing do in peers that do it wrong.

Each is an effect, an answer or a strategy for a row of `harness.amqp_fast.peer.tables.channel`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.peer.entities import Delivery
from harness.amqp_fast.peer.events import ChannelState
from harness.amqp_fast.peer.refusals import CHANNEL, NOT_VALID_NOW, refuses
from harness.amqp_fast.peer.tables import channel as rows
from harness.amqp_fast.peer.tables import sending
from harness.amqp_fast.peer.traffic import give_back, route, settle
from harness.amqp_fast.peer.turn import Reply, Row
from harness.amqp_fast.wire.vocabulary import OK, QUEUE, TOPIC, Channel

Effect = Callable[[AnyTurn], None]


def nothing(_: AnyTurn) -> None:
    """Do nothing at all."""


def on_all_channels(effect: Effect) -> Effect:
    """Do to all channels of the connection what is meant for one."""

    def everywhere(turn: AnyTurn) -> None:
        own = turn.channel
        for each in list(turn.connection.channels.values()):
            turn.channel = each
            effect(turn)
        turn.channel = own

    return everywhere


# -- answers ---------------------------------------------------------------------------------------------


def confirmed_always(turn: AnyTurn) -> Reply:
    """Confirm whether or not that was asked for."""
    return (Channel.Reply(turn.channel.id, turn.event.confirm_tag, OK),)


# -- transactions ----------------------------------------------------------------------------------------


def send_at_once(turn: AnyTurn) -> None:
    """Hand a message on, transaction or not."""
    message, event, host = sending.whole(turn), turn.event, turn.connection.host
    assert message is not None
    assert host is not None
    route(turn.peer, host, event.service_type, event.dest_name, message)


def send_first_at_once(turn: AnyTurn) -> None:
    """Hand the first message of a transaction on at once, as if it were what begins it."""
    if turn.channel.transacted and not turn.channel.sent:
        send_at_once(turn)
        message = sending.whole(turn)
        assert message is not None
        turn.channel.sent.append((0, b"", message))
    else:
        sending.send(turn)


def send_to_topics_at_once(turn: AnyTurn) -> None:
    """Keep what goes to queues until the commit, and nothing else."""
    (send_at_once if turn.event.service_type == TOPIC else sending.send)(turn)


def transacts_no_more(turn: AnyTurn) -> None:
    """Let the channel have no further transaction."""
    turn.channel.transacted = False


def commit_in_reverse(turn: AnyTurn) -> None:
    """Hand on what was sent from the last to the first."""
    turn.channel.sent.reverse()
    rows.commit(turn)


def commit_one(turn: AnyTurn) -> None:
    """Hand on the first message of a transaction alone."""
    del turn.channel.sent[1:]
    rows.commit(turn)


def commit_queues(turn: AnyTurn) -> None:
    """Hand on what was sent to queues, and nothing else."""
    turn.channel.sent[:] = [each for each in turn.channel.sent if each[0] == QUEUE]
    rows.commit(turn)


def commit_and_keep(turn: AnyTurn) -> None:
    """Hand on what was sent, and do so again with the next commit."""
    kept = list(turn.channel.sent)
    rows.commit(turn)
    turn.channel.sent.extend(kept)


def commit_sends(turn: AnyTurn) -> None:
    """Hand on what was sent, and leave what was acknowledged as it was."""
    acknowledged = [each for each in turn.channel.unacknowledged if each.acknowledged]
    for each in acknowledged:
        turn.channel.unacknowledged.remove(each)
    rows.commit(turn)
    turn.channel.unacknowledged.extend(acknowledged)


def commit_acks(turn: AnyTurn) -> None:
    """Settle what was acknowledged, and forget what was sent."""
    turn.channel.sent.clear()
    rows.commit(turn)


def give_back_acknowledged(turn: AnyTurn) -> None:
    """Give back what the transaction acknowledged, as a rollback does, and hand on what it sent."""
    returned = [each for each in turn.channel.unacknowledged if each.acknowledged]
    turn.channel.unacknowledged = [each for each in turn.channel.unacknowledged if each not in returned]
    give_back(returned)
    rows.commit(turn)


def roll_back_sends(turn: AnyTurn) -> None:
    """Forget what was sent, and nothing else."""
    turn.channel.sent.clear()


def roll_back_acks(turn: AnyTurn) -> None:
    """Give back what was received, and leave what was sent."""
    sent = list(turn.channel.sent)
    rows.roll_back(turn)
    turn.channel.sent.extend(sent)


def roll_back_and_settle(turn: AnyTurn) -> None:
    """Forget what was sent, and settle what was acknowledged."""
    turn.channel.sent.clear()
    settle(turn.peer, turn.channel, [each for each in turn.channel.unacknowledged if each.acknowledged])


def roll_back_and_drop(turn: AnyTurn) -> None:
    """Forget what was sent, and what was delivered."""
    turn.channel.sent.clear()
    settle(turn.peer, turn.channel, turn.channel.unacknowledged)


def roll_back_queues(turn: AnyTurn) -> None:
    """Forget what was sent to queues, and hand on the rest."""
    turn.channel.sent[:] = [each for each in turn.channel.sent if each[0] == TOPIC]
    rows.commit(turn)


def roll_back_and_reach(turn: AnyTurn) -> None:
    """Roll back, and take what this connection sent before out of the queues, committed or not."""
    rows.roll_back(turn)
    assert turn.connection.host is not None
    for queue in turn.connection.host.queues.values():
        others = [each for each in queue.messages if each.message.sender != turn.connection.number]
        queue.messages.clear()
        queue.messages.extend(others)


# -- acknowledging ---------------------------------------------------------------------------------------


def below(unacknowledged: Sequence[Delivery], number: int) -> list[Delivery]:
    """Cover the deliveries before the number, and not that itself."""
    return [each for each in unacknowledged if each.number < number]


def exactly(unacknowledged: Sequence[Delivery], number: int) -> list[Delivery]:
    """Cover the delivery with the number alone."""
    return [each for each in unacknowledged if each.number == number]


def everything(unacknowledged: Sequence[Delivery], _: int) -> list[Delivery]:
    """Cover all deliveries, whatever their numbers."""
    return list(unacknowledged)


def nobody(_: Sequence[Delivery], __: int) -> list[Delivery]:
    """Cover no delivery."""
    return []


def of_one_handle(unacknowledged: Sequence[Delivery], number: int) -> list[Delivery]:
    """Cover the deliveries of the handle alone that had the last one with a number up to this."""
    covered = [each for each in unacknowledged if each.number <= number]
    return [each for each in covered if each.consumer.handle is covered[-1].consumer.handle]


def up_to_what_exists(unacknowledged: Sequence[Delivery], number: int) -> list[Delivery]:
    """Cover deliveries only where one has the number."""
    exists = any(each.number == number for each in unacknowledged)
    return [each for each in unacknowledged if exists and each.number <= number]


def lose_unacknowledged(turn: AnyTurn) -> None:
    """Settle all that was delivered on the channel."""
    settle(turn.peer, turn.channel, turn.channel.unacknowledged)


# -- closing ---------------------------------------------------------------------------------------------


def close_and_commit(turn: AnyTurn) -> None:
    """Commit, and then close the channel."""
    rows.commit(turn)
    rows.close(turn)


def close_and_keep_handles(turn: AnyTurn) -> None:
    """Close the channel, and leave its handles open."""
    handles = dict(turn.channel.handles)
    turn.channel.handles.clear()
    rows.close(turn)
    turn.channel.handles.update(handles)


def acknowledge_in_advance(turn: AnyTurn) -> None:
    """Take what comes on the channel later as acknowledged, too."""
    rows.acknowledge(turn)
    for handle in turn.channel.handles.values():
        for consumer in handle.consumers:
            consumer.no_ack = True


def covers_nothing(turn: AnyTurn) -> bool:
    """No delivery has a number up to that of the ACK."""
    return not any(each.number <= turn.event.message_nbr for each in turn.channel.unacknowledged)


REFUSES_WHAT_COVERS_NOTHING: Row[Channel.Ack] = Row(
    "channel ack: of nothing is refused",
    ChannelState.OPEN,
    Channel.Ack,
    covers_nothing,
    (refuses(NOT_VALID_NOW, "nothing to acknowledge", CHANNEL),),
)
