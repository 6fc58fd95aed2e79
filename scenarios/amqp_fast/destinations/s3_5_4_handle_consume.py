"""3.5.4 HANDLE CONSUME Command: of queues; what topics have of their own is in s3_5_4_topics."""

from typing import Any

from harness.amqp_fast.broken.deviations import Fault, adds, hears, rewrites, withholds
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import CLOSES, fields, message, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.entities import Consumer, Queue
from harness.amqp_fast.peer.tables import channel as channels
from harness.amqp_fast.peer.tables import receiving
from harness.amqp_fast.wire.vocabulary import ANY, QUEUE, TOPIC, Handle
from scenarios.amqp_fast.destinations.common import REFUSED
from scenarios.amqp_fast.destinations.s3_5_3_handle_send import accepts, ignores_all
from scenarios.registry import broken_by, scenario

NO_SERVICE = "handle consume: of no service is refused"
TAKEN = "handle consume: of what is taken is refused"
CONSUMES = "handle consume: is done"


def consumes_with(**changes: Any) -> Fault:
    """Makes consumers that have something else than was asked for."""

    def effect(turn: AnyTurn) -> None:
        receiving.consume(turn)
        for name, value in changes.items():
            setattr(turn.handle.consumers[-1], name, value)

    return Fault.changes(CONSUMES, effect)


@scenario("fast/3.5.4.queue-or-topic")
@broken_by("takes any", accepts(NO_SERVICE))
@broken_by("says nothing", ignores_all(NO_SERVICE))
def consumer_is_of_a_queue_or_a_topic(server: Server) -> None:
    """The service types 1 and 2 are taken; 0, 4 and 65535 are refused."""
    queue = server.queue()
    for service in (QUEUE, TOPIC):
        server.handle().consume(queue, service_type=service)
    for service in (0, 4, 0xFFFF):
        handle = server.handle()
        handle.tries(handle.consuming(queue, service_type=service, confirm_tag=7), *REFUSED)


@scenario("fast/3.5.4.not-any")
@broken_by("takes it", accepts(NO_SERVICE))
@broken_by("says nothing", ignores_all(NO_SERVICE))
def consumer_is_not_of_any_service(server: Server) -> None:
    """The service type 3, any, is refused."""
    queue, handle = server.queue(), server.handle().consume(server.queue())
    handle.tries(handle.consuming(queue, service_type=ANY, confirm_tag=7), *REFUSED)


@scenario("fast/3.5.4.prefetch-bounds")
@broken_by("sends all", consumes_with(prefetch=100))
@broken_by("sends one more", consumes_with(prefetch=4))
def prefetch_bounds_what_is_outstanding(server: Server) -> None:
    """Of ten messages three come with a prefetch of three, and no fourth."""
    handle = server.handle().consume(server.queue(*[b"m"] * 10), prefetch=3)
    handle.hears(b"m", b"m", b"m")
    handle.channel.stays_quiet()


def _closes_the_window(turn: AnyTurn) -> None:
    held = [each.consumer for each in turn.channel.unacknowledged]
    channels.acknowledge(turn)
    for consumer in set(held):
        consumer.prefetch = consumer.outstanding


@scenario("fast/3.5.4.ack-opens-the-window")
@broken_by("sends no more", Fault.changes("channel ack: is taken", _closes_the_window))
@broken_by("forgets the window", consumes_with(no_ack=True))
def ack_opens_the_window(server: Server) -> None:
    """With a prefetch of two each message that is acknowledged makes room for one more."""
    handle = server.handle().consume(server.queue(*[b"m"] * 6), prefetch=2)
    first, second = handle.hears(b"m", b"m")
    handle.channel.ack(first.command.message_nbr)
    (third,) = handle.hears(b"m")
    handle.channel.stays_quiet()
    handle.channel.ack(third.command.message_nbr)
    handle.hears(b"m", b"m")
    server.judge("two numbers", "one", first.command.message_nbr != second.command.message_nbr)


@scenario("fast/3.5.4.prefetch-up-to")
@broken_by("sends one by one", consumes_with(prefetch=1))
def as_many_come_as_may(server: Server) -> None:
    """With a prefetch of five all five messages come, though none is acknowledged."""
    server.handle().consume(server.queue(*[b"m"] * 5), prefetch=5).hears(*[b"m"] * 5)


@scenario("fast/3.5.4.prefetch-at-least-one")
@broken_by(
    "sends all",
    Fault.together(Fault.drops("handle consume: of nothing is refused"), consumes_with(prefetch=100)),
)
@broken_by("says nothing", Fault.changes("handle consume: of nothing is refused", effects=()))
def prefetch_is_at_least_one(server: Server) -> None:
    """A prefetch of one is taken. One of zero is refused, or counts as one."""
    queue = server.queue(*[b"m"] * 3)
    server.handle().consume(queue, prefetch=1).messages(1)
    other = server.handle()
    told = replied(Handle.Reply, 7).recorded("the least there is stands for what is less")
    if isinstance(
        other.tries(other.consuming(queue, prefetch=0, confirm_tag=7), *REFUSED, told), Handle.Reply
    ):
        other.hears(b"m")
        other.channel.stays_quiet()


@scenario("fast/3.5.4.prefetch-at-most")
@broken_by("knows no large numbers", hears(Handle.Consume, lambda it: it.prefetch > 0x7FFF, service_type=0))
@broken_by("takes one message for as many as there may be", consumes_with(prefetch=1))
def prefetch_of_the_maximum_is_taken(server: Server) -> None:
    """A prefetch of 65535 is taken, and all messages come."""
    handle = server.handle()
    queue = server.queue(b"1", b"2", b"3")
    handle.send(handle.consuming(queue, prefetch=0xFFFF))
    handle.hears(b"1", b"2", b"3")


@scenario("fast/3.5.4.no-local-for-topics")
@broken_by("keeps back what is local", withholds(Handle.Notify))
def no_local_means_nothing_for_a_queue(server: Server) -> None:
    """A consumer of a queue with no-local gets what was sent on its connection; or it is refused."""
    queue, handle = server.queue(b"local"), server.handle()
    handle.send(handle.consuming(queue, no_local=True, confirm_tag=7))
    refused = [each.recorded("the field is for topics only") for each in REFUSED]
    seen = handle.expect(replied(Handle.Reply, 7), *refused)
    if isinstance(seen, Handle.Reply):
        handle.hears(b"local")


@scenario("fast/3.5.4.no-ack-needs-none")
@broken_by("waits for them", hears(Handle.Consume, lambda it: it.no_ack, no_ack=False))
def no_ack_needs_none(server: Server) -> None:
    """With no-ack and a prefetch of one all five messages come."""
    server.handle().consume(server.queue(*[b"m"] * 5), no_ack=True, prefetch=1).hears(*[b"m"] * 5)


@scenario("fast/3.5.4.no-ack-is-final")
@broken_by("takes them back", hears(Handle.Consume, lambda it: it.no_ack, no_ack=False))
def no_ack_is_final(server: Server) -> None:
    """What was consumed with no-ack is gone, also when the connection closes."""
    queue = server.queue(b"gone")
    server.handle(new_connection=True).consume(queue, no_ack=True).messages(1)
    server.newest.close()
    server.judge("an empty queue", "the message", server.handle().listed(queue) == [])


@scenario("fast/3.5.4.dynamic-creates")
@broken_by("makes none", hears(Handle.Consume, lambda it: it.dynamic and it.prefetch == 9, dynamic=False))
@broken_by("sends nothing", withholds(Handle.Notify))
def dynamic_makes_a_queue(server: Server) -> None:
    """A new name is refused without dynamic; with it there is a queue, and what is sent to it comes."""
    name, other = server.name("queue"), server.handle(new_connection=True)
    other.ask(other.consuming(name), *CLOSES)
    other.connection.drop()
    handle = server.handle()
    handle.send(handle.consuming(name, dynamic=True, prefetch=9, confirm_tag=7))
    if isinstance(
        handle.expect(replied(Handle.Reply, 7), fields(Handle.Created, handle_id=handle.id)), Handle.Created
    ):
        handle.expect(replied(Handle.Reply, 7))
    handle.send(*handle.carries(name, b"there"))
    handle.hears(b"there")


def _makes_a_new_one(turn: AnyTurn) -> None:
    if turn.event.dynamic and turn.connection.host is not None:
        turn.connection.host.queues.pop(turn.event.dest_name, None)
    receiving.consume(turn)


@scenario("fast/3.5.4.dynamic-takes-what-is-there")
@broken_by("makes a new one", Fault.changes(CONSUMES, _makes_a_new_one))
def dynamic_takes_what_is_there(server: Server) -> None:
    """With dynamic a queue that exists is consumed from."""
    handle = server.handle()
    handle.send(handle.consuming(server.queue(b"there"), dynamic=True))
    told = handle.observe(message(b"there"), Handle.Created)
    if isinstance(told.command, Handle.Created):
        handle.hears(b"there")


@scenario("fast/3.5.4.not-dynamic-not-created")
@broken_by("makes it", hears(Handle.Consume, dynamic=True))
@broken_by("says nothing", ignores_all("handle consume: of no queue is refused"))
def queue_is_not_made_unasked(server: Server) -> None:
    """A queue that exists is consumed from; a name that no queue has is refused."""
    handle = server.handle().consume(server.queue())
    handle.tries(handle.consuming(server.name("queue"), confirm_tag=7), *REFUSED)


@scenario("fast/3.5.4.dynamic-for-queues")
@broken_by("makes a queue", rewrites(Handle.Reply, lambda it: it.confirm_tag == 7, reply_code=299))
@broken_by(
    "tells of one",
    adds(Handle.Reply, lambda it: Handle.Created(it.handle_id, b"q"), when=lambda it: it.confirm_tag == 7),
)
def dynamic_means_nothing_for_a_topic(server: Server) -> None:
    """A subscriber with dynamic gets the message, and no HANDLE CREATED; or it is refused."""
    topic, handle = server.topic(), server.handle()
    refused = [each.recorded("the field is for queues only") for each in REFUSED]
    command = handle.consuming(topic, service_type=TOPIC, dynamic=True, confirm_tag=7)
    if isinstance(handle.tries(command, replied(Handle.Reply, 7), *refused), Handle.Reply):
        handle.send(*handle.carries(topic, b"one", service=TOPIC))
        handle.hears(b"one")


@scenario("fast/3.5.4.unnamed-queue-is-named")
@broken_by("tells nothing", withholds(Handle.Created))
@broken_by("tells no name", rewrites(Handle.Created, dest_name=b""))
def unnamed_queue_is_named(server: Server) -> None:
    """A dynamic queue without a name is told by HANDLE CREATED, with a tag and without one."""
    for tag in (7, 0):
        handle = server.handle()
        created = fields(Handle.Created, handle_id=handle.id)
        behind = replied(Handle.Reply, 7).recorded("518 has it come before the reply")
        seen = handle.tries(handle.consuming("", dynamic=True, confirm_tag=tag), created, behind)
        told = handle.expect(created) if isinstance(seen, Handle.Reply) else seen
        server.judge("a name", "none", told.dest_name != b"")
        if tag and isinstance(seen, Handle.Created):
            handle.expect(replied(Handle.Reply, 7))


@scenario("fast/3.5.4.generated-names-differ")
@broken_by("has one for all", rewrites(Handle.Created, dest_name=b"the-queue"))
def generated_names_differ(server: Server) -> None:
    """Ten queues without names, on two connections, get ten names."""
    names = set()
    for place in range(10):
        handle = server.handle(new_connection=place in (0, 5))
        handle.send(handle.consuming("", dynamic=True))
        names.add(handle.expect(Handle.Created).dest_name)
    server.judge("ten names", f"{len(names)} names", len(names) == 10)


def _shares(turn: AnyTurn) -> None:
    receiving.consume(turn)
    turn.handle.consumers[-1].queue.exclusive = False


@scenario("fast/3.5.4.exclusive-refuses-others", needs=("address",))
@broken_by("lets others in", Fault.together(Fault.drops(TAKEN), Fault.changes(CONSUMES, _shares)))
@broken_by("says nothing", ignores_all(TAKEN))
def exclusive_consumer_is_the_only_one(server: Server) -> None:
    """Another consumer of a queue that has an exclusive one is refused; that one still gets messages."""
    queue, first, other = server.address(), server.handle(), server.handle()
    first.ask(first.consuming(queue, exclusive=True))
    other.tries(other.consuming(queue, confirm_tag=7), *REFUSED)
    sender = server.handle(new_connection=True)
    sender.send(*sender.carries(queue, b"still"))
    if first.connection.usable:
        first.hears(b"still")


@scenario("fast/3.5.4.exclusive-after-others")
@broken_by("lets it in", Fault.drops(TAKEN))
@broken_by("says nothing", ignores_all(TAKEN))
def exclusive_comes_too_late(server: Server) -> None:
    """Who wants a queue alone that has a consumer is refused; that one still gets messages."""
    queue, first, other = server.queue(), server.handle(), server.handle()
    first.consume(queue)
    other.tries(other.consuming(queue, exclusive=True, confirm_tag=7), *REFUSED)
    if first.connection.usable:
        first.send(*first.carries(queue, b"still"))
        first.hears(b"still")


def _stays_taken(turn: AnyTurn) -> None:
    for consumer in turn.handle.consumers:
        consumer.queue.consumers.append(consumer)


@scenario("fast/3.5.4.exclusive-ends", needs=("address",))
@broken_by("stays", Fault.changes("handle close: is answered", effects=()))
def exclusive_ends_with_its_handle(server: Server) -> None:
    """When the exclusive consumer is closed another one is taken, and gets messages."""
    queue, first, other = server.address(), server.handle(), server.handle()
    first.ask(first.consuming(queue, exclusive=True))
    first.close()
    other.tries(other.consuming(queue, confirm_tag=7), replied(Handle.Reply, 7))
    other.send(*other.carries(queue, b"mine"))
    other.hears(b"mine")
    other.channel.ack()


def _of_any_queue(queue: Queue, consumer: Consumer) -> Any:
    host = consumer.handle.channel.connection.host
    assert host is not None
    for each in host.queues.values():
        if each is not queue and each.messages:
            return each.messages[0]
    return queue.messages[0] if queue.messages else None


@scenario("fast/3.5.4.listens-to-its-destination")
@broken_by(
    "listens to another",
    hears(Handle.Consume, lambda it: it.prefetch == 9, dest_name=lambda name: name[:-1] + b"2"),
)
@broken_by("tells another", rewrites(Handle.Notify, dest_name=b"another"))
def consumer_listens_to_its_destination(server: Server) -> None:
    """Of two queues only the message of the one that is named comes."""
    here, there = server.queue(b"here"), server.queue(b"there")
    handle = server.handle().consume(here, prefetch=9)
    handle.observe(message(b"here", dest_name=here.encode()))
    handle.channel.stays_quiet()
    server.judge("the other message in its queue", "none", len(server.handle().listed(there)) == 1)
