"""Effects that are wrong about transactions."""

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.entities import Delivery
from harness.amqp0_9_1.peer.life import abandon_transaction, delete_queue
from harness.amqp0_9_1.peer.tables.basic import requeue_all, route, route_now
from harness.amqp0_9_1.peer.tables.tx import commit
from harness.amqp0_9_1.rabbitmq.publishing.transactions import commit_with_rejections
from harness.amqp0_9_1.rabbitmq.timing import later

LATE = 0.05


def undo_and_requeue(turn: Turn) -> None:
    """Abandons the transaction, and requeues what is out."""
    abandon_transaction(turn)
    requeue_all(turn)


def commit_the_rejected_alone(turn: Turn) -> None:
    """Forgets what was published."""
    turn.channel.transaction = [each for each in turn.channel.transaction if isinstance(each, Delivery)]
    commit_with_rejections(turn)


def return_already(turn: Turn) -> None:
    """Returns at once what goes nowhere."""
    route_now(turn)


def publish_anyway(turn: Turn) -> None:
    for item in turn.channel.transaction:
        if not isinstance(item, Delivery):
            route(turn, item)
    abandon_transaction(turn)


def publish_nothing(turn: Turn) -> None:
    turn.channel.transaction.clear()


def commit_late(turn: Turn) -> None:
    """Commits a moment after it was confirmed."""
    later(turn, LATE, lambda _: commit(turn))


def forget_what_was_made(turn: Turn) -> None:
    """Deletes the queue that was declared last on the channel."""
    abandon_transaction(turn)
    queue = turn.host.queues.get(turn.channel.current_queue)
    if queue is not None:
        delete_queue(turn.about(turn.event, queue))
