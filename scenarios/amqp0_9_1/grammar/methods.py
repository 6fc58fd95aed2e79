"""Methods a server has to implement: answered as the grammar says, silent with no-wait, or taken."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from harness.amqp0_9_1.broken.deviations import (
    Fault,
    Interposer,
    answers,
    forwards,
    ignores,
    rejects,
    withholds,
)
from harness.amqp0_9_1.broken.faults import PAUSES_PUBLISHERS
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, closed_silently, fields, message
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import (
    NOT_FOUND,
    NOT_IMPLEMENTED,
    Basic,
    Channel,
    Connection,
    Exchange,
    Queue,
)
from harness.peers.interposer import Condition, always
from scenarios.amqp0_9_1.channel.flow import asked_to_pause
from scenarios.amqp0_9_1.grammar.calls import (
    BODY,
    KEY,
    PASSIVE,
    SET,
    Call,
    again,
    answers_to,
    bits,
    kind,
    of,
    ready,
    works,
)
from scenarios.registry import broken_by, scenario, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject

FLOW_OK = "channel.flow-ok"


def does_without(about: Subject, when: Condition = always) -> Interposer:
    """Do without the method altogether, or where this holds for it."""
    method = kind(about)
    if method.spec.class_name == "connection":
        return rejects(method, NOT_IMPLEMENTED)
    close = Channel.Close(NOT_IMPLEMENTED, "no", method.spec.class_index, method.spec.index)
    return answers(method, close, when)


def does_without_its_bit(about: Subject, value: bool) -> Interposer | None:
    bit = BITS.get(kind(about).full_name)
    return does_without(about, lambda sent: getattr(sent, bit) is value) if bit else None


def situations(broker: Broker, about: Subject) -> Iterator[tuple[type[Method], Call]]:
    """Give each response of a method with a call it is due to: an empty queue has another one to Get."""
    for response in answers_to(kind(about).spec):
        call = ready(broker, about, probed=kind(about).spec.name != "select")
        if response is Basic.GetEmpty:
            call.channel.ask(Queue.Purge(call.method.queue))
        yield response, call


def the_other_way(broker: Broker, about: Subject) -> Iterator[Call]:
    """Give a call for each bit of a method, with that bit set where else it is clear, or clear where set."""
    for bit in bits(kind(about).spec):
        call = ready(broker, about, probed=False)
        if bit == PASSIVE:
            call.succeeds()
        yield replace(call, method=call.method.replace(**{bit: not getattr(call.method, bit)}))


def refuses_a_bit(about: Subject) -> Interposer | None:
    """Serves the method only with its bits as they mostly are."""
    usual = SET.get(kind(about).full_name, ())
    looked_at = [bit for bit in bits(kind(about).spec) if bit != PASSIVE]

    def is_unusual(sent: Any) -> bool:
        return any(getattr(sent, bit) != (bit in usual) for bit in looked_at)

    spec = kind(about).spec
    close = Channel.Close(NOT_IMPLEMENTED, "no", spec.class_index, spec.index)
    return answers(kind(about), close, when=is_unusual) if looked_at else None


@scenarios_for(of("answers"))
@broken_by("does not answer", lambda about: withholds(answers_to(kind(about).spec)[0]))
@broken_by("does not implement it", does_without)
@broken_by("implements it by halves", refuses_a_bit)
def method_is_answered(broker: Broker, about: Subject) -> None:
    """The method, with all that it needs before it, gets the response the grammar names, each bit set or not.

    Afterwards a queue is found that was declared, and none that was not: who agrees to everything, or to
    nothing, has carried out nothing.
    """
    for response, call in situations(broker, about):
        call.send()
        call.expect(response)
    for call in the_other_way(broker, about):
        call.send()
        call.expect(answers_to(kind(about).spec)[0])
    works(broker)


# -- methods without a response ------------------------------------------------------------------------


def goes_on_with(*methods: type[Method]) -> Callable[[Call], None]:

    def goes_on(call: Call) -> None:
        call.expect(answered(*methods))

    return goes_on


def opens(call: Call) -> None:
    """Judge that the next step of the handshake is taken."""
    call.connection.send(Connection.Open(call.connection.endpoint.virtual_host))
    call.expect(Connection.OpenOk)


def ends(call: Call) -> None:
    call.expect(closed_silently())


def opens_again(call: Call) -> None:
    call.send(Channel.Open())
    call.expect(Channel.OpenOk)


def is_routed(call: Call) -> None:
    """Judge that the message is on the queue that is bound with its key."""
    call.channel.stays_quiet()
    call.send(Basic.Get(call.queue, no_ack=True))
    call.expect(message(Basic.GetOk, BODY))


def is_settled(call: Call) -> None:
    """Judge that the message does not come again when its channel is closed."""
    call.channel.stays_quiet()
    call.channel.close()
    call.connection.channel().tries(Basic.Get(call.queue, no_ack=True), Basic.GetEmpty)


def is_discarded(call: Call) -> None:
    """Judge that the message is in its queue neither now nor when its channel is closed."""
    call.channel.stays_quiet()
    witness = call.connection.channel()
    witness.send(Basic.Get(call.queue, no_ack=True))
    back = message(Basic.GetOk, BODY).under("requeue: what becomes of it without the bit has no keyword")
    if isinstance(witness.expect(Basic.GetEmpty, back), Basic.GetEmpty):
        is_settled(call)


def comes_again(call: Call) -> None:
    """Judge that the message comes again, redelivered."""
    if isinstance(call.method, Basic.Recover):
        call.expect(Basic.RecoverOk)
    call.channel.stays_quiet()
    call.send(Basic.Get(call.queue, no_ack=True))
    call.expect(message(Basic.GetOk, BODY, redelivered=True))


def is_taken(call: Call) -> None:
    """Judge that no exception comes; what becomes of a message without consumer is open (basic.reject)."""
    call.channel.stays_quiet()


def is_confirmed(call: Call) -> None:
    """Judge that Recover-Ok comes; what was not acknowledged may come again: "zero or more messages"."""
    call.channel.expect_answer(Basic.RecoverOk)
    call.channel.fence()


BITS: Mapping[str, str] = {
    "basic.publish": "mandatory",
    "basic.ack": "multiple",
    "basic.reject": "requeue",
    "basic.recover": "requeue",
}
"""The bit of a method that has one with two meanings; immediate is only a SHOULD, with a rule of its own."""

SHOWN: Mapping[str, Callable[[Call], None]] = {
    "connection.start-ok": goes_on_with(Connection.Tune, Connection.Secure),
    "connection.secure-ok": goes_on_with(Connection.Tune),
    "connection.tune-ok": opens,
    "connection.close-ok": ends,
    "channel.close-ok": opens_again,
    "basic.publish": is_routed,
    "basic.ack": is_settled,
    "basic.reject": is_discarded,
    "basic.recover": comes_again,
    "basic.recover-async": comes_again,
}
"""What shows that a method without a response was carried out."""

SHOWN_WITH: Mapping[tuple[str, bool | None], Callable[[Call], None]] = {
    ("basic.reject", True): is_taken,
    ("basic.recover", False): is_confirmed,
}
"""What shows it where the method's bit has this value, if that is something else."""


@scenarios_for(of("implemented", FLOW_OK))
@broken_by("does not hear it", lambda about: ignores(kind(about)))
@broken_by("does not implement it", does_without)
@broken_by("does not implement it with its bit set", lambda about: does_without_its_bit(about, True))
@broken_by("does not implement it with its bit clear", lambda about: does_without_its_bit(about, False))
def method_without_response_has_its_effect(broker: Broker, about: Subject) -> None:
    """The method is sent where it has its place, and what it is for comes about.

    Where a bit of it decides, it is sent with the bit clear and with the bit set.
    """
    name = kind(about).full_name
    bit = BITS.get(name)
    for value in (False, True) if bit else (None,):
        call = ready(broker, about)
        call.send(call.method.replace(**{bit: value}) if bit else None)
        SHOWN_WITH.get((name, value), SHOWN[name])(call)
    works(broker)


PAUSES_AND_REFUSES = Fault(
    lambda tables: PAUSES_PUBLISHERS.change(tables).replacing(
        "channel.flow-ok: answers ours", answer=refuse(NOT_IMPLEMENTED)
    )
)


@scenario("0-9-1/grammar/channel.flow-ok.implemented")
@broken_by("asks publishers to pause and refuses their answer", PAUSES_AND_REFUSES)
def publisher_that_was_asked_to_pause_says_so(broker: Broker) -> None:
    """Flow-Ok is taken without an answer, where the server asks a publisher to pause at all."""
    publisher = broker.channel()
    if not asked_to_pause(broker, publisher):
        broker.inapplicable("the server did not ask a publisher to pause")
    publisher.stays_quiet()


# -- no-wait -------------------------------------------------------------------------------------------


def exists(channel: AmqpChannel, asked: Method) -> None:
    channel.tries(asked, Exchange.DeclareOk if isinstance(asked, Exchange.Declare) else Queue.DeclareOk)


def is_gone(channel: AmqpChannel, asked: Method) -> None:
    channel.tries(asked, channel_closed(NOT_FOUND))


def publishes(channel: AmqpChannel, exchange: str, queue: str, expected: type[Method]) -> None:
    """Judge that a message published to the exchange is found in the queue, or is not."""
    channel.publish(BODY, exchange=exchange, key=queue if not exchange else KEY)
    channel.tries(Basic.Get(queue, no_ack=True), expected)


def consumes(channel: AmqpChannel, queue: str) -> None:
    channel.hears(BODY, key=queue)


def passively(method: type[Method], name: str) -> Method:
    declare = Exchange.Declare(name, "direct", passive=True)
    return Queue.Declare(name, passive=True) if method in (Queue.Declare, Queue.Delete) else declare


DONE: Mapping[str, Callable[[AmqpChannel, Any], None]] = {
    "exchange.declare": lambda channel, it: exists(channel, passively(Exchange.Declare, it.exchange)),
    "exchange.delete": lambda channel, it: is_gone(channel, passively(Exchange.Delete, it.exchange)),
    "queue.declare": lambda channel, it: exists(channel, passively(Queue.Declare, it.queue)),
    "queue.delete": lambda channel, it: is_gone(channel, passively(Queue.Delete, it.queue)),
    "queue.bind": lambda channel, it: publishes(channel, it.exchange, it.queue, Basic.GetOk),
    "queue.purge": lambda channel, it: holds(channel, it.queue, 0),
    "basic.consume": lambda channel, it: consumes(channel, it.queue),
    "basic.cancel": lambda channel, _: publishes(channel, "", channel.context.declared[-1][1], Basic.GetOk),
}
"""What shows that a method was carried out although nothing was answered."""


def holds(channel: AmqpChannel, queue: str, count: int) -> None:
    channel.tries(Queue.Declare(queue, passive=True), fields(Queue.DeclareOk, message_count=count))


def says_no_wait(method: Method) -> bool:
    return bool(getattr(method, "no_wait", False))


@scenarios_for(of("no-wait"))
@broken_by("answers all the same", lambda about: forwards(kind(about), when=says_no_wait, no_wait=False))
@broken_by("takes no-wait for no effect", lambda about: ignores(kind(about), when=says_no_wait))
def method_with_no_wait_is_carried_out_in_silence(broker: Broker, about: Subject) -> None:
    """After the method the answer to a later one is the first, and what was asked for has been done."""
    call = again(broker, about)
    call.send(call.method.replace(no_wait=True))
    # A fence of another class: the answer that must not come is no answer to it.
    call.send(Basic.Qos(prefetch_count=1))
    call.expect(Basic.QosOk)
    DONE[kind(about).full_name](call.channel, call.method)
