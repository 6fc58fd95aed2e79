"""A blank queue name: the queue declared last on the channel, in every method that takes a queue."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.amqp0_9_1.broken.deviations import Fault, Interposer, answers, changes, rejects
from harness.amqp0_9_1.broken.faults import current_everywhere, first_stays_current
from harness.amqp0_9_1.broken.naming_faults import becomes_current_if_confirmed
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, connection_closed, message
from harness.amqp0_9_1.peer.names import generate_name
from harness.amqp0_9_1.peer.tables.queue import bind_to_the_default_exchange, create_queue
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, SYNTAX_ERROR, Basic, Queue
from harness.play.expect import Outcome
from scenarios.amqp0_9_1.grammar.calls import kind, of
from scenarios.amqp0_9_1.queue.common import has_no_name
from scenarios.registry import broken_by, scenarios_for
from spec.grammar.amqp0_9_1.members import Subject

NAMES = "queue.declare: creates one with a generated name"
DIRECT = "amq.direct"
KNOWN = ("queue.bind", "queue.unbind", "queue.purge", "queue.delete")
"""The methods that have a rule named queue-known, which judges them where no queue was declared."""

# -- how a queue becomes the one declared last ---------------------------------------------------------


def named_by_the_client(channel: AmqpChannel) -> str:
    """Declare a queue with a name of ours, behind another."""
    channel.declare_queue(exclusive=True)
    return channel.declare_queue(exclusive=True)


def declared_again(channel: AmqpChannel) -> str:
    """Declare a queue that is there already, behind another."""
    first, _ = channel.declare_queue(exclusive=True), channel.declare_queue(exclusive=True)
    return channel.declare_queue(first, exclusive=True)


def declared_without_waiting(channel: AmqpChannel) -> str:
    """Declare a queue without waiting for an answer, behind another."""
    channel.declare_queue(exclusive=True)
    queue = channel.new_name("queue")
    channel.send(Queue.Declare(queue, exclusive=True, no_wait=True))
    return queue


def named_by_the_server(channel: AmqpChannel) -> str:
    """Declare a queue that the server names, behind one with a name of ours."""
    channel.declare_queue(exclusive=True)
    return str(channel.ask(Queue.Declare(exclusive=True)).queue)


def named_behind_one_of_the_server(channel: AmqpChannel) -> str:
    """Declare a queue with a name of ours, behind one that the server names."""
    channel.ask(Queue.Declare(exclusive=True))
    return channel.declare_queue(exclusive=True)


def ways(broker: Broker) -> tuple[Callable[[AmqpChannel], str], ...]:
    """Give all of these ways, less those of queues that the server names where it names none."""
    ours = (named_by_the_client, declared_again, declared_without_waiting)
    if broker.channel().takes(Queue.Declare(exclusive=True), Queue.DeclareOk):
        return (*ours, named_by_the_server, named_behind_one_of_the_server)
    return ours


# -- what a method does to a queue ---------------------------------------------------------------------


def nothing(channel: AmqpChannel, queue: str) -> None:
    """Need nothing to be there."""


def bound(channel: AmqpChannel, queue: str) -> None:
    channel.bind(queue, DIRECT, queue)


def filled(channel: AmqpChannel, queue: str) -> None:
    """Put a message into the queue."""
    for _ in range(2):
        channel.publish(b"waiting", key=queue)
    channel.get(queue)  # what was published with it is there as well


def takes_only_its_own(channel: AmqpChannel, queue: str) -> None:
    """Judge that nothing comes from the queue but what is published to it now."""
    channel.publish(b"by the binding", exchange=DIRECT, key=queue)
    channel.publish(b"sentinel", key=queue)
    channel.consumes(queue, b"sentinel")


def takes_what_is_bound(channel: AmqpChannel, queue: str) -> None:
    """Judge that what is published to the exchange comes."""
    channel.publish(b"by the binding", exchange=DIRECT, key=queue)
    channel.consumes(queue, b"by the binding")


def is_gone(channel: AmqpChannel, queue: str) -> None:
    channel.tries(Queue.Declare(queue, passive=True), channel_closed(NOT_FOUND))


def is_consumed(channel: AmqpChannel, queue: str) -> None:
    """Judge that what is published to the queue comes without being asked for."""
    channel.hears(b"consumed", key=queue)


@dataclass(frozen=True, slots=True)
class Use:
    """A method with a blank queue name, given a key for it; its answer; what is there before, what after."""

    method: Callable[[str], Method]
    answer: Outcome
    before: Callable[[AmqpChannel, str], None] = nothing
    after: Callable[[AmqpChannel, str], None] = nothing


USES: Mapping[str, Use] = {
    "queue.bind": Use(
        lambda key: Queue.Bind("", DIRECT, key), answered(Queue.BindOk), after=takes_what_is_bound
    ),
    "queue.unbind": Use(
        lambda key: Queue.Unbind("", DIRECT, key), answered(Queue.UnbindOk), bound, takes_only_its_own
    ),
    "queue.purge": Use(lambda _: Queue.Purge(""), answered(Queue.PurgeOk), filled, takes_only_its_own),
    "queue.delete": Use(lambda _: Queue.Delete(""), answered(Queue.DeleteOk), after=is_gone),
    "basic.consume": Use(lambda _: Basic.Consume(""), answered(Basic.ConsumeOk), after=is_consumed),
    "basic.get": Use(lambda _: Basic.Get(""), message(Basic.GetOk, b"waiting"), filled),
}
NOTHING_DONE: Mapping[str, Method] = {
    "queue.bind": Queue.BindOk(),
    "queue.unbind": Queue.UnbindOk(),
    "queue.purge": Queue.PurgeOk(),
    "queue.delete": Queue.DeleteOk(),
    "basic.consume": Basic.ConsumeOk("made"),
    "basic.get": Basic.GetEmpty(),
}
"""What a server answers that has found no queue and does not say so."""

CREATES = "queue.declare: creates it"
NEW = (create_queue, bind_to_the_default_exchange)


def does_nothing(about: Subject) -> Interposer:
    """Confirms this method without a name, and does nothing."""
    return answers(kind(about), NOTHING_DONE[kind(about).full_name], when=has_no_name)


def keeps_it_to_itself(about: Subject) -> Fault:
    """Answers this method as if there were a queue where none was declared."""
    name = kind(about).full_name
    row = f"{name}: refuses a blank name with no queue declared"
    return changes(row, answer=lambda _: NOTHING_DONE[name])


@scenarios_for(of("current"))
@broken_by("always wants a name", lambda about: rejects(kind(about), NOT_FOUND, when=has_no_name))
@broken_by("does nothing to any queue", does_nothing)
@broken_by("takes the one declared first", changes(CREATES, *NEW, first_stays_current))
@broken_by("takes a queue of another channel", changes(CREATES, *NEW, current_everywhere))
@broken_by("knows no queue that it named", changes(NAMES, generate_name, *NEW))
@broken_by("overlooks what is declared again", changes("queue.declare: confirms the same again", effects=()))
@broken_by("overlooks what it did not confirm", changes(CREATES, *NEW, becomes_current_if_confirmed))
def blank_name_is_the_queue_declared_last(broker: Broker, about: Subject) -> None:
    """Of two queues the one declared last is meant: named by us or by the server, again, or unanswered.

    Another one is declared on another channel behind it.
    """
    use = USES[kind(about).full_name]
    for declare in ways(broker):
        channel = broker.channel()
        queue = declare(channel)
        use.before(channel, queue)
        broker.channel().declare_queue(exclusive=True)
        channel.tries(use.method(queue), use.answer)
        use.after(channel, queue)


@scenarios_for(of("current", *KNOWN))
@broken_by("keeps to itself that there is none", keeps_it_to_itself)
def without_a_queue_a_blank_name_is_refused(broker: Broker, about: Subject) -> None:
    """A channel on which no queue was declared is refused, though its connection has one."""
    stranger, channel = broker.channel(), broker.channel()
    use, queue = USES[kind(about).full_name], channel.declare_queue(exclusive=True)
    use.before(channel, queue)
    stranger.send(use.method(queue))
    refused = channel_closed(NOT_FOUND, SYNTAX_ERROR) | connection_closed(SYNTAX_ERROR)
    usual = connection_closed(NOT_FOUND).under(
        "4.8.1: the level of an exception follows its class only usually"
    )
    stranger.expect(refused, usual)
