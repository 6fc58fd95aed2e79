"""queue.declare: names that the server makes, and names that it refuses."""

from collections.abc import Iterator

from harness.amqp0_9_1.broken.deviations import Fault, changes, drops, rejects, rewrites
from harness.amqp0_9_1.broken.naming_faults import (
    count_names_anew,
    generate_name_of_the_connection,
    gives_names_again,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import channel_closed, connection_closed, refused
from harness.amqp0_9_1.peer.names import generate_name
from harness.amqp0_9_1.peer.tables.queue import becomes_current, bind_to_the_default_exchange, create_queue
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    COMMAND_INVALID,
    NOT_FOUND,
    PRECONDITION_FAILED,
    SYNTAX_ERROR,
    Channel,
    Queue,
)
from harness.play.context import RESTART, Restart
from scenarios.registry import broken_by, scenario

NAMES = "queue.declare: creates one with a generated name"
MANY = 256
RESERVED = "queue.declare: refuses a reserved name"
PREDECLARED = "restart: keeps pre-declared exchanges"


@scenario("0-9-1/queue.declare.queue.default-name")
@broken_by("gives one name to all", rewrites(Queue.DeclareOk, queue="amq.gen"))
@broken_by("gives no name", rewrites(Queue.DeclareOk, queue=""))
@broken_by("wants a name", rejects(Queue.Declare, SYNTAX_ERROR, when=lambda declare: not declare.queue))
@broken_by("makes a name and no queue", changes(NAMES, generate_name))
@broken_by(
    "counts for each connection by itself",
    changes(
        NAMES, generate_name_of_the_connection, create_queue, bind_to_the_default_exchange, becomes_current
    ),
)
def empty_name_makes_a_new_queue_each_time(broker: Broker) -> None:
    """Declares with an empty name on three channels of two connections give names of their own.

    None of them is blank, and each is that of a queue that exists.
    """
    channels = [broker.channel(), broker.channel(), broker.channel(new_connection=True)]
    names = []
    for channel in 3 * channels:
        names.append(channel.tries(Queue.Declare(exclusive=True), Queue.DeclareOk).queue)
    different = len(set(filter(None, names)))
    broker.judge("nine different names", f"{different} different names", different == len(names))
    for channel, name in zip(3 * channels, names, strict=True):
        channel.tries(Queue.Declare(name, passive=True), Queue.DeclareOk)


@scenario("0-9-1/queue.declare.queue.default-name")
@broken_by("counts anew after a restart", changes(PREDECLARED, count_names_anew))
@broken_by("takes a queue that was there before a restart", Fault(gives_names_again))
def names_differ_from_those_before_a_restart(broker: Broker) -> Iterator[Restart]:
    """Durable queues keep the names they were given over a restart: none of 256 new queues gets one of them.

    So many, because names are counted for all who ask the server for one.
    """
    channel, names = broker.channel(), []
    for _ in range(3):
        names.append(channel.tries(Queue.Declare(durable=True), Queue.DeclareOk).queue)
        broker.judge("a name", "no name", bool(names[-1]))
        channel.remember("queue", names[-1])
        channel.tries(Queue.Declare(names[-1], passive=True), Queue.DeclareOk)
    yield RESTART
    kept = {name for name in names if is_there(broker, name)}
    if not kept:
        broker.inapplicable("no queue is left: see 0-9-1/queue.declare.durable.persistence")
    channel, again = broker.channel(), set()
    for _ in range(MANY):
        channel.send(Queue.Declare(exclusive=True))
        again |= kept & {channel.expect(Queue.DeclareOk).queue}
    broker.judge("no name of a queue that is there", f"{len(again)} names given again", not again)


def is_there(broker: Broker, queue: str) -> bool:
    """Say whether a queue has this name. Raises ControlFailed."""
    channel = broker.channel()
    answer = channel.ask(Queue.Declare(queue, passive=True), Queue.DeclareOk, Channel.Close)
    if isinstance(answer, Channel.Close):
        channel.send(Channel.CloseOk())
    return isinstance(answer, Queue.DeclareOk)


@scenario("0-9-1/queue.declare.queue.reserved")
@broken_by("makes it", drops(RESERVED))
@broken_by("refuses it, and makes it all the same", changes(RESERVED, create_queue))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=COMMAND_INVALID))
@broken_by(
    "may not even be asked for it",
    rejects(Queue.Declare, ACCESS_REFUSED, when=lambda d: d.passive and d.queue.startswith("amq.")),
)
def new_name_that_begins_with_amq_is_refused(broker: Broker) -> None:
    """An ordinary name is taken, one that begins with "amq." refused with 403; before and after it is 404.

    To ask with the passive option is allowed, so the answer is that of any name that is not there.
    """
    broker.channel().declare_queue(exclusive=True)
    reserved = broker.name("queue", "amq.{}")
    asked = Queue.Declare(reserved, passive=True), refused(NOT_FOUND)
    for declare, legal in (asked, (Queue.Declare(reserved, exclusive=True), refused(ACCESS_REFUSED)), asked):
        broker.channel().tries(declare, *legal)


@scenario("0-9-1/queue.declare.queue.syntax")
@broken_by("takes any name", drops("queue.declare: refuses an illegal name"))
@broken_by("takes no colon", rejects(Queue.Declare, SYNTAX_ERROR, when=lambda d: ":" in d.queue))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def name_with_other_characters_is_refused(broker: Broker) -> None:
    """Letters, digits, hyphen, underscore, period and colon make a name; each other character is refused."""
    channel = broker.channel()
    channel.tries(Queue.Declare(broker.name("queue", "{}-_.:aZ09"), exclusive=True), Queue.DeclareOk)
    syntax_error = channel_closed(SYNTAX_ERROR) | connection_closed(SYNTAX_ERROR)
    for illegal in ("{} ", "{}/", "{}#", "{}\u00e9"):
        channel = broker.channel()
        channel.send(Queue.Declare(broker.name("queue", illegal), exclusive=True))
        channel.expect(
            *refused(PRECONDITION_FAILED),
            syntax_error.under("502 is the code for illegal values of a field"),
        )
