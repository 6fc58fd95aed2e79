"""Direct reply-to: replies go to the channel that asked, through a queue that nobody declares."""

from collections import deque
from typing import TypeAlias, cast

from harness.amqp0_9_1.peer.consumers import consume_ok, generate_tag, has_no_tag, start_consumer
from harness.amqp0_9_1.peer.entities import Binding, Channel, Publication
from harness.amqp0_9_1.peer.entities import Queue as Entity
from harness.amqp0_9_1.peer.events import ChannelState, ContentComplete, ContentHeaderReceived, Routing
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.basic import enqueue_everywhere, return_unroutable
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, LifeRow, LifeTurn, Reply
from harness.amqp0_9_1.rabbitmq.contents import changed, properties_of
from harness.amqp0_9_1.rabbitmq.policy import Policy
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, PRECONDITION_FAILED, Basic, Queue
from harness.peers.rows import answering

PSEUDO_QUEUE = "amq.rabbitmq.reply-to"
OPEN = ChannelState.OPEN
Named: TypeAlias = Queue.Declare | Queue.Delete


def replies_of(channel: Channel) -> Entity | None:
    """Give the queue that stands behind the consumer of replies on a channel."""
    queues = (each.queue for each in channel.consumers.values())
    return next((each for each in queues if each.name.startswith(f"{PSEUDO_QUEUE}.")), None)


# -- consuming replies ---------------------------------------------------------------------------------


def consumes_replies(turn: ChannelTurn[Basic.Consume]) -> bool:
    return turn.event.queue == PSEUDO_QUEUE


def would_acknowledge_replies(turn: ChannelTurn[Basic.Consume]) -> bool:
    return consumes_replies(turn) and not turn.event.no_ack


def has_a_consumer_of_replies(turn: ChannelTurn[Basic.Consume]) -> bool:
    return consumes_replies(turn) and replies_of(turn.channel) is not None


def wants_replies_under_any_tag(turn: ChannelTurn[Basic.Consume]) -> bool:
    return consumes_replies(turn) and has_no_tag(turn)


def open_queue_for_replies(turn: ChannelTurn[Basic.Consume]) -> None:
    """Make the queue of a name that is given to nobody else; it goes with its consumer."""
    name = turn.peer.unique(f"{PSEUDO_QUEUE}.")
    turn.host.queues[name] = Entity(name, False, True, None, {}, [deque()])
    turn.host.bound_to("").append(Binding("", name, name, {}))
    turn.event = turn.event.replace(queue=name)


# -- asking --------------------------------------------------------------------------------------------


def asks_but_does_not_listen(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    """Say whether a request is published on a channel that consumes no replies."""
    properties = turn.event.properties
    return (
        isinstance(properties, Basic.Properties)
        and properties.reply_to == PSEUDO_QUEUE
        and replies_of(turn.channel) is None
    )


def asks_for_replies(turn: LifeTurn[ContentComplete, Publication]) -> bool:
    return (
        replies_of(turn.subject.channel) is not None
        and properties_of(turn.subject.message).reply_to == PSEUDO_QUEUE
    )


def name_where_to_reply(turn: LifeTurn[ContentComplete, Publication]) -> None:
    """Put the generated name where the client has that of the pseudo-queue."""
    queue = replies_of(turn.subject.channel)
    assert queue is not None
    turn.subject.message = changed(turn.subject.message, reply_to=queue.name)


def publish_it(turn: LifeTurn[ContentComplete, Publication]) -> None:
    """Let the other rows decide about the message as it is now."""
    turn.peer.meet(Publication, turn)


def is_a_reply_that_is_returned(turn: LifeTurn[Routing, Publication]) -> bool:
    """Say whether the policy returns a reply with mandatory, though it is delivered."""
    method = turn.subject.method
    is_reply = not method.exchange and method.routing_key.startswith(f"{PSEUDO_QUEUE}.")
    return is_reply and method.mandatory and not cast(Policy, turn.policy).replies_count_as_routed


# -- the names -----------------------------------------------------------------------------------------


def names_replies(turn: ChannelTurn[Named]) -> bool:
    return turn.event.queue == PSEUDO_QUEUE or turn.event.queue.startswith(f"{PSEUDO_QUEUE}.")


def names_replies_that_nobody_awaits(turn: ChannelTurn[Named]) -> bool:
    there = turn.event.queue == PSEUDO_QUEUE or turn.event.queue in turn.host.queues
    return names_replies(turn) and not there


def exists(turn: ChannelTurn[Queue.Declare]) -> Reply:
    """Answer that there is such a queue, with a consumer and without messages."""
    return Queue.DeclareOk(turn.event.queue, 0, 1)


_consume = Row("basic.consume", OPEN, Basic.Consume)
_declare = Row("queue.declare", OPEN, Queue.Declare)
REPLY_TO = (
    _consume(
        "refuses to have replies acknowledged", would_acknowledge_replies, answer=refuse(PRECONDITION_FAILED)
    ),
    _consume(
        "refuses a second consumer of replies", has_a_consumer_of_replies, answer=refuse(PRECONDITION_FAILED)
    ),
    _consume(
        "starts a consumer of replies with a generated tag",
        wants_replies_under_any_tag,
        (open_queue_for_replies, generate_tag, start_consumer),
        consume_ok,
    ),
    _consume(
        "starts a consumer of replies", consumes_replies, (open_queue_for_replies, start_consumer), consume_ok
    ),
    Row(
        "content header: refuses a request where no replies are consumed",
        ChannelState.EXPECT_CONTENT_HEADER,
        ContentHeaderReceived,
        asks_but_does_not_listen,
        answer=refuse(PRECONDITION_FAILED),
    ),
    LifeRow(
        "basic.publish: a request is told where replies go",
        Publication,
        ContentComplete,
        asks_for_replies,
        (name_where_to_reply, publish_it),
    ),
    LifeRow(
        "routing: a mandatory reply is returned as well",
        Publication,
        Routing,
        is_a_reply_that_is_returned,
        (enqueue_everywhere,),
        return_unroutable,
    ),
    _declare(
        "refuses a name of replies that nobody awaits",
        names_replies_that_nobody_awaits,
        answer=refuse(NOT_FOUND),
    ),
    _declare("confirms a name of replies", names_replies, answer=exists),
    Row(
        "queue.delete: leaves a name of replies",
        OPEN,
        Queue.Delete,
        names_replies,
        answer=answering(Queue.DeleteOk()),
    ),
)
