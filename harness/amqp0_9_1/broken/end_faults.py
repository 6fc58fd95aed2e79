"""Effects and strategies that are wrong about the ends of consumers, channels and connections."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from harness.amqp0_9_1.broken.deviations import Fault
from harness.amqp0_9_1.broken.loose import Answer, Effect, Row, Turn
from harness.amqp0_9_1.peer.deliveries import await_acknowledgement
from harness.amqp0_9_1.peer.entities import Channel, Consumer
from harness.amqp0_9_1.peer.events import ChannelEnded, ChannelState, ConnectionState
from harness.amqp0_9_1.peer.life import delete_queue, end_connection, remove_binding
from harness.amqp0_9_1.peer.refusals import close_in_silence
from harness.amqp0_9_1.peer.strategies import hears
from harness.amqp0_9_1.peer.turn import AnyTurn, Reply, Tables
from harness.amqp0_9_1.wire import vocabulary
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection
from harness.peers.rows import AnyRow, State

# -- ends ----------------------------------------------------------------------------------------------


def _end_unseen(consumer: Consumer) -> None:
    consumer.alive = False
    consumer.channel.consumers.pop(consumer.tag, None)
    if consumer in consumer.queue.consumers:
        consumer.queue.consumers.remove(consumer)


def end_consumer_unseen(turn: Turn) -> None:
    """Ends the consumer this row is about, and its queue does not learn of it."""
    _end_unseen(turn.subject)


def end_consumers_unseen(turn: Turn) -> None:
    for channel in turn.connection.channels.values():
        for consumer in list(channel.consumers.values()):
            _end_unseen(consumer)


def hears_while_none_is_closing(consumer: Consumer) -> bool:
    """Sends nothing on any channel while one of them waits for Close-Ok."""
    channels = consumer.channel.connection.channels.values()
    return hears(consumer) and all(each.state is not ChannelState.CLOSING for each in channels)


def _forget(consumer: Consumer) -> None:
    consumer.alive = False
    consumer.channel.consumers.pop(consumer.tag, None)


def forget_consumer(turn: Turn) -> None:
    """Ends the consumer this row is about, and leaves it in its queue's count."""
    _forget(turn.subject)


def forget_consumers(turn: Turn) -> None:
    """Ends all consumers of the connection, and leaves them in their queues' counts."""
    for channel in turn.connection.channels.values():
        for consumer in list(channel.consumers.values()):
            _forget(consumer)


def delete_what_it_consumed(turn: Turn) -> None:
    """Deletes the auto-delete queue of the consumer this row is about, whoever else consumes from it."""
    queue = turn.subject.queue
    if queue.auto_delete and queue.alive:
        delete_queue(turn.about(turn.event, queue))


def _another_is_closing(turn: Turn) -> bool:
    # What follows a Publish is no method.
    return not isinstance(turn.event, Basic.Publish) and any(
        each.state is ChannelState.CLOSING for each in turn.connection.channels.values()
    )


def deaf_while_one_is_closing(tables: Tables) -> Tables:
    """Hears no method on an open channel while another one waits for Close-Ok."""
    row = Row("channel: waits for the others", ChannelState.OPEN, Method, _another_is_closing)
    return tables.inserting(next(iter(tables)).name, row)


def obeys(state: State, method: type[Method], effect: Effect, answer: Answer | None = None) -> Fault:
    """Carries a method out in a closing state and says nothing, or `answer`."""
    name = f"{method.full_name}: is obeyed while closing"
    row = Row(name, state, method, effects=(effect,), answer=answer)
    return Fault(lambda tables: tables.inserting(next(iter(tables)).name, row))


def orphan_consumers(turn: Turn) -> None:
    """Leaves the consumers of the connection to their queues, as if it were there."""
    turn.connection.channels.clear()


def delete_queue_alone(turn: Turn) -> None:
    queue = turn.subject
    queue.alive = False
    turn.host.queues.pop(queue.name, None)


def remove_binding_unless(kind: str) -> Effect:
    """Removes the binding this row is about, unless it is to an exchange of type `kind`."""

    def remove(turn: Turn) -> None:
        exchange = turn.host.exchanges.get(turn.subject.exchange)
        if exchange is None or exchange.type != kind:
            remove_binding(turn)

    return remove


def disown_queues(turn: Turn) -> None:
    for queue in turn.host.queues.values():
        if queue.owner is turn.connection:
            queue.owner = None


def delete_what_it_declared(tables: Tables) -> Tables:
    """Deletes an exclusive queue with the channel that declared it last, not with its connection."""

    def owns(turn: Turn) -> bool:
        queue = turn.host.queues.get(turn.subject.current_queue)
        return queue is not None and queue.owner is turn.connection

    def delete(turn: Turn) -> None:
        delete_queue(turn.about(turn.event, turn.host.queues[turn.subject.current_queue]))

    row = Row("channel end: deletes what it declared", Channel, ChannelEnded, owns, (delete,))
    return tables.inserting("channel end: abandons its transaction", row)


def keeps_what_is_closed(tables: Tables) -> Tables:
    """Keeps what was delivered without acknowledgement while its channel is there, and puts it back then."""
    kept = tables.replacing(
        "delivery: of a no-ack consumer ends with sending", effects=(await_acknowledgement,)
    )
    return kept.replacing("connection: hanging up ends it", effects=(settle_everything, end_connection))


def settle_everything(turn: Turn) -> None:
    for channel in turn.connection.channels.values():
        channel.unacknowledged.clear()


# -- what a whole server does wrong, wherever it closes ------------------------------------------------


def _everywhere(otherwise: Callable[[AnyTurn, Reply], Reply]) -> Fault:
    """Make a fault that says something else in place of whatever a row answers."""

    def answering(answer: Callable[[AnyTurn], Reply]) -> Callable[[AnyTurn], Reply]:
        return lambda turn: otherwise(turn, answer(turn))

    def change(tables: Tables) -> Tables:
        rows: list[AnyRow] = [
            replace(row, answer=answering(row.answer)) if row.answer is not None else row for row in tables
        ]
        return replace(tables, rows=tuple(rows))

    return Fault(change)


def _ends(turn: AnyTurn, said: Reply) -> Reply:
    if not isinstance(said, Connection.Close):
        return said
    close_in_silence(turn)
    return None


def _closes_all(turn: AnyTurn, said: Reply) -> Reply:
    if not isinstance(said, vocabulary.Channel.Close):
        return said
    end_connection(turn)
    turn.connection.state = ConnectionState.CLOSING
    return Connection.Close(said.reply_code, said.reply_text, said.class_id, said.method_id)


def _has_one_code(_: AnyTurn, said: Reply) -> Reply:
    if isinstance(said, vocabulary.Channel.Close | Connection.Close):
        return said.replace(reply_code=vocabulary.INTERNAL_ERROR)
    return said


BROAD: Mapping[str, Fault] = MappingProxyType(
    {
        "ends the socket in place of its Close": _everywhere(_ends),
        "closes the connection in place of the channel": _everywhere(_closes_all),
        "closes by internal-error, whatever it is": _everywhere(_has_one_code),
    }
)
"""By what it does. No rule is theirs, and many show them: for the fault dictionary."""
