"""The rows of what a client receives: consuming, giving back, browsing (3.5.4, 3.5.6 to 3.5.8, 3.5.13)."""

from __future__ import annotations

from harness.amqp_fast.peer.entities import Consumer, Delivery, Host, Queue, Stored
from harness.amqp_fast.peer.refusals import (
    ACCESS,
    FORBIDDEN,
    NOT_FOUND,
    NOT_VALID_NOW,
    RESOURCES,
    SERVICE_TYPE,
    SYNTAX,
    refuses,
)
from harness.amqp_fast.peer.tables.handle import OPEN, confirmed
from harness.amqp_fast.peer.traffic import deliver, drop_expired, give_back, resume, say_message
from harness.amqp_fast.peer.turn import AnyTurn, Reply, Row, Turn
from harness.amqp_fast.wire.vocabulary import MESSAGE_NOT_FOUND, QUEUE, TOPIC, Handle


def _host(turn: AnyTurn) -> Host:
    assert turn.connection.host is not None
    return turn.connection.host


# -- consuming -----------------------------------------------------------------------------------------


def is_no_consumer(turn: AnyTurn) -> bool:
    """The handle was not opened to consume (1836)."""
    return turn.policy.access == "as opened" and not turn.handle.command.consumer


def is_of_no_service(turn: Turn[Handle.Consume]) -> bool:
    """It is neither a queue nor a topic (1951)."""
    return turn.event.service_type not in (QUEUE, TOPIC)


def wants_nothing(turn: Turn[Handle.Consume]) -> bool:
    """The prefetch is below its minimum (1954)."""
    return turn.event.prefetch == 0 and turn.policy.prefetch_zero == "refuses"


def is_not_there(turn: Turn[Handle.Consume]) -> bool:
    """No queue has the name, and none is to be made."""
    there = turn.event.dest_name in _host(turn).queues
    return turn.event.service_type == QUEUE and not there and not turn.event.dynamic


def has_no_name(turn: Turn[Handle.Consume]) -> bool:
    """A topic has no name."""
    return turn.event.service_type == TOPIC and not turn.event.dest_name


def is_taken(turn: Turn[Handle.Consume]) -> bool:
    """Somebody has the queue for himself, or would be disturbed by who wants it so (1969)."""
    queue = _host(turn).queues.get(turn.event.dest_name)
    if turn.event.service_type != QUEUE or queue is None or not queue.consumers:
        return False
    return queue.exclusive or turn.event.exclusive


def are_too_many(turn: Turn[Handle.Consume]) -> bool:
    """The virtual host has as many queues as it can."""
    return turn.event.dynamic and len(_host(turn).queues) >= turn.peer.limits.queues


def consume(turn: Turn[Handle.Consume]) -> None:
    """Begin to consume: from a queue, made where that is asked for, or from a topic."""
    event, host = turn.event, _host(turn)
    topic = event.dest_name if event.service_type == TOPIC else b""
    queue = Queue(b"") if topic else _queue(turn)
    made = Consumer(
        turn.handle, queue, max(event.prefetch, 1), event.no_ack, event.no_local, event.selector, topic
    )
    queue.consumers.append(made)
    queue.exclusive = queue.exclusive or (event.exclusive and not topic)
    turn.handle.consumers.append(made)
    if topic:
        host.subscribers.append(made)
    if turn.policy.deliveries == "before it":
        deliver(turn.peer, host)


def _queue(turn: Turn[Handle.Consume]) -> Queue:
    queues = _host(turn).queues
    name = turn.event.dest_name or turn.peer.unique("dynamic-").encode()
    if name not in queues:
        queues[name] = Queue(name, turn.connection.number)
    return queues[name]


def created(turn: Turn[Handle.Consume]) -> Reply:
    """Tell the name of a dynamic queue (3.5.9), then confirm."""
    event = turn.event
    dynamic = event.dynamic and event.service_type == QUEUE
    name = turn.handle.consumers[-1].queue.name
    told = dynamic and (not event.dest_name or turn.policy.created == "always")
    named = (Handle.Created(turn.handle.id, name),) if told else ()
    first = turn.policy.created_place == "before the reply"
    return (*named, *confirmed(turn)) if first else (*confirmed(turn), *named)


# -- giving back ---------------------------------------------------------------------------------------


def _delivered(turn: Turn[Handle.Unget]) -> Delivery | None:
    every = turn.channel.unacknowledged
    number = turn.event.message_nbr
    return next((e for e in every if e.number == number and not e.acknowledged), None)


def is_unknown(turn: Turn[Handle.Unget]) -> bool:
    """No message with that number waits for an ACK."""
    return _delivered(turn) is None


def is_of_a_topic(turn: Turn[Handle.Unget]) -> bool:
    """Only a queue takes messages back (2013)."""
    found = _delivered(turn)
    return found is not None and bool(found.consumer.topic)


def unget(turn: Turn[Handle.Unget]) -> None:
    """Give a message back, for another consumer first (2040)."""
    found = _delivered(turn)
    assert found is not None
    turn.channel.unacknowledged.remove(found)
    give_back([found], found.consumer if turn.policy.ungets_to == "others first" else None)


# -- browsing ------------------------------------------------------------------------------------------


def is_no_browser(turn: AnyTurn) -> bool:
    """The handle was not opened to browse (1839)."""
    return turn.policy.access == "as opened" and not turn.handle.command.browser


def is_no_queue(turn: Turn[Handle.Query]) -> bool:
    """No queue has the name."""
    return turn.event.dest_name not in _host(turn).queues


def ask(turn: Turn[Handle.Query]) -> None:
    """Keep which destination is asked about: HANDLE BROWSE does not say."""
    turn.handle.asked = turn.event.dest_name


def index(turn: Turn[Handle.Query]) -> Reply:
    """List the messages that wait in the queue, from a number on (3.5.11)."""
    queue = _host(turn).queues[turn.event.dest_name]
    drop_expired(turn.peer, queue)
    found = sorted(each.id for each in queue.messages if each.id >= turn.event.message_nbr)
    most = turn.peer.limits.listed if turn.policy.listed == "some" else len(found)
    told, further = found[:most], len(found) > most
    listed = turn.peer.tables.strategies.listed(told)
    return (Handle.Index(turn.handle.id, told[-1] if further else 0, listed),)


def _asked(turn: Turn[Handle.Browse]) -> Stored | None:
    queue = _host(turn).queues.get(turn.handle.asked)
    if queue is None:
        return None
    drop_expired(turn.peer, queue)
    return next((each for each in queue.messages if each.id == turn.event.message_nbr), None)


def is_gone(turn: Turn[Handle.Browse]) -> bool:
    """There is no such message, or no longer (2096)."""
    return _asked(turn) is None


def not_found(turn: Turn[Handle.Browse]) -> Reply:
    """Tell that the message is not found, whether or not a confirmation was asked for."""
    return (Handle.Reply(turn.handle.id, turn.event.confirm_tag, MESSAGE_NOT_FOUND, "not found"),)


def show(turn: Turn[Handle.Browse]) -> None:
    """Send the message, not delivered (2098)."""
    found = _asked(turn)
    assert found is not None
    again = found.is_redelivered(turn.connection)
    said = Handle.Notify(turn.handle.id, found.id, redelivered=again, dest_name=turn.handle.asked)
    say_message(turn.connection, said, found.message.octets)


def confirmed_too(turn: Turn[Handle.Browse]) -> Reply:
    """Confirm as well, where the policy does."""
    return confirmed(turn) if turn.policy.browse_confirms == "notify and reply" else ()


# -- the rest of a message that was prepared -------------------------------------------------------------


def is_not_waited_for(turn: Turn[Handle.Ready]) -> bool:
    """Nothing was prepared for the client on this handle."""
    waits = turn.channel.waits_for
    return waits is None or waits.delivery.consumer.handle is not turn.handle


def is_ignored(turn: Turn[Handle.Ready]) -> bool:
    """Nothing was prepared, of which no notice is taken."""
    return turn.policy.ready_unasked == "ignored" and is_not_waited_for(turn)


def go_on(turn: Turn[Handle.Ready]) -> None:
    """Send what the client does not have yet."""
    resume(turn.handle, turn.event.message_size)


_CONSUME: Row[Handle.Consume] = Row("handle consume", OPEN, Handle.Consume)
_UNGET: Row[Handle.Unget] = Row("handle unget", OPEN, Handle.Unget)
_QUERY: Row[Handle.Query] = Row("handle query", OPEN, Handle.Query)
_BROWSE: Row[Handle.Browse] = Row("handle browse", OPEN, Handle.Browse)
_READY: Row[Handle.Ready] = Row("handle ready", OPEN, Handle.Ready)

ROWS = (
    _CONSUME("by no consumer is refused", is_no_consumer, (refuses(ACCESS, "not opened to consume"),)),
    _CONSUME("of no service is refused", is_of_no_service, (refuses(SERVICE_TYPE, "no such service"),)),
    _CONSUME("of nothing is refused", wants_nothing, (refuses(SYNTAX, "a prefetch of zero"),)),
    _CONSUME("of no queue is refused", is_not_there, (refuses(NOT_FOUND, "no such queue"),)),
    _CONSUME("of no topic is refused", has_no_name, (refuses(NOT_FOUND, "a topic without a name"),)),
    _CONSUME("of what is taken is refused", is_taken, (refuses(FORBIDDEN, "somebody has it"),)),
    _CONSUME("of too many is refused", are_too_many, (refuses(RESOURCES, "too many queues"),)),
    _CONSUME("is done", effects=(consume,), answer=created),
    _UNGET("of no message is refused", is_unknown, (refuses(MESSAGE_NOT_FOUND, "no such message"),)),
    _UNGET("of a topic is refused", is_of_a_topic, (refuses(NOT_VALID_NOW, "a topic takes nothing back"),)),
    _UNGET("is done", effects=(unget,), answer=confirmed),
    _QUERY("by no browser is refused", is_no_browser, (refuses(ACCESS, "not opened to browse"),)),
    _QUERY("of no queue is refused", is_no_queue, (refuses(NOT_FOUND, "no such queue"),)),
    _QUERY("is answered", effects=(ask,), answer=index),
    _BROWSE("by no browser is refused", is_no_browser, (refuses(ACCESS, "not opened to browse"),)),
    _BROWSE("of no message is told", is_gone, answer=not_found),
    _BROWSE("is answered", effects=(show,), answer=confirmed_too),
    _READY("of nothing is ignored", is_ignored),
    _READY("of nothing is refused", is_not_waited_for, (refuses(NOT_VALID_NOW, "nothing was prepared"),)),
    _READY("goes on", effects=(go_on,)),
)
