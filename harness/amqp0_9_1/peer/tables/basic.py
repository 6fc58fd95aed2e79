"""The basic class: publishing, Get, and what becomes of delivered messages."""

from typing import TypeAlias

from harness.amqp0_9_1.peer.consumers import CONSUMERS, someone_consumes_exclusively
from harness.amqp0_9_1.peer.deliveries import enqueue, keep, settle, someone_could_take, take_from_queue
from harness.amqp0_9_1.peer.entities import Delivery, Publication
from harness.amqp0_9_1.peer.events import ChannelState, ContentComplete, Discarded, Routing
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
from harness.peers.rows import answering

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
    turn.subject.channel.transaction.append(turn.subject)


def route_now(turn: LifeTurn[ContentComplete, Publication]) -> None:
    route(turn, turn.subject)


def route(turn: AnyTurn, publication: Publication) -> None:
    """Find the queues of a publication and let the rows for routing decide."""
    routing = turn.about(Routing(), publication)
    routing.targets = turn.strategies.reached(turn.host, publication.message, turn.strategies)
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


_publish = Row("basic.publish", OPEN, Basic.Publish)
_publish_publication = LifeRow("basic.publish", Publication, ContentComplete)
_routing = LifeRow("routing", Publication, Routing)
_PUBLISH = (
    _publish("refuses an exchange that does not exist", exchange_is_missing, answer=refuse(NOT_FOUND)),
    _publish("refuses immediate", immediate_is_not_implemented, answer=refuse(NOT_IMPLEMENTED)),
    _publish("its content follows", effects=(expect_content,), next=ChannelState.EXPECT_CONTENT_HEADER),
    _publish_publication("waits for the commit", waits_for_a_commit, (hold_until_commit,)),
    _publish_publication("goes to the exchange", effects=(route_now,)),
    _routing("mandatory and unroutable is returned", is_mandatory_and_unroutable, answer=return_unroutable),
    _routing(
        "immediate without a ready consumer is returned",
        is_immediate_and_nobody_is_ready,
        answer=return_without_consumers,
    ),
    _routing("immediate goes where it is taken at once", is_immediate, (enqueue_where_taken_at_once,)),
    _routing("goes to every queue found", effects=(enqueue_everywhere,)),
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


get_empty = answering(Basic.GetEmpty())


def get_ok(turn: ChannelTurn[Basic.Get]) -> Reply:
    """Answer with Basic.Get-Ok, the message and the number of those left."""
    delivery = turn.delivery
    if delivery is None:
        return None
    message = delivery.entry.message
    flag = turn.strategies.redelivered(delivery.entry)
    left = len(delivery.entry.queue)
    return WithContent(Basic.GetOk(delivery.tag, flag, message.exchange, message.routing_key, left), message)


_get = Row("basic.get", OPEN, Basic.Get)
_GET = (
    *use_of_a_queue(Basic.Get),
    _get(
        "refuses a queue with an exclusive consumer",
        someone_consumes_exclusively,
        answer=refuse(ACCESS_REFUSED),
    ),
    _get("answers that the queue is empty", nothing_is_due, answer=get_empty),
    _get("without acknowledgement", needs_no_ack, (take_what_is_due,), get_ok),
    _get("awaits acknowledgement", effects=(take_what_is_due, await_its_acknowledgement), answer=get_ok),
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
    return wants_requeue(turn) and turn.policy.rejected == "dead-letter" and not _others_consume(turn)


def requeue_may_come_back(turn: ChannelTurn[Basic.Reject]) -> bool:
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


_ack = Row("basic.ack", OPEN, Basic.Ack)
_reject = Row("basic.reject", OPEN, Basic.Reject)
_ACKNOWLEDGE = (
    _ack(
        "refuses a tag of no delivered message",
        tag_is_not_of_a_delivered_message,
        answer=refuse(PRECONDITION_FAILED),
    ),
    _ack("waits for the commit", is_transacted, (hold_acknowledgement,)),
    _ack("settles", effects=(acknowledge,)),
    _reject(
        "refuses a tag of no delivered message",
        tag_is_not_of_a_delivered_message,
        answer=refuse(PRECONDITION_FAILED),
    ),
    _reject("without an alternative discards", requeue_has_no_alternative, (discard_rejected,)),
    _reject("without an alternative comes back", requeue_may_come_back, (requeue_rejected,)),
    _reject("requeues for others", wants_requeue, (keep_off_this_channel, requeue_rejected)),
    _reject("comes back without requeue", requeues_anyway, (requeue_rejected,)),
    _reject("discards", effects=(discard_rejected,)),
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


recover_ok = answering(Basic.RecoverOk())

_recover_async = Row("basic.recover-async", OPEN, Basic.RecoverAsync)
_recover = Row("basic.recover", OPEN, Basic.Recover)
_RECOVER = (
    _recover_async("refuses", recover_async_is_not_implemented, answer=refuse(NOT_IMPLEMENTED)),
    _recover_async("requeues", wants_requeue, (requeue_all,)),
    _recover_async("redelivers", effects=(return_all_to_their_recipients,)),
    _recover("requeues", wants_requeue, (requeue_all,), recover_ok),
    _recover("redelivers", effects=(return_all_to_their_recipients,), answer=recover_ok),
)
BASIC = (*CONSUMERS, *_PUBLISH, *_GET, *_ACKNOWLEDGE, *_RECOVER)
