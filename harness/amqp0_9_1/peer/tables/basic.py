"""The basic class: publishing, Get, and what becomes of delivered messages."""

from __future__ import annotations

from typing import TypeAlias

from harness.amqp0_9_1.peer.consumers import CONSUMERS, someone_consumes_exclusively
from harness.amqp0_9_1.peer.deliveries import (
    enqueue,
    keep,
    settle,
    someone_could_take,
    take_from_queue,
)
from harness.amqp0_9_1.peer.entities import Delivery, Publication
from harness.amqp0_9_1.peer.events import (
    ChannelState,
    ContentComplete,
    Discarded,
    Routing,
)
from harness.amqp0_9_1.peer.life import is_transacted, requeue
from harness.amqp0_9_1.peer.names import exchange_is_missing, use_of_a_queue
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import AnyTurn, ChannelTurn, LifeRow, LifeTurn, Reply, WithContent
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NO_CONSUMERS,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    Basic,
)

OPEN = ChannelState.OPEN
Refusing: TypeAlias = Basic.Reject | Basic.Nack
"""Methods by which a client refuses what was delivered."""


def immediate_is_not_implemented(turn: ChannelTurn[Basic.Publish]) -> bool:
    return turn.event.immediate and turn.policy.immediate == "refuse"


def expect_content(turn: ChannelTurn[Basic.Publish]) -> None:
    turn.channel.publishing = turn.event


def waits_for_a_commit(turn: LifeTurn[ContentComplete, Publication]) -> bool:
    return turn.subject.channel.transacted


def hold_until_commit(turn: LifeTurn[ContentComplete, Publication]) -> None:
    """Make the publication part of the transaction."""
    turn.subject.channel.transaction.append(turn.subject)


def route_now(turn: LifeTurn[ContentComplete, Publication]) -> None:
    route(turn, turn.subject)


def route(turn: AnyTurn, publication: Publication) -> None:
    """Find the queues of a publication and let the rows for routing decide."""
    routing = turn.about(Routing(), publication)
    exchange = turn.host.exchanges.get(publication.method.exchange)
    if exchange is not None:
        strategies = turn.strategies
        matching = strategies.routing[exchange.type]
        names = strategies.queues_for(exchange, publication.message, matching)
        routing.targets = [turn.host.queues[name] for name in names if name in turn.host.queues]
    turn.peer.meet(Publication, routing)


def is_mandatory_and_unroutable(turn: LifeTurn[Routing, Publication]) -> bool:
    return turn.subject.method.mandatory and not turn.targets


def is_immediate_and_nobody_is_ready(turn: LifeTurn[Routing, Publication]) -> bool:
    message = turn.subject.message
    return turn.subject.method.immediate and not any(
        someone_could_take(turn, queue, message) for queue in turn.targets
    )


def is_immediate(turn: LifeTurn[Routing, Publication]) -> bool:
    return turn.subject.method.immediate


def enqueue_where_taken_at_once(turn: LifeTurn[Routing, Publication]) -> None:
    """Add the message to the queues with a consumer ready for it."""
    message = turn.subject.message
    for queue in [each for each in turn.targets if someone_could_take(turn, each, message)]:
        enqueue(turn, queue, message)


def enqueue_everywhere(turn: LifeTurn[Routing, Publication]) -> None:
    for queue in turn.targets:
        enqueue(turn, queue, turn.subject.message)


def return_unroutable(turn: LifeTurn[Routing, Publication]) -> Reply:
    """Answer with Basic.Return; the document has no code for it (0-9-1/basic.publish.mandatory.01)."""
    method, message = turn.subject.method, turn.subject.message
    code = turn.policy.unroutable_code
    return WithContent(
        Basic.Return(code, "no queue is bound for it", method.exchange, method.routing_key), message
    )


def return_without_consumers(turn: LifeTurn[Routing, Publication]) -> Reply:
    method, message = turn.subject.method, turn.subject.message
    text = "no consumer can take it at once"
    return WithContent(Basic.Return(NO_CONSUMERS, text, method.exchange, method.routing_key), message)


_PUBLISH = (
    Row(
        "basic.publish: refuses an exchange that does not exist",
        OPEN,
        Basic.Publish,
        exchange_is_missing,
        answer=refuse(NOT_FOUND),
    ),
    Row(
        "basic.publish: refuses immediate",
        OPEN,
        Basic.Publish,
        immediate_is_not_implemented,
        answer=refuse(NOT_IMPLEMENTED),
    ),
    Row(
        "basic.publish: its content follows",
        OPEN,
        Basic.Publish,
        effects=(expect_content,),
        next=ChannelState.EXPECT_CONTENT_HEADER,
    ),
    LifeRow(
        "basic.publish: waits for the commit",
        Publication,
        ContentComplete,
        waits_for_a_commit,
        (hold_until_commit,),
    ),
    LifeRow("basic.publish: goes to the exchange", Publication, ContentComplete, effects=(route_now,)),
    LifeRow(
        "routing: mandatory and unroutable is returned",
        Publication,
        Routing,
        is_mandatory_and_unroutable,
        answer=return_unroutable,
    ),
    LifeRow(
        "routing: immediate without a ready consumer is returned",
        Publication,
        Routing,
        is_immediate_and_nobody_is_ready,
        answer=return_without_consumers,
    ),
    LifeRow(
        "routing: immediate goes where it is taken at once",
        Publication,
        Routing,
        is_immediate,
        (enqueue_where_taken_at_once,),
    ),
    LifeRow("routing: goes to every queue found", Publication, Routing, effects=(enqueue_everywhere,)),
)


def nothing_is_due(turn: ChannelTurn[Basic.Get]) -> bool:
    return turn.strategies.due(turn.queue, turn.channel) is None


def needs_no_ack(turn: ChannelTurn[Basic.Get]) -> bool:
    return turn.event.no_ack


def take_what_is_due(turn: ChannelTurn[Basic.Get]) -> None:
    entry = turn.strategies.due(turn.queue, turn.channel)
    if entry is not None:
        turn.delivery = take_from_queue(turn, entry, None)


def await_its_acknowledgement(turn: ChannelTurn[Basic.Get]) -> None:
    assert turn.delivery is not None
    keep(turn.delivery)


def get_empty(_: ChannelTurn[Basic.Get]) -> Reply:
    return Basic.GetEmpty()


def get_ok(turn: ChannelTurn[Basic.Get]) -> Reply:
    """Answer with Basic.Get-Ok, the message and the number of those left."""
    delivery = turn.delivery
    if delivery is None:
        return None
    message = delivery.entry.message
    flag = turn.strategies.redelivered(delivery.entry)
    left = len(delivery.entry.queue)
    return WithContent(Basic.GetOk(delivery.tag, flag, message.exchange, message.routing_key, left), message)


_GET = (
    *use_of_a_queue(Basic.Get),
    Row(
        "basic.get: refuses a queue with an exclusive consumer",
        OPEN,
        Basic.Get,
        someone_consumes_exclusively,
        answer=refuse(ACCESS_REFUSED),
    ),
    Row("basic.get: answers that the queue is empty", OPEN, Basic.Get, nothing_is_due, answer=get_empty),
    Row("basic.get: without acknowledgement", OPEN, Basic.Get, needs_no_ack, (take_what_is_due,), get_ok),
    Row(
        "basic.get: awaits acknowledgement",
        OPEN,
        Basic.Get,
        effects=(take_what_is_due, await_its_acknowledgement),
        answer=get_ok,
    ),
)


def tag_is_not_of_a_delivered_message(turn: ChannelTurn[Basic.Ack | Refusing]) -> bool:
    """Say whether no unacknowledged message of this channel has the tag; zero needs multiple."""
    tag = turn.event.delivery_tag
    means_all = tag == 0 and getattr(turn.event, "multiple", False)
    return not means_all and tag not in turn.channel.unacknowledged


def named(turn: ChannelTurn[Basic.Ack | Refusing]) -> list[Delivery]:
    multiple = getattr(turn.event, "multiple", False)
    return turn.strategies.named(turn.channel.unacknowledged, turn.event.delivery_tag, multiple)


def acknowledge(turn: ChannelTurn[Basic.Ack]) -> None:
    for delivery in named(turn):
        settle(delivery)


def hold_acknowledgement(turn: ChannelTurn[Basic.Ack]) -> None:
    """Make the acknowledgement part of the transaction; the tag cannot be used again in it."""
    for delivery in named(turn):
        del turn.channel.unacknowledged[delivery.tag]
        turn.channel.transaction.append(delivery)
        turn.channel.withheld.append(delivery)


def wants_requeue(turn: ChannelTurn[Refusing | Basic.Recover | Basic.RecoverAsync]) -> bool:
    return turn.event.requeue


def requeues_anyway(turn: ChannelTurn[Basic.Reject]) -> bool:
    """Say whether the requeue bit is clear and the policy requeues all the same."""
    return not wants_requeue(turn) and turn.policy.without_requeue == "requeue"


def _others_consume(turn: ChannelTurn[Basic.Reject]) -> bool:
    delivery = turn.channel.unacknowledged[turn.event.delivery_tag]
    return any(each.channel is not turn.channel for each in delivery.entry.queue.consumers)


def requeue_has_no_alternative(turn: ChannelTurn[Basic.Reject]) -> bool:
    """Say whether requeue is set, nobody else consumes, and the policy dead-letters then
    (0-9-1/basic.reject.requeue.01)."""
    return wants_requeue(turn) and turn.policy.rejected == "dead-letter" and not _others_consume(turn)


def requeue_may_come_back(turn: ChannelTurn[Basic.Reject]) -> bool:
    """Say whether requeue is set, nobody else consumes, and the policy redelivers then
    (0-9-1/basic.reject.requeue.01)."""
    return wants_requeue(turn) and turn.policy.rejected == "redeliver" and not _others_consume(turn)


def discard_rejected(turn: ChannelTurn[Refusing]) -> None:
    """Settle the delivery and let the rows for discarded messages decide."""
    for delivery in named(turn):
        settle(delivery)
        turn.peer.meet(Delivery, turn.about(Discarded(), delivery))


def requeue_rejected(turn: ChannelTurn[Refusing]) -> None:
    """Put the message back on its queue."""
    for delivery in named(turn):
        requeue(turn.about(turn.event, delivery))


def keep_off_this_channel(turn: ChannelTurn[Refusing]) -> None:
    """Keep the message from this channel from now on (0-9-1/basic.reject.requeue.01)."""
    for delivery in named(turn):
        delivery.entry.avoid += (turn.channel,)


_ACKNOWLEDGE = (
    Row(
        "basic.ack: refuses a tag of no delivered message",
        OPEN,
        Basic.Ack,
        tag_is_not_of_a_delivered_message,
        answer=refuse(PRECONDITION_FAILED),
    ),
    Row("basic.ack: waits for the commit", OPEN, Basic.Ack, is_transacted, (hold_acknowledgement,)),
    Row("basic.ack: settles", OPEN, Basic.Ack, effects=(acknowledge,)),
    Row(
        "basic.reject: refuses a tag of no delivered message",
        OPEN,
        Basic.Reject,
        tag_is_not_of_a_delivered_message,
        answer=refuse(PRECONDITION_FAILED),
    ),
    Row(
        "basic.reject: without an alternative discards",
        OPEN,
        Basic.Reject,
        requeue_has_no_alternative,
        (discard_rejected,),
    ),
    Row(
        "basic.reject: without an alternative comes back",
        OPEN,
        Basic.Reject,
        requeue_may_come_back,
        (requeue_rejected,),
    ),
    Row(
        "basic.reject: requeues for others",
        OPEN,
        Basic.Reject,
        wants_requeue,
        (keep_off_this_channel, requeue_rejected),
    ),
    Row("basic.reject: comes back without requeue", OPEN, Basic.Reject, requeues_anyway, (requeue_rejected,)),
    Row("basic.reject: discards", OPEN, Basic.Reject, effects=(discard_rejected,)),
)


def requeue_is_for_anyone(turn: ChannelTurn[Basic.Nack]) -> bool:
    """Say whether requeue is set and anyone may get it back (rabbitmq/basic.nack.requeue.01)."""
    return wants_requeue(turn) and turn.policy.rejected == "redeliver"


_NACK = (
    Row(
        "basic.nack: refuses a tag of no delivered message",
        OPEN,
        Basic.Nack,
        tag_is_not_of_a_delivered_message,
        answer=refuse(PRECONDITION_FAILED),
    ),
    Row("basic.nack: requeues for anyone", OPEN, Basic.Nack, requeue_is_for_anyone, (requeue_rejected,)),
    Row(
        "basic.nack: requeues for others",
        OPEN,
        Basic.Nack,
        wants_requeue,
        (keep_off_this_channel, requeue_rejected),
    ),
    Row("basic.nack: discards", OPEN, Basic.Nack, effects=(discard_rejected,)),
)


def recover_async_is_not_implemented(turn: ChannelTurn[Basic.RecoverAsync]) -> bool:
    """Say whether the policy does without Recover-Async (0-9-1/basic.recover-async.01)."""
    return turn.policy.recover_async == "refuse"


def requeue_all(turn: ChannelTurn[object]) -> None:
    """Put every unacknowledged message of the channel back on its queue."""
    for delivery in list(turn.channel.unacknowledged.values()):
        requeue(turn.about(turn.event, delivery))


def return_all_to_their_recipients(turn: ChannelTurn[object]) -> None:
    """Put every unacknowledged message of the channel back, for its original consumer only."""
    for delivery in list(turn.channel.unacknowledged.values()):
        delivery.entry.only = delivery.consumer
        requeue(turn.about(turn.event, delivery))


def recover_ok(_: ChannelTurn[Basic.Recover]) -> Reply:
    """Answer with Basic.Recover-Ok; redeliveries follow it (4.6)."""
    return Basic.RecoverOk()


_RECOVER = (
    Row(
        "basic.recover-async: refuses",
        OPEN,
        Basic.RecoverAsync,
        recover_async_is_not_implemented,
        answer=refuse(NOT_IMPLEMENTED),
    ),
    Row("basic.recover-async: requeues", OPEN, Basic.RecoverAsync, wants_requeue, (requeue_all,)),
    Row(
        "basic.recover-async: redelivers", OPEN, Basic.RecoverAsync, effects=(return_all_to_their_recipients,)
    ),
    Row("basic.recover: requeues", OPEN, Basic.Recover, wants_requeue, (requeue_all,), recover_ok),
    Row(
        "basic.recover: redelivers",
        OPEN,
        Basic.Recover,
        effects=(return_all_to_their_recipients,),
        answer=recover_ok,
    ),
)
BASIC = (*CONSUMERS, *_PUBLISH, *_GET, *_ACKNOWLEDGE, *_NACK, *_RECOVER)
